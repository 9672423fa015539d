"""Shell completion, written from the parser: `eval "$(oddatom completion bash)"`."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NamedTuple

SHELLS = ("bash", "zsh", "fish")

# Where it offers nothing, the shell completes file names ("-o default").
_BASH = """\
_oddatom() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
    case "$prev" in
{values}
        *) case "$COMP_CWORD:${{COMP_WORDS[1]}}:$cur" in
            1:*) words="{commands}" ;;
{options}
        esac ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _oddatom oddatom
"""
_ZSH = """\
(( $+functions[compdef] )) || {{ autoload -U compinit && compinit; }}
autoload -U +X bashcompinit && bashcompinit
"""


class _Option(NamedTuple):
    name: str
    help: str
    choices: tuple[str, ...]
    takes_value: bool


_Commands = dict[str, tuple[str, list[_Option]]]


def run(options: argparse.Namespace, console: Any) -> None:
    """Print the script of a shell."""
    from oddatom.cli.parser import make_parser

    commands = _commands(make_parser())
    console.show({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](commands).rstrip("\n"))


def _commands(parser: argparse.ArgumentParser) -> _Commands:
    """Return every command with what it does and its options."""
    found = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    said = {choice.dest: choice.help or "" for choice in found._choices_actions}
    return {
        name: (
            said[name],
            [
                _Option(option, action.help or "", tuple(action.choices or ()), action.nargs != 0)
                for action in command._actions
                for option in action.option_strings
                if option.startswith("--")
            ],
        )
        for name, command in found.choices.items()
    }


def _bash(commands: _Commands) -> str:
    chosen = {option.name: option.choices for _, options in commands.values() for option in options if option.choices}
    values = {**chosen, "completion": (*SHELLS, "--help")}
    return _BASH.format(
        commands=" ".join(commands),
        values="\n".join(f'        {name}) words="{" ".join(choices)}" ;;' for name, choices in values.items()),
        options="\n".join(
            f'            *:{name}:-*) words="{" ".join(option.name for option in options)}" ;;'
            for name, (_, options) in commands.items()
        ),
    )


def _zsh(commands: _Commands) -> str:
    return _ZSH.format() + _bash(commands)


def _fish(commands: _Commands) -> str:
    lines = ["complete -c oddatom -n __fish_use_subcommand -f"]
    for name, (said, options) in commands.items():
        lines.append(f"complete -c oddatom -n __fish_use_subcommand -a {name} -d {shlex.quote(said)}")
        for option in options:
            value = f" -x -a {shlex.quote(' '.join(option.choices))}" if option.choices else " -r"
            lines.append(
                f"complete -c oddatom -n '__fish_seen_subcommand_from {name}' -l {option.name[2:]}"
                f"{value if option.takes_value else ''} -d {shlex.quote(option.help)}"
            )
    lines.append(f"complete -c oddatom -n '__fish_seen_subcommand_from completion' -f -a '{' '.join(SHELLS)}'")
    return "\n".join(lines)
