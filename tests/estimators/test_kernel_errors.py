"""What the kernel detectors refuse, odd data, and rows beyond the range of numbers."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from learned import dense, kernel_only, rows
from oddatom import KDLOCSVM, KDPLOCSVM, AllAtomsTrimmedWarning
from oddatom.kernels.functions import Kernel

quiet = pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
EYE = np.eye(9)
LOPSIDED = np.eye(9) + np.diag(np.full(8, 1e-3), 1)
zero_atom = np.ones((3, 120))
zero_atom[1] = 0

BAD_PARAMETERS = {
    "kernel": (
        {"kernel": "gauss"},
        r"'kernel' parameter of NAME must be .* Got 'gauss' instead\. A function is called",
    ),
    "gamma": ({"gamma": 0.0}, r"'gamma' parameter of NAME must be .* Got 0\.0 instead\. It is the kernel's width: 'sc"),
    "gamma name": ({"gamma": "mean"}, r"'gamma' parameter of NAME .* Got 'mean' instead"),
    "degree": (
        {"kernel_params": {"degree": -1}},
        r"'kernel_params' parameter of NAME .* for 'degree'\. Got -1 instead",
    ),
    "coef0": ({"kernel_params": {"coef0": np.inf}}, r"'kernel_params' parameter of NAME .* for 'coef0'\. Got inf"),
    "approximation": ({"approximation": "rff"}, r"'approximation' parameter of NAME .* Got 'rff' instead"),
    "no landmarks": ({"approximation": 0}, r"'approximation' parameter of NAME .* Got 0 instead; None is exact"),
    "a switch": ({"approximation": True}, r"'approximation' parameter of NAME .* Got True instead"),
    "half a landmark": ({"approximation": 2.5}, r"'approximation' parameter of NAME .* Got 2\.5 instead"),
    "choice": ({"approximation": ("first", 9)}, r"choice 'uniform' or 'kmeans\+\+' or 'leverage'\. Got \('first', 9\)"),
    "choice alone": ({"approximation": "leverage"}, r"'approximation' parameter of NAME .* Got 'leverage' instead"),
    "rank_tol": ({"kernel_params": {"rank_tol": 1.0}}, r"'kernel_params' parameter of NAME .* Got 1\.0 instead"),
    "degree beyond floats": ({"kernel_params": {"degree": 10**400}}, r"for 'degree'\. Got 1000"),
    "rank_tol zero": ({"kernel_params": {"rank_tol": 0.0}}, r"'kernel_params' parameter of NAME .* Got 0\.0 instead"),
    "coding": ({"kernel_params": {"coding": "omp"}}, r"'kernel_params' parameter of NAME .* Got 'omp' instead"),
    "unknown key": (
        {"kernel_params": {"gamma": 1.0}},
        r"'kernel_params' parameter of NAME must not have 'gamma'\. .* may have degree, coef0, rank_tol, coding\.",
    ),
    "no dict": ({"kernel_params": "gram"}, r"'kernel_params' parameter of NAME must be None or a dict\. Got 'gram'"),
    "n_atoms": (
        {"n_atoms": 0},
        r"'n_atoms' parameter of NAME .* Got 0 instead\. None takes twice .* where precomputed",
    ),
    "init": (
        {"init": np.ones((4, 6))},
        r"\(n_atoms, n_samples\) = \(4, 120\)\. Got shape \(4, 6\) instead; pass one row",
    ),
    "init rows": (
        {"init": np.ones((4, 120)), "n_atoms": 3},
        r"\(n_atoms, n_samples\) = \(3, 120\)\. Got shape \(4, 120\)",
    ),
    "init name": (
        {"init": "ones"},
        r"'init' parameter of NAME .* Got 'ones' instead\. .* coefficients over the training",
    ),
    "init empty": ({"init": np.empty((0, 120))}, r"\(n_atoms, n_samples\) = \(1, 120\)\. Got shape \(0, 120\)"),
    "zero atom": (
        {"init": zero_atom},
        r"'init' coefficients must make finite, non-zero atoms\. Atom 1 is not; replace",
    ),
    "nan atom": ({"init": np.full((2, 120), np.nan)}, r"must make finite, non-zero atoms\. Atom 0 is not"),
    "function's shape": (
        {"kernel": lambda Y, Z: np.ones(len(Y))},
        r"shape \(120, 120\) .* Got \(120,\) instead; it is ca",
    ),
    "function's nan": (
        {"kernel": lambda Y, Z: Y @ Z.T + np.nan},
        r"kernel function returned NaN or infinity\. Make it",
    ),
    "function's zeros": (
        {"kernel": lambda Y, Z: 0 * Y @ Z.T},
        r"kernel of all training rows is zero: there is nothing",
    ),
    "negative": (
        {"kernel": lambda Y, Z: -(Y @ Z.T)},
        r"positive part of the kernel of all training rows is zero: .* Try another kernel",
    ),
    "overflow": ({"kernel": "polynomial", "gamma": 1e150}, r"overflows on the training rows: .* lower gamma or degree"),
}

BAD_MATRICES = {
    "not square": (
        np.ones((9, 4)),
        {},
        r"NAME is fitted on the square matrix .* Got shape \(9, 4\) instead; pass K\(X, X",
    ),
    "lopsided": (LOPSIDED, {}, r"must be symmetric\. .* mirror image by up to 0\.001; pass \(K \+ K\.T\) / 2"),
    "nan": (np.where(EYE, np.nan, 0), {}, r"NaN or infinity in columns 0, 1, .* NAME needs finite numbers"),
    "zeros": (0 * EYE, {}, r"kernel of all training rows is zero"),
    "large": (1e120 * EYE, {}, r"overflows on the training rows: its values go up to 1e\+120, .* divide a precomputed"),
    "init": (EYE, {"init": np.ones((2, 8))}, r"\(n_atoms, n_samples\) = \(2, 9\)\. Got shape \(2, 8\)"),
}


def assert_unfitted(model):
    assert {name for name in vars(model) if name.endswith("_")} <= {"n_features_in_", "feature_names_in_"}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@kernel_only
@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters(make, name, X, case):
    parameters, message = BAD_PARAMETERS[case]
    model = make(**parameters)
    with pytest.raises(ValueError, match=message.replace("NAME", name)):
        model.fit(X)
    assert_unfitted(model)


@kernel_only
@pytest.mark.parametrize("case", BAD_MATRICES)
def test_bad_matrices(make, name, case):
    K, parameters, message = BAD_MATRICES[case]
    model = make(kernel="precomputed", **parameters)
    with pytest.raises(ValueError, match=message.replace("NAME", name)):
        model.fit(K)
    assert_unfitted(model)


def test_alpha():
    with pytest.raises(
        ValueError, match=r"'alpha' parameter of KDPLOCSVM .* Got -1 instead\. .* 0 switches that penalty"
    ):
        KDPLOCSVM.paper(alpha=-1).fit(rows())
    with pytest.raises(
        ValueError, match=r"'penalty' parameter of KDPLOCSVM must be 'l21' where the solver of pairs is 'gradient'"
    ):
        KDPLOCSVM.paper(solver={"pairs": "gradient"}, penalty="l20").fit(rows())
    with pytest.warns(AllAtomsTrimmedWarning, match=r"beta=0\.1 and alpha=500 outweigh .* Lower beta or alpha"):
        KDPLOCSVM.paper(alpha=500).fit(rows())


def test_rounding_is_not_lopsided():
    K = np.exp(-0.3 * ((rows(30)[:, None] - rows(30)) ** 2).sum(axis=-1))
    noisy = K + 1e-12 * np.random.default_rng(0).standard_normal(K.shape)
    a, b = (
        KDLOCSVM.paper(kernel="precomputed", random_state=0).fit(matrix) for matrix in (noisy, (noisy + noisy.T) / 2)
    )
    assert_allclose(a.dictionary_, b.dictionary_, atol=1e-6)


@kernel_only
@quiet
def test_a_failed_refit_leaves_the_old_model(make, name, X):
    K = Kernel("laplacian", 20.0)(X / 50, X / 50)
    for kernel, train in (("rbf", X), ("precomputed", K)):
        model = make(kernel=kernel).fit(train)
        scores = model.score_samples(train)
        bad = train.copy()
        bad[3, 1] = np.nan
        for parameters, wrong in (
            ({}, bad),
            ({"kernel": "precomputed"}, X[:, :4]),
            ({"gamma": 1e150, "kernel": "poly"}, X),
        ):
            with pytest.raises(ValueError, match=r"NaN|square|overflows"):
                model.set_params(**parameters).fit(wrong)
            assert_array_equal(model.score_samples(train), scores)
            with pytest.raises(ValueError, match=f"3 features, but {name} is expecting {train.shape[1]}"):
                model.score_samples(X[:, :3])
            model.set_params(kernel=kernel, gamma="scale")


@kernel_only
def test_new_rows_of_a_matrix_have_a_column_for_every_training_row(make, name, X):
    K = Kernel("laplacian", 20.0)(X / 50, X / 50)
    model = make(kernel="precomputed").fit(K)
    for method in (model.score_samples, model.transform, model.explain, model.detect_batch, model.predict):
        with pytest.raises(ValueError, match=f"X has 119 features, but {name} is expecting 120"):
            method(K[:5, :119])


# Odd data


@pytest.mark.filterwarnings("error::RuntimeWarning")
@kernel_only
@quiet
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "sigmoid", "linear", "cosine"])
def test_odd_data(make, kernel):
    X = rows(60)
    tables = {
        "constant": np.full((20, 3), 0.1),
        "zero rows": np.vstack([np.zeros((30, 6)), X[:10]]),
        "repeated rows": np.repeat(X[:6], 8, axis=0),
        "few rows": rows(5, m=20),
        "two rows": X[:2],
        "one feature": X[:, :1],
        "one value": np.vstack([np.zeros((19, 2)), [[1.0, 0.0]]]),
    }
    for name, table in tables.items():
        nothing = kernel in ("linear", "cosine") and name in ("zero rows", "one value")  # may be all there is
        for n in (None,) if nothing else (None, 4):
            for landmarks in ("kmeans++", "leverage"):
                model = make(kernel=kernel, approximation=n and (landmarks, n), beta=1e-4)
                scores = model.fit(table).score_samples(table)
                assert np.isfinite(scores).all(), name
                assert np.mean(model.predict(table) == -1) <= 0.5, name
                same = np.flatnonzero((table == table[0]).all(axis=1))
                assert_array_equal(scores[same], scores[0])


@kernel_only
def test_without_atoms(make, X):
    model = make(beta=1e6)
    with pytest.warns(AllAtomsTrimmedWarning, match=r"trimmed every atom: beta=1000000\.0 .* Lower beta") as caught:
        model.fit(X)
    assert caught[0].filename == __file__
    extreme = np.vstack([X, X[:1] * 1e200, np.full((1, 6), 1.7e308)])
    assert_array_equal(model.score_samples(extreme), 0)
    assert_array_equal(model.predict(extreme), 1)
    assert model.transform(extreme).shape == model.explain(extreme).by_atom.shape == (122, 0)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@kernel_only
@quiet
@pytest.mark.parametrize("scaling", [None, "robust"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "sigmoid", "linear", "cosine"])
def test_rows_beyond_the_range_of_numbers(make, X, kernel, scaling):
    """Never NaN; kernels that grow with a row have the side of a smaller one, whatever the size."""
    for degree in (3, 40) if kernel == "polynomial" else (3,):
        model = make(
            kernel=kernel, scaling=scaling, kernel_params={"degree": degree, "coding": "gram"}, beta=1e-3, gamma=0.5
        ).fit(X)
        assert model.components_.shape[0]
        near = np.vstack([X[:5], -X[:5], np.eye(6), -np.eye(6)])
        largest = near / np.abs(near).max(axis=1, keepdims=True) * 1.7e308
        size = 1e3 if degree == 40 else 1e20
        for far in (near * 1e60, near * 1e120, near * 1e200, largest):
            scores, shares, codes = model.score_samples(far), model.explain(far).by_atom, dense(model.transform(far))
            assert np.isfinite(scores).all()
            assert np.isfinite(shares).all()
            assert np.isfinite(codes).all()
            assert_array_equal(model.score_samples(far[[3]]), scores[[3]])
            assert set(model.detect_batch(far)) <= {-1, 1}
            if kernel in ("linear", "cosine", "polynomial", "sigmoid") and degree == 3:
                smaller = model.decision_function(near * size)
                clear = np.abs(smaller) > 1e-6 * np.abs(smaller).max()
                assert_array_equal(model.predict(far)[clear], np.where(smaller >= 0, 1, -1)[clear])
                assert clear.sum() > 5
            if kernel in ("rbf", "laplacian"):
                assert_array_equal(scores, 0)
        mixed = np.vstack([far, X])
        assert_array_equal(model.score_samples(mixed)[len(far) :], model.score_samples(X))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@kernel_only
def test_huge_rows_of_a_matrix(make, X):
    K = Kernel("laplacian", 20.0)(X / 50, X / 50)
    model = make(kernel="precomputed").fit(K)
    scores, codes = model.score_samples(K), dense(model.transform(K))
    new = K.copy()
    before = new.copy()
    for size in (1e99, 1e120, 1e200, 1.7e308):
        far = np.vstack([K[:4] * size, K[4:]])
        found = model.score_samples(far)
        assert_array_equal(found[4:], scores[4:])
        assert_allclose(found[:4] / 1e99, scores[:4] * min(size, 1e100) / 1e99, rtol=1e-6)
        found = dense(model.transform(far))
        assert_allclose(found[:4] / min(size, 1e100), codes[:4], atol=1e-9 * np.abs(codes).max())
    assert_array_equal(new, before)


def test_a_function_cannot_change_the_rows():
    def kernel(Y, Z):
        Z *= 1.1
        return Y @ Z.T

    with pytest.raises(ValueError, match="read-only"):
        KDLOCSVM.paper(kernel=kernel, random_state=0).fit(np.random.default_rng(0).uniform(size=(20, 3)))


@pytest.mark.parametrize("K", [1j * np.ones((20, 20)), scipy.sparse.eye_array(20), None])
def test_a_function_must_return_real_numbers(K):
    with pytest.raises(ValueError, match="must return a dense array of real numbers"):
        KDLOCSVM.paper(kernel=lambda Y, Z: K, random_state=0).fit(np.random.default_rng(0).uniform(size=(20, 3)))


def test_landmarks_that_see_nothing():
    X = np.concatenate([np.zeros((40, 3)), np.eye(3)])
    detector = KDLOCSVM.paper(kernel="linear", approximation=1, random_state=0)
    with pytest.raises(ValueError, match=r"The 1 landmarks see nothing .* or \('leverage', number\)"):
        detector.fit(X)
    for method in ("kmeans++", "leverage"):
        assert clone(detector).set_params(approximation=(method, 1)).fit(X).components_.shape[1] == 1
