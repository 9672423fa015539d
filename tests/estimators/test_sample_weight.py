"""Weights of rows: whole ones are repeated rows, in everything a fit finds."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_wine
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.validation import has_fit_parameter

import oddatom
from oddatom import DLOCSVM, KDLOCSVM, LinearOneClassSVM

X = load_wine().data
WEIGHTS = np.random.default_rng(0).integers(1, 5, X.shape[0]).astype(float)
REPEATED = np.repeat(X, WEIGHTS.astype(int), axis=0)
COMMON = {"n_atoms": 10, "n_nonzero": 2, "beta": 0.02, "max_iter": 3, "random_state": 0}


def fitted(X, sample_weight=None, **settings):
    return DLOCSVM.paper(**{**COMMON, **settings}).fit(X, sample_weight=sample_weight)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"scaling": "standard", "nu": 0.3, "scoring": "residual", "threshold": 0.1},
        {"scaling": "robust", "nu": 0.3, "scoring": "description_length"},
        {"threshold": "auto", "penalty": "l20", "coupling": ("eta", 3.0)},
        {"scoring": "loda", "nu": 0.3},
        {"solver": {"atoms": "power"}, "penalty": "l2eps", "n_init": 2},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
def test_whole_weights_are_repeated_rows(settings):
    one, two = fitted(X, WEIGHTS, **settings), fitted(REPEATED, **settings)
    np.testing.assert_allclose(one.components_, two.components_, atol=1e-6)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(one.offset_, two.offset_, rtol=1e-4)
    np.testing.assert_allclose(one.score_samples(X), two.score_samples(X), rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(one.train_scores_, two.train_scores_, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(one.history_["total"], two.history_["total"], rtol=1e-6)
    for mine, theirs in zip(one.code_statistics_[:3], two.code_statistics_[:3], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4)
    np.testing.assert_allclose(
        one.train_codes_.toarray(), two.train_codes_.toarray()[np.cumsum(WEIGHTS.astype(int)) - 1], atol=1e-6
    )


def test_weights_matter():
    heavy = np.where(np.arange(X.shape[0]) < 20, 30.0, 1.0)
    assert np.abs(fitted(X, heavy).score_samples(X) - fitted(X).score_samples(X)).max() > 1e-3


@pytest.mark.parametrize("kind", [DLOCSVM.paper, LinearOneClassSVM])
def test_weights_of_one_are_none_and_rows_of_weight_zero_are_not_there(kind):
    settings = COMMON if kind == DLOCSVM.paper else {}
    plain = kind(**settings).fit(X)
    assert (kind(**settings).fit(X, sample_weight=np.ones(X.shape[0])).coef_ == plain.coef_).all()
    weights = np.ones(X.shape[0])
    weights[::3] = 0.0
    some = kind(**settings).fit(X, sample_weight=weights)
    assert (some.coef_ == kind(**settings).fit(X[weights > 0]).coef_).all()


@pytest.mark.parametrize("score", ["residual", "description_length"])
@pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
def test_weights_that_sum_to_one_do_not_change_scaling_and_statistics(score):
    settings = {"scaling": "robust", "scoring": score, "coupling": ("eta", 0.0)}
    one, plain = fitted(X, np.full(X.shape[0], 1 / X.shape[0]), **settings), fitted(X, **settings)
    unit = X.shape[0] if score == "residual" else 1.0  # rows are in units of their weighted norm
    np.testing.assert_allclose(one.score_samples(X), unit * plain.score_samples(X), rtol=1e-6)


def test_a_model_fitted_with_weights_is_saved_and_read(tmp_path):
    model = fitted(X, WEIGHTS)
    model.save(tmp_path / "model")
    again = oddatom.load(tmp_path / "model")
    assert (again.score_samples(X) == model.score_samples(X)).all()
    assert (again.train_scores_ == model.train_scores_).all()


@pytest.mark.contract
def test_callbacks_see_the_labels_of_the_rows_that_count():
    monitor = pytest.importorskip("sklearn.callback").ScoringMonitor(scoring="balanced_accuracy")
    labels, weights = np.where(np.arange(X.shape[0]) % 2, 1, -1), WEIGHTS * (np.arange(X.shape[0]) % 3 > 0)
    model = DLOCSVM.paper(**COMMON).set_callbacks(monitor).fit(X, labels, sample_weight=weights)
    assert model.dual_coef_.size == (weights > 0).sum()


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(1).permutation(X.shape[0])
    one, two = fitted(X, WEIGHTS), fitted(X[order], WEIGHTS[order])
    np.testing.assert_allclose(one.score_samples(X), two.score_samples(X), rtol=1e-6)


def test_the_lagrangian_never_rises():
    weights = np.random.default_rng(2).gamma(0.5, 1.0, X.shape[0]) + 1e-3
    sweeps = fitted(X, weights, verbose=2, coupling=("eta", 2.0)).history_.lagrangian
    assert len(sweeps) == COMMON["max_iter"]
    for sweep in sweeps:
        assert sweep.size > 1
        assert (np.diff(sweep) <= 1e-9 * np.abs(sweep[:-1])).all()


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (-WEIGHTS, "must not be negative"),
        (np.zeros(X.shape[0]), "non-zero|at least two rows"),
        (np.eye(1, X.shape[0])[0], "at least two rows"),
        (WEIGHTS[:5], r"must have the shape \(178,\), .* Got the shape \(5,\) instead; pass one weight for each row"),
        (WEIGHTS[:, None], r"Got the shape \(178, 1\) instead"),
        (np.full(X.shape[0], np.nan), "Got nan for row 0 and 177 more; give rows that are not to count the weight 0"),
        (np.where(np.arange(178) == 7, np.inf, WEIGHTS), "must not be NaN or infinite. Got inf for row 7; give rows"),
        (np.nan, "Got nan for all rows"),
        (["heavy"] * 178, "must be numbers: could not convert string .* Pass one for each of the 178 rows"),
        (np.ma.masked_equal(np.arange(178.0), 9), "must not be masked. Got a masked one for row 9; give rows"),
        (WEIGHTS.astype(complex), "must be real numbers. Got complex ones"),
        (WEIGHTS * 1e300, "between 1e-100 and 1e\\+100"),
    ],
)
@pytest.mark.parametrize("kind", [DLOCSVM.paper, LinearOneClassSVM])
def test_bad_weights_are_refused(kind, weights, said):
    with pytest.raises(ValueError, match=said):
        kind().fit(X, sample_weight=weights)


def test_what_weights_do_not_go_with_is_refused(tmp_path):
    with pytest.raises(ValueError, match="'n_folds'"):
        fitted(X, WEIGHTS, n_folds=3)
    with pytest.raises(ValueError, match="'solver' parameter of DLOCSVM must have an exact SVM"):
        fitted(X, WEIGHTS, solver={"svm": "libsvm"})
    with pytest.raises(TypeError):
        KDLOCSVM.paper().fit(X, sample_weight=WEIGHTS)
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame(X).rename(columns=str).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="rows in memory"):
        fitted(str(tmp_path / "rows.parquet"), WEIGHTS)


def test_weights_are_offered_where_they_are_taken():
    assert has_fit_parameter(DLOCSVM.paper(), "sample_weight")
    for settings in ({"n_folds": 2}, {"solver": {"svm": "libsvm"}}):
        detector = DLOCSVM.paper(**COMMON, **settings)
        assert not has_fit_parameter(detector, "sample_weight")
        assert (detector.fit(X).coef_ == DLOCSVM.paper(**COMMON, **settings).fit(X, sample_weight=None).coef_).all()
        assert has_fit_parameter(detector.set_params(n_folds=None, solver="exact"), "sample_weight")


@pytest.mark.parametrize("kind", [DLOCSVM.paper, LinearOneClassSVM])
def test_weights_are_routed(kind):
    settings = COMMON if kind == DLOCSVM.paper else {}
    direct = kind(**settings).fit(MaxAbsScaler().fit_transform(X), sample_weight=WEIGHTS)
    with sklearn.config_context(enable_metadata_routing=True):
        detector = kind(**settings).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(MaxAbsScaler(), detector).fit(X, sample_weight=WEIGHTS)
        assert (pipeline[-1].coef_ == direct.coef_).all()
        labels = np.where(np.arange(X.shape[0]) % 2, 1, -1)
        scorer = make_scorer(balanced_accuracy_score).set_score_request(sample_weight=False)
        search = GridSearchCV(detector, {"nu": [0.1, 0.2]}, scoring=scorer, cv=2)
        search.fit(X, labels, sample_weight=WEIGHTS)
        expected = detector.set_params(**search.best_params_).fit(X, sample_weight=WEIGHTS)
        assert (search.best_estimator_.coef_ == expected.coef_).all()
