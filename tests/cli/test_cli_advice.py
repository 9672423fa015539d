"""Options that errors and warnings name are options that the command line has."""

import argparse
import ast
import inspect
import re
from pathlib import Path

import oddatom
from oddatom.cli.advice import INSTEAD, OPTIONS, as_option
from oddatom.cli.learning import FOLDS
from oddatom.cli.parser import make_parser
from oddatom.table import TableEncoder, open_table

PACKAGE = Path(oddatom.__file__).parent
NOT_ON_THE_COMMAND_LINE = {
    "categories",
    "path",
    "batch_rows",
}  # DATA, and what `oddatom score --batch` makes of batches


def commands():
    parser = make_parser()
    return next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction)).choices


def options():
    """All options of all commands."""
    return {word for command in commands().values() for action in command._actions for word in action.option_strings}


def nodes(folder, kind):
    """Yield the nodes of a kind in the files of a folder, less those of the paper's evaluation."""
    for path in folder.rglob("*.py"):
        if PACKAGE / "paper" not in path.parents:
            yield from (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kind))


def test_every_option_that_advice_names_exists():
    assert set(OPTIONS.values()) <= options()
    for said in INSTEAD.values():
        assert set(re.findall(r"--[\w-]+", said)) <= options()


def test_every_option_that_the_command_line_speaks_of_exists():
    texts = [str(node.value) for node in nodes(PACKAGE / "cli", ast.Constant)]
    named = {word for text in texts for word in re.findall(r"(?<![\w-])--[a-z][\w-]*", text)}
    assert {"--row", "--json", "--no-report"} <= named
    assert named - {"--version"} <= options()


def test_every_parameter_that_an_option_sets_is_known():
    """Those of tables and encoders, and every option of `fit` that sets one of a detector."""
    own = {*inspect.signature(open_table).parameters, *inspect.signature(TableEncoder).parameters}
    assert own - NOT_ON_THE_COMMAND_LINE <= OPTIONS.keys()
    fit = {word for action in commands()["fit"]._actions for word in action.option_strings if word.startswith("--")}
    assert fit - set(OPTIONS.values()) == {"--help", "--model", "--detector", "--json", "--quiet", "--updatable"}


def test_every_parameter_that_advice_proposes_is_known():
    """Keys of `options={…}` in errors, and of the second argument of warnings, all over the package."""
    named = set()
    for call in nodes(PACKAGE, ast.Call):
        given = [word.value for word in call.keywords if word.arg == "options"]
        if getattr(call.func, "id", "") == "TableWarning":
            given += call.args[1:]
        named |= {key.value for one in given if isinstance(one, ast.Dict) for key in one.keys}
    assert {"format", "encoding", "missing", "header", "n_folds"} <= named
    assert named <= OPTIONS.keys() | INSTEAD.keys()


def test_options():
    assert as_option("random_state", None) == "--seed"
    assert as_option("missing", "always") == "--missing always"
    assert as_option("header", False) == "--no-header"
    assert as_option("max_levels", 5) == "--max-levels 5"
    assert as_option("nu", None) == "'nu' in Python"
    assert as_option("nu", 0.1) == "nu=0.1 in Python"
    assert 2 * FOLDS == 10  # rows, as `INSTEAD` says
