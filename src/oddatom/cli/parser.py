"""The words that the command line understands."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from oddatom import __version__
from oddatom.cli.console import printable

DETECTORS = ("oddatom", "dl", "dpl", "kdl", "kdpl")
FORMATS = ("csv", "tsv", "parquet", "arrow")
DATES = ("number", "drop")
MISSING = ("seen", "always")
SHELLS = ("bash", "zsh", "tcsh", "fish", "powershell")  # all that shtab knows
_MAX_LEVELS = "most values of a text column that are told apart (default: 20)"
_DATES = "take dates as numbers (number, default) or leave them out (drop)"
_MISSING = "where to mark missing values: seen (default; columns that have some, none for oddatom) or always"
_EXPLAIN_ALL = "the same, and what makes each odd (else said of the 1,000 oddest that are flagged or listed)"
_TIME = "compare each row with those before it, in the order of a column (default: the one that rows are in order of)"
_BY = "compare rows within their group, such as a machine: the columns that name it"
_WINDOW = "with --time, rows before a row that it is compared with (default: by the usual step between times)"
_REMEMBER = "with a model fitted with --time, keep the last rows in it, so that the next file goes on from them"
_UPDATABLE = "keep up to 20,000 rows in the model, so that update can join new rows to them"
_KNOWN = "csv of judged rows: `row,label` or `ID-COLUMN,label`, then lines such as 17,normal or 4,anomaly"
_JSON_LINES = (
    "print a JSON object for each row, one a line, as rows are scored: row (the first is 1), id (cells of the columns "
    "that --id named at fit, by column), score, p_value, is_anomaly and, with --explain, top_features"
)
_EXAMPLES = """\
examples:
  oddatom detect data.csv                    rank, explain, report
  oddatom detect sensors.csv --time          each row against those before it
  oddatom detect sales.csv --by shop         each row within its group
  oddatom fit data.csv -m model.oddatom      keep a model
  oddatom score model.oddatom new.parquet    score new rows, piece by piece
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    words: Sequence[str] = ()  # that it was given

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.words = sys.argv[1:] if args is None else list(args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        if message.endswith("required: DATA") and "--time" in self.words:
            message = f"{message}; --time takes the word after it as a column, so put it after DATA"
        self.exit(2, printable(f"{self.prog}: {message.rstrip('.')}. See {self.prog} --help.") + "\n")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="oddatom",
        usage="oddatom COMMAND …   (oddatom COMMAND --help says more)",
        description="Find anomalies in tables nobody has labelled.",
        epilog=_EXAMPLES,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=14),
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"oddatom {__version__}", help=argparse.SUPPRESS)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, prog="oddatom")

    detect = _command(commands, "detect DATA", "find the odd rows of a table and say what makes them odd")
    _table(detect)
    _learning(detect)
    _output(detect, "where to write flagged and listed rows (default: DATA.anomalies.csv; - is standard output)")
    which = detect.add_mutually_exclusive_group()
    which.add_argument("--top", type=_whole, metavar="K", help="write the K oddest rows (with --time, episodes)")
    which.add_argument("--all", action="store_true", help="write every row, in the order of the table")
    which.add_argument("--explain-all", action="store_true", help=_EXPLAIN_ALL)
    detect.add_argument("--report", type=_file, metavar="FILE", help="of the report (default: DATA.report.html)")
    detect.add_argument("--no-report", action="store_true", help="write no report")
    _ids(detect)
    detect.add_argument("-m", "--model", type=_file, metavar="FILE", help="keep the model, too")
    _known(detect)
    _alarm(detect)
    _talk(detect)

    fit = _command(commands, "fit DATA -m FILE", "learn a model from a table and keep it")
    _table(fit)
    fit.add_argument("-m", "--model", type=_file, metavar="FILE", required=True, help="where to write the model")
    fit.add_argument("--updatable", action="store_true", help=_UPDATABLE)
    _learning(fit)
    _talk(fit)

    score = _command(commands, "score MODEL DATA", "score the rows of a table, piece by piece, in constant memory")
    _model(score)
    _table(score)
    _output(score, "where to write the rows (default: DATA.scores.csv, none with --json; - is standard output)")
    score.add_argument("--explain", action="store_true", help="add the columns that make each row odd")
    score.add_argument("--remember", action="store_true", help=_REMEMBER)
    score.add_argument("--batch", type=_size, default=65_536, metavar="ROWS", help="rows at a time (default: 65536)")
    _threshold(score)
    _known(score)
    _alarm(score)
    _talk(score, _JSON_LINES)

    explain = _command(commands, "explain MODEL DATA", "say what makes rows odd")
    _model(explain)
    _table(explain)
    which = explain.add_mutually_exclusive_group()
    which.add_argument("--row", type=_whole, action="append", metavar="N", help="a row, 1 is the first (repeatable)")
    which.add_argument("--top", type=_whole, default=10, metavar="K", help="the K oddest rows (default: 10)")
    _talk(explain)

    report = _command(commands, "report MODEL DATA", "write the report of a table under a kept model")
    _model(report)
    _table(report)
    report.add_argument("-o", "--output", type=_file, metavar="FILE", help="where (default: DATA.report.html)")
    _ids(report)
    _talk(report)

    update = _command(commands, "update MODEL DATA", "let a model learn from new rows, and forget some earlier ones")
    _model(update)
    _table(update)
    update.add_argument(
        "--decay", type=_share, default=0.9, metavar="D", help="share of earlier rows kept (default: 0.9)"
    )
    _known(update)
    update.add_argument("-o", "--output", type=_file, metavar="FILE", help="where to write it (default: MODEL itself)")
    _talk(update)

    inspect = _command(commands, "inspect MODEL", "say what a model file holds")
    _model(inspect)
    inspect.add_argument("--json", action="store_true", help="as JSON")

    demo = _command(commands, "demo", "run on a table that ships with scikit-learn")
    demo.add_argument("-o", "--output", metavar="FOLDER", default="oddatom-demo", help="where (default: oddatom-demo)")
    _talk(demo)

    paper = _command(commands, "paper", "run the paper's evaluation: every table and figure")
    effort = paper.add_mutually_exclusive_group()
    effort.add_argument("--quick", action="store_true", help="the paper's best settings, small grids (default)")
    effort.add_argument("--full", action="store_true", help="the paper's whole grids: weeks")
    for kind in ("datasets", "methods", "experiments"):
        paper.add_argument(f"--{kind}", type=_names, metavar="A,B", help=f"of {', '.join(_files(kind))}")
    paper.add_argument("--views", type=_names, metavar="A,B", help="of published, converged, unlabelled")
    paper.add_argument("--dictionaries", type=_whole, default=20, metavar="N", help="initial ones to try (default: 20)")
    paper.add_argument("--thin", type=_whole, default=1, metavar="N", help='one in N settings of the grids of "whole"')
    paper.add_argument("--near", type=_seed, metavar="N", help="of them those up to N points from the paper's best")
    paper.add_argument("--data", metavar="FOLDER", help="with the sets' files (default: $ODDATOM_DATA, or fetched)")
    paper.add_argument(
        "-o", "--output", type=_folder, metavar="FOLDER", default="results", help="where (default: results)"
    )
    paper.add_argument("--seed", type=_seed, default=0, metavar="N", help="of the dictionaries (default: 0)")
    paper.add_argument("--jobs", type=_whole, metavar="N", help="processes (default: one for each core)")
    paper.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    paper.set_defaults(grace=30.0)  # seconds after a signal to write the runs so far

    completion = _command(commands, "completion SHELL", "print what makes a shell complete words")
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    return parser


def _command(commands: Any, usage: str, what: str) -> argparse.ArgumentParser:
    name = usage.split()[0]
    parser = commands.add_parser(
        name,
        usage=f"oddatom {usage} [options]",
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=26),
        allow_abbrev=False,
    )

    def run(options: argparse.Namespace, console: Any) -> Any:
        with import_module("oddatom.cli.compiling").compiling(name, options, console):
            command = import_module(f"oddatom.cli.{name}")
            if getattr(options, "threads", None) is None:
                return command.run(options, console)
            with import_module("oddatom.arrays.threads").threads(options.threads):
                return command.run(options, console)

    parser.set_defaults(run=run, command=name)
    return parser


def _table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "table", metavar="DATA", help="csv, tsv (also .gz), parquet, arrow, feather; - is standard input"
    )
    parser.add_argument(
        "--format", choices=FORMATS, metavar="NAME", help="csv, tsv, parquet or arrow (default: by the name of DATA)"
    )
    parser.add_argument("--encoding", default="utf-8", metavar="NAME", help="of csv and tsv (default: utf-8)")
    parser.add_argument("--delimiter", metavar="CHAR", help="of csv (default: found in its first rows)")
    parser.add_argument("--no-header", action="store_true", help="csv starts with a row; columns are column 1, …")


def _model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a file that fit or detect --model wrote")


def _learning(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to learn")
    group.add_argument("--columns", type=_names, metavar="A,B", help="use these columns alone")
    group.add_argument("--ignore", type=_names, default=[], metavar="A,B", help="do not use these columns")
    group.add_argument("--id", type=_names, default=[], metavar="A,B", help="columns that name rows; not used")
    group.add_argument("--time", nargs="?", const="", metavar="COLUMN", help=_TIME)
    group.add_argument("--by", type=_names, metavar="A,B", help=_BY)
    group.add_argument("--window", type=_window, metavar="N", help=_WINDOW)
    group.add_argument("--max-levels", type=_size, default=20, metavar="N", help=_MAX_LEVELS)
    group.add_argument("--dates", choices=DATES, default=DATES[0], metavar="NAME", help=_DATES)
    group.add_argument("--missing", choices=MISSING, default=MISSING[0], metavar="NAME", help=_MISSING)
    group.add_argument(
        "--detector",
        choices=DETECTORS,
        default="oddatom",
        metavar="NAME",
        help=f"{', '.join(DETECTORS)} (default: oddatom, which needs no tuning)",
    )
    _threshold(group, "auto")
    group.add_argument("--seed", type=_seed, default=0, metavar="N", help="of the random choices (default: 0)")


def learning_words(options: argparse.Namespace) -> list[str]:
    """Return the options of `detect` that say how to read the table and what to learn, where they are no defaults."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    _table(parser)
    _learning(parser)
    words: list[str] = []
    for action in parser._actions:
        given = getattr(options, action.dest, action.default)
        if not action.option_strings or action.dest == "help" or given == action.default:
            continue
        name = action.option_strings[-1]
        if action.nargs == 0 or (action.nargs == "?" and given == action.const):
            words.append(name)
            continue
        if isinstance(given, list):
            line = io.StringIO()
            csv.writer(line, lineterminator="").writerow(given)
            given = line.getvalue()
        words.append(f"{name}={given}")
    return words


def _threshold(parser: Any, default: str | None = None) -> None:
    said = f" (default: {default})" if default else " (default: the model's)"
    parser.add_argument(
        "--threshold",
        type=_cut,
        default=default,
        metavar="T",
        help=f"auto, svm, a share of rows such as 2%%, top=50, p=0.01, or fdr=0.1 for new rows{said}",
    )


def _output(parser: argparse.ArgumentParser, said: str) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help=said)


def _known(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--known", type=_file, metavar="FILE", help=_KNOWN)


def _ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--show-ids", action="store_true", help="show ids and ignored columns in the report")


def _alarm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fail-on-anomaly", action="store_true", help="exit with 3 where a row is flagged")


def _talk(parser: argparse.ArgumentParser, as_json: str = "say the result as JSON") -> None:
    parser.add_argument("--threads", type=_whole, metavar="N", help="default: all cores")
    parser.add_argument("--json", action="store_true", help=as_json)
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")


def _files(kind: str) -> list[str]:
    """Return the names of the paper's data sets, methods or experiments: a file each, none of which is imported."""
    folder = Path(__file__).parents[1] / "paper" / kind
    return sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))


def _names(text: str) -> list[str]:
    """Return names from a line of csv: a name with a comma stands in quotes."""
    try:
        names = next(csv.reader([text]), [])
    except csv.Error:  # a line break outside quotes
        names = text.split(",")
    if not names:
        raise argparse.ArgumentTypeError(f"must name columns. Got {text!r} instead")
    return list(dict.fromkeys(names))


def _file(text: str) -> str:
    if text in ("", "-"):
        raise argparse.ArgumentTypeError(f"must be a file. Got {text!r} instead")
    return text


def _folder(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must be a folder. Got '' instead")
    return text


def _whole(text: str) -> int:
    return _number(text, 1, None, "above 0")


def _size(text: str) -> int:
    return _number(text, 1, 2**31 - 1, "from 1 to 2147483647")


def _window(text: str) -> int:
    return _number(text, 2, 2**31 - 1, "from 2 to 2147483647")


def _seed(text: str) -> int:
    return _number(text, 0, 2**32 - 1, "from 0 to 4294967295")


def _number(text: str, least: int, most: int | None, said: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least or (most is not None and number > most):
        raise argparse.ArgumentTypeError(f"must be a whole number {said}. Got {text!r} instead")
    return number


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1. Got {text!r} instead")
    return number


def _cut(text: str) -> Any:
    """Return a `threshold` parameter from its text."""
    if text in ("auto", "svm", "fdr"):
        return text
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if 0.0 < number <= 0.5:
        return number
    thresholds = import_module("oddatom.decisions.threshold")  # it loads scikit-learn
    if thresholds.parse_threshold(text) is not None:
        return text
    raise argparse.ArgumentTypeError(
        "must be auto, svm, a share of rows above 0 and up to 0.5 or 50%, such as 2%, top=N, p=P with P between 0 and "
        f"1, or fdr=Q with Q between 0 and 1. Got {text!r} instead"
    )
