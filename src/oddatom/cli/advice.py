"""Errors and warnings of the library in words of the command line, by their fields."""

from __future__ import annotations

from typing import Any

from oddatom.exceptions import OddAtomError, ParameterError, joined

_OPTIONS = {"random_state": "seed", "n_jobs": "threads", "max_levels": "max-levels"}
_ADVICE = {
    "fit with n_folds=5.": "fit on at least ten rows, or with --detector oddatom.",
    "Pass a file that oddatom.save wrote.": "Pass a file that `oddatom fit` wrote.",
}


def as_option(name: str, value: Any) -> str:
    """Return a parameter as an option: --encoding latin-1, --seed."""
    if name == "header" and value is False:
        return "--no-header"
    option = f"--{_OPTIONS.get(name, name)}"
    return option if value is None else f"{option} {value}"


def sentence(error: OddAtomError) -> str:
    """Return an error with options in place of parameters, and the model in place of classes."""
    problem = error.problem
    if isinstance(error, ParameterError) and error.parameter is not None:
        problem = f"{as_option(error.parameter, None)} {problem}"
    elif error.owner is not None:
        problem = problem.replace(f"this {error.owner}", "this model").replace(error.owner, "the model")
    advice = error.advise(as_option)
    return joined(problem, _ADVICE.get(advice, advice))
