"""Every learned detector's thresholds and p-values."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from learned import KERNEL, first_atoms, make_detector, rows, same_model
from oddatom import DegenerateMarginWarning
from oddatom.decisions import Threshold, auto_offset, benjamini_hochberg
from oddatom.scores import SCORES
from reference import cross_conformal

NEW = rows(40, seed=7)
NEW[:15] *= np.random.default_rng(8).uniform(-2, 2, (15, 6))


@pytest.fixture(scope="module")
def calibrated(make, X):
    return make(n_folds=4).fit(X)


# Thresholds


@pytest.mark.parametrize("score", [name for name in SCORES if name != "loda"])  # of histograms: scores tie
def test_thresholds(make, X, score):
    model = make(scoring=score).fit(X)
    scores, svm = model.score_samples(X), model.offset_
    for share in (0.05, 0.1, 0.29, 0.5):
        flagged = model.set_threshold(share).predict(X) == -1
        assert flagged.sum() == int(share * len(X) + 1e-9)  # no two scores tie
        assert scores[flagged].max() < scores[~flagged].min()
        assert make(scoring=score, threshold=share).fit(X).offset_ == model.offset_
    model.set_threshold("auto")
    assert model.offset_ == pytest.approx(auto_offset(scores), abs=2e-6 * np.abs(scores).max())
    assert_array_equal(model.predict(X), np.where(scores >= model.offset_, 1, -1))
    assert model.set_threshold("svm").offset_ == svm


def test_set_threshold_learns_nothing(make, fitted, X):
    model = make().fit(X)
    assert model.set_threshold(0.3) is model
    assert model.threshold_ == Threshold("share", 0.3)
    assert model.get_params() == clone(model).get_params() == make().get_params()
    assert_array_equal(model.score_samples(NEW), fitted.score_samples(NEW))
    same_model(model.set_threshold("svm"), fitted)


def test_shares_with_ties(make, X):
    """Rows that tie at the cut are all inliers: never more than the share is flagged."""
    doubled = np.repeat(X, 2, axis=0)
    model = make(threshold=0.1).fit(doubled[:-1])
    flagged = np.sum(model.predict(doubled[:-1]) == -1)
    assert 20 <= flagged <= 0.1 * (len(doubled) - 1)


@pytest.mark.parametrize("threshold", [0.6, "all", ("fdr", 2)])
def test_bad_thresholds(make, fitted, name, X, threshold):
    with pytest.raises(ValueError, match=f"The 'threshold' parameter of {name} must be 'svm', 'auto'.* instead"):
        make(threshold=threshold).fit(X)
    before = fitted.offset_
    with pytest.raises(ValueError, match=f"The 'threshold' parameter of {name}"):
        fitted.set_threshold(threshold)
    assert (fitted.offset_, fitted.threshold) == (before, "svm")


def test_fdr_needs_calibration(make, fitted, name, X):
    message = f"'threshold' parameter of {name} must not be 'fdr' without p-values. .* instead; fit with n_folds=5"
    for rows_ in (X, np.full_like(X, np.nan)):  # before any work: the rows are not looked at
        with pytest.raises(ValueError, match=message):
            make(threshold=("fdr", 0.2)).fit(rows_)
    with pytest.raises(ValueError, match=message):
        fitted.set_threshold("fdr")
    assert fitted.threshold == "svm"


# p-values


def test_calibration_leaves_the_model_as_it_is(make, fitted, calibrated, X):
    same_model(calibrated, fitted)
    for random_state in (np.random.RandomState(3), None):
        states, models = [], []
        for n_folds in (None, 3):
            np.random.seed(5)  # noqa: NPY002  what random_state=None draws from
            rng = random_state if random_state is None else np.random.RandomState(3)
            models.append(make(random_state=rng, n_folds=n_folds).fit(X))
            states.append(None if rng is None else rng.randint(2**31))
        same_model(*models)
        assert states[0] == states[1]  # a generator is left where the fit alone leaves it


def test_p_values_by_counting(make, calibrated, X):
    """Fit every fold's model by hand, from its parameters and the rows without the fold."""
    assert len(calibrated.fold_models_) == len(calibrated.fold_rows_) == 4
    assert_array_equal(np.sort(np.concatenate(calibrated.fold_rows_)), np.arange(len(X)))
    held_out, scores = [], []
    for fold, rows_out in zip(calibrated.fold_models_, calibrated.fold_rows_, strict=True):
        model = make(random_state=fold.random_state).fit(np.delete(X, rows_out, axis=0))
        assert_array_equal(model.score_samples(NEW), fold.score_samples(NEW))
        held_out.append(model.score_samples(X[rows_out]))
        scores.append(model.score_samples(NEW))
    p = calibrated.p_values(NEW)
    assert_allclose(p, cross_conformal(held_out, np.column_stack(scores)), rtol=1e-14)
    assert len({fold.random_state for fold in calibrated.fold_models_}) == 4


def test_p_values_do_not_depend_on_the_batch(calibrated):
    p = calibrated.p_values(NEW)
    assert_array_equal(np.concatenate([calibrated.p_values(NEW[[j]]) for j in range(len(NEW))]), p)
    assert_array_equal(pickle.loads(pickle.dumps(calibrated)).p_values(NEW), p)


def test_p_values_again(make, calibrated, X):
    assert_array_equal(make(n_folds=4).fit(X).p_values(NEW), calibrated.p_values(NEW))
    other = make(n_folds=4, random_state=1).fit(X)
    assert not all(map(np.array_equal, other.fold_rows_, calibrated.fold_rows_))


@pytest.mark.parametrize("score", ["residual", "description_length"])
def test_p_values_of_other_scores(make, X, score):
    model = make(scoring=score, n_folds=3, threshold="auto").fit(X)
    wanted = cross_conformal(
        [fold.score_samples(X[out]) for fold, out in zip(model.fold_models_, model.fold_rows_, strict=True)],
        np.column_stack([fold.score_parts(NEW)[score] for fold in model.fold_models_]),
    )
    assert_allclose(model.p_values(NEW), wanted, rtol=1e-14)


def test_predict_by_fdr(calibrated, X):
    model = pickle.loads(pickle.dumps(calibrated))
    p = model.p_values(NEW)
    for threshold, q in (("fdr", 0.1), (("fdr", 0.4), 0.4)):
        labels = model.set_threshold(threshold).predict(NEW)
        assert_array_equal(labels, np.where(benjamini_hochberg(p, q), -1, 1))
    assert np.isfinite(model.offset_)
    assert (model.decision_function(X) > 0).all()
    assert model.fit(X).threshold_ == Threshold("svm")  # the parameter, which set_threshold leaves alone


def test_no_p_values_without_calibration(make, fitted, name, X):
    message = f"'n_folds' parameter of {name} must be a number of folds .* Got None instead; fit with n_folds=5"
    with pytest.raises(ValueError, match=message):
        fitted.p_values(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        make(n_folds=3).p_values(X)
    again = make(n_folds=2).fit(X).set_params(n_folds=None).fit(X)
    with pytest.raises(ValueError, match=message):
        again.p_values(X)


@pytest.mark.parametrize(("n_folds", "n"), [(121, 120), (3, 2), (2, 3), (2, 2)])
def test_too_few_rows_for_the_folds(make, name, n_folds, n):
    message = f"'n_folds' parameter of {name} must leave .* Got {n_folds} with {n} rows instead; pass more rows"
    with pytest.raises(ValueError, match=message):
        make(n_folds=n_folds).fit(rows(n))


@pytest.mark.filterwarnings("ignore::oddatom.OddAtomWarning")
@pytest.mark.parametrize(("n_folds", "n"), [(3, 3), (2, 4), (7, 7)])
def test_just_enough_rows_for_the_folds(make, n_folds, n):
    model = make(n_folds=n_folds, nu=0.5).fit(rows(n))
    assert_allclose(np.unique(model.p_values(NEW) * (n + 1)).round(9) % 1, 0)


@pytest.mark.parametrize("n_folds", [1, 0, 2.5, "5"])
def test_bad_calibrations(make, name, X, n_folds):
    with pytest.raises(ValueError, match=f"The 'n_folds' parameter of {name} .* instead. It is the number of folds"):
        make(n_folds=n_folds).fit(X)


def test_folds_do_not_repeat_warnings():
    centred = np.random.default_rng(0).standard_normal((90, 5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make_detector("DL", n_folds=3).fit(centred)
    assert [w.category for w in caught] == [DegenerateMarginWarning]
    assert caught[0].filename == __file__


def test_folds_are_quiet(X, caplog):
    with caplog.at_level("INFO", logger="oddatom"):
        make_detector("DL", n_folds=3, verbose=1, max_iter=2).fit(X)
    assert len(caplog.records) == 2


def test_a_fold_that_cannot_be_fitted():
    X = np.zeros((6, 3))
    X[2] = 1.0
    with pytest.raises(
        ValueError, match=r"DLOCSVM cannot be fitted without one of 3 folds\. X holds nothing but zeros"
    ):
        make_detector("DL", n_folds=3, nu=0.5).fit(X)


def test_folds_keep_nothing_by_row(calibrated, X):
    for fold in calibrated.fold_models_:
        sizes = {name: np.shape(value) for name, value in vars(fold).items() if isinstance(value, np.ndarray)}
        assert not [
            name for name, shape in sizes.items() if shape[:1] == (len(X) - 30,) and name != "landmark_indices_"
        ]


# Kernels


def gram(A, B):
    return np.exp(-((A[:, None] - B) ** 2).sum(axis=2) / 4)


@pytest.mark.parametrize("kind", KERNEL)
def test_precomputed(kind, X):
    """A fold leaves out rows and columns; the same kernel as a function gives the same p-values."""
    model = make_detector(kind, kernel="precomputed", n_atoms=8, n_nonzero=2, n_folds=3).fit(gram(X, X))
    twin = make_detector(kind, kernel="precomputed", n_atoms=8, n_nonzero=2)
    held_out, scores = [], []
    for fold, out in zip(model.fold_models_, model.fold_rows_, strict=True):
        kept = np.delete(X, out, axis=0)
        one = twin.set_params(random_state=fold.random_state).fit(gram(kept, kept))
        held_out.append(one.score_samples(gram(X[out], kept)))
        scores.append(one.score_samples(gram(NEW, kept)))
    p = model.p_values(gram(NEW, X))
    assert_allclose(p, cross_conformal(held_out, np.column_stack(scores)), rtol=1e-14)
    with pytest.raises(ValueError, match="X has 40 features"):
        model.p_values(gram(NEW, NEW))


@pytest.mark.parametrize("kind", KERNEL)
@pytest.mark.parametrize("alone", [False, True])
def test_first_coefficients_without_a_fold(kind, X, alone):
    """`init` has a column for each training row; atoms that are single rows may be left out with them."""
    A = np.eye(len(X))[:9] if alone else first_atoms(9, len(X))
    model = make_detector(kind, init=A, n_nonzero=2, n_folds=3).fit(X)
    for fold, out in zip(model.fold_models_, model.fold_rows_, strict=True):
        if alone and (out < 9).any():
            assert fold.init == "random"
        else:
            assert_array_equal(fold.init, np.delete(A, out, axis=1))
        assert fold.n_atoms == 9
    assert np.isfinite(model.p_values(NEW)).all()
