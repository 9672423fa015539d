"""Every formula that has a numba twin, beside its twin, on the same NumPy arrays: a twin stays where it pays.

python -m benchmarks.twins

100,000 rows in the chunks that detectors score, under fitted models; CPU time, best of several, in turn, on one thread:
formulas have no more, while some twins have.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from benchmarks._common import best_in_turn
from oddatom import DLOCSVM, OddAtomDetector
from oddatom.arrays.threads import threads
from oddatom.arrays.twins import TWINS
from oddatom.coding import batch_omp
from oddatom.ensemble import coded, joining, row_parts
from oddatom.estimators.odd_atom import CHUNK_ROWS
from oddatom.scaling.linear import Scaling
from oddatom.scores import description_length, margin
from oddatom.scores.margin import linear_formula
from oddatom.scores.terms import Terms, total

N_ROWS, N_FEATURES, REPEATS = 100_000, 20, 9
Example = list[tuple[Any, ...]]  # the arguments of every chunk


def rows() -> np.ndarray:
    """Positive rows near a cone, with heavy tails."""
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(N_ROWS, 4)) @ rng.uniform(0, 1, (4, N_FEATURES))
    return X + 0.1 * rng.standard_t(4, X.shape)


def examples(X: np.ndarray) -> dict[Callable[..., Any], Example]:
    """Arguments for each formula, by chunk."""
    chunks = [X[start : start + CHUNK_ROWS] for start in range(0, N_ROWS, CHUNK_ROWS)]
    ensemble = OddAtomDetector(random_state=0).fit(X).ensemble_
    parts = [ensemble.parts(chunk) for chunk in chunks]
    model = DLOCSVM(random_state=0).fit(X)
    D, s = model.components_, min(model.n_nonzero_, model.components_.shape[0])
    codes = [batch_omp(model.scaling_.apply(chunk), D, s) for chunk in chunks]
    coded_chunks: Example = [(each, model.coef_, model.code_statistics_) for each in codes]
    plane = np.random.default_rng(1).standard_normal(N_FEATURES)
    scaling, histogram, packed = ensemble.scaling, ensemble.histogram, ensemble.packed
    return {
        row_parts.formula_parts: [(chunk, scaling, histogram, packed) for chunk in chunks],
        coded.choose: [(chunk, scaling, packed) for chunk in chunks],
        joining.z_formula: [(part, ensemble.calibration) for part in parts],
        joining.join_formula: [(ensemble.z_scores(part), ensemble.weights) for part in parts],
        margin: coded_chunks,
        description_length: coded_chunks,
        linear_formula: [(chunk, Scaling(None, None, model.scaling_.scale), plane) for chunk in chunks],
    }


def by_formula(formula: Callable[..., Any], *args: Any) -> Any:
    """Return the scores where the formula returns their terms: so does a twin."""
    found = formula(*args)
    return total(found, args[0]) if isinstance(found, Terms) else found


def run() -> dict[str, Any]:
    """Return the seconds of every formula and of its twin, and their ratio."""
    known = examples(rows())
    if known.keys() != TWINS.keys():
        raise LookupError(f"Add an example for {[formula.__qualname__ for formula in TWINS.keys() - known.keys()]}.")
    found = {}
    with threads(1):
        for formula, chunks in known.items():
            functions = {
                "formula": lambda f=formula, chunks=chunks: [by_formula(f, *args) for args in chunks],
                "twin": lambda f=formula, chunks=chunks: [TWINS[f](*args) for args in chunks],
            }
            best_in_turn(functions, 1)  # compile
            seconds = best_in_turn(functions, REPEATS, process_time)
            name = f"{formula.__module__.removeprefix('oddatom.')}.{formula.__name__}"
            found[name] = {"seconds": seconds, "ratio": seconds["twin"] / seconds["formula"]}
    return {"rows": N_ROWS, "features": N_FEATURES, "chunk": CHUNK_ROWS, "twins": found}


if __name__ == "__main__":
    from benchmarks._tables import twins_section

    results = run()
    print(json.dumps(results, indent=2))
    print("\n".join(twins_section(results)))
