"""The one-class SVM of rows with more columns than rows: other solvers, its own certificate, any scale, any rank."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse
from sklearn.svm import OneClassSVM

from oddatom import DegenerateMarginWarning, LinearOneClassSVM
from oddatom.boundary.plane import fit_one_class
from oddatom.boundary.weighted import fit_weighted
from oddatom.passes.group import ShardGroup
from oddatom.rows.array import OneClassShard, WeightedOneClassShard, row_space
from oddatom.rows.array.row_space import as_block, fit_rows, row_coordinates
from reference import one_class_objective

KINDS = ("normal", "sparse", "duplicates", "low_rank", "wide_norms", "alike", "some_zero_rows", "zero_columns")


def wide_rows(kind="normal", N=40, n=120, seed=0):
    """Rows of one kind, with a margin at nu = 0.5; CSR where the kind is "sparse"."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0.5, 1.0, (N, n))
    if kind == "sparse":
        return scipy.sparse.csr_array(np.abs(X) * (rng.random((N, n)) < 0.08))
    if kind == "duplicates":
        X = X[rng.integers(9, size=N)]
    elif kind == "low_rank":
        X = rng.normal(0.5, 1.0, (N, 5)) @ rng.normal(0.5, 1.0, (5, n))
    elif kind == "wide_norms":
        X *= 10.0 ** rng.uniform(-3.0, 0.0, (N, 1))
    elif kind == "alike":
        X = X[0] + 1e-5 * X
    elif kind == "some_zero_rows":
        X[rng.choice(N, N // 5, replace=False)] = 0.0
    elif kind == "zero_columns":
        X[:, rng.choice(n, n // 4, replace=False)] = 0.0
    return X


def dense(X):
    return X.toarray() if scipy.sparse.issparse(X) else X


def in_columns(X, nu, weights=None):
    """What the solver finds without the space of the rows."""
    if weights is None:
        return fit_one_class(ShardGroup([OneClassShard(as_block(X))]), X.shape[1], nu)
    return fit_weighted(ShardGroup([WeightedOneClassShard(as_block(X), weights)]), X.shape[1], nu)


@pytest.fixture
def by_rows(monkeypatch):
    """The widths of the rows that the solvers saw."""
    seen = []

    def noted(solver):
        def solve(group, n, nu, **options):
            seen.append(n)
            return solver(group, n, nu, **options)

        return solve

    monkeypatch.setattr(row_space, "fit_one_class", noted(fit_one_class))
    monkeypatch.setattr(row_space, "fit_weighted", noted(fit_weighted))
    return seen


@pytest.mark.parametrize("nu", [1e-5, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_certificate_worked_out_from_the_rows(kind, nu, by_rows):
    X = wide_rows(kind)
    fit, lam = fit_rows(X, nu)
    assert all(n <= X.shape[0] for n in by_rows) or fit.n_steps == 0
    X = dense(X)
    unit2, C = np.mean(np.sum(X**2, axis=1)), nu * len(X)
    assert lam.min() >= 0.0
    assert lam.max() <= (1.0 + 1e-14) / C
    assert lam.sum() == pytest.approx(1.0, abs=1e-13)
    w = lam @ X
    gap = (one_class_objective(X, fit.w, fit.rho, nu) + 0.5 * w @ w) / unit2
    rounding = 1e-12 + 1e-15 / nu
    assert -rounding <= gap <= 1e-8
    assert abs(gap - fit.gap) <= rounding
    assert fit.objective == pytest.approx(one_class_objective(X, fit.w, fit.rho, nu), abs=rounding * unit2)
    assert fit.scale == pytest.approx(np.sqrt(unit2)) or fit.n_steps == 0
    if not fit.degenerate:
        np.testing.assert_allclose(fit.w, w, rtol=0, atol=1e-13 * np.sqrt(unit2))
    e = (X @ fit.w - fit.rho) / unit2
    assert fit.residual == pytest.approx(np.max(np.abs(C * lam - np.clip(C * lam - e, 0.0, 1.0))), abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_solver_finds_in_all_columns(kind, weighted):
    X = wide_rows(kind)
    weights = np.random.default_rng(1).integers(1, 5, X.shape[0]) * 0.5 if weighted else None
    for nu in (0.1, 0.5):
        fit, other = fit_rows(X, nu, weights)[0], in_columns(X, nu, weights)
        assert fit.degenerate == other.degenerate
        # ½‖w − w*‖² is at most the gap: two of them, in units of the rows.
        away = np.linalg.norm(fit.w - other.w) / max(other.scale, 1e-300)
        assert away <= np.sqrt(2.0 * max(fit.gap, 1e-14)) + np.sqrt(2.0 * max(other.gap, 1e-14))
        assert fit.objective == pytest.approx(other.objective, abs=2e-8 * max(other.scale, 1.0) ** 2)


@pytest.mark.parametrize("kind", ["normal", "sparse", "duplicates", "low_rank"])
def test_what_libsvm_finds(kind):
    X, nu = wide_rows(kind, N=30, n=200), 0.3
    model = LinearOneClassSVM(nu=nu).fit(X)
    other = OneClassSVM(kernel="linear", nu=nu, tol=1e-10).fit(X)
    C, size = nu * X.shape[0], np.mean(np.sum(dense(X) ** 2, axis=1))
    scores = other.decision_function(X) / C
    room = 1e-6 * np.sqrt(size) * np.linalg.norm(model.coef_)  # that `offset_` leaves rows on the margin
    np.testing.assert_allclose(model.decision_function(X) - room, scores, rtol=0, atol=1e-6 * size)
    np.testing.assert_allclose(model.score_samples(X), other.score_samples(X) / C, rtol=0, atol=1e-6 * size)


def test_what_a_convex_solver_finds_with_weights():
    X, nu = wide_rows(N=20, n=50), 0.2
    weights = np.random.default_rng(1).gamma(0.5, 1.0, 20) + 1e-3
    w, rho = cp.Variable(50), cp.Variable()
    slack = weights @ cp.pos(rho - X @ w) / (nu * weights.sum())
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) - rho + slack)).solve(solver="CLARABEL", tol_gap_abs=1e-11)
    model = LinearOneClassSVM(nu=nu).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.coef_[0], w.value, rtol=0, atol=1e-5 * np.abs(w.value).max())
    np.testing.assert_allclose(model.offset_, rho.value, rtol=1e-4)
    assert model.gap_ <= 1e-8


@pytest.mark.parametrize("sparse", [False, True])
def test_whole_weights_are_repeated_rows(sparse, by_rows):
    X = wide_rows(N=25, n=300)
    weights = np.random.default_rng(2).integers(0, 4, 25)
    given = scipy.sparse.csr_array(X) if sparse else X
    model = LinearOneClassSVM(nu=0.3).fit(given, sample_weight=weights)
    again = LinearOneClassSVM(nu=0.3).fit(np.repeat(X, weights, axis=0))
    assert max(by_rows) <= 25
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=0, atol=1e-5 * np.abs(again.coef_).max())
    assert model.offset_ == pytest.approx(again.offset_, rel=1e-5)
    assert model.dual_coef_.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(model.dual_coef_ @ X[weights > 0], model.coef_[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_the_rows_and_columns_of_zeros(kind):
    X, rng = wide_rows(kind), np.random.default_rng(3)
    order, places = rng.permutation(X.shape[0]), np.sort(rng.permutation(500)[: X.shape[1]])
    spread = scipy.sparse.lil_array((X.shape[0], 500))
    spread[:, places] = dense(X)[order]
    model = LinearOneClassSVM(nu=0.4).fit(X)
    for given in (spread.tocsr(), spread.toarray()):
        other = LinearOneClassSVM(nu=0.4).fit(given)
        size = np.abs(model.coef_).max()
        np.testing.assert_allclose(other.coef_[0, places], model.coef_[0], rtol=0, atol=1e-6 * size)
        np.testing.assert_allclose(other.dual_coef_ @ dense(X)[order], model.coef_[0], rtol=0, atol=1e-6 * size)
        assert not np.delete(other.coef_[0], places).any()
        assert other.offset_ == pytest.approx(model.offset_, rel=1e-6)


def test_columns_of_zeros_change_no_bit():
    X = wide_rows(N=60, n=50)  # more rows than columns: solved in its columns, with others that hold nothing too
    stored = scipy.sparse.csr_array(np.hstack([X, np.ones((60, 50))]))
    stored.data[stored.indices >= 50] = 0.0
    for given, plain in ((np.hstack([X, np.zeros((60, 50))]), X), (stored, scipy.sparse.csr_array(X))):
        model, other = LinearOneClassSVM(nu=0.4).fit(given), LinearOneClassSVM(nu=0.4).fit(plain)
        np.testing.assert_array_equal(model.coef_[:, :50], other.coef_)
        np.testing.assert_array_equal(model.dual_coef_, other.dual_coef_)
        assert (model.offset_, model.gap_, model.n_iter_) == (other.offset_, other.gap_, other.n_iter_)
    fit_rows(stored, 0.4)
    assert stored.nnz == 6000  # the caller's matrix is left alone


@pytest.mark.parametrize("shape", [(30, 30), (60, 20)])
def test_more_rows_than_columns_are_solved_as_they_are(shape, by_rows):
    X = wide_rows("normal", *shape)
    X[:, 3] = 0.0
    fit, other = fit_rows(X, 0.3)[0], in_columns(X, 0.3)
    assert by_rows == [shape[1]]
    np.testing.assert_array_equal(fit.w, other.w)
    assert fit[1:] == other[1:]


@pytest.mark.parametrize("factor", [2.0**-330, 1e-100, 1e100, 2.0**330])
@pytest.mark.parametrize("kind", ["normal", "sparse"])
def test_units_of_the_data(kind, factor):
    X = wide_rows(kind)
    one, two = LinearOneClassSVM(nu=0.2).fit(X), LinearOneClassSVM(nu=0.2).fit(X * factor)
    np.testing.assert_allclose(two.coef_ / factor, one.coef_, rtol=0, atol=1e-7 * np.abs(one.coef_).max())
    np.testing.assert_allclose(two.offset_ / factor / factor, one.offset_, rtol=1e-7)
    assert two.gap_ <= 1e-8


@pytest.mark.parametrize(
    ("kind", "rank"), [("normal", 40), ("sparse", 40), ("low_rank", 5), ("wide_norms", 40), ("alike", 40)]
)
def test_coordinates_have_the_products_of_the_rows(kind, rank):
    X = wide_rows(kind)
    Z = row_coordinates(X)
    assert Z.shape == (40, rank)
    norms = np.linalg.norm(dense(X), axis=1)
    errors = np.abs(Z @ Z.T - dense(X) @ dense(X).T) / np.outer(norms, norms)  # of small rows too
    assert errors.max() <= 40 * 2.3e-16


def test_rank_is_cut_by_row_not_by_the_largest():
    X = wide_rows("normal", 12, 60)
    X[8:] = X[:4] * 1e-9  # copies, far below the others' rounding
    X[7] *= 1e-9  # small, but a direction of its own
    assert row_coordinates(X).shape == (12, 8)


@pytest.mark.parametrize("density", [0.02, 0.6])
def test_sparse_products_by_entries_or_by_blocks(density, monkeypatch):
    monkeypatch.setattr(row_space, "BLOCK", 20 * 7)
    X = scipy.sparse.random(20, 101, density, format="csr", random_state=0)
    np.testing.assert_allclose(row_space._products(X), X.toarray() @ X.toarray().T, rtol=1e-14)


def test_no_margin_is_seen():
    X = wide_rows(N=20, n=60)
    X -= X.mean(axis=0)
    for weights in (None, np.full(20, 2.0)):
        model = LinearOneClassSVM(nu=1.0)
        with pytest.warns(DegenerateMarginWarning, match="larger nu"):
            model.fit(X, sample_weight=weights)
        assert not model.coef_.any()
        assert model.offset_ == 0.0
        assert model.dual_coef_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("weights", [None, np.full(10, 3.0)])
def test_rows_of_zeros_carry_the_weight(weights):
    X = wide_rows(N=10, n=30)
    X[:6] = 0.0
    with pytest.warns(DegenerateMarginWarning, match="larger nu"):
        model = LinearOneClassSVM(nu=0.5).fit(X, sample_weight=weights)
    assert not model.dual_coef_[6:].any()
    assert model.dual_coef_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("weights", [None, np.full(3, 2.0)])
@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_nothing_but_zeros(make, weights):
    with pytest.warns(DegenerateMarginWarning, match="larger nu"):
        model = LinearOneClassSVM(nu=0.5).fit(make(np.zeros((3, 9))), sample_weight=weights)
    np.testing.assert_array_equal(model.coef_, np.zeros((1, 9)))
    assert model.dual_coef_.sum() == pytest.approx(1.0)


def test_a_margin_far_below_the_rows_is_seen():
    X = wide_rows("normal", 20, 60)
    X = X - X.mean(axis=0) + 1e-3  # at nu = 1 the plane is the mean
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearOneClassSVM(nu=1.0).fit(X)
    np.testing.assert_allclose(model.coef_, 1e-3, rtol=1e-9)


def test_two_million_columns():
    rng = np.random.default_rng(0)
    indices = np.sort(rng.choice(2_000_000, (50, 40)), axis=1).astype(np.int32)
    indptr = np.arange(0, 2001, 40, dtype=np.int32)
    X = scipy.sparse.csr_array((rng.random(2000) + 0.1, indices.ravel(), indptr), shape=(50, 2_000_000))
    model = LinearOneClassSVM(nu=0.1).fit(X)
    assert model.gap_ <= 1e-8
    np.testing.assert_allclose(model.score_samples(X), X @ model.coef_[0], rtol=1e-12)
    np.testing.assert_allclose(model.dual_coef_ @ X, model.coef_[0], rtol=0, atol=1e-14)
    other = OneClassSVM(kernel="linear", nu=0.1, tol=1e-10).fit(X)
    np.testing.assert_allclose(model.score_samples(X), other.score_samples(X) / 5.0, rtol=1e-6)


def test_what_does_not_fit_is_refused_before_it_is_tried(monkeypatch, by_rows):
    X = scipy.sparse.random(300, 2000, 0.05, format="csr", random_state=0)
    monkeypatch.setattr(row_space, "usable_memory", lambda: 4_000_000)
    monkeypatch.setattr(row_space, "_products", lambda _: pytest.fail("allocated"))
    message = r"300 rows × 2,000 columns \(2,000 of them not all zero\) takes 0\.00437 GB, of 0\.004 GB .* sample of"
    with pytest.raises(MemoryError, match=message):
        LinearOneClassSVM().fit(X)
    with pytest.raises(MemoryError, match=r"takes .* GB, of 0\.004 GB"):
        LinearOneClassSVM().fit(scipy.sparse.random(900, 800, 0.1, "csr", random_state=0))  # more rows than columns
    assert by_rows == []


def test_columns_of_zeros_are_left_out_where_memory_is_short(monkeypatch, by_rows):
    X = np.zeros((400, 300))
    X[:, :20] = wide_rows("normal", 400, 20)
    monkeypatch.setattr(row_space, "usable_memory", lambda: 1_000_000)
    model = LinearOneClassSVM(nu=0.3).fit(scipy.sparse.csr_array(X))
    assert by_rows == [20]
    assert model.coef_.shape == (1, 300)
    assert model.gap_ <= 1e-8


def test_rows_a_little_wide_are_solved_in_columns_where_memory_is_short(monkeypatch, by_rows):
    X = scipy.sparse.random(100, 110, 0.5, format="csr", random_state=0)
    monkeypatch.setattr(row_space, "usable_memory", lambda: 400_000)
    LinearOneClassSVM(nu=0.3).fit(X)
    assert by_rows == [110]


def test_sums_by_chunk_are_counted():
    assert row_space._bytes_in_columns(1_000_000, 20_000, False) > 25 * 8 * 20_000**2
    assert row_space._bytes_in_columns(1_000_000, 20_000, True) < 4 * 8 * 20_001**2


def test_large_margins_of_sparse_rows_stay_sparse(monkeypatch):
    model = LinearOneClassSVM(nu=0.3).fit(wide_rows("sparse"))
    model.coef_[:] = 2.0**600
    model.coef_[0, 4:] = 2.0**500
    X = np.zeros((4, 120))
    X[0, :2] = 2.0**424 * np.array([1.0, 2.0**-10 - 1.0])  # products of 2¹⁰²⁴ that cancel
    X[1, 7:9] = 2.0**524 * np.array([1.0, 2.0**-10 - 1.0])
    X[2, 5] = -(2.0**900)
    X = scipy.sparse.csr_array(X)
    monkeypatch.setattr(scipy.sparse.csr_array, "toarray", lambda *_: pytest.fail("dense"))
    most = np.finfo(np.float64).max
    np.testing.assert_array_equal(model.score_samples(X), [2.0**1014, 2.0**1014, -most, 0.0])
