"""Where OddAtomDetector cuts: thresholds, p-values under normal rows, false discoveries."""

import numpy as np
import pytest
from benchmarks._clean_tables import DULL, clean_tables, shifted_tables
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare
from sklearn.base import clone

from ensembles import duplicates, factors, mixture
from oddatom import OddAtomDetector
from oddatom.decisions import benjamini_hochberg, share_offset
from oddatom.ensemble.model import SCORES
from oddatom.exceptions import OddAtomWarning
from oddatom.report.detector import threshold_words

# Few and small members: fits of a hundredth of a second, for tests that need hundreds.
SMALL = {"trim": (0.5,), "n_centroids": 8, "n_atoms": 3, "rows_per_member": 100, "n_jobs": 1}


def make(threshold="auto", **others):
    return OddAtomDetector(**{"threshold": threshold, "random_state": 0, **others})


def with_anomalies(N=600):
    X = factors(N)
    X[:30] += 6 * np.random.default_rng(1).normal(size=(30, 12))
    return X


@pytest.fixture(scope="module")
def model():
    return make().fit(with_anomalies())


# Thresholds


@pytest.mark.parametrize("threshold", ["auto", "svm", 0.05, 0.5, "fdr", ("fdr", 0.2)])
@pytest.mark.parametrize("score", ["joined", "margin", "max_residual"])
def test_set_threshold_is_a_fit_with_it(threshold, score):
    X = with_anomalies(300)
    wanted = make(threshold, scoring=score).fit(X)
    model = make(scoring=score).fit(X)
    ensemble = model.ensemble_
    assert model.set_threshold(threshold) is model
    assert model.ensemble_ is ensemble
    assert model.threshold == clone(model).threshold == "auto"
    assert model.offset_ == wanted.offset_
    assert model.threshold_ == wanted.threshold_
    assert_array_equal(model.predict(X), wanted.predict(X))
    assert_array_equal(model.decision_function(X), model.score_samples(X) - model.offset_)


@pytest.mark.parametrize("threshold", ["auto", "svm", 0.05, 0.5])
@pytest.mark.parametrize("score", [name for name in SCORES if name != "context"])  # there is no category
def test_labels_are_signs_of_decisions(threshold, score):
    X, new = with_anomalies(), factors(200, seed=2)
    model = make(threshold, scoring=score).fit(X)
    for rows in (X, new):
        assert_array_equal(model.predict(rows), np.where(model.decision_function(rows) >= 0, 1, -1))
    quiet = threshold == "auto" and score in ("group", "margin")  # no groups; margins are bounded and have no tail
    assert set(model.predict(X)) == {-1, 1} or quiet
    assert_array_equal(make(threshold, scoring=score).fit_predict(X), model.predict(X))


@pytest.mark.parametrize("share", [0.001, 0.01, 0.05, 0.1, 0.29, 0.5])
def test_a_share_flags_at_most_that_share(share):
    for X in (with_anomalies(), duplicates()):
        model = make(share).fit(X)
        assert np.mean(model.predict(X) == -1) <= share
        assert np.mean(np.concatenate(model.conformal_.held_out) < model.offset_) <= share


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_fresh_rows_are_flagged_at_the_share(share):
    """By held-out scores, on the cautious side: by the training rows' own scores it is up to twice the share."""
    found, own = [], []
    for k in range(6):
        X, fresh = np.random.default_rng(k).normal(size=(200, 8)), np.random.default_rng(50 + k).normal(size=(2000, 8))
        model = make(share, random_state=k).fit(X)
        found.append(np.mean(model.predict(fresh) == -1))
        own.append(np.mean(model.score_samples(fresh) < share_offset(model.train_scores_, share)))
    assert 0.4 * share < np.mean(found) < 1.2 * share
    assert np.mean(own) > 1.3 * share


def test_a_share_holds_for_all_rows_where_a_sample_is_learned_from():
    X = mixture(21_000, 3)
    model = make(0.03, n_jobs=1).fit(X)
    assert model.train_scores_.shape == (21_000,)
    assert 0.02 < np.mean(model.predict(X) == -1) <= 0.03


def test_auto_flags_the_anomalies_and_counts_them(model):
    X = with_anomalies()
    assert_array_equal(model.train_scores_, np.sort(model.score_samples(X)))
    flagged = model.predict(X) == -1
    assert flagged[:30].mean() > 0.7
    assert flagged[30:].mean() < 0.005
    assert model.n_anomalies_.low <= 30 <= model.n_anomalies_.high
    assert model.n_anomalies_ == model.auto_.n_anomalies
    assert make().fit(X).auto_ == model.auto_


def test_auto_is_silent_on_clean_rows():
    """Next to nothing of ten families; `python -m benchmarks.flags` has the figures."""
    tables = [table for table in clean_tables(seed=9) if table.X.shape[0] <= 2000]
    shares = [np.mean(make(n_jobs=1).fit_predict(table.X) == -1) for table in tables]
    assert len(shares) == 38
    assert np.mean(shares) < 0.005
    assert np.sum(np.array(shares) > 0.02) <= 2


@pytest.mark.parametrize("kind", DULL)
def test_columns_that_say_nothing_flag_nothing(kind):
    """A constant, a copy or a rare count beside one column."""
    shares = [np.mean(make(n_jobs=1).fit_predict(DULL[kind](np.random.default_rng(k), 500)) == -1) for k in range(5)]
    assert max(shares) <= (0.03 if kind == "rare count" else 0.005)


def test_words_of_the_report_and_flags_agree():
    """Where rows are flagged the report does not say that none stands out."""
    for seed in range(8):
        X = np.random.default_rng(seed).normal(size=(200, 4))
        X[3, 1] = 6.0 + seed
        model = make(n_jobs=1).fit(X)
        silent = "no training row is" in threshold_words(model)
        assert silent == (model.n_anomalies_.estimate == 0)
        assert not (silent and (model.predict(X) == -1).any())


def test_auto_of_a_model_without_a_decision(model):
    """One that was saved before there was any: it keeps its cut, and can take the new one by its scores."""
    X = with_anomalies()
    old = make("svm").fit(X)
    del old.auto_
    old.conformal_.keys = None
    assert not hasattr(old, "n_anomalies_")
    assert "earlier rule" in threshold_words(old.set_threshold("auto"))
    assert (old.predict(X) == -1).sum() > 0
    with pytest.warns(OddAtomWarning, match="p-values stay as they were"):
        old.feedback(X[:2], [1, -1])


@pytest.mark.parametrize("family", ["Gaussian", "equal groups", "factor"])
def test_auto_flags_shifted_rows(family):
    found = []
    for table in shifted_tables(seed=9):
        if table.name.startswith(family) and table.X.shape[1] in (3, 5):
            flagged = make(n_jobs=1).fit_predict(table.X) == -1
            found.append(2 * np.sum(flagged & (table.y == 1)) / (np.sum(flagged) + table.y.sum()))
    assert len(found) == 4
    assert np.mean(found) > 0.7


def test_auto_does_not_depend_on_the_order_of_the_rows():
    X = with_anomalies()
    order = np.random.default_rng(0).permutation(len(X))
    assert make().fit(X).auto_ == make().fit(X[order]).auto_


@pytest.mark.parametrize("seed", range(12))
def test_labels_decisions_and_p_values_agree(seed):
    """Whatever the table and the threshold, and with "auto" no flagged row has p > .05."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1 + seed % 5, size=(rng.integers(10, 400), rng.integers(1, 8)))
    if seed % 3 == 0:
        X = np.round(X)
    model = make("auto", random_state=seed, n_jobs=1).fit(X)
    rows = np.r_[X, 3 * rng.standard_t(2, size=(50, X.shape[1]))]
    scores, p = model.score_samples(rows), model.p_values(rows)
    assert (p[model.predict(rows) == -1] <= 0.05).all()
    for threshold in ("auto", "svm", 0.02, "top=5", "p=0.2"):
        labels = model.set_threshold(threshold).predict(rows)
        assert_array_equal(labels == -1, model.decision_function(rows) < 0)
        flagged = labels == -1
        if flagged.any() and not flagged.all():
            assert scores[flagged].max() < scores[~flagged].min()
            assert p[flagged].max() <= p[~flagged].min()


def test_few_rows_have_no_p_value_that_could_be_flagged():
    X = np.r_[np.random.default_rng(0).normal(size=(15, 2)), [[1e6, 1e6]]]
    model = make().fit(X)
    assert model.p_values(X).min() > 0.05
    assert (model.predict(X) == 1).all()


@pytest.mark.parametrize("nu", [0.01, 0.2, 1.0])
def test_svm_offset_is_the_quantile_at_nu(nu):
    X = with_anomalies()
    model = make("svm", nu=nu).fit(X)
    below = np.mean(model.predict(X) == -1)
    assert nu - 1 / len(X) - 1e-12 <= below < nu
    assert model.offset_ == model.svm_offset_ == model.set_threshold("auto").svm_offset_


@pytest.mark.parametrize("q", [0.05, 0.1, 0.3])
def test_fdr_labels_are_benjamini_and_hochbergs(model, q):
    X = np.r_[with_anomalies()[:50], factors(100, seed=3)]
    other = make(("fdr", q)).fit(with_anomalies())
    reported = benjamini_hochberg(other.p_values(X), q)
    assert_array_equal(other.predict(X) == -1, reported)
    if q == 0.1:
        assert_array_equal(make("fdr").fit(with_anomalies()).predict(X), other.predict(X))
    assert_array_equal(other.p_values(X), model.p_values(X))


# p-values


def test_p_values_by_counting(model):
    """Every training row is scored by the group learned without it, the histogram counting it out."""
    X, new = with_anomalies(), factors(40, seed=4)
    held_out = np.concatenate(model.conformal_.held_out)
    wanted = [(1 + np.sum(held_out <= score)) / 601 for score in model.score_samples(new)]
    assert_allclose(model.p_values(new), wanted, rtol=1e-12)
    assert [fold.size for fold in model.conformal_.held_out] == [150] * 4
    p = model.p_values(np.r_[X, 1e3 * new])
    assert p.min() == 1 / 601
    assert p.max() <= 1


def test_p_values_and_scores_agree_on_what_is_odd(model):
    X = with_anomalies()
    p, scores = model.p_values(X), model.score_samples(X)
    order = np.argsort(scores)
    assert (np.diff(p[order]) >= 0).all()
    assert p[:30].max() < 0.2


@pytest.mark.parametrize("table", [factors, duplicates])
def test_p_values_rise_with_the_score(table):
    """Equal scores have equal p-values, in training rows, new ones and odd ones."""
    for score in ("joined", "margin", "cell"):
        model = make(scoring=score).fit(table())
        X = np.r_[table(), table(seed=1), 30.0 * table(100, seed=2), np.repeat(table(5, seed=3), 4, axis=0)]
        scores, p = model.score_samples(X), model.p_values(X)
        order = np.argsort(scores, kind="stable")
        assert (np.diff(p[order]) >= 0).all()
        same = np.diff(scores[order]) == 0
        assert_array_equal(np.diff(p[order])[same], 0)


def normal_rows(rng, N, kind):
    if kind == "clusters":
        centers = np.array([[0.0, 0, 0], [6, 0, 3], [0, 6, -3]])
        return centers[rng.integers(3, size=N)] + rng.normal(size=(N, 3))
    return rng.standard_t(3, size=(N, 3)) @ np.array([[1.0, 0.8, 0], [0, 0.6, 0], [0, 0, 1]])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["clusters", "heavy tails"])
def test_a_group_ranks_new_rows_as_it_ranks_its_fold(kind):
    """Among the held-out scores of a group a normal row's has any rank with equal probability."""
    ranks = []
    for seed in range(250):
        rng = np.random.default_rng(seed)
        model = make(random_state=seed, **SMALL).fit(normal_rows(rng, 76, kind))
        parts = model.ensemble_.parts(normal_rows(rng, 4, kind))
        for group, fold in enumerate(model.conformal_.held_out):  # one row each: four ranks that hardly depend
            score = model.ensemble_.score(model.ensemble_.z_scores(parts, group), "joined")[group]
            ranks.append(np.searchsorted(fold, score))  # 0 … 19
    counts = np.bincount(ranks, minlength=20)
    assert chisquare(counts.reshape(10, 2).sum(axis=1)).pvalue > 1e-3
    assert counts[0] <= 50 + 3 * np.sqrt(50)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["clusters", "heavy tails"])
def test_p_values_of_normal_rows(kind):
    """Nearly uniform, and cautious in the tail: groups that disagree pull p towards the middle."""
    p = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model = make(random_state=seed, **{**SMALL, "rows_per_member": 500}).fit(normal_rows(rng, 600, kind))
        p.append(model.p_values(normal_rows(rng, 500, kind)))
    rates = {alpha: np.mean(np.array(p) <= alpha, axis=1) for alpha in (0.01, 0.05, 0.1, 0.2, 0.4)}
    for alpha, rate in rates.items():
        assert rate.mean() <= alpha + 3 * rate.std() / np.sqrt(20)
        assert rate.mean() >= 0.3 * alpha or alpha < 0.05
    p = np.sort(np.concatenate(p))
    assert np.abs(p - (np.arange(p.size) + 0.5) / p.size).max() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["clusters", "heavy tails"])
def test_false_discovery_rate(kind):
    """Over 200 clean training sets and batches of 40 normal rows and 10 anomalies, for two levels."""
    false, power = {0.1: [], 0.2: []}, {0.1: [], 0.2: []}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        model = make(("fdr", 0.1), random_state=seed, **SMALL).fit(normal_rows(rng, 200, kind))
        batch = normal_rows(rng, 50, kind)
        push = rng.normal(size=(10, 3))
        batch[40:] += 15 * push / np.linalg.norm(push, axis=1, keepdims=True)
        for q in false:
            reported = model.set_threshold(("fdr", q)).predict(batch) == -1
            false[q].append(reported[:40].sum() / max(reported.sum(), 1))
            power[q].append(reported[40:].mean())
    for q, shares in false.items():
        assert np.mean(shares) <= q + 3 * np.std(shares) / np.sqrt(200)
        assert np.mean(power[q]) > 0.5
    assert np.mean(false[0.2]) > 0.01  # some are reported falsely, or the levels do nothing
