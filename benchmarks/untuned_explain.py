"""How often OddAtomDetector's explanation names a corrupted feature first, on real and simulated tables.

python -m benchmarks.untuned_explain
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

from oddatom import OddAtomDetector
from oddatom.synthetic import KINDS, corrupt_features


def tables() -> dict[str, np.ndarray]:
    rng = np.random.RandomState(0)
    loaders = {"wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits, "diabetes": load_diabetes}
    factors = rng.randn(2000, 4) @ rng.randn(4, 12) + 0.3 * rng.randn(2000, 12)
    mixture = (3 * rng.randn(6, 10))[rng.randint(0, 6, 3000)] + rng.randn(3000, 10)
    return {**{name: load().data for name, load in loaders.items()}, "factors": factors, "mixture": mixture}


def hits(X: np.ndarray, kind: str, seed: int) -> float:
    """Share of the rows both corrupted and detected whose lowest contribution is a corrupted number."""
    corrupted = corrupt_features(X, kind=kind, random_state=seed)
    model = OddAtomDetector(threshold=0.05, random_state=seed).fit(corrupted.X)
    found = (model.predict(corrupted.X) == -1) & (corrupted.y == 1)
    first = np.asarray(model.explain(corrupted.X[found]).contributions).argmin(axis=1)
    return float(corrupted.mask[found][np.arange(first.size), first].mean())


if __name__ == "__main__":
    for kind in KINDS:
        shares = {name: np.nanmean([hits(X, kind, seed) for seed in range(2)]) for name, X in tables().items()}
        listed = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
        print(f"{kind}: mean {np.mean(list(shares.values())):.2f}; {listed}")
