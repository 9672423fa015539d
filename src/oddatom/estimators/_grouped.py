"""Parameters that hold several settings: `penalty`, `solver`, `kernel_params`, `approximation`; read and checked."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

from oddatom.exceptions import ParameterError
from oddatom.kernels.landmarks import LANDMARKS
from oddatom.learners.alternate import SVM_SOLVERS
from oddatom.learners.dl import ATOM_SOLVERS
from oddatom.learners.dpl import PAIR_SOLVERS
from oddatom.penalties import PENALTIES

EPSILON = 0.1
LARGEST = sys.float_info.max
EXACT_ROWS = 4000  # approximation="auto" is exact up to here
N_LANDMARKS = 256  # and takes so many above

# The solvers of each step, and the published program's.
SOLVERS = {"atoms": tuple(ATOM_SOLVERS), "pairs": tuple(PAIR_SOLVERS), "svm": tuple(SVM_SOLVERS)}
PAPER = {"atoms": "power", "pairs": "gradient", "svm": "libsvm"}
KERNEL_CODINGS = {"correlation": "correlation", "gram": "omp"}


class KernelParams(NamedTuple):
    """What `kernel_params` says; None of `rank_tol` leaves it to the kernel."""

    degree: float = 3.0
    coef0: float = 1.0
    rank_tol: float | None = None
    coding: str = "gram"


class Coupling(NamedTuple):
    """What `coupling` says: the weight of a row outside the boundary, or ("eta", number) the paper's eta."""

    unit: str
    value: float

    def eta(self, nu: float, N: float) -> float:
        """Return eta for N rows."""
        return self.value * (nu * N if self.unit == "share" else 1.0)


class Approximation(NamedTuple):
    """What `approximation` says: exact up to so many rows, and by n landmarks above."""

    exact_rows: float
    choice: str = "uniform"
    n: int = 0


def read_penalty(owner: str, given: Any) -> tuple[str, float]:
    """Return the penalty's name, and where it is clipped."""
    name, epsilon = given if isinstance(given, tuple | list) and len(given) == 2 else (given, EPSILON)
    known = isinstance(name, str) and name in PENALTIES and (given is name or name == "l2eps")
    if not known or not _is_positive(epsilon):
        raise ParameterError(
            owner,
            "penalty",
            f"must be {_among(PENALTIES)} or ('l2eps', epsilon) with epsilon > 0. Got {given!r} instead",
            value=given,
            advice=f"'l2eps' alone is clipped at {EPSILON}.",
        )
    return name, float(epsilon)


def read_solver(owner: str, given: Any, steps: tuple[str, ...]) -> dict[str, str]:
    """Return the solver of each step."""
    exact = dict.fromkeys(steps, "exact")
    if isinstance(given, str) and given in ("exact", "paper"):
        return exact if given == "exact" else {step: PAPER[step] for step in steps}
    if not isinstance(given, Mapping) or any(
        step not in steps or not isinstance(solver, str) or solver not in SOLVERS[step]
        for step, solver in given.items()
    ):
        options = ", ".join(f"{step!r}: {_among(SOLVERS[step])}" for step in steps)
        raise ParameterError(
            owner,
            "solver",
            f"must be 'exact', 'paper' or a dict of {{{options}}}. Got {given!r} instead",
            value=given,
            advice="what a dict leaves out is exact.",
        )
    return {**exact, **given}


_KERNEL_PARAMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "degree": (lambda value: _is_real(value) and value >= 0, "a number ≥ 0"),
    "coef0": (lambda value: _is_real(value), "a finite number"),
    "rank_tol": (
        lambda value: value is None or (_is_positive(value) and value < 1),
        "None or a number between 0 and 1",
    ),
    "coding": (lambda value: isinstance(value, str) and value in KERNEL_CODINGS, "'correlation' or 'gram'"),
}


def read_kernel_params(owner: str, given: Any) -> KernelParams:
    """Return the settings of a kernel and its coordinates, defaults where `given` has none."""
    if given is not None and not isinstance(given, Mapping):
        problem = f"must be None or a dict. Got {given!r} instead"
    else:
        found = dict(given or {})
        unknown = [key for key in found if key not in KernelParams._fields]
        wrong = [key for key in found if not unknown and not _KERNEL_PARAMS[key][0](found[key])]
        if not unknown and not wrong:
            return KernelParams(**found)
        if unknown:
            problem = f"must not have {unknown[0]!r}. Got {given!r} instead"
        else:
            problem = f"must have {_KERNEL_PARAMS[wrong[0]][1]} for {wrong[0]!r}. Got {found[wrong[0]]!r} instead"
    raise ParameterError(
        owner, "kernel_params", problem, value=given, advice=f"it may have {', '.join(KernelParams._fields)}."
    )


def read_coupling(owner: str, given: Any) -> Coupling:
    """Return the weight of the one-class SVM and its unit."""
    unit, value = given if isinstance(given, tuple | list) and len(given) == 2 else ("share", given)
    known = unit == "eta" or (unit == "share" and value is given)
    if not isinstance(unit, str) or not known or not _is_real(value) or value < 0:
        problem = f"must be a number ≥ 0 or ('eta', number). Got {given!r} instead"
        advice = "0 learns the dictionary without the SVM; ('eta', 1) is the paper's."
        raise ParameterError(owner, "coupling", problem, value=given, advice=advice)
    return Coupling(unit, float(value))


def read_approximation(owner: str, given: Any) -> Approximation:
    """Return up to how many rows coordinates are exact, and the landmarks of others."""
    if given is None:
        return Approximation(math.inf)
    if isinstance(given, str) and given == "auto":
        return Approximation(EXACT_ROWS, n=N_LANDMARKS)
    choice, n = given if isinstance(given, tuple | list) and len(given) == 2 else ("uniform", given)
    whole = isinstance(n, Integral) and not isinstance(n, bool) and int(n) >= 1
    if not whole or not isinstance(choice, str) or choice not in LANDMARKS:
        raise ParameterError(
            owner,
            "approximation",
            f"must be 'auto', None, a number of landmarks ≥ 1, or (choice, number) with choice {_among(LANDMARKS)}. "
            f"Got {given!r} instead",
            value=given,
            advice=f"None is exact; 'auto' is exact up to {EXACT_ROWS:,} rows and takes {N_LANDMARKS} landmarks above.",
        )
    return Approximation(0, choice, int(n))


def _is_real(value: Any) -> bool:
    number: Any = value  # mypy orders no `Real`
    return isinstance(value, Real) and not isinstance(value, bool) and -LARGEST <= number <= LARGEST


def _is_positive(value: Any) -> bool:
    return _is_real(value) and value > 0


def _among(names: Any) -> str:
    return " or ".join(repr(name) for name in names)
