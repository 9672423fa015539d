"""Warnings and errors of this package, one class each, so that callers can tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError

SHOWN = 5  # parts of a warning that are named


class OddAtomError(ValueError):
    """Base class of this package's errors: what is wrong and what to do, as fields; `str` puts them together.

    Attributes
    ----------
    problem : str
        What is wrong. The advice follows a full stop or, where there is none, a semicolon. The owner is written as
        "{owner}", or "{this owner}", when it is passed.
    parameter : str or None
        Name of the parameter or argument that it is about.
    value : object
        What was passed for it.
    advice : str
        What to do about it.
    options : dict of str to object
        Parameters that the advice names, each written as "{name}" when it is passed, with the values that it proposes;
        None where it proposes none.
    owner : str or None
        The class, or function, that the problem is one of.
    """

    def __init__(
        self,
        problem: str,
        *,
        parameter: str | None = None,
        value: Any = None,
        advice: str = "",
        options: Mapping[str, Any] | None = None,
        owner: str | None = None,
    ) -> None:
        self._problem, self.parameter, self.value, self.owner = problem, parameter, value, owner
        super().__init__(self.problem)
        self.options = dict(options or {})
        self._advice = advice

    @property
    def problem(self) -> str:
        """What is wrong."""
        return self._problem if self.owner is None else self.describe(self.owner, f"this {self.owner}")

    def describe(self, owner: str, this_owner: str) -> str:
        """Return the problem with words for the owner, and for this very one."""
        return self._problem.replace("{owner}", owner).replace("{this owner}", this_owner)

    @property
    def advice(self) -> str:
        """What to do about it."""
        return self.advise(in_python)

    def advise(self, write: Callable[[str, Any], str]) -> str:
        """Return the advice with every option in it written by a function of its name and value."""
        return _written(self._advice, self.options, write)

    def __str__(self) -> str:
        return joined(self.problem, self.advice)

    def __reduce__(self) -> tuple:
        return _restored, (type(self), vars(self))


class ParameterError(OddAtomError, InvalidParameterError):
    """A parameter is not what it must be; `problem` begins with "must", and `owner` is whose parameter it is."""

    def __init__(
        self,
        owner: str,
        parameter: str,
        problem: str,
        *,
        value: Any = None,
        advice: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(problem, parameter=parameter, value=value, advice=advice, options=options, owner=owner)

    def __str__(self) -> str:
        return joined(f"The {self.parameter!r} parameter of {self.owner} {self.problem}", self.advice)


def in_python(name: str, value: Any) -> str:
    """Return an option as it is written in Python: 'encoding', or encoding='latin-1'."""
    return repr(name) if value is None else f"{name}={value!r}"


def joined(problem: str, advice: str) -> str:
    """Return a problem and its advice as sentences."""
    if not advice:
        return problem
    return f"{problem}{'' if problem.endswith('.') else ';'} {advice}"


def _written(text: str, options: Mapping[str, Any], write: Callable[[str, Any], str]) -> str:
    for name, value in options.items():
        text = text.replace(f"{{{name}}}", write(name, value))
    return text


def _restored(cls: type[OddAtomError], fields: dict[str, Any]) -> OddAtomError:
    error = cls.__new__(cls)
    vars(error).update(fields)
    error.args = (error.problem,)
    return error


class OddAtomWarning(UserWarning):
    """Base class of this package's warnings."""


class DegenerateMarginWarning(OddAtomWarning):
    """The origin lies in the reduced hull of the codes: the exact one-class SVM has no margin and w = 0."""


class AllAtomsTrimmedWarning(OddAtomWarning):
    """The row penalty removed every atom: nothing is left to describe a row with."""


class UnboundedObjectiveWarning(OddAtomWarning):
    """The one-class SVM outweighs the rows, or may: codes grow from sweep to sweep, and the objective has no least."""


class RankingWarning(OddAtomWarning):
    """The score of a fit cannot rank: it is the same for all rows, or higher for rows that are described worse."""


class IndefiniteKernelWarning(OddAtomWarning):
    """The kernel matrix has negative eigenvalues; its positive part is used."""


class SolverWarning(OddAtomWarning, ConvergenceWarning):
    """A solver ended above its tolerance; the residual it reached is in the message."""


class DeviceWarning(OddAtomWarning):
    """The device that a model was made for is not there; the CPU is used instead."""


class DriftWarning(OddAtomWarning):
    """New rows are unlike the training rows in some columns; the message says which, and how far they moved."""


class ModelFileError(OddAtomError):
    """A file cannot be loaded as a model: it is something else, damaged, or newer than this package."""


class TableWarning(OddAtomWarning):
    """A table lacks columns of the training table, or holds values that cannot be read; they count as missing.

    Parameters
    ----------
    said : str, or dict of str to str
        What there is to say; by kind, where warnings of one kind differ in numbers alone.
    options : dict of str to object, optional
        Parameters that it names as "{name}", as in `OddAtomError`.
    """

    def __init__(self, said: str | Mapping[str, str], options: Mapping[str, Any] | None = None) -> None:
        super().__init__(said)
        self.said = {said: said.rstrip(".")} if isinstance(said, str) else dict(said)
        self.options = dict(options or {})

    def parts(self, write: Callable[[str, Any], str] = in_python) -> dict[str, str]:
        """Return the first parts by kind, options written by a function, and how many more there are."""
        first = dict(list(self.said.items())[:SHOWN])
        more = {"more": f"and {len(self.said) - SHOWN} more"} if len(self.said) > SHOWN else {}
        return {kind: _written(text, self.options, write) for kind, text in {**first, **more}.items()}

    def __str__(self) -> str:
        return "; ".join(self.parts().values()) + "."


class TableError(OddAtomError):
    """A file cannot be read or written as a table; the message says why in one line, and what to do."""


class DataSetUnavailable(OddAtomError):
    """A data set of the paper cannot be had, or is not the one the paper used; the message says why and what to do."""


class WorkerLostError(OddAtomError, RuntimeError):
    """Workers of a cluster were lost and their rows cannot be had again: a fit has ended early.

    Attributes
    ----------
    model : oddatom.learners.alternate.Model or None
        As of the last whole outer iteration; None where not even the first dictionary had its codes.
    partitions : tuple of int
        Numbers of the partitions that were lost.
    """

    def __init__(
        self,
        problem: str,
        partitions: tuple[int, ...] = (),
        *,
        parameter: str = "X",
        value: Any = None,
        advice: str = "",
    ) -> None:
        value = partitions if value is None else value
        super().__init__(problem, parameter=parameter, value=value, advice=advice)
        self.partitions = partitions
        self.model: Any = None
