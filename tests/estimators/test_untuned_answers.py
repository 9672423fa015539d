"""Answers on tables like those of users: which rows come first, what makes them odd, what stays usual."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import average_precision_score, roc_auc_score

import oddatom
from oddatom import OddAtomDetector, TableDetector
from oddatom.exceptions import OddAtomError, ParameterError


def planted(rng, n, m, n_odd, deviations):
    """Gaussian rows, some with one cell far out; which they are."""
    X = rng.normal(size=(n, m))
    odd = rng.choice(n, n_odd, replace=False)
    X[odd, rng.integers(0, m, n_odd)] = deviations * rng.choice([-1, 1], n_odd)
    return X, np.isin(np.arange(n), odd)


@pytest.mark.parametrize("share", [0.005, 0.02, 0.05, 0.055, 0.15, 0.5])
def test_a_column_of_two_values_buries_no_error(share):
    rng = np.random.default_rng(0)
    X, odd = planted(rng, 3000, 4, 30, 8.0)
    X = np.column_stack([rng.random(3000) < share, X])
    scores = OddAtomDetector(random_state=0).fit(X).score_samples(X)
    assert average_precision_score(odd, -scores) > 0.85


def test_rare_categories_bury_no_error():
    rng = np.random.default_rng(0)
    X, odd = planted(rng, 4000, 3, 40, 8.0)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = rng.choice(list("stuvwxy"), 4000, p=[0.6, 0.2, 0.1, 0.05, 0.03, 0.01, 0.01])
    model = TableDetector(random_state=0).fit(frame)
    assert average_precision_score(odd, -model.score_samples(frame)) > 0.85
    flagged = pd.Series(model.predict(frame) == -1).groupby(frame["kind"]).mean()
    assert flagged.max() < 0.5  # no level is flagged whole
    named = model.explain(frame[odd]).contributions.idxmin(axis=1)
    assert (named != "kind").mean() > 0.95


def test_an_empty_cell_is_no_error():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(50, 5, (800, 4)), columns=["load", "speed", "heat", "noise"])
    frame.loc[rng.choice(800, 40, replace=False), "load"] = np.nan
    frame.loc[17, "speed"], frame.loc[401, "heat"] = 500.0, -50.0
    model = TableDetector(random_state=0).fit(frame)
    scores = model.score_samples(frame)
    assert set(np.argsort(scores)[:2]) == {17, 401}
    contributions = model.explain(frame).contributions
    assert contributions.loc[17].idxmin() == "speed"
    assert contributions.loc[401].idxmin() == "heat"
    empty = frame["load"].isna()
    assert np.median(scores[empty]) > np.median(scores[~empty]) - 0.5


@pytest.mark.parametrize("m", [20, 100])
def test_one_gross_cell_comes_first(m):
    X = np.random.default_rng(m).normal(size=(1000, m))
    X[3, 5], X[4, 0], X[5, m - 1] = 9.0, -12.0, 1e6
    model = OddAtomDetector(random_state=0).fit(X)
    assert set(np.argsort(model.score_samples(X))[:3]) == {3, 4, 5}
    assert_array_equal(model.explain(X[3:6]).contributions.argmin(axis=1), [5, 0, m - 1])


def test_the_farther_out_the_odder_without_end():
    X = np.random.default_rng(0).normal(size=(500, 6))
    model = OddAtomDetector(random_state=0).fit(X)
    rows = np.zeros((40, 6))
    rows[:, 2] = 10.0 ** np.linspace(1, 60, 40)
    scores = model.score_samples(rows)
    assert (np.diff(scores) < 0).all()
    assert np.isfinite(scores).all()


def test_a_value_never_seen_is_odd_and_named():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=500), "weight": rng.normal(size=500)})
    frame["colour"] = rng.choice(["red", "green", "blue"], 500)
    model = TableDetector(random_state=0).fit(frame)
    new = frame.head(50).copy()
    new.loc[7, "colour"] = "gren"
    assert model.score_samples(new).argmin() == 7
    assert model.explain(new).contributions.loc[7].idxmin() == "colour"


def test_codes_have_no_order():
    """Other codes for the same categories give the same ranking."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(600, 3)), rng.choice(5, 600, p=[0.5, 0.3, 0.15, 0.04, 0.01])])
    other = X.copy()
    other[:, 3] = np.array([3, 0, 4, 2, 1])[X[:, 3].astype(int)]
    parts = [OddAtomDetector(categorical_features=[3], random_state=0).fit(A).score_parts(A) for A in (X, other)]
    for name in ("histogram", "cell"):
        np.testing.assert_allclose(parts[1][name], parts[0][name], rtol=1e-9, atol=1e-9)
        assert parts[0][name][X[:, 3] == 4].mean() < parts[0][name][X[:, 3] == 0].mean() - 1.0


@pytest.mark.parametrize("wrong", [[4], [-1], ["a"], [0.5], [[1]]])
def test_categorical_features_that_are_none(wrong):
    X = np.random.default_rng(0).normal(size=(50, 4))
    with pytest.raises(ParameterError, match="'categorical_features' parameter of OddAtomDetector must hold positions"):
        OddAtomDetector(categorical_features=wrong).fit(X)


@pytest.mark.parametrize("wrong", [1.5, -2.0, 1e8, 1e19])
def test_codes_that_are_none(wrong):
    X = np.column_stack([np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 3])
    X[7, 2] = wrong
    with pytest.raises(OddAtomError, match=r"categorical_features must hold whole numbers from -1 to .* Got"):
        OddAtomDetector(categorical_features=[2]).fit(X)


def test_codes_beside_nothing_but_two_values_have_no_order():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(500) < 0.4, rng.choice(4, 500, p=[0.4, 0.4, 0.1, 0.1])]).astype(float)
    model = OddAtomDetector(categorical_features=[1], random_state=0).fit(X)
    scores = model.score_samples(X)
    assert scores.min() > -5.0
    rare = X[:, 1] > 1
    assert scores[rare].mean() < scores[~rare].mean() - 0.5  # the rarer code is the odder, whatever its number


@pytest.mark.parametrize("spread", [1e-9, 1.0, 1e300])
def test_huge_rows_of_two_values_have_finite_scores(spread):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(100, 2)), spread * (rng.random(100) < 0.5)])
    model = OddAtomDetector(random_state=0).fit(X)
    new = np.array([[0, 0, -1e308], [1e308, 0, 0.0]])
    assert np.isfinite(model.score_samples(new)).all()
    assert np.isfinite(model.explain(new).contributions).all()
    assert model.score_samples(new).max() < model.score_samples(X).min()
    assert_array_equal(model.explain(new).contributions.argmin(axis=1), [2, 0])


@pytest.mark.parametrize("least", [5e-324, 1e-310, 1e-200])
def test_columns_of_tiny_and_usual_numbers(least):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=(200, 2)), np.where(rng.random(200) < 0.1, least, rng.uniform(0.5, 0.99, 200))]
    )
    X[7, 0] = 30.0
    scores = OddAtomDetector(random_state=0).fit(X).score_samples(X)
    assert np.isfinite(scores).all()
    assert scores.argmin() == 7


def test_p_values_compare_with_rows_left_out_of_the_tails():
    """The row that sets the edge of a tail is compared as a new row would be."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, size=(60, 3))
    X[0, 0] = 100.0
    ensemble = OddAtomDetector(random_state=0).fit(X).ensemble_
    parts = ensemble.parts(X)
    place = ensemble.names.index("cell") - parts.members.shape[2]
    with_row, without = parts.rows[:, place], ensemble.held_out(X, parts).rows[:, place]
    assert (without >= with_row).all()
    assert without[0] > 5 * with_row[0]
    usual = np.argsort(with_row)[:20]
    assert_array_equal(without[usual], with_row[usual])


# Groups


@pytest.mark.parametrize(
    ("n", "m", "share", "size", "least"),
    [
        (8000, 10, 0.024, 3.0, 0.95),
        (8000, 10, 0.024, 6.0, 0.99),
        (5000, 10, 0.1, 6.0, 0.85),
        (5000, 40, 0.024, 6.0, 0.9),
    ],
)
def test_a_dense_group_far_from_the_rest_is_odd(n, m, share, size, least):
    """Copied or machine-made rows: all within .01 of one point that is far out in three columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, m))
    group = np.arange(n) < share * n
    X[group] = np.where(np.arange(m) < 3, size, 0.0) + 0.01 * rng.normal(size=(group.sum(), m))
    model = OddAtomDetector(random_state=0).fit(X)
    assert roc_auc_score(group, -model.score_samples(X)) > least
    named = model.explain(X[group][:20]).contributions.argmin(axis=1)
    assert (named < 3).all()


def test_groups_of_the_same_size_are_usual():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 2000)
    X = 8.0 * rng.normal(size=(4, 6))[group] + rng.normal(size=(2000, 6))
    X[5] += 6.0
    scores = OddAtomDetector(random_state=0).fit(X).score_samples(X)
    assert scores.argmin() == 5
    first = group[np.argsort(scores)[:100]]
    assert np.bincount(first, minlength=4).max() < 70  # no group takes all of the first places


# Categories


def test_errors_within_a_machine_that_has_a_level_of_its_own():
    rng = np.random.default_rng(0)
    machine = np.repeat(np.arange(20), 150)
    X = 10.0 * rng.normal(size=(20, 2))[machine] + rng.normal(size=(3000, 2))
    odd = np.isin(np.arange(3000), rng.choice(3000, 30, replace=False))
    wrong = rng.integers(0, 2, 30)
    X[np.flatnonzero(odd), wrong] += 8.0 * rng.choice([-1, 1], 30)
    frame = pd.DataFrame(X, columns=["pressure", "speed"]).assign(machine=[f"M{m:02}" for m in machine])
    model = TableDetector(random_state=0).fit(frame)
    assert average_precision_score(odd, -model.score_samples(frame)) > 0.9
    named = model.explain(frame[odd]).contributions.idxmin(axis=1)
    assert (named.to_numpy() == np.array(["pressure", "speed"])[wrong]).mean() > 0.7
    flagged = pd.Series(model.predict(frame) == -1).groupby(frame["machine"]).mean()
    assert flagged.max() < 0.5  # no machine is flagged whole
    new = frame.head(3).assign(machine=["M99", None, "M00"])  # numbers that are usual on some machine
    assert model.explain(new).contributions.iloc[0].idxmin() == "machine"
    assert model.score_samples(new)[1:].min() > -5.0


def test_a_wrong_category_comes_first_and_is_named():
    rng = np.random.default_rng(0)
    species = rng.choice(["adelie", "gentoo", "chinstrap"], 900, p=[0.4, 0.35, 0.25])
    bill = np.select([species == "adelie", species == "gentoo"], [18.3, 15.0], 18.4) + rng.normal(size=900)
    flipper = np.select([species == "gentoo"], [217.0], 191.0) + 6.5 * rng.normal(size=900)
    island = np.where(species == "gentoo", "biscoe", rng.choice(["dream", "torgersen"], 900))
    frame = pd.DataFrame({"species": species, "bill": bill, "flipper": flipper, "island": island})
    wrong = np.flatnonzero(species != "gentoo")[:3]
    frame.loc[wrong, "island"] = "biscoe"
    model = TableDetector(random_state=0).fit(frame)
    scores = model.score_samples(frame)
    assert np.isin(np.argsort(scores)[:6], wrong).sum() == 3
    named = model.explain(frame.loc[wrong]).contributions.idxmin(axis=1)
    assert named.isin(["island", "species"]).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_negative_amount_among_positive_ones(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(1000, 2)), rng.lognormal(3.0, 1.0, 1000)])
    X[0, 2] = -50.0
    model = OddAtomDetector(random_state=0).fit(X)
    assert np.flatnonzero(np.argsort(model.score_samples(X)) == 0)[0] < 3
    assert model.explain(X[:1]).contributions.argmin() == 2


def test_a_table_without_categories_does_not_count_the_context():
    X = np.random.default_rng(0).normal(size=(300, 4))
    assert OddAtomDetector(random_state=0).fit(X).weights_["context"] == 0.0
    X[:, 3] = X[:, 3] > 0.5
    X[:, 2] += 3.0 * X[:, 3]
    model = OddAtomDetector(random_state=0).fit(X)
    assert model.weights_["context"] > 0.0


@pytest.mark.parametrize(("n_categories", "n_levels", "n_numbers"), [(10, 20, 1), (5, 30, 5), (2, 20, 30)])
def test_categories_of_chance_flag_no_fresh_rows(n_categories, n_levels, n_numbers):
    """What columns tell by chance about a category of many levels must not count: fresh rows are as training rows."""
    rates, flagged = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        codes, numbers = rng.integers(0, n_levels, (800, n_categories)), rng.normal(size=(800, n_numbers))
        X = np.column_stack([codes, numbers]).astype(float)
        model = OddAtomDetector(threshold=0.05, categorical_features=list(range(n_categories)), random_state=seed)
        model.fit(X[:400])
        rates.append((model.p_values(X[400:]) <= 0.05).mean())
        flagged.append((model.predict(X[400:]) == -1).mean())
    assert np.mean(rates) < 0.07
    assert np.mean(flagged) < 0.15


def test_small_levels_set_no_level_of_their_own():
    """P-values of fresh rows where a category has many levels of few rows."""
    rates = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        level = rng.integers(0, 60, 1800)
        X = np.column_stack([8.0 * np.random.default_rng(9).normal(size=(60, 4))[level], level])
        X[:, :4] += rng.normal(size=(1800, 4))
        model = OddAtomDetector(categorical_features=[4], random_state=seed).fit(X[:1200])
        rates.append((model.p_values(X[1200:]) <= 0.05).mean())
    assert np.mean(rates) < 0.075


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e307, 1.7e308])
def test_levels_of_any_size_are_saved_and_score(size, tmp_path):
    rng = np.random.default_rng(0)
    level = rng.integers(0, 4, 600)
    X = np.column_stack([np.array([-0.9, -0.3, 0.3, 0.9])[level] + 0.01 * rng.normal(size=600), level])
    X[:, 0] *= size
    model = OddAtomDetector(categorical_features=[1], random_state=0).fit(X)
    new = np.array([[size, 0.0], [-size, np.nan], [1e308, 9.0], [-1e308, 1.0]])
    assert np.isfinite(model.score_samples(new)).all()
    model.save(tmp_path / "model")
    assert_array_equal(oddatom.load(tmp_path / "model").score_samples(new), model.score_samples(new))


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_diabetes])
def test_tables_as_they_are_have_nothing_to_flag(load):
    """Measurements that nobody has corrupted; then a slip of the decimal point, which is flagged, and it alone."""
    X = load().data.copy()
    assert (OddAtomDetector(random_state=0).fit_predict(X) == 1).mean() > 0.995
    column = int(np.argmax(np.abs(X).min(axis=0)))
    X[17, column] *= 10
    model = OddAtomDetector(random_state=0).fit(X)
    assert model.score_samples(X).argmin() == 17
    assert model.predict(X)[17] == -1 or load is load_breast_cancer  # whose columns have tails as long
    assert (model.predict(X) == -1).sum() <= 3
    assert model.explain(X).contributions[17].argmin() == column
