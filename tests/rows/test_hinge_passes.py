"""The passes of a coupling with a fixed boundary: against plain NumPy, on torch, and of rows with weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from oddatom.boundary.hinge_codes import hinge_codes
from oddatom.rows.array import LocalShard
from oddatom.rows.array.weighted_shard import WeightedShard

N, M, ATOMS, S = 120, 5, 7, 3


def unit(rng, n=ATOMS, m=M):
    D = rng.standard_normal((n, m))
    return D / np.linalg.norm(D, axis=1)[:, None]


def started(make, curvature, seed=0):
    """A shard with codes, residual, multipliers and a boundary; D, w, rho and kappa."""
    rng = np.random.default_rng(seed)
    Y, D = rng.standard_normal((N, M)), unit(rng)
    shard = make(Y)
    shard.encode(D, S)
    shard.start_sweeps(D)
    a = rng.uniform(0, 1, N) * (rng.random(N) < 0.6)
    shard.multipliers = a
    w, rho, kappa = rng.standard_normal(ATOMS), 0.3, 0.4
    shard.hinge_start(w, rho, curvature, kappa)
    return shard, Y, D, a, w, rho, kappa, unit(rng, 1)[0]


def makers():
    torch = pytest.importorskip("torch")
    from oddatom.rows.device.torch_shard import TorchShard

    return {"numpy": LocalShard, "torch": lambda Y: TorchShard(torch.tensor(Y))}


@pytest.mark.parametrize("curvature", [0.0, 1.0])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_against_plain_numpy(kind, curvature):
    make = LocalShard if kind == "numpy" else makers()["torch"]
    shard, Y, D, a, w, rho, kappa, new = started(make, curvature)
    X = shard.codes().toarray()
    E = Y - X @ D
    slack = rho - X @ w + 0.5 * curvature * (X**2).sum(axis=1)
    assert shard.hinge_total()[0] == pytest.approx(np.maximum(slack, 0).sum())
    for i in range(ATOMS):
        used = X[:, i] != 0.0
        x = X[used, i]
        R = E[used] + np.outer(x, D[i])
        q = slack[used] + w[i] * x - 0.5 * curvature * x**2
        c = a[used] * kappa * (w[i] - curvature * x)
        A, g, cc = shard.moments(i, D[i], kappa * w[i], kappa * curvature)
        assert_allclose(A, R.T @ R, atol=1e-12)
        assert_allclose(g, R.T @ c, atol=1e-12)
        assert cc == pytest.approx(c @ c)
        _, also = shard.rows(i, D[i], kappa * w[i], kappa * curvature)
        assert_allclose(also, c, atol=1e-14)
        A, g, cc = shard.hinge_zero_moments(i, D[i])
        c = np.where(q > 0, kappa * w[i], 0.0)
        assert_allclose(g, R.T @ c, atol=1e-12)
        assert cc == pytest.approx(c @ c)
        assert_allclose(shard.direction(i, D[i])[0], R.T @ x, atol=1e-12)
        r, p = R @ new, 1.3
        t = hinge_codes(r, q, np.full_like(q, w[i]), kappa, curvature, p)
        after = np.maximum(q - w[i] * t + 0.5 * curvature * t**2, 0.0).sum()
        most = r + c
        expected = [
            t @ t,
            t @ r,
            after,
            x @ x,
            x @ (R @ D[i]),
            np.maximum(slack[used], 0).sum(),
            np.maximum(q, 0).sum(),
        ]
        assert_allclose(shard.hinge_try(i, D[i], new, p), [*expected, most @ most], rtol=1e-10, atol=1e-12)
        assert_allclose(shard.hinge_values(i, p), expected[:3], rtol=1e-10, atol=1e-12)
        if i == 2:
            shard.hinge_commit(i, D[i], new, p)
        elif i == 4:
            A, g, cc = shard.hinge_commit_and_moments((i, D[i], new, np.inf), (5, D[5], 0.2, 0.1))
            t = np.zeros_like(t)
        else:
            continue
        X[used, i], D[i] = t, new
        E = Y - X @ D
        slack = rho - X @ w + 0.5 * curvature * (X**2).sum(axis=1)
        assert_allclose(np.asarray(shard.E), E, atol=1e-12)
        assert_allclose(shard.codes().toarray(), X, atol=1e-12)
        assert shard.hinge_total()[0] == pytest.approx(np.maximum(slack, 0).sum())


@pytest.mark.parametrize("curvature", [0.0, 1.0])
def test_a_row_of_weight_three_counts_as_three(curvature):
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, N)
    one, Y, D, a, w, rho, kappa, new = started(lambda Y: WeightedShard(Y, weights.astype(float)), curvature)
    one._set_shares(a)
    many = LocalShard(np.repeat(Y, weights, axis=0))
    many.encode(D, S)
    many.start_sweeps(D)
    many.multipliers = np.repeat(a, weights)
    many.hinge_start(w, rho, curvature, kappa)
    for i in range(ATOMS):
        for name in ("moments", "hinge_zero_moments"):
            more = (kappa * w[i], kappa * curvature) if name == "moments" else ()
            for x, y in zip(getattr(one, name)(i, D[i], *more), getattr(many, name)(i, D[i], *more), strict=True):
                assert_allclose(x, y, atol=1e-11)
        assert_allclose(one.hinge_try(i, D[i], new, 1.2), many.hinge_try(i, D[i], new, 1.2), rtol=1e-10, atol=1e-12)
        assert_allclose(one.hinge_values(i, 1.4), many.hinge_values(i, 1.4), rtol=1e-10, atol=1e-12)
        one.hinge_commit(i, D[i], new, 1.4)
        many.hinge_commit(i, D[i], new, 1.4)
        D[i] = new
    assert one.hinge_total()[0] == pytest.approx(many.hinge_total()[0])
    assert_allclose(np.repeat(one.codes().toarray(), weights, axis=0), many.codes().toarray(), atol=1e-12)
