"""OddAtomDetector as an estimator: exact repeatability, scores and their parameter, explanations, what it finds."""

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
from ensembles import TABLES, duplicates, factors, mixture, wide
from oddatom import OddAtomDetector
from oddatom.ensemble.model import SCORES
from oddatom.ensemble.parts import PARTS
from oddatom.estimators import odd_atom as untuned
from oddatom.synthetic import corrupt_features

OTHERS = {
    "scoring": "margin",
    "threshold": "svm",
    "trim": (0.0, 0.2, 0.4),
    "n_groups": 3,
    "n_centroids": 4,
    "n_atoms": 1,
    "n_directions": 2,
    "rows_per_member": 50,
    "n_jobs": 1,
}
EXACT = {"factors": factors(200), "duplicates": duplicates(300), "wide": wide(130), "few": mixture(5)}
every_score = pytest.mark.parametrize("score", SCORES)
every_table = pytest.mark.parametrize("table", EXACT.values(), ids=EXACT)


# scikit-learn asks for anomalies among blobs without any, where "auto" is silent; with a share all of them are met.
SILENT = dict.fromkeys(
    ("check_outliers_train", "check_outliers_fit_predict"), "a table without anomalies has none flagged"
)


@parametrize_with_checks(
    [
        OddAtomDetector(random_state=0),
        OddAtomDetector(threshold=0.1, random_state=0),
        OddAtomDetector(**OTHERS, random_state=0),
    ],
    expected_failed_checks=lambda estimator: SILENT if estimator.threshold == "auto" else {},
)
@pytest.mark.contract
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def make(scoring="joined", **others):
    return OddAtomDetector(scoring, **{"random_state": 0, **others})


@pytest.fixture(scope="module")
def model():
    return make().fit(factors())


def assert_same(one, two, X):
    """Bit for bit, in all that a user sees."""
    assert_array_equal(one.score_samples(X), two.score_samples(X))
    assert_array_equal(one.p_values(X), two.p_values(X))
    assert_array_equal(one.train_scores_, two.train_scores_)
    assert one.offset_ == two.offset_
    assert one.svm_offset_ == two.svm_offset_
    assert one.weights_ == two.weights_
    for name, scores in one.score_parts(X).items():
        assert_array_equal(scores, two.score_parts(X)[name], err_msg=name)


# The result does not depend on the order of the rows, the batch or the threads


@every_table
def test_order_of_training_rows_does_not_matter(table):
    whole = make().fit(table)
    for seed in range(2):
        permuted = table[np.random.default_rng(seed).permutation(len(table))]
        assert_same(make().fit(permuted), whole, table)


@pytest.mark.parametrize("kind", ["different", "duplicates"])
def test_order_of_training_rows_does_not_matter_where_a_sample_is_drawn(kind):
    table = mixture(21_000, 3) if kind == "different" else duplicates(21_000)
    assert len(table) > untuned.SAMPLE_ROWS
    permuted = table[np.random.default_rng(1).permutation(len(table))]
    assert_same(make(n_jobs=1).fit(permuted), make(n_jobs=2).fit(table), table[:500])


@every_table
@pytest.mark.parametrize("size", [1, 7, 64, 100])
def test_batch_does_not_matter(table, size):
    fitted = make().fit(table)
    batches = [table[i : i + size] for i in range(0, len(table), size)]
    for method in (fitted.score_samples, fitted.p_values):
        assert_array_equal(np.concatenate([method(batch) for batch in batches]), method(table))


def test_batch_and_threads_do_not_matter_in_large_tables():
    """Past a chunk of rows, and where kernels run in parallel."""
    table = mixture(2 * untuned.CHUNK_ROWS + 100, 6)
    one, two = (make(n_jobs=n_jobs).fit(table[:9000]) for n_jobs in (1, 2))
    scores = two.score_samples(table)
    assert_array_equal(one.score_samples(table), scores)
    assert_array_equal(one.p_values(table), two.p_values(table))
    assert_array_equal(np.concatenate([one.score_samples(part) for part in np.array_split(table, 7)]), scores)
    assert one.offset_ == two.offset_


def test_seeds():
    table = factors(200)
    assert_same(make(random_state=3).fit(table), make(random_state=3).fit(table), table)
    assert_same(make(random_state=3).fit(table), make(random_state=np.random.RandomState(3)).fit(table), table)
    assert not np.array_equal(
        make(random_state=4).fit(table).score_samples(table), make().fit(table).score_samples(table)
    )


@pytest.mark.parametrize(("kind", "least"), [("wine", 0.85), ("cancer", 0.97), ("factors", 0.9), ("mixture", 0.9)])
def test_seeds_rank_rows_nearly_alike(kind, least):
    table = TABLES[kind]()
    scores = [make(random_state=seed).fit(table).score_samples(table) for seed in range(3)]
    for other in scores[1:]:
        assert spearmanr(scores[0], other)[0] > least


def test_layouts_and_types(model):
    X = factors()
    frozen = X.copy()
    frozen.flags.writeable = False
    for form in (np.asfortranarray(X), X.tolist(), frozen, X[::-1][::-1]):
        assert_same(make().fit(form), model, X)
    small = np.round(X * 10).astype(np.int32)
    assert_same(make().fit(small), make().fit(small.astype(float)), X)
    assert_same(make().fit(small.astype(np.float32)), make().fit(small), X)
    before = X.copy()
    make().fit(X).explain(X)
    assert_array_equal(X, before)


# Parameters and attributes


@every_score
def test_scoring_is_a_parameter_and_an_attribute(score):
    fresh = make(score)
    assert fresh.get_params()["scoring"] == fresh.scoring == score
    assert not hasattr(fresh, "score")  # scikit-learn would call it
    assert clone(fresh).get_params() == fresh.get_params()
    assert pickle.loads(pickle.dumps(fresh)).get_params() == fresh.get_params()
    changed = "" if score == "joined" else f", scoring={score!r}"
    assert repr(fresh) == f"OddAtomDetector(random_state=0{changed})"
    fresh.set_params(scoring="max_residual", nu=0.2)
    assert (fresh.scoring, fresh.nu) == ("max_residual", 0.2)
    assert make_pipeline(FunctionTransformer(), make(score)).get_params()["oddatomdetector__scoring"] == score


def test_positional_parameters():
    assert OddAtomDetector("margin", 0.1).get_params() == {
        **OddAtomDetector().get_params(),
        "scoring": "margin",
        "threshold": 0.1,
    }


def test_a_new_score_needs_a_new_fit(model):
    X = factors()
    twin = pickle.loads(pickle.dumps(model)).set_params(scoring="histogram")
    assert twin.scoring_ == "joined"
    assert_array_equal(twin.score_samples(X), model.score_samples(X))
    assert twin.fit(X).scoring_ == "histogram"
    assert_array_equal(twin.score_samples(X), model.score_parts(X)["histogram"])


@every_score
@pytest.mark.parametrize("kind", ["factors", "duplicates"])
def test_parts_are_the_scores_of_models_fitted_with_them(score, kind):
    X = EXACT[kind]
    parts = make().fit(X).score_parts(X)
    assert tuple(parts) == tuple(SCORES)
    other = make(score).fit(X)
    assert other.scoring_ == score
    assert_array_equal(other.score_samples(X), parts[score])
    assert_array_equal(np.sort(other.score_samples(X)), other.train_scores_)


def test_joined_score_is_the_log_mean_exp_of_the_parts(model):
    X = factors(seed=1)
    parts = model.score_parts(X)
    total = sum(weight * np.exp(-parts[name]) for name, weight in model.weights_.items())
    assert_allclose(parts["joined"], -np.log(total), rtol=1e-9, atol=1e-12)
    assert set(model.weights_) == set(PARTS)
    assert_allclose(sum(model.weights_.values()), 1, rtol=1e-12)
    assert model.weights_["residual"] == 0


def test_margin_is_that_of_a_one_class_svm_on_typicalities():
    """nu bounds the share of rows outside."""
    X = mixture()
    model = make("margin", threshold="svm", nu=0.07).fit(X)
    parts = model.score_parts(X)
    T = np.column_stack([1 / (1 + np.exp(-parts[name])) for name in PARTS if name != "residual"])
    w, rho, _ = reference.one_class_svm(T, 0.07)
    assert_allclose(parts["margin"], T @ w, rtol=1e-5)
    assert_allclose(model.offset_, rho, rtol=1e-5)
    assert model.offset_ == model.svm_offset_ == model.ensemble_.rho
    assert 0.06 < np.mean(model.predict(X) == -1) <= 0.07


def test_settings_are_used():
    X = mixture(2000)
    model = make(n_centroids=3, n_atoms=4, n_directions=5, trim=[0.1, 0.2, 0.3], n_groups=5).fit(X)
    packed = model.ensemble_.packed
    assert packed.centroids.shape == (15, 3, 8)
    assert packed.atoms.shape == (15, 4, 8)
    assert packed.directions.shape == (15, 5, 8)
    assert len(model.conformal_.held_out) == 5
    assert make(n_atoms=1).fit(X).ensemble_.packed.atoms.shape[1] == 1
    for name, value in {"rows_per_member": 100, "trim": (0.5,), "n_groups": 2}.items():
        assert not np.array_equal(make(**{name: value}).fit(X).score_samples(X), make().fit(X).score_samples(X)), name


@pytest.mark.contract
def test_pickle_and_joblib(model):
    X = factors()
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    for twin in (pickle.loads(pickle.dumps(model)), joblib.load(buffer)):
        assert_same(twin, model, X)
        assert_array_equal(twin.explain(X).contributions, model.explain(X).contributions)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.contract
def test_frames(model, frame):
    X = factors()
    table = frame({f"f{i}": X[:, i] for i in range(12)})
    other = make().fit(table)
    assert list(other.feature_names_in_) == list(table.columns)
    assert_array_equal(other.score_samples(table), model.score_samples(X))
    shares = other.explain(table).contributions
    assert isinstance(shares, frame)
    assert list(shares.columns) == list(table.columns)
    assert_allclose(shares.to_numpy(), model.explain(X).contributions, rtol=1e-12, atol=1e-15)
    with pytest.raises(ValueError, match="feature names should match"):
        other.predict(table[[f"f{i}" for i in (1, 0, *range(2, 12))]])
    if frame is pd.DataFrame:
        assert_array_equal(other.explain(table.iloc[5:9]).contributions.index, range(5, 9))


# Explanations


@every_score
@pytest.mark.parametrize("kind", [*EXACT])
def test_contributions_sum_to_the_score(score, kind):
    X = EXACT[kind]
    model = make(score).fit(X)
    far = np.r_[X, 100 * X[:5], -1e6 * X[:5]]
    shares = model.explain(far).contributions
    assert isinstance(shares, np.ndarray)
    assert shares.shape == far.shape
    assert_allclose(shares.sum(axis=1), model.score_samples(far), rtol=1e-10, atol=1e-10)


def test_contributions_do_not_depend_on_the_chunk(model, monkeypatch):
    X = factors()
    wanted = model.explain(X).contributions
    monkeypatch.setattr(untuned, "EXPLAIN_NUMBERS", 12 * 70)
    assert_allclose(model.explain(X).contributions, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("score", ["joined", "margin", "description_length", "distance"])
def test_a_corrupted_feature_comes_first(kind, score):
    """In four of five rows that are corrupted and found, over three draws; and many are found."""
    first, found, corrupted = 0, 0, 0
    for seed in range(3):
        X, y, mask = corrupt_features(TABLES[kind](), kind="shift", random_state=seed)
        model = make(score, threshold=0.05, random_state=seed).fit(X)
        rows = np.flatnonzero((model.predict(X) == -1) & (y == 1))
        first += np.count_nonzero(mask[rows, model.explain(X[rows]).contributions.argmin(axis=1)])
        found, corrupted = found + rows.size, corrupted + y.sum()
    assert found >= (0.2 if score == "margin" else 0.5) * corrupted
    assert first >= 0.8 * found
    assert mask.mean() < 0.02  # not by chance


# What it finds


def test_planted_rows_are_found_where_expected():
    """Three kinds of anomaly that different parts are for; each part finds its own, and joined they find all."""
    rng = np.random.default_rng(0)
    N, m = 2000, 8
    z = rng.normal(size=(N, 2))
    X = z @ rng.normal(size=(2, m)) + 0.1 * rng.normal(size=(N, m))
    far, broken, kind = slice(0, 20), slice(20, 40), np.zeros(N, int)
    X[far] *= 8.0  # along the plane of all rows, but far out
    X[broken] = rng.permuted(X[100:120], axis=0)  # usual numbers, unusual together
    kind[far], kind[broken] = 1, 2
    parts = make().fit(X).score_parts(X)
    usual = kind == 0
    aucs = {
        name: [roc_auc_score(kind[usual | (kind == k)] > 0, -scores[usual | (kind == k)]) for k in (1, 2)]
        for name, scores in parts.items()
    }
    assert min(aucs["joined"]) > 0.97
    assert aucs["norm"][0] > 0.99
    assert aucs["norm"][1] < 0.8
    assert aucs["distance"][1] > 0.99
    assert aucs["description_length"][1] > 0.98
    assert aucs["histogram"][1] < 0.8


def test_a_small_far_cluster_is_found():
    """Also where it is dense: members leave out what is far from most rows."""
    rng = np.random.default_rng(1)
    X = np.r_[mixture(1000, 4), 15.0 + 0.1 * rng.normal(size=(50, 4))]
    y = np.arange(1050) >= 1000
    assert roc_auc_score(y, -make().fit(X).score_samples(X)) > 0.99


def test_rows_between_clusters_are_found():
    """At the mean of all rows, where a covariance sees nothing."""
    rng = np.random.default_rng(2)
    angle = rng.uniform(0, 2 * np.pi, 1500)
    ring = np.c_[np.cos(angle), np.sin(angle), rng.normal(0, 0.1, 1500)] + 0.05 * rng.normal(size=(1500, 3))
    X = np.r_[ring, 0.1 * rng.normal(size=(15, 3))]
    parts = make().fit(X).score_parts(X)
    y = np.arange(1515) >= 1500
    assert roc_auc_score(y, -parts["joined"]) > 0.9
    assert roc_auc_score(y, -parts["norm"]) < 0.1


def test_a_value_never_seen_in_a_constant_column_lowers_the_score():
    X = np.c_[factors()[:, :5], np.full(600, 0.1)]
    model = make().fit(X)
    new = np.c_[factors(50, seed=1)[:, :5], np.full(50, 0.1)]
    odd = new.copy()
    odd[:, 5] = 0.2
    assert (model.score_samples(odd) < model.score_samples(new)).all()
    assert (model.p_values(odd) <= model.p_values(new)).all()
    assert_array_equal(make("histogram").fit(X).explain(odd).contributions.argmin(axis=1), 5)
    nothing = make().fit(np.ones((30, 3)))
    assert nothing.score_samples([[1.0, 1.0, 2.0]]) < nothing.score_samples([[1.0, 1.0, 1.0]])


@pytest.mark.parametrize("m", [5, 20, 64])
def test_a_constant_column_is_heard_among_many(m):
    rng = np.random.default_rng(4)
    model = make().fit(np.c_[rng.normal(size=(600, m - 1)), np.full(600, 3.0)])
    new = np.c_[rng.normal(size=(40, m - 1)), np.full(40, 4.0)]
    assert_array_equal(model.predict(new), -1)
    assert_array_equal(model.explain(new).contributions.argmin(axis=1), m - 1)


@pytest.mark.parametrize("copies", [1, 2, 4])
def test_copies_of_one_column(copies):
    """Codes are exact: what they leave is rounding, which must neither count nor blow the others up."""
    x = np.random.default_rng(5).normal(size=(800, 1))
    model = make().fit(np.repeat(x, copies, axis=1))
    scores = model.score_samples(np.repeat(x, copies, axis=1))
    assert spearmanr(scores, -np.abs(x[:, 0])).statistic > 0.8
    assert scores.min() > -40


@pytest.mark.parametrize(("size", "least"), [(6, 0.85), (10, 0.98)])
def test_one_number_that_is_far_off_is_seen_among_many(size, least):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(1500, 20))
    X[np.arange(30), rng.integers(20, size=30)] = size
    scores = make().fit(X).score_samples(X)
    assert roc_auc_score(np.arange(1500) < 30, -scores) > least


def test_anomalies_among_the_training_rows_do_not_hide_themselves():
    """A tenth of the rows, all alike in direction: without trimming they shape the dictionary."""
    rng = np.random.default_rng(3)
    X = factors(1000)
    X[:100] = 3.0 * rng.normal(size=(100, 1)) * rng.normal(size=12) + X[:100]
    y = np.arange(1000) < 100
    trimmed, untrimmed = (make(trim=trim).fit(X).score_samples(X) for trim in ((0.35, 0.5), (0.0,)))
    assert roc_auc_score(y, -trimmed) > 0.9
    assert roc_auc_score(y, -trimmed) > roc_auc_score(y, -untrimmed) + 0.005
