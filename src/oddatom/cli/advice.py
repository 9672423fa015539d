"""Errors and warnings of the library in words of the command line, by their fields."""

from __future__ import annotations

from typing import Any

from oddatom.exceptions import OddAtomError, ParameterError, in_python, joined

# Options by the parameters that they set: those of `open_table`, `TableEncoder` and the detectors.
OPTIONS = {
    "format": "--format",
    "encoding": "--encoding",
    "delimiter": "--delimiter",
    "header": "--no-header",
    "columns": "--columns",
    "ignore": "--ignore",
    "id": "--id",
    "max_levels": "--max-levels",
    "dates": "--dates",
    "missing": "--missing",
    "time": "--time",
    "by": "--by",
    "window": "--window",
    "threshold": "--threshold",
    "random_state": "--seed",
    "n_jobs": "--threads",
}
# What to do instead, where the advice is to pass a parameter that the command line chooses by itself.
INSTEAD = {"n_folds": "fit on more rows, at least ten, or with --detector oddatom."}


def as_option(name: str, value: Any) -> str:
    """Return a parameter as an option: --encoding latin-1, --seed; as it is in Python where there is none."""
    if name not in OPTIONS:
        return f"{in_python(name, value)} in Python"
    return OPTIONS[name] if value is None or name == "header" else f"{OPTIONS[name]} {value}"


def sentence(error: OddAtomError) -> str:
    """Return an error with options in place of parameters, and the model in place of classes."""
    problem, advice = error.describe("the model", "this model"), error.advise(as_option)
    if isinstance(error, ParameterError):
        subject = OPTIONS.get(str(error.parameter), f"the model's {error.parameter!r}")
        problem = f"{subject} {problem}"
    for name in INSTEAD.keys() & error.options:
        advice = INSTEAD[name].capitalize() if problem.endswith(".") else INSTEAD[name]
    return joined(problem, advice)
