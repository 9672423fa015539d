"""KDLOCSVM and KDPLOCSVM: limits that must equal the linear detectors, kernels, landmarks, codings, coefficients."""

import doctest
import pickle

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import pairwise
from sklearn.utils.estimator_checks import parametrize_with_checks

import oddatom
from learned import KERNEL, SCALINGS, dense, kernel_only, make_detector, rows, same_model
from oddatom import (
    DLOCSVM,
    DPLOCSVM,
    KDLOCSVM,
    KDPLOCSVM,
    DegenerateMarginWarning,
    IndefiniteKernelWarning,
)
from oddatom.arrays import threads as _threads
from oddatom.estimators import _grouped
from oddatom.kernels.functions import Kernel
from oddatom.scaling.array_columns import fit_scaling
from reference import omp

pytestmark = pytest.mark.filterwarnings("ignore::oddatom.DegenerateMarginWarning")
quiet = pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
NAMES = ("rbf", "laplacian", "polynomial", "sigmoid", "linear", "cosine")
# Of these, the coordinates of the rows are well conditioned.
SHARP = {"kernel": "laplacian", "gamma": 20.0, "n_atoms": 8, "n_nonzero": 2}


def own_rbf(Y, Z):
    return np.exp(-30.0 * ((Y[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))


def units(X):
    return X / np.linalg.norm(X)


def coefficients(n=8, N=120, seed=3):
    return np.random.default_rng(seed).uniform(size=(n, N))


@parametrize_with_checks(
    [
        KDLOCSVM.paper(),
        KDLOCSVM.paper(
            kernel="polynomial", gamma="median", scaling="standard", kernel_params={"coding": "gram"}, init="data"
        ),
        KDPLOCSVM.paper(),
        KDPLOCSVM.paper(
            approximation=("leverage", 7),
            representation="omp",
            scaling="robust",
            scoring="residual",
            threshold=0.1,
            n_folds=2,
        ),
    ],
)
@quiet
@pytest.mark.contract
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# With a linear kernel and matching pursuit in its space, they are the linear detectors


LINEAR = {"kernel": "linear", "kernel_params": {"coding": "gram"}}


@pytest.mark.parametrize("penalty", ["l21", "l20", "l2eps"])
@pytest.mark.parametrize("scaling", [None, "robust"])
def test_a_linear_kernel_is_dl(X, penalty, scaling):
    beta = {"l21": 0.05, "l20": 0.002, "l2eps": 0.05}[penalty]
    common = {"penalty": penalty, "beta": beta, "coupling": ("eta", 3.0), "scaling": scaling, "n_nonzero": 3, "nu": 0.2}
    kernel = KDLOCSVM.paper(init=coefficients(), **LINEAR, **common).fit(X)
    linear = DLOCSVM.paper(init=coefficients() @ kernel._kernel_rows(X), **common).fit(X)
    assert linear.active_atoms_.sum() > 1
    assert_same_detector(kernel, linear, X)


@pytest.mark.parametrize("representation", ["analysis", "omp"])
@pytest.mark.parametrize("penalty", ["l21", "l20", "l2eps"])
def test_a_linear_kernel_is_dpl(X, penalty, representation):
    beta = {"l21": 0.02, "l20": 0.0005, "l2eps": 0.02}[penalty]
    common = {
        "penalty": penalty,
        "beta": beta,
        "coupling": ("eta", 3.0),
        "n_nonzero": 3,
        "representation": representation,
    }
    kernel = KDPLOCSVM.paper(init=coefficients(), alpha=0.01, **LINEAR, **common).fit(X)
    linear = DPLOCSVM.paper(init=coefficients() @ units(X), alpha=0.01, **common).fit(X)
    assert linear.active_atoms_.sum() > 1
    assert_same_detector(kernel, linear, X)
    assert kernel.alpha_ == linear.alpha_ == 0.01
    # P φ(y) = P_linear y: the analysis atoms are the same combinations of features.
    over_features = kernel.kernel_map_.coefficients(kernel.analysis_dictionary_).T @ units(X)
    size = np.abs(linear.analysis_dictionary_).max()
    assert_allclose(over_features, linear.analysis_dictionary_, atol=1e-7 * size)


def assert_same_detector(kernel, linear, X):
    new = np.vstack([X, rows(40, seed=5), -rows(5, seed=6)])
    assert_array_equal(kernel.active_atoms_, linear.active_atoms_)
    assert_allclose(kernel.history_["total"], linear.history_["total"], rtol=1e-8)
    Y = kernel._kernel_rows(X)
    assert_allclose(kernel.dictionary_coefficients_.T @ Y, linear.dictionary_, atol=1e-7)
    scores = linear.score_samples(new)
    assert_allclose(kernel.score_samples(new), scores, atol=1e-8 * np.abs(scores).max())
    codes = dense(linear.transform(new))
    assert_allclose(dense(kernel.transform(new)), codes, atol=1e-7 * np.abs(codes).max())
    assert kernel.offset_ == pytest.approx(linear.offset_, rel=1e-6)
    assert_array_equal(kernel.predict(new), linear.predict(new))
    assert_array_equal(kernel.detect_batch(new), linear.detect_batch(new))


def test_default_weight_of_the_l1_penalty(X):
    model = KDPLOCSVM.paper(max_iter=0).fit(X)
    assert model.alpha_ == pytest.approx(1 / np.sqrt(120))


# Kernels


@pytest.mark.parametrize("kernel", [*NAMES, own_rbf])
@kernel_only
@quiet
def test_precomputed_is_the_kernel_of_scaled_rows(make, X, kernel):
    new = rows(30, seed=5)
    named = make(
        kernel=kernel,
        gamma=7.0,
        kernel_params={"degree": 2, "coef0": 0.5},
        **{k: SHARP[k] for k in ("n_atoms", "n_nonzero")},
    )
    named.fit(X)
    k = Kernel(kernel, 7.0, 2.0, 0.5)
    K, new_K = k(units(X), units(X)), k(units(new) * np.linalg.norm(new) / np.linalg.norm(X), units(X))
    tol = 1e-14 if kernel in ("linear", "cosine") else None
    matrix = make(kernel="precomputed", kernel_params={"rank_tol": tol}, n_atoms=8, n_nonzero=2).fit(K)
    scores = named.score_samples(new)
    assert_array_equal(matrix.landmark_indices_, named.landmark_indices_)
    assert_allclose(matrix.score_samples(new_K), scores, atol=1e-7 * np.abs(scores).max())
    assert_array_equal(matrix.predict(K), named.predict(X))
    assert_array_equal(matrix.detect_batch(K), named.detect_batch(X))
    assert (named.gamma_, matrix.gamma_) == (7.0, None)
    assert clone(matrix).__sklearn_tags__().input_tags.pairwise
    assert not clone(named).__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("kernel", NAMES)
@quiet
def test_kernels_differ(X, kernel):
    """Each name reaches its kernel, with its parameters, over the scaled rows."""
    parameters = {"gamma": 40.0, "kernel_params": {"degree": 2, "coef0": 0.1}}
    model = KDLOCSVM.paper(kernel=kernel, random_state=0, scaling="robust", **parameters).fit(X)
    Y = model.scaling_.apply(X)
    assert np.linalg.norm(Y) == pytest.approx(1)
    K = {
        "rbf": lambda: pairwise.rbf_kernel(Y, gamma=40.0),
        "laplacian": lambda: pairwise.laplacian_kernel(Y, gamma=40.0),
        "polynomial": lambda: pairwise.polynomial_kernel(Y, degree=2, gamma=40.0, coef0=0.1),
        "sigmoid": lambda: pairwise.sigmoid_kernel(Y, gamma=40.0, coef0=0.1),
        "linear": lambda: Y @ Y.T,
        "cosine": lambda: pairwise.cosine_similarity(Y),
    }[kernel]()
    if kernel == "sigmoid":
        values, V = np.linalg.eigh(K)
        K = (V * np.maximum(values, 0)) @ V.T
    Phi = model._scaled(X)[0]
    assert_allclose(Phi @ Phi.T, K, atol=1e-6 * np.abs(K).max())


def test_gamma_rules(X):
    Y = units(X)
    assert KDLOCSVM.paper(max_iter=0).fit(X).gamma_ == pytest.approx(1 / (6 * Y.var()))
    assert KDLOCSVM.paper(gamma="auto", max_iter=0).fit(X).gamma_ == 1 / 6
    distances = pairwise.euclidean_distances(Y, squared=True)[np.triu_indices(120, 1)]
    assert KDLOCSVM.paper(gamma="median", max_iter=0).fit(X).gamma_ == pytest.approx(1 / np.median(distances))
    wider = [KDLOCSVM.paper(gamma=g, random_state=0).fit(X).score_samples(X) for g in (1.0, 50.0)]
    assert np.abs(wider[0] - wider[1]).max() > 1e-3 * np.abs(wider[0]).max()


def test_defaults_of_precomputed_go_by_the_rows(X):
    model = KDLOCSVM.paper(kernel="precomputed", max_iter=0).fit(own_rbf(units(X), units(X)))
    assert model.dictionary_.shape[0] == 22  # twice the root of 120
    assert model.n_nonzero_ == 3
    model = KDLOCSVM.paper(max_iter=0).fit(X)
    assert (model.dictionary_.shape[0], model.n_nonzero_) == (12, 2)


@pytest.mark.parametrize("Class", [KDLOCSVM, KDPLOCSVM])
def test_a_kernel_that_is_not_positive(X, Class):
    message = r"not positive semi-definite: its negative eigenvalues add up to \d.* % of .* Its positive part is used"
    with pytest.warns(IndefiniteKernelWarning, match=message) as caught:
        Class.paper(kernel="sigmoid", gamma=5.0, random_state=0).fit(X)
    assert caught[0].filename == __file__
    # A matrix and its positive part give the same model, and only the first a warning.
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    values = np.r_[-0.5, -0.3, np.linspace(0.5, 3, 58)]
    K, part = ((Q * v) @ Q.T for v in (values, np.maximum(values, 0)))
    K, part = (K + K.T) / 2, (part + part.T) / 2
    setting = {"kernel": "precomputed", "init": coefficients(6, 60) @ Q[:, 2:] @ Q[:, 2:].T, "n_nonzero": 2}
    with pytest.warns(IndefiniteKernelWarning, match=rf"up to {100 * 0.8 / values[2:].sum():.2g} %"):
        bad = Class.paper(**setting).fit(K)
    good = Class.paper(**setting).fit(part)
    scores = good.score_samples(part)
    assert_allclose(bad.score_samples(part), scores, atol=1e-6 * np.abs(scores).max())
    assert_allclose(bad.score_samples(K), scores, atol=1e-6 * np.abs(scores).max())


@pytest.mark.filterwarnings("error::oddatom.IndefiniteKernelWarning")
@pytest.mark.parametrize("kernel", [*(name for name in NAMES if name != "sigmoid"), own_rbf])
def test_kernels_that_are_positive_do_not_warn(X, kernel):
    KDLOCSVM.paper(kernel=kernel, random_state=0, max_iter=1).fit(X)
    KDLOCSVM.paper(kernel=kernel, random_state=0, max_iter=1).fit(np.repeat(X[:30], 3, axis=0))


# Coordinates


@kernel_only
def test_nystroem_on_all_rows_is_exact(make, X):
    exact = make(approximation=None).fit(X)
    for n, landmarks in ((120, "uniform"), (500, "kmeans++"), (500, "leverage")):
        same_model(make(approximation=(landmarks, n)).fit(X), exact)


@kernel_only
def test_nystroem(make, X):
    new = rows(30, seed=5)
    models = [make(approximation=(way, 9)) for way in ("uniform", "kmeans++", "leverage")]
    chosen = []
    for model in models:
        model.fit(X)
        assert model.landmark_indices_.shape == (9,)
        assert model.dictionary_.shape == (12, 9)
        Y, L = units(X), units(X)[model.landmark_indices_]
        K = Kernel("rbf", model.gamma_)
        Phi = model._scaled(X)[0]
        assert_allclose(Phi @ Phi.T, K(Y, L) @ np.linalg.pinv(K(L, L)) @ K(L, Y), atol=1e-5)
        assert np.isfinite(model.score_samples(new)).all()
        same_model(clone(model).fit(X), model)
        chosen.append(set(model.landmark_indices_))
    assert chosen[0] != chosen[1] != chosen[2] != chosen[0]


def test_auto_is_exact_up_to_some_rows(X, monkeypatch):
    assert (_grouped.EXACT_ROWS, _grouped.N_LANDMARKS) == (4000, 256)
    monkeypatch.setattr(_grouped, "EXACT_ROWS", 119)
    setting = {"gamma": 500.0, "random_state": 0}
    monkeypatch.setattr(_grouped, "N_LANDMARKS", 10)
    assert KDLOCSVM.paper(**setting).fit(X).landmark_indices_.size == 10
    assert KDLOCSVM.paper(approximation=None, **setting).fit(X).landmark_indices_.size > 60
    monkeypatch.setattr(_grouped, "EXACT_ROWS", 120)
    same_model(KDLOCSVM.paper(**setting).fit(X), KDLOCSVM.paper(approximation=None, **setting).fit(X))


def test_rank_tol(X):
    sizes = [
        KDLOCSVM.paper(kernel_params={"rank_tol": tol}, max_iter=0).fit(X).landmark_indices_.size
        for tol in (1e-2, 1e-5, None, 1e-8)
    ]
    assert sizes[0] < sizes[1] < sizes[2] == sizes[3]
    # A column that is 1e5 times smaller than the others is a direction of a linear kernel.
    small = np.column_stack([X, 1e-5 * np.random.default_rng(0).uniform(size=120)])
    assert KDLOCSVM.paper(kernel="linear", max_iter=0).fit(small).landmark_indices_.size == 7
    assert (
        KDLOCSVM.paper(kernel="linear", kernel_params={"rank_tol": 1e-6}, max_iter=0).fit(small).landmark_indices_.size
        == 6
    )


@kernel_only
@pytest.mark.parametrize("approximation", [None, 20])
def test_dictionary_coefficients(make, X, approximation):
    model = make(approximation=approximation, **SHARP).fit(X)
    A, Phi = model.dictionary_coefficients_, model._scaled(X)[0]
    assert A.shape == (120, 8)
    assert_allclose(A.T @ Phi, model.dictionary_, atol=1e-9)
    K = Kernel("laplacian", 20.0)(units(X), units(X))
    assert_allclose(np.diag(A.T @ K @ A), 1, rtol=1e-9)
    others = np.setdiff1d(np.arange(120), model.landmark_indices_)
    assert others.size == (0 if approximation is None else 100)
    assert not A[others].any()


# First dictionaries


@kernel_only
def test_first_dictionaries(make, X):
    setting = {**SHARP, "max_iter": 0}
    K = Kernel("laplacian", 20.0)(units(X), units(X))
    A = coefficients()
    unit = A.T / np.sqrt(np.einsum("ij,jk,ik->i", A, K, A))
    given = make(init=100 * A, **setting).fit(X)
    assert_allclose(given.dictionary_coefficients_, unit, atol=1e-9)
    assert_allclose(make(init=A.tolist(), **setting).fit(X).dictionary_, given.dictionary_)
    drawn = make(init="random", **setting).fit(X).dictionary_coefficients_
    assert drawn.min() >= 0  # uniform combinations of all rows
    assert (drawn > 0).mean() > 0.99
    assert np.std(drawn / drawn.mean(axis=0)) == pytest.approx(3**-0.5, rel=0.1)
    single = make(init="data", **setting).fit(X).dictionary_coefficients_
    assert_allclose(np.sort(np.abs(single), axis=0)[-1], 1, rtol=1e-9)  # k(y, y) = 1: one row an atom
    assert_allclose(np.abs(single).sum(axis=0), 1, rtol=1e-6)
    assert make(init="data", n_atoms=12).fit(rows(5)).dictionary_.shape[0] == 12


# Codings


def dense_omp(Y, D, s):
    indices, values = omp(Y, D, s)
    out = np.zeros((len(Y), len(D)))
    for j, k in zip(*np.nonzero(indices >= 0), strict=True):
        out[j, indices[j, k]] = values[j, k]
    return out


@pytest.mark.parametrize("Class", [KDLOCSVM, KDPLOCSVM])
@pytest.mark.parametrize("coding", ["correlation", "gram"])
def test_codings(X, Class, coding):
    """OMP(AᵀK̃, AᵀKA, s) as the paper has it, or with the correlations AᵀK̃ and the Gram matrix AᵀKA."""
    others = {"representation": "omp", "alpha": 0.002} if Class is KDPLOCSVM else {}
    model = Class.paper(kernel_params={"coding": coding}, random_state=0, beta=0.02, **SHARP, **others).fit(X)
    new = rows(40, seed=5) / np.linalg.norm(X)
    k = Kernel("laplacian", 20.0)
    K, new_K, A = k(units(X), units(X)), k(new, units(X)), model.dictionary_coefficients_[:, model.active_atoms_]
    if coding == "correlation":
        codes = dense_omp(new_K @ A, A.T @ K @ A, 2)
    else:  # pursuit of φ(y) = K̃ K^{−½} with atoms K^{½}A
        values, V = np.linalg.eigh(K)
        codes = dense_omp(new_K @ (V / np.sqrt(values)), A.T @ (V * np.sqrt(values)), 2)
    found = model.transform(rows(40, seed=5))
    assert isinstance(found, scipy.sparse.csr_array)
    assert model.active_atoms_.sum() > 2
    assert_allclose(found.toarray(), codes, atol=1e-8 * np.abs(codes).max())
    assert_allclose(model.score_samples(rows(40, seed=5)), codes @ model.coef_, atol=1e-8 * np.abs(codes).max())


@pytest.mark.parametrize("kind", KERNEL)
@quiet
def test_parameters_count_from_the_next_fit_on(X, kind):
    new = rows(40, seed=5)
    others = {"kernel": "sigmoid", "gamma": 1.0, "approximation": ("leverage", 3)}
    others["kernel_params"] = {"degree": 1, "coef0": 9.0, "rank_tol": 0.1, "coding": "gram"}
    model = make_detector(kind).fit(X)
    scores, codes, labels = model.score_samples(new), dense(model.transform(new)), model.detect_batch(new)
    shares = model.explain(new).by_atom
    model.set_params(**others)
    assert model.kernel_coding_ == "correlation"
    assert_array_equal(model.score_samples(new), scores)
    assert_array_equal(dense(model.transform(new)), codes)
    assert_array_equal(model.detect_batch(new), labels)
    assert_array_equal(model.explain(new).by_atom, shares)
    model.fit(X)
    assert model.kernel_coding_ == "gram"
    same_model(model, make_detector(kind, **others).fit(X))
    precomputed = make_detector(kind).fit(X).set_params(kernel="precomputed")
    assert_array_equal(precomputed.score_samples(new), scores)


@pytest.mark.parametrize("Class", [KDLOCSVM, KDPLOCSVM])
def test_coding_reaches_the_sweeps(X, Class):
    a, b = (
        Class.paper(kernel_params={"coding": coding}, random_state=0, **SHARP).fit(X)
        for coding in ("correlation", "gram")
    )
    assert np.abs(a.history_["F"][0] - b.history_["F"][0]) > 1e-6
    assert np.abs(a.dictionary_ - b.dictionary_).max() > 1e-3


# Scores


@kernel_only
@pytest.mark.parametrize("scaling", SCALINGS)
def test_scores_decisions_and_labels_agree(make, X, scaling):
    model = make(scaling=scaling).fit(X)
    scores, codes = model.score_samples(X), model.transform(X)
    assert_allclose(scores, codes @ model.coef_, atol=1e-7 * np.abs(scores).max())
    assert_array_equal(model.decision_function(X), scores - model.offset_)
    assert_array_equal(model.predict(X), np.where(scores >= model.offset_, 1, -1))
    assert 0 < np.mean(model.predict(X) == -1) <= 0.11
    contributions, shares = model.explain(X)
    assert contributions is None
    assert_allclose(shares, dense(codes) * model.coef_, rtol=1e-13)
    assert shares.shape == (120, model.components_.shape[0])
    assert not hasattr(model, "inverse_transform")


@kernel_only
def test_training_rows_are_coded_as_new_rows(make, X):
    """The same coordinates, bit for bit, and the SVM's own margin on them."""
    model = make(**SHARP).fit(X)
    with _threads.threads(1):
        Phi = model._scaled(X)[0]
        assert_array_equal(model.kernel_map_.apply(fit_scaling(X, None)[1]), Phi)
        assert_array_equal(model._scaled(X[[17]])[0], Phi[[17]])
    codes = dense(model.transform(X))
    assert_array_equal(dense(model.transform(X[30:61])), codes[30:61])
    assert_allclose(codes.T @ model.dual_coef_, model.coef_, atol=1e-9 * np.abs(model.coef_).max())


@kernel_only
@pytest.mark.parametrize("kernel", [*NAMES, "precomputed"])
@quiet
def test_a_score_is_the_same_in_any_batch(make, X, kernel):
    new = own_rbf(units(X), units(X)[:70]) if kernel == "precomputed" else X
    model = make(kernel=kernel).fit(new[:70])
    scores, codes, shares = model.score_samples(new), dense(model.transform(new)), model.explain(new).by_atom
    order = np.random.default_rng(1).permutation(120)
    for some in (order, [3], slice(40, 89)):
        assert_array_equal(model.score_samples(new[some]), scores[some])
        assert_array_equal(dense(model.transform(new[some])), codes[some])
        assert_array_equal(model.explain(new[some]).by_atom, shares[some])


@kernel_only
@pytest.mark.parametrize("approximation", [None, ("leverage", 150)])
def test_threads_do_not_matter(make, monkeypatch, approximation):
    monkeypatch.setattr(_threads, "SERIAL_NS", 100.0)
    X = rows(500)
    setting = {"approximation": approximation, "gamma": 800.0}
    one, two = (make(n_jobs=n, **setting).fit(X) for n in (1, 2))
    same_model(one, two)
    assert one.landmark_indices_.size > 64  # wide enough for BLAS
    assert_array_equal(one.score_samples(X), two.score_samples(X))
    assert_array_equal(dense(one.transform(X)), dense(two.transform(X)))


@kernel_only
def test_order_of_training_rows_does_not_matter(make, X):
    order = np.random.default_rng(2).permutation(120)
    A = coefficients()
    scores = make(init=A, **SHARP).fit(X).score_samples(X)
    shuffled = make(init=A[:, order], **SHARP).fit(X[order]).score_samples(X)
    assert_allclose(shuffled, scores, atol=1e-6 * np.abs(scores).max())


@kernel_only
@pytest.mark.parametrize("kernel", ["precomputed", "cosine", own_rbf])
@pytest.mark.contract
def test_pickle(make, X, kernel):
    train = own_rbf(units(X), units(X)) if kernel == "precomputed" else X
    model = make(kernel=kernel).fit(train)
    twin = pickle.loads(pickle.dumps(model))
    same_model(twin, model)
    assert_array_equal(twin.score_samples(train), model.score_samples(train))


# History


@pytest.mark.parametrize("Class", [KDLOCSVM, KDPLOCSVM])
@pytest.mark.parametrize("coding", ["correlation", "gram"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_the_lagrangian_never_rises(X, Class, coding, kernel):
    beta = 0.001 if kernel == "linear" else 0.05
    setting = {"verbose": 2, "coupling": ("eta", 5.0), "n_nonzero": 3, "beta": beta, "random_state": 0}
    if Class is KDPLOCSVM:
        setting["alpha"] = beta
    history = Class.paper(kernel=kernel, kernel_params={"coding": coding}, **setting).fit(X).history_
    assert len(history.lagrangian) == 6
    for trace in history.lagrangian:
        assert trace.size > 1
        assert np.diff(trace).max() <= 1e-10 * np.abs(trace).max()
    first = history.lagrangian[0]
    assert first[-1] < first[0] - 1e-4 * abs(first[0])
    assert_allclose(history["total"], history["F"] + 5.0 * history["G"], rtol=1e-12)


# The appendix's algorithms


def appendix(model, K, new_K, tol=None):
    """Literal, with matrices of kernels alone: trims by σ₁ of R in the K-norm, or by ‖bK̃‖ < tol.

    Returns the labels, and what the atoms were trimmed by.
    """
    A, s = model.dictionary_coefficients_, model.n_nonzero_
    codes = dense_omp(new_K @ A, A.T @ K @ A, s)
    E = np.linalg.solve(K, new_K.T) - A @ codes.T
    B = model.kernel_map_.coefficients(model.analysis_dictionary_) if tol is not None else None
    sizes = np.zeros(A.shape[1])
    for i in range(A.shape[1]):
        used = np.flatnonzero(codes[:, i])
        if tol is not None:
            sizes[i] = np.linalg.norm(new_K @ B[:, i])
        elif used.size:
            R = E[:, used] + np.outer(A[:, i], codes[used, i])
            sizes[i] = np.sqrt(np.linalg.eigvalsh(R.T @ K @ R)[-1])
    codes[:, sizes < (model.beta if tol is None else tol)] = 0
    return np.where(codes @ model.train_coef_ - model.train_offset_ <= 0, -1, 1), sizes


@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("named", [True, False])
def test_detect_batch_of_kdl(X, size, named):
    k = Kernel("laplacian", 20.0)
    new = rows(size, seed=7)
    K, new_K = k(units(X), units(X)), k(new / np.linalg.norm(X), units(X))
    setting = SHARP if named else {**SHARP, "kernel": "precomputed"}
    model = KDLOCSVM.paper(beta=0.02, nu=0.11, random_state=0, **setting).fit(X if named else K)
    seen = set()
    for sigma in np.unique(appendix(model, K, new_K)[1]):
        for beta in (0.9999 * sigma, 1.0001 * sigma):
            wanted, _ = appendix(model.set_params(beta=beta), K, new_K)
            assert_array_equal(model.detect_batch(new if named else new_K), wanted)
            seen.add((wanted == 1).sum())
    assert len(seen) > 1


@pytest.mark.parametrize("representation", ["analysis", "omp"])
def test_detect_batch_of_kdpl(X, representation):
    k = Kernel("laplacian", 20.0)
    new = rows(40, seed=7)
    K, new_K = k(units(X), units(X)), k(new / np.linalg.norm(X), units(X))
    model = KDPLOCSVM.paper(
        beta=0.02, alpha=0.002, nu=0.11, representation=representation, random_state=0, **SHARP
    ).fit(X)
    seen = set()
    for norm in np.unique(appendix(model, K, new_K, 0.0)[1]):
        for tol in (0.9999 * norm, 1.0001 * norm):
            wanted, _ = appendix(model, K, new_K, tol)
            assert_array_equal(model.detect_batch(new, tol=tol), wanted)
            seen.add((wanted == 1).sum())
    assert len(seen) > 1


def test_detect_batch_with_true_kernel_omp(X):
    """The codes of the batch are those of the detector's own coding."""
    model = KDLOCSVM.paper(kernel_params={"coding": "gram"}, beta=1e-6, nu=0.11, random_state=0, **SHARP).fit(X)
    new = rows(40, seed=7)
    assert model.active_atoms_.all()
    decision = model.transform(new) @ model.train_coef_ - model.train_offset_
    assert_array_equal(model.detect_batch(new), np.where(decision <= 0, -1, 1))


@kernel_only
def test_detect_batch_says_when_there_is_no_margin(make):
    half = np.random.default_rng(0).standard_normal((50, 4))
    X = np.vstack([half, -half])
    model = make(kernel="linear", kernel_params={"coding": "gram"}, nu=0.5)
    with pytest.warns(DegenerateMarginWarning, match=r"every score is 0\. .*Try .*another scaling"):
        model.fit(X)
    assert_array_equal(model.score_samples(X), 0)
    with pytest.warns(DegenerateMarginWarning, match="last sweep .* every row an anomaly"):
        assert (model.detect_batch(X) == -1).all()


def test_docstring_examples():
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for name in ("KDLOCSVM", "KDPLOCSVM"):
        (test,) = finder.find(getattr(oddatom, name), name)
        assert len(test.examples) > 3
        assert runner.run(test).failed == 0
