"""What a threshold may be, and the mixin on a detector that is nothing but its scores."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, OddAtomDetector, load
from oddatom.cli.learning import results
from oddatom.decisions import (
    Threshold,
    ThresholdMixin,
    auto_offset,
    benjamini_hochberg,
    check_threshold,
    flag,
    share_offset,
    top_offset,
)
from oddatom.report.content import gather_content
from oddatom.table import TableEncoder
from oddatom.table.row_context import Placed
from oddatom.table.table_detector import join_fitted

GOOD = {
    "svm": Threshold("svm"),
    "auto": Threshold("auto"),
    "fdr": Threshold("fdr", 0.1),
    ("fdr", 0.25): Threshold("fdr", 0.25),
    0.5: Threshold("share", 0.5),
    "2%": Threshold("share", 0.02),
    "2.5 %": Threshold("share", 0.025),
    "50%": Threshold("share", 0.5),
    "top=50": Threshold("top", 50.0),
    ("top", 7): Threshold("top", 7.0),
    "p=0.01": Threshold("p", 0.01),
    ("p", 0.2): Threshold("p", 0.2),
    "fdr=0.2": Threshold("fdr", 0.2),
    "fdr = .05": Threshold("fdr", 0.05),
    np.float64(0.01): Threshold("share", 0.01),
}
BAD = ["SVM", "share", 0, 0.0, 0.51, -0.1, 1, True, np.nan, None, ("fdr", 0), ("fdr", 1.0), ("fdr", True), ("fdr",)]
BAD += [
    "0%",
    "51%",
    "%",
    "2",
    "top=0",
    "top=1.5",
    "top=",
    "top",
    "p=0",
    "p=1",
    "p",
    "fdr=1",
    "fdr=x",
    "nu=0.1",
    "p=nan",
]
BAD += [
    "share=0.1",
    ("share", 0.1),
    ("top", 2.5),
    ("p", 0),
    ("share", "2%"),
    "-2%",
    "1e400%",
    "top=-3",
    "top=1e300",
    ("top", True),
]
BAD += [("auto", 0.1), ("fdr", "0.1"), (0.1, 0.2), ("fdr", 0.1, 0.2), ("fdr", np.nan), {"fdr": 0.1}, np.array([0.1])]


class Plain(ThresholdMixin, BaseEstimator):
    """Its score is the first column; p-values are by the second."""

    def __init__(self, threshold="auto"):
        self.threshold = threshold

    def fit(self, X):
        threshold = self._check_threshold(self.threshold, fitted=False)
        self.train_scores_ = np.sort(X[:, 0])
        self._apply_threshold(threshold)
        return self

    def score_samples(self, X):
        return X[:, 0]

    def p_values(self, X):
        return X[:, 1]


class WithSVM(Plain):
    def _svm_offset(self):
        return -0.7


class Uncalibrated(WithSVM):
    def _to_calibrate(self, fitted):
        return {"folds": 3 if fitted else 5}


class Nameless(Plain):
    _thresholds = ("auto",)


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=200), rng.uniform(size=200) ** 6])


@pytest.mark.parametrize("threshold", GOOD)
def test_good(threshold):
    assert check_threshold("A", threshold) == GOOD[threshold]


def test_a_list_is_as_good_as_a_tuple():
    assert check_threshold("A", ["fdr", 0.3]) == Threshold("fdr", 0.3)


@pytest.mark.parametrize("threshold", BAD, ids=repr)
def test_bad(threshold):
    message = r"The 'threshold' parameter of A must be 'svm', 'auto', a float .* Got .* instead\. A float is the share"
    with pytest.raises(ValueError, match=message):
        check_threshold("A", threshold)


def test_names_are_the_detectors_own(X):
    with pytest.raises(ValueError, match=r"of Nameless must be 'auto', a float .* Got 'svm' instead"):
        Nameless("svm").fit(X)


def test_offsets(X):
    scores = X[:, 0]
    model = WithSVM("svm").fit(X)
    wanted = {"svm": -0.7, "auto": auto_offset(scores), 0.1: share_offset(scores, 0.1)}
    for threshold, offset in wanted.items():
        for same in (WithSVM(threshold).fit(X), model.set_threshold(threshold)):
            assert same.offset_ == offset
            assert same.threshold_ == check_threshold("WithSVM", threshold)
            assert_array_equal(same.decision_function(X), scores - offset)
            assert_array_equal(same.predict(X), np.where(scores >= offset, 1, -1))
    assert np.sum(model.predict(X) == -1) == 20
    assert model.set_threshold(0.2) is model


def test_set_threshold_leaves_the_parameter_alone(X):
    model = WithSVM("svm").fit(X)
    for threshold in ("auto", 0.2, ("fdr", 0.3)):
        model.set_threshold(threshold)
        assert model.threshold == clone(model).threshold == model.get_params()["threshold"] == "svm"
    assert model.fit(X).offset_ == -0.7


def test_flag():
    """A row at the cut is normal, also where scores and cut are infinite."""
    scores = np.array([-np.inf, -1.5, -1.0, np.nextafter(-1.0, -2.0), 0.0, np.inf])
    assert_array_equal(flag(scores, -1.0), [True, True, False, True, False, False])
    assert_array_equal(flag(scores, -np.inf), np.zeros(6, bool))
    p = np.array([0.001, 0.5, 0.9, 0.002, 0.7, 0.6])
    for threshold in (Threshold("svm"), Threshold("share", 0.3), None):
        assert_array_equal(flag(scores, -1.0, threshold, p), flag(scores, -1.0))
    assert_array_equal(flag(None, -1.0, Threshold("fdr", 0.1), p), benjamini_hochberg(p, 0.1))
    with pytest.raises(ValueError, match="flagged by p-values"):
        flag(scores, -1.0, Threshold("fdr", 0.1))


@pytest.mark.parametrize("threshold", ["svm", "auto", 0.3, ("fdr", 0.9)])
def test_predict_command_line_and_report_flag_the_same_rows(threshold):
    rows = np.repeat(np.random.default_rng(0).gamma(2.0, size=(30, 3)), 2, axis=0)  # rows that tie at the cut
    model = OddAtomDetector(random_state=0, threshold=threshold).fit(rows)
    rows[:12] *= 1.6  # p-values of training rows alone report none
    rows[:2] *= 5.0  # nor does "auto"
    flagged = model.predict(rows) == -1
    assert 0 < flagged.sum() < 60
    if isinstance(threshold, tuple):  # which the offset does not tell
        assert (flagged != (model.decision_function(rows) < 0)).any()
    table = join_fitted(TableEncoder().fit(rows), model)
    assert_array_equal(results(table, Placed(rows, rows), None).flagged, flagged)
    content = gather_content(model, rows, feature_names=list("abc"))
    assert content.n_anomalies == flagged.sum()
    assert all(row.is_anomaly == flagged[row.row] for row in content.top)


@pytest.mark.parametrize("q", [0.05, 0.1, 0.4])
def test_fdr(X, q):
    model = Plain(("fdr", q)).fit(X)
    assert_array_equal(model.predict(X), np.where(benjamini_hochberg(X[:, 1], q), -1, 1))
    assert np.isfinite(model.offset_)
    assert model.offset_ < X[:, 0].min()
    assert (model.decision_function(X) > 0).all()


def test_only_labels_by_fdr_depend_on_the_other_rows(X):
    def alone(model):
        return np.concatenate([model.predict(X[[j]]) for j in range(len(X))])

    for threshold in ("svm", "auto", 0.1):
        model = WithSVM(threshold).fit(X)
        assert_array_equal(alone(model), model.predict(X))
    model = WithSVM("fdr").fit(X)
    assert (alone(model) != model.predict(X)).any()


def test_the_procedure_reports_none_of_the_rows_it_is_calibrated_on():
    """Their own p-values are 1/N, 2/N, …: the offset of "fdr" lies below all of them."""
    for n in (2, 5, 100):
        for q in (0.1, 0.5, 0.999):
            assert not benjamini_hochberg(np.arange(1, n + 1) / n, q).any()


def test_no_p_values(X):
    with pytest.raises(
        ValueError, match=r"of Uncalibrated must not be 'fdr' without .* Got 'fdr' instead; fit with folds=5\."
    ):
        Uncalibrated("fdr").fit(X)
    model = Uncalibrated("svm").fit(X)
    with pytest.raises(ValueError, match=r"Got \('fdr', 0.2\) instead; fit with folds=3\."):
        model.set_threshold(("fdr", 0.2))
    assert (model.threshold, model.offset_, model.threshold_.kind) == ("svm", -0.7, "svm")


def test_a_refused_threshold_changes_nothing(X):
    model = WithSVM(0.1).fit(X)
    before = model.offset_
    with pytest.raises(ValueError, match=r"Got 0\.7 instead"):
        model.set_threshold(0.7)
    assert (model.threshold, model.offset_, model.threshold_) == (0.1, before, Threshold("share", 0.1))


def test_a_parameter_set_later_waits_for_the_next_fit(X):
    model = WithSVM("svm").fit(X).set_params(threshold=0.1)
    assert model.offset_ == -0.7
    assert model.fit(X).offset_ == share_offset(X[:, 0], 0.1)


def test_not_fitted():
    for call in (lambda m: m.set_threshold(0.1), lambda m: m.predict(np.ones((2, 2)))):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call(Plain())


def test_top_flags_so_many_training_rows():
    scores = np.sort(np.random.default_rng(0).normal(size=100))
    for n in (1, 7, 99):
        assert np.sum(scores < top_offset(scores, n)) == n
    for n in (100, 10**9):
        assert (scores < top_offset(scores, n)).all()
    ties = np.repeat([0.0, 1.0, 2.0], 10)
    assert np.sum(ties < top_offset(ties, 15)) == 10  # rows that tie are flagged together, and no more than asked for


@pytest.mark.parametrize("level", [0.004, 0.01, 0.05, 0.25 - 1e-17, 0.3, 0.999])
@pytest.mark.parametrize("scoring", ["joined", "margin", "cell"])
def test_a_cut_by_p_values_agrees_with_them(level, scoring):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(300, 4)), np.r_[rng.normal(size=(200, 4)), 8.0 * rng.normal(size=(20, 4))]
    model = OddAtomDetector(scoring, threshold=("p", level), random_state=0).fit(X)
    for rows in (X, new):
        flagged = model.predict(rows) == -1
        assert_array_equal(flagged, model.p_values(rows) <= level)
        assert_array_equal(flagged, model.decision_function(rows) < 0)


def test_p_needs_p_values_that_follow_the_score():
    with pytest.raises(ValueError, match=r"rule such as '2%', 'top=50', 'fdr=0.1'\. Got 'p=0.01' instead"):
        DLOCSVM.paper(threshold="p=0.01").fit(np.random.default_rng(0).uniform(size=(50, 3)))


@pytest.mark.parametrize("threshold", ["2%", "top=9", "p=0.02"])
def test_words_are_saved_and_set(threshold, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = OddAtomDetector(threshold=threshold, random_state=0).fit(X)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.threshold_ == model.threshold_
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert 0 < np.sum(model.predict(X) == -1) <= 9
    other = OddAtomDetector(random_state=0).fit(X).set_threshold(threshold)
    assert_array_equal(other.predict(X), model.predict(X))


def test_a_level_that_no_p_value_can_reach_is_refused():
    X = np.random.default_rng(0).normal(size=(60, 3))
    message = r"must not ask for p-values below 0.0164, the least that 60 rows can give. Got 'p=0.01' instead"
    with pytest.raises(ValueError, match=message):
        OddAtomDetector(threshold="p=0.01", random_state=0).fit(X)
    model = OddAtomDetector(threshold="p=0.02", random_state=0).fit(X)
    with pytest.raises(ValueError, match=message):
        model.set_threshold("p=0.01")
    assert model.threshold_ == Threshold("p", 0.02)


@pytest.mark.parametrize("detector", [DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, OddAtomDetector])
@pytest.mark.parametrize("n", [1, 7, 60, 1000])
@pytest.mark.filterwarnings("ignore::oddatom.exceptions.DegenerateMarginWarning")
def test_top_of_every_detector(detector, n):
    X = np.random.default_rng(0).uniform(1, 2, size=(60, 3))
    model = detector(threshold=f"top={n}", random_state=0).fit(X)
    flagged = np.sum(model.predict(X) == -1)
    assert 0 < flagged <= n
    if n >= 60:
        assert flagged == 60


@pytest.mark.parametrize("percent", range(1, 51))
def test_percents_are_the_shares_themselves(percent):
    assert check_threshold("A", f"{percent}%") == Threshold("share", percent / 100)


def test_huge_levels_are_refused():
    for wrong in (10**400, ("top", 10**400), "top=" + "9" * 400, "1" + "0" * 400 + "%"):
        with pytest.raises(ValueError, match="'threshold' parameter of A must be"):
            check_threshold("A", wrong)
