"""Whether new rows are like the training rows: random halves say nothing, columns that moved are named."""

import warnings

import numpy as np
import pandas as pd
import pytest

import oddatom
from oddatom import DriftWarning, TableDetector
from oddatom.table.drift import FEWEST_ROWS, find_drift, take_references

TINY = {"n_groups": 2, "trim": (0.3,), "n_centroids": 4, "n_atoms": 4, "random_state": 0}


def orders(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "amount": rng.lognormal(3.0, 1.0, n),
            "weight": rng.normal(10.0, 2.0, n),
            "city": rng.choice(["Oslo", "Bergen", "Molde"], n, p=[0.6, 0.3, 0.1]),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "discount": np.where(rng.random(n) < 0.05, np.nan, rng.uniform(0, 0.5, n)),
        }
    )


@pytest.fixture(scope="module")
def model():
    return TableDetector(oddatom.OddAtomDetector(**TINY)).fit(orders())


def warned(call, table):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(table)
    return [str(one.message) for one in caught if issubclass(one.category, DriftWarning)]


def moved(column, change):
    table = orders(seed=1)
    table[column] = change(table[column])
    return table


MOVED = {
    "amount": (lambda v: 1.5 * v, "amount: median 29"),
    "weight": (lambda v: v + 1.0, "weight: median 1"),
    "city": (lambda v: v.where(np.arange(len(v)) % 3 > 0, "Molde"), "city: other categories in"),
    "day": (lambda v: v + pd.Timedelta(60, "D"), "day: median +6"),
    "discount": (lambda v: v.where(np.arange(len(v)) % 2 > 0), "discount: 5"),
}


@pytest.mark.parametrize("column", MOVED)
@pytest.mark.parametrize("method", ["score_samples", "predict", "decision_function", "p_values"])
def test_a_column_that_moved_is_named(model, column, method):
    change, words = MOVED[column]
    said = warned(getattr(model, method), moved(column, change))
    assert len(said) == 1
    assert said[0].startswith("1 column has moved since training (")
    assert words in said[0]
    assert "Fit again, update the model (`oddatom update`, partial_fit), or leave such columns out." in said[0]


def test_new_levels_are_a_move(model):
    said = warned(model.score_samples, moved("city", lambda v: v.where(v == "Oslo", "Tromsø")))
    assert "city: other categories in" in said[0]


def test_rows_like_the_training_rows_and_few_rows_say_nothing(model):
    for seed in range(1, 6):
        assert not warned(model.predict, orders(seed=seed))
    assert not warned(model.predict, orders())
    assert not warned(model.predict, moved("weight", lambda v: v + 50.0).head(FEWEST_ROWS - 1))
    assert not warned(model.explain, moved("weight", lambda v: v + 50.0))


def test_random_halves_say_nothing():
    """At most one of a hundred splits, whatever the columns hold."""
    rng = np.random.default_rng(0)
    n = 3000
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.poisson(2, n),
            rng.choice(5, n),
            rng.random(n) < 0.03,
            rng.standard_cauchy(n),
            np.ones(n),
        ]
    ).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    codes = [False, False, True, False, False, False]
    n_warned = 0
    for seed in range(300):
        order = np.random.default_rng(seed).permutation(n)[: 150 + 10 * seed % 2850]
        half = order.size // 2
        n_warned += bool(find_drift(X[order[half:]], take_references(X[order[:half]], codes)))
    assert n_warned <= 3


def test_many_rows_do_not_cry_wolf():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 2))
    reference = take_references(X, [False, False])
    assert not find_drift(X + 0.05, reference)  # significant, and of no importance
    assert [drift.place for drift in find_drift(X + np.array([0.0, 0.5]), reference)] == [1]


def test_it_is_saved_and_follows_updates(model, tmp_path):
    later = moved("weight", lambda v: v + 3.0)
    model.save(tmp_path / "model")
    loaded = oddatom.load(tmp_path / "model")
    assert warned(loaded.predict, later) == warned(model.predict, later)
    updated = TableDetector(oddatom.OddAtomDetector(**TINY)).partial_fit(orders())
    assert warned(updated.predict, later)
    for _ in range(3):
        updated.partial_fit(later, decay=0.2)
    assert not warned(updated.predict, later)


def test_models_without_references_say_nothing(model, tmp_path):
    old = TableDetector(oddatom.OddAtomDetector(**TINY))
    old.encoder_, old.detector_ = model.encoder_, model.detector_
    assert not warned(old.predict, moved("weight", lambda v: v + 3.0))
    old.save(tmp_path / "old")
    assert not hasattr(oddatom.load(tmp_path / "old"), "reference_")


@pytest.mark.parametrize("wrong", [[], [1]])
def test_references_of_other_columns_are_refused(model, tmp_path, wrong):
    forged = TableDetector(oddatom.OddAtomDetector(**TINY))
    forged.encoder_, forged.detector_, forged.reference_ = model.encoder_, model.detector_, wrong
    with pytest.raises(ValueError, match="reference_"):
        forged.save(tmp_path / "forged")
