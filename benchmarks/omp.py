"""Time of sparse coding by OMP: ours, SPAMS and scikit-learn on the same random signals, two threads each.

python -m benchmarks.omp
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import spams
from sklearn.linear_model import orthogonal_mp_gram

from benchmarks._common import best_in_turn
from oddatom.arrays.threads import threads
from oddatom.coding import batch_omp

N_SIGNALS, N_FEATURES, N_ATOMS, N_NONZERO = 50_000, 64, 128, 8
N_SKLEARN = 1_000
THREADS = 2
ROUNDS = 9


def run() -> dict[str, Any]:
    """Return seconds, mean squared residuals and ratios."""
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((N_SIGNALS, N_FEATURES))
    D = rng.standard_normal((N_ATOMS, N_FEATURES))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    Y32, D32 = Y.astype(np.float32), D.astype(np.float32)
    Yf, Df = np.asfortranarray(Y.T), np.asfortranarray(D.T)
    part = Y[:N_SKLEARN]

    def sklearn() -> np.ndarray:
        sq_norms = (part**2).sum(1)
        return orthogonal_mp_gram(D @ D.T, D @ part.T, n_nonzero_coefs=N_NONZERO, norms_squared=sq_norms)

    with threads(THREADS):
        functions: dict[str, Callable[[], Any]] = {
            "ours": lambda: batch_omp(Y, D, N_NONZERO),
            "ours_float32": lambda: batch_omp(Y32, D32, N_NONZERO),
            "spams": lambda: spams.omp(Yf, Df, L=N_NONZERO, numThreads=THREADS),
        }
        result = {name: function() for name, function in functions.items()}
        seconds = best_in_turn(functions, ROUNDS)
    slow_result = {"sklearn": sklearn()}
    seconds["sklearn"] = best_in_turn({"sklearn": sklearn}, 2)["sklearn"] * N_SIGNALS / N_SKLEARN
    return {
        "signals": N_SIGNALS,
        "features": N_FEATURES,
        "atoms": N_ATOMS,
        "nonzeros": N_NONZERO,
        "threads": THREADS,
        "sklearn_note": f"timed on {N_SKLEARN} signals and scaled by {N_SIGNALS // N_SKLEARN}",
        "seconds": {name: round(value, 5) for name, value in seconds.items()},
        "mean_sq_residual": {
            "ours": float(result["ours"].sq_residual.mean()),
            "ours_float32": float(result["ours_float32"].sq_residual.mean()),
            "spams": float(((Yf - Df @ result["spams"]) ** 2).sum(0).mean()),
            "ours_on_sklearn_signals": float(result["ours"].sq_residual[:N_SKLEARN].mean()),
            "sklearn": float(((part - slow_result["sklearn"].T @ D) ** 2).sum(1).mean()),
        },
        "speedup_over_spams": round(seconds["spams"] / seconds["ours"], 2),
        "speedup_over_spams_float32": round(seconds["spams"] / seconds["ours_float32"], 2),
        "speedup_over_sklearn": round(seconds["sklearn"] / seconds["ours"], 1),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
