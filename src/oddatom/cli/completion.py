"""Shell completion by shtab: `eval "$(oddatom completion bash)"`."""

from __future__ import annotations

import argparse
from typing import Any

from oddatom.cli.parser import make_parser


def run(options: argparse.Namespace, console: Any) -> None:
    """Print the script of a shell: commands, options and their choices, and files where a path is expected."""
    import shtab

    parser = make_parser()
    commands: Any = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    paths = {"DATA": shtab.FILE, "MODEL": shtab.FILE, "FILE": shtab.FILE, "FOLDER": shtab.DIRECTORY}  # by metavar
    for command in commands.choices.values():
        for action in command._actions:
            if action.metavar in paths:
                action.complete = paths[action.metavar]
    console.show(shtab.complete(parser, options.shell).rstrip("\n"))
