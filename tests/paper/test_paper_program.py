"""The published program's steps against the same loops written plainly, with scikit-learn's OMP and libsvm."""

import numpy as np
import pytest
from program_reference import published_dl, published_dpl, published_kdl

from oddatom.learners.initial import random_atoms
from oddatom.paper.program import PublishedDL, PublishedDPL
from oddatom.paper.program_kernel import PublishedKDL

S, NU = 3, 0.1


def rows(N=150, m=6, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.gamma(2.0, size=(N, 3)) @ rng.uniform(size=(3, m)) + 0.1 * rng.normal(size=(N, m))
    X[:8] += rng.normal(0, 3, size=(8, m))
    return X


def dense(fitted):
    X = np.zeros((fitted.index.shape[0], fitted.n_atoms))
    np.add.at(X, (np.arange(len(X))[:, None], fitted.index), fitted.value)
    return X


def first(X, seed):
    Y = X / np.linalg.norm(X)
    return Y.T.copy(), random_atoms(2 * X.shape[1], Y.shape[1], np.random.RandomState(seed)).T.copy()


@pytest.mark.parametrize("beta", [0.01, 0.1])
@pytest.mark.parametrize("sweeps", [1, 3])
def test_dl(beta, sweeps):
    X = rows()
    fitted = PublishedDL(S, NU, beta, seed=5, sweeps=sweeps).fit(X)
    decision, codes = published_dl(*first(X, 5), S, NU, beta, sweeps)
    np.testing.assert_allclose(dense(fitted), codes.T, atol=1e-9)
    np.testing.assert_allclose(fitted.decision, decision, atol=1e-9)
    assert fitted.n_active == codes.any(axis=1).sum()


@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_dpl(gamma):
    X = rows()
    fitted = PublishedDPL(S, NU, 0.05, seed=3, sweeps=2, gamma=gamma).fit(X)
    decision, codes = published_dpl(*first(X, 3), S, NU, 0.05, gamma, 2)
    np.testing.assert_allclose(dense(fitted), codes.T, atol=1e-8)
    np.testing.assert_allclose(fitted.decision, decision, atol=1e-8)


@pytest.mark.parametrize("kernel_gamma", [100.0, 400.0])
def test_kdl(kernel_gamma):
    X = rows(90)
    fitted = PublishedKDL(S, NU, 0.1, seed=2, sweeps=2, kernel_gamma=kernel_gamma).fit(X)
    A = np.random.RandomState(2).uniform(size=(90, 12))
    A /= np.linalg.norm(A, axis=0)
    decision, codes = published_kdl((X / np.linalg.norm(X)).T, A, S, NU, 0.1, kernel_gamma, 2)
    np.testing.assert_allclose(dense(fitted), codes.T, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(fitted.decision, decision, rtol=1e-2, atol=1e-3)
    assert fitted.n_active > 1


def test_history_is_the_objective_after_every_atom():
    X = rows()
    watched = PublishedDL(S, NU, 0.05, seed=1, sweeps=3).fit(X, watched=True)
    assert len(watched.history["inner"]) == 3 * watched.n_atoms
    assert len(watched.history["total"]) == 3
    Y = X / np.linalg.norm(X)
    codes = dense(watched)
    F = 0.5 * np.linalg.norm(Y - codes @ watched.D) ** 2 + 0.05 * np.linalg.norm(codes, axis=0).sum()
    margins = codes @ watched.w
    G = 0.5 * watched.w @ watched.w - watched.rho + np.maximum(watched.rho - margins, 0).mean() / NU
    assert watched.history["F"][-1] == pytest.approx(F)
    assert watched.history["G"][-1] == pytest.approx(G)


def test_new_rows_are_judged_by_the_last_svm():
    X = rows()
    fitted = PublishedDL(S, NU, 0.2, seed=1).fit(X)
    Z = rows(60, seed=9)
    Y = Z / np.linalg.norm(X)
    codes = np.zeros((60, fitted.n_atoms))
    index, value = fitted._code(Y)
    np.add.at(codes, (np.arange(60)[:, None], index), value)
    E = Y - codes @ fitted.D
    trimmed = 0
    for i in range(fitted.n_atoms):
        use = np.flatnonzero(codes[:, i])
        if use.size and np.linalg.norm(E + np.outer(codes[:, i], fitted.D[i]), 2) < 0.2:
            codes[use, i], trimmed = 0.0, trimmed + 1
    assert trimmed > 0
    np.testing.assert_allclose(fitted.decide(Z), codes @ fitted.w - fitted.rho, atol=1e-12)
