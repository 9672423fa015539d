"""Shell completion, written from the parser: `eval "$(oddatom completion bash)"`."""

from __future__ import annotations

import argparse
from typing import Any

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_oddatom() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" words=""
    case "${{COMP_CWORD}}:${{COMP_WORDS[1]}}" in
        1:*) words="{commands}" ;;
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    [[ "$cur" != -* ]] && (( COMP_CWORD > 1 )) && COMPREPLY+=($(compgen -f -- "$cur"))
}}
complete -o filenames -F _oddatom oddatom
"""


def run(options: argparse.Namespace, console: Any) -> None:
    """Print the script of a shell."""
    from oddatom.cli.parser import make_parser

    commands = _commands(make_parser())
    console.show({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](commands).rstrip("\n"))


def _commands(parser: argparse.ArgumentParser) -> dict[str, tuple[str, dict[str, str]]]:
    """Return every command with what it does and its options with theirs."""
    found = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    said = {choice.dest: choice.help or "" for choice in found._choices_actions}
    return {
        name: (said[name], {o: a.help or "" for a in command._actions for o in a.option_strings if o.startswith("--")})
        for name, command in found.choices.items()
    }


def _bash(commands: dict[str, tuple[str, dict[str, str]]]) -> str:
    cases = "\n".join(f'        *:{name}) words="{" ".join(options)}" ;;' for name, (_, options) in commands.items())
    return _BASH.format(commands=" ".join(commands), cases=cases)


def _zsh(commands: dict[str, tuple[str, dict[str, str]]]) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(commands)


def _fish(commands: dict[str, tuple[str, dict[str, str]]]) -> str:
    lines = ["complete -c oddatom -n __fish_use_subcommand -f"]
    for name, (said, options) in commands.items():
        lines.append(f"complete -c oddatom -n __fish_use_subcommand -a {name} -d {_quoted(said)}")
        lines += [
            f"complete -c oddatom -n '__fish_seen_subcommand_from {name}' -l {option[2:]} -d {_quoted(help_)}"
            for option, help_ in options.items()
        ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
