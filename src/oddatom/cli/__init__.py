"""The command line: `oddatom detect data.csv` and its relatives. One file a command."""

from oddatom.cli.main import main

__all__ = ["main"]
