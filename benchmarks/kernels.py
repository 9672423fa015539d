"""KDLOCSVM and KDPLOCSVM: fits on the six small sets beside OneClassSVM(rbf); growth and memory of Nyström.

python -m benchmarks.kernels
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import warnings

import numpy as np
from sklearn.svm import OneClassSVM

from benchmarks._common import best_in_turn, load, machine, seconds
from oddatom import KDLOCSVM, KDPLOCSVM

# n_nonzero and nu, beta of KDL, beta and gamma (here alpha) of KDPL, of the paper's experiments.
PAPER_KERNELS = {
    "cardio": {"n_nonzero": 5, "nu": 0.096, "kdl": 0.15, "kdpl": (0.05, 0.05)},
    "glass": {"n_nonzero": 3, "nu": 0.042, "kdl": 0.05, "kdpl": (0.35, 0.45)},
    "thyroid": {"n_nonzero": 3, "nu": 0.025, "kdl": 0.05, "kdpl": (0.05, 0.05)},
    "vowels": {"n_nonzero": 4, "nu": 0.034, "kdl": 0.5, "kdpl": (0.05, 0.35)},
    "wbc": {"n_nonzero": 6, "nu": 0.056, "kdl": 0.45, "kdpl": (0.25, 0.05)},
    "lympho": {"n_nonzero": 4, "nu": 0.041, "kdl": 0.3, "kdpl": (0.15, 0.05)},
}
GROWTH_ROWS = (10_000, 50_000, 200_000)


def small_sets() -> dict[str, object]:
    results = {}
    for name, x in PAPER_KERNELS.items():
        X = load(name)
        common = {"n_nonzero": x["n_nonzero"], "nu": x["nu"], "random_state": 0, "approximation": None}
        beta, alpha = x["kdpl"]
        scaled = X / np.linalg.norm(X)
        functions = {
            "kdl": lambda X=X, x=x, common=common: KDLOCSVM.paper(beta=x["kdl"], **common).fit(X),
            "kdpl": lambda X=X, b=beta, a=alpha, common=common: KDPLOCSVM.paper(beta=b, alpha=a, **common).fit(X),
            "ocsvm": lambda X=scaled, nu=x["nu"]: OneClassSVM(kernel="rbf", nu=nu).fit(X),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranks = {k: int(f().components_.shape[1]) for k, f in functions.items() if k != "ocsvm"}  # compiles too
            times = best_in_turn(functions, 3)
        results[name] = {"rows": X.shape[0], "features": X.shape[1], "rank": ranks["kdl"], "seconds": times}
    return results


def rows(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 10)) @ rng.standard_normal((10, 10)) + 5.0


def nystroem(n: int) -> dict[str, float]:
    """Seconds of a fit and of scoring n × 10 rows with 256 landmarks, and how much memory they took at the peak."""
    X = rows(n)
    detector = KDLOCSVM.paper(approximation=256, n_nonzero=3, random_state=0)
    warnings.simplefilter("ignore")
    detector.fit(X[:2000])  # compile
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fit = min(seconds(lambda: detector.fit(X)) for _ in range(2))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"fit": fit, "score": seconds(lambda: detector.score_samples(X)), "peak_mb": (peak - before) / 1024}


def run() -> dict[str, object]:
    growth = {}
    for n in GROWTH_ROWS:  # a process each, so that one's peak is not another's
        code = f"import json; from benchmarks.kernels import nystroem; print(json.dumps(nystroem({n})))"
        growth[str(n)] = json.loads(subprocess.check_output([sys.executable, "-c", code]).splitlines()[-1])
    first, last = growth[str(GROWTH_ROWS[0])], growth[str(GROWTH_ROWS[-1])]
    return {
        "small_sets": small_sets(),
        "nystroem": growth,
        "growth": last["fit"] / first["fit"],
        "growth_limit": 1.2 * GROWTH_ROWS[-1] / GROWTH_ROWS[0],
    }


if __name__ == "__main__":
    print(json.dumps({"machine": machine(), "kernels": run()}, indent=2))
