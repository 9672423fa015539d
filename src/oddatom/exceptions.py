"""Warnings and errors of this package, one class each, so that callers can tell them apart."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError


class OddAtomError(ValueError):
    """Base class of this package's errors: what is wrong and what to do, as fields; `str` puts them together.

    Attributes
    ----------
    problem : str
        What is wrong. The advice follows a full stop or, where there is none, a semicolon.
    parameter : str or None
        Name of the parameter or argument that it is about.
    value : object
        What was passed for it.
    advice : str
        What to do about it.
    """

    def __init__(self, problem: str, *, parameter: str | None = None, value: Any = None, advice: str = "") -> None:
        super().__init__(problem)
        self.problem, self.parameter, self.value, self.advice = problem, parameter, value, advice

    def __str__(self) -> str:
        return joined(self.problem, self.advice)

    def __reduce__(self) -> tuple:
        return _restored, (type(self), vars(self))


class ParameterError(OddAtomError, InvalidParameterError):
    """A parameter is not what it must be; `problem` begins with "must", and `owner` is the class it belongs to."""

    def __init__(self, owner: str, parameter: str, problem: str, *, value: Any = None, advice: str = "") -> None:
        super().__init__(problem, parameter=parameter, value=value, advice=advice)
        self.owner = owner

    def __str__(self) -> str:
        return joined(f"The {self.parameter!r} parameter of {self.owner} {self.problem}", self.advice)


def joined(problem: str, advice: str) -> str:
    """Return a problem and its advice as sentences."""
    if not advice:
        return problem
    return f"{problem}{'' if problem.endswith('.') else ';'} {advice}"


def _restored(cls: type[OddAtomError], fields: dict[str, Any]) -> OddAtomError:
    error = cls.__new__(cls, fields["problem"])
    vars(error).update(fields)
    return error


class OddAtomWarning(UserWarning):
    """Base class of this package's warnings."""


class DegenerateMarginWarning(OddAtomWarning):
    """The origin lies in the reduced hull of the codes: the exact one-class SVM has no margin and w = 0."""


class AllAtomsTrimmedWarning(OddAtomWarning):
    """The row penalty removed every atom: nothing is left to describe a row with."""


class IndefiniteKernelWarning(OddAtomWarning):
    """The kernel matrix has negative eigenvalues; its positive part is used."""


class SolverWarning(OddAtomWarning, ConvergenceWarning):
    """A solver ended above its tolerance; the residual it reached is in the message."""


class DeviceWarning(OddAtomWarning):
    """The device that a model was made for is not there; the CPU is used instead."""


class ModelFileError(ValueError):
    """A file cannot be loaded as a model: it is something else, damaged, or newer than this package."""


class TableWarning(OddAtomWarning):
    """A table lacks columns of the training table, or holds values that cannot be read; they count as missing."""


class TableError(ValueError):
    """A file cannot be read or written as a table; the message says why in one line, and what to do."""


class DataSetUnavailable(ValueError):
    """A data set of the paper cannot be had, or is not the one the paper used; the message says why and what to do."""


class WorkerLostError(RuntimeError):
    """Workers of a cluster were lost and their rows cannot be had again: a fit has ended early.

    Attributes
    ----------
    model : oddatom.learners.alternate.Model or None
        As of the last whole outer iteration; None where not even the first dictionary had its codes.
    partitions : tuple of int
        Numbers of the partitions that were lost.
    """

    def __init__(self, message: str, partitions: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.partitions = partitions
        self.model: Any = None

    def __reduce__(self) -> tuple:
        return _worker_lost, (str(self), self.partitions, self.model)


def _worker_lost(message: str, partitions: tuple[int, ...], model: Any) -> WorkerLostError:
    error = WorkerLostError(message, partitions)
    error.model = model
    return error
