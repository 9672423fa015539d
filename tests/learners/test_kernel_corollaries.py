"""Both corollaries of the paper, in its own terms: K, coefficients A and B over the rows, and no coordinates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from learned import rows
from oddatom import KDLOCSVM, KDPLOCSVM
from oddatom.kernels.functions import Kernel
from reference import best_analysis, dl_ocsvm, one_class_svm

N, ATOMS = 60, 4


def gram(X):
    Y = X / np.linalg.norm(X)
    return Kernel("laplacian", 20.0)(Y, Y)


@pytest.fixture(scope="module")
def K():
    return gram(rows(N))


def first_coefficients(K, seed=0):
    A = np.random.default_rng(seed).standard_normal((N, ATOMS))
    return A / np.sqrt(np.einsum("ji,jk,ki->i", A, K, A))


def make(Class, K, **others):
    common = {"n_nonzero": 2, "kernel": "precomputed", "nu": 0.3, "beta": 0.05, "coupling": ("eta", 20.0), "tol": 0.0}
    return Class.paper(**{**common, "init": first_coefficients(K).T, **others}).fit(K)


def before_and_after(Class, K, **others):
    """The first atom's R (columns over its rows), old codes, nu·lambda, and the models before and after one sweep."""
    start, end = (make(Class, K, max_iter=k, **others) for k in (0, 1))
    X, A = start.train_codes_.toarray(), start.dictionary_coefficients_
    assert start.active_atoms_.all()
    assert_allclose(start.train_codes_ @ start.train_coef_ - start.train_offset_, start.train_decision_)
    used = X[:, 0] != 0
    R = (np.eye(N) - A @ X.T + np.outer(A[:, 0], X[:, 0]))[:, used]
    return R, X[used, 0], used, start, end


@pytest.mark.parametrize("coding", ["correlation", "gram"])
@pytest.mark.parametrize("coupling", [0.0, 20.0])
def test_the_first_corollary(K, coding, coupling):
    """a* maximises ½‖RᵀKa + νλ‖² over aᵀKa = 1, as well as a general optimiser; x* is that vector, shrunk."""
    R, _, used, start, end = before_and_after(KDLOCSVM, K, kernel_params={"coding": coding}, coupling=("eta", coupling))
    c = coupling * start.train_coef_[0] * start.dual_coef_[used]  # the last SVM has the same codes: see active_atoms_
    assert c.any() == (coupling > 0)
    assert used.sum() > 5

    def value(u):
        a = u / np.sqrt(u @ K @ u)
        r = R.T @ K @ a + c
        slope = K @ R @ r
        return -0.5 * r @ r, -(slope - (a @ slope) * (K @ a)) / np.sqrt(u @ K @ u)

    rng = np.random.default_rng(1)
    tried = [
        minimize(
            value,
            rng.standard_normal(N),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 3000, "ftol": 1e-15, "gtol": 1e-10},
        )
        for _ in range(6)
    ]
    best = -min(found.fun for found in tried)
    a = end.dictionary_coefficients_[:, 0]
    assert a @ K @ a == pytest.approx(1, abs=1e-10)
    assert -value(a)[0] == pytest.approx(best, rel=1e-7)
    assert -value(start.dictionary_coefficients_[:, 0])[0] < 0.9 * best  # there was something to find
    r = R.T @ K @ a + c
    assert_allclose(
        end.train_codes_.toarray()[used, 0], (1 - 0.05 / np.linalg.norm(r)) * r, atol=1e-6 * np.abs(r).max()
    )


@pytest.mark.parametrize("coding", ["correlation", "gram"])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_the_second_corollary(K, coding, alpha):
    """The pair of half-steps: a of the codes bK at hand, then b of that a, with a general convex solver."""
    R, x, used, start, end = before_and_after(KDPLOCSVM, K, kernel_params={"coding": coding}, alpha=alpha)
    a = R @ x / np.sqrt(x @ R.T @ K @ R @ x)
    apart = end.dictionary_coefficients_[:, 0] - a
    assert apart @ K @ apart < 1e-12
    # The SVM of the pairs' first codes, which is not the last one: recover its multipliers from a tight fit.
    X = start.train_codes_.toarray()
    w, _, lam = one_class_svm(X, 0.3)
    assert_allclose(start.train_coef_, w, atol=1e-5 * np.abs(w).max())
    c = R.T @ K @ a + 20.0 * start.train_coef_[0] * lam[used]
    counts = (X != 0).sum(axis=0)
    weight = alpha * counts[0] / np.linalg.norm(counts)
    wanted = best_analysis(K[used], c, weight, 0.05)
    assert_allclose(end.train_codes_.toarray()[used, 0], wanted, atol=3e-4 * np.abs(wanted).max())
    B = end.kernel_map_.coefficients(end.analysis_dictionary_)
    assert_allclose(K[used] @ B[:, 0], end.train_codes_.toarray()[used, 0], atol=1e-8)


@pytest.mark.parametrize("penalty", ["l21", "l20", "l2eps"])
def test_sweeps_in_the_root_of_the_kernel(K, penalty):
    """True kernel OMP: Algorithm 1 on the rows of K^½ from AᵀK^½."""
    values, V = np.linalg.eigh(K)
    root = V @ np.diag(np.sqrt(values)) @ V.T
    A = first_coefficients(K)
    beta = 0.01 if penalty == "l20" else 0.05
    D, X, w, rho, totals = dl_ocsvm(root, A.T @ root, 2, beta, 0.3, 5.0, 3, penalty)
    model = make(
        KDLOCSVM, K, kernel_params={"coding": "gram"}, penalty=penalty, beta=beta, coupling=("eta", 5.0), max_iter=3
    )
    assert_allclose(model.history_["total"], totals, rtol=1e-6)
    assert_allclose(model.train_codes_.toarray(), X, atol=1e-4 * np.abs(X).max())
    assert_allclose(root @ model.dictionary_coefficients_, D.T, atol=1e-4)
    assert_allclose(model.train_coef_, w, atol=1e-4 * np.abs(w).max())
    assert model.train_offset_ == pytest.approx(rho, rel=1e-4)


@pytest.mark.parametrize("Class", [KDLOCSVM, KDPLOCSVM])
@pytest.mark.parametrize("coding", ["correlation", "gram"])
def test_the_objective_in_terms_of_the_kernel(K, Class, coding):
    """F = ½ tr((I − AX)ᵀK(I − AX)) + β Σ‖x^i‖, and α_i‖x^i‖₁ of pairs."""
    model = make(Class, K, kernel_params={"coding": coding}, **({"alpha": 0.05} if Class is KDPLOCSVM else {}))
    X, A = model.train_codes_.toarray(), model.dictionary_coefficients_
    E = np.eye(N) - A @ X.T
    F = 0.5 * np.trace(E.T @ K @ E) + 0.05 * np.linalg.norm(X, axis=0).sum()
    if Class is KDPLOCSVM:
        counts = (make(Class, K, kernel_params={"coding": coding}, max_iter=0).train_codes_.toarray() != 0).sum(axis=0)
        F += 0.05 * counts / np.linalg.norm(counts) @ np.abs(X).sum(axis=0)
    assert model.history_["F"][-1] == pytest.approx(F, rel=1e-8)
