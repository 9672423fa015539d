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
from oddatom.boundary.hinge_codes import hinge_codes
from oddatom.coding import batch_omp, linear_codes
from oddatom.coding.histograms import code_histograms
from oddatom.ensemble import coded, joining, levels, naive_bayes, row_parts, tails
from oddatom.estimators.odd_atom import CHUNK_ROWS
from oddatom.kernels import formulas, pairs
from oddatom.kernels.functions import Kernel
from oddatom.scaling.linear import Scaling
from oddatom.scores import description_length, loda, margin
from oddatom.scores.center_distance import distance
from oddatom.scores.margin import linear_formula
from oddatom.scores.terms import Terms, total

N_ROWS, N_FEATURES, REPEATS = 100_000, 20, 9
CODES = [18, 19]  # columns that hold categories, where there are any
Example = list[tuple[Any, ...]]  # the arguments of every chunk


def rows() -> np.ndarray:
    """Positive rows near a cone, with heavy tails."""
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(N_ROWS, 4)) @ rng.uniform(0, 1, (4, N_FEATURES))
    return X + 0.1 * rng.standard_t(4, X.shape)


def with_categories(X: np.ndarray) -> np.ndarray:
    """The rows with two columns of codes: one that shifts three numbers, and one that goes with another number."""
    rng = np.random.default_rng(2)
    rows = X.copy()
    rows[:, CODES[0]] = rng.integers(0, 8, N_ROWS)
    rows[:, :3] += 50.0 * rng.normal(size=(8, 3))[rows[:, CODES[0]].astype(int)]
    rows[:, CODES[1]] = np.digitize(rows[:, 5], np.quantile(rows[:, 5], [0.25, 0.5, 0.75]))
    return rows


def kernel_examples(X: np.ndarray) -> dict[Callable[..., Any], Example]:
    """Arguments of the kernels' formulas: rows beside landmarks."""
    Y, Z, kernel = X[:5000], X[5000:5200], Kernel("poly", 0.1, 2.0, 0.3)
    values = pairs.products(Y, Z)
    return {
        pairs.squared_distances: [(Y, Z)],
        pairs.absolute_distances: [(Y, Z)],
        pairs.products: [(Y, Z)],
        pairs.own_product: [(Y[:1000],)],
        formulas.exponential: [(values, kernel)],
        formulas.power: [(values, kernel)],
        formulas.tanh: [(values, kernel)],
        formulas.matrix: [(Y, Z, Kernel("rbf", 0.1, 2.0, 0.3))],
    }


def examples(X: np.ndarray) -> dict[Callable[..., Any], Example]:
    """Arguments for each formula, by chunk."""
    chunks = [X[start : start + CHUNK_ROWS] for start in range(0, N_ROWS, CHUNK_ROWS)]
    ensemble = OddAtomDetector(random_state=0).fit(X).ensemble_
    parts = [ensemble.parts(chunk) for chunk in chunks]
    model = DLOCSVM.paper(random_state=0).fit(X)
    D, s = model.components_, min(model.n_nonzero_, model.components_.shape[0])
    codes = [batch_omp(model.scaling_.apply(chunk), D, s) for chunk in chunks]
    coded_chunks: Example = [(each, model.coef_, model.code_statistics_) for each in codes]
    full = [linear_codes(model.scaling_.apply(chunk) @ D.T, len(D)) for chunk in chunks]
    histograms = code_histograms(full[0], len(D))
    r, q = np.random.default_rng(2).standard_normal((2, N_ROWS))
    plane = np.random.default_rng(1).standard_normal(N_FEATURES)
    scaling, histogram, packed = ensemble.scaling, ensemble.histogram, ensemble.packed
    units = [chunk * scaling.unit for chunk in chunks]
    coded_rows = with_categories(X)
    of_codes = OddAtomDetector(categorical_features=CODES, random_state=0).fit(coded_rows).ensemble_
    with_codes = [coded_rows[start : start + CHUNK_ROWS] for start in range(0, N_ROWS, CHUNK_ROWS)]
    shifted = [of_codes.shifted(chunk) * of_codes.scaling.unit for chunk in with_codes]
    return {
        **kernel_examples(X),
        tails.tail_formula: [(chunk, histogram.tails) for chunk in units],
        naive_bayes.context_formula: [(chunk, of_codes.histogram.context) for chunk in shifted],
        levels.shift_formula: [(chunk, of_codes.levels) for chunk in with_codes],
        row_parts.formula_parts: [(chunk, scaling, histogram, packed) for chunk in chunks],
        coded.choose: [(chunk, scaling, packed) for chunk in chunks],
        joining.z_formula: [(part, ensemble.calibration) for part in parts],
        joining.join_formula: [(ensemble.z_scores(part), ensemble.weights) for part in parts],
        margin: coded_chunks,
        description_length: coded_chunks,
        distance: coded_chunks,
        loda: [(each, model.coef_, model.code_statistics_._replace(histograms=histograms)) for each in full],
        hinge_codes: [(r, q, np.ones_like(r), 0.5, 1.0, 1.2)],
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
