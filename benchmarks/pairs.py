"""DPLOCSVM: whole fits at the paper's settings over DLOCSVM's on the same rows; scoring over one matrix product.

python -m benchmarks.pairs
"""

from __future__ import annotations

import json
import warnings

import numpy as np

from benchmarks._common import PAPER, PAPER_PAIRS, best_in_turn, load, machine
from oddatom import DLOCSVM, DPLOCSVM

LIMIT = 4.0
# Seconds of the authors' released program on two cores, for comparison; where we have them.
PUBLISHED_PROGRAM = {"satellite": 11.5, "pendigits": 9.5}


def fits() -> dict[str, object]:
    results = {}
    for name, settings in PAPER.items():
        X = load(name)
        pair = {**settings, **PAPER_PAIRS[name]}
        functions = {
            "dpl": lambda X=X, pair=pair: DPLOCSVM.paper(random_state=0, **pair).fit(X),
            "dl": lambda X=X, settings=settings: DLOCSVM.paper(random_state=0, **settings).fit(X),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for function in functions.values():
                function()  # compile
            model = functions["dpl"]()
            times = best_in_turn(functions, 10)
        results[name] = {
            "rows": X.shape[0],
            "features": X.shape[1],
            "seconds": times,
            "over_dl": times["dpl"] / times["dl"],
            "limit": LIMIT,
            "active_atoms": int(model.components_.shape[0]),
            "kkt": float(model.history_["kkt"].max()),
            "published_program_seconds": PUBLISHED_PROGRAM.get(name),
        }
    return results


def scoring() -> dict[str, object]:
    """1,000,000 × 10 rows: score_samples over Y @ W.T for W of the shape of the dictionary, and over Y @ w."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000_000, 10)) @ rng.standard_normal((10, 10)) + 5.0
    model = DPLOCSVM.paper(random_state=0, beta=0.02, alpha=0.0).fit(X[:20_000])
    W = rng.standard_normal(model.dictionary_.shape)
    w = W[0].copy()
    model.score_samples(X)
    times = best_in_turn(
        {"score_samples": lambda: model.score_samples(X), "product": lambda: X @ W.T, "vector": lambda: X @ w}, 15
    )
    return {
        "rows": X.shape[0],
        "features": X.shape[1],
        "atoms": W.shape[0],
        "seconds": times,
        "over_product": times["score_samples"] / times["product"],
        "over_vector": times["score_samples"] / times["vector"],
        "limit": 2.0,
        "rows_per_second": X.shape[0] / times["score_samples"],
    }


def run() -> dict[str, object]:
    return {"fits": fits(), "scoring": scoring()}


if __name__ == "__main__":
    print(json.dumps({"machine": machine(), "pairs": run()}, indent=2))
