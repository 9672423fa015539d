"""Columns that repeat another are left out, and nothing else is."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from oddatom import TableDetector
from oddatom.table import TableEncoder

N = 400
RNG = np.random.default_rng(0)


@pytest.fixture
def frame():
    price = RNG.lognormal(3, 1, N)
    return pd.DataFrame(
        {
            "price": price,
            "quantity": RNG.integers(1, 6, N),
            "weight": RNG.normal(70, 5, N),
            "days": RNG.gamma(3, 4, N),
            "colour": RNG.choice(["red", "green", "blue"], N),
            "paid": RNG.choice([True, False], N),
        }
    )


REPEATS = {
    "equal": lambda t: t["price"],
    "other unit": lambda t: 1.1 * t["price"] + 7,
    "other sign": lambda t: -t["price"],
    "other names": lambda t: t["colour"].map({"red": "rouge", "green": "vert", "blue": "bleu"}),
    "numbers of levels": lambda t: t["colour"].map({"red": 5, "green": 1, "blue": 9}),
    "yes and no": lambda t: t["paid"].map({True: "no", False: "yes"}),
}


@pytest.mark.parametrize("kind", REPEATS)
@pytest.mark.parametrize("categories", ["one-hot", "codes"])
def test_a_repeat_is_left_out_and_says_of_what(frame, kind, categories):
    frame["again"] = REPEATS[kind](frame)
    encoder = TableEncoder(categories=categories).fit(frame)
    original = {"other names": "colour", "numbers of levels": "colour", "yes and no": "paid"}.get(kind, "price")
    assert encoder.describe()[-1] == f"again: left out, it repeats {original}"
    alone = TableEncoder(categories=categories).fit(frame.drop(columns="again"))
    assert_array_equal(encoder.transform(frame), alone.transform(frame.drop(columns="again")))
    assert "again" in TableEncoder(columns=list(frame)).fit(frame).source_  # who names a column means it


OTHERS = {
    "one cell differs": lambda t: t["price"].where(t.index != 7, 3.0),
    "one level differs": lambda t: t["colour"].where(
        t.index != 399, "red" if t.loc[399, "colour"] != "red" else "blue"
    ),
    "rounded": lambda t: t["price"].round(1),
    "logarithm": lambda t: np.log(t["price"]),
    "another column of its own": lambda t: RNG.normal(size=N),
    "coarser": lambda t: t["colour"].map({"red": "warm", "green": "cold", "blue": "cold"}),
    "empty cells": lambda t: t["price"].where(t.index % 10 > 0),
    "constant": lambda t: 1.0,
}


@pytest.mark.parametrize("kind", OTHERS)
def test_others_are_kept(frame, kind):
    frame["again"] = OTHERS[kind](frame)
    assert "again" in TableEncoder().fit(frame).source_


@pytest.mark.parametrize("n", [100, 150, 200, 201, 1000])
def test_columns_of_different_numbers_are_no_repeats(n):
    frame = pd.DataFrame(np.random.default_rng(n).normal(size=(n, 8))).add_prefix("x")
    assert list(TableEncoder().fit(frame).source_) == list(frame)
    frame["x3"] = frame["x1"] * 5
    assert list(TableEncoder().fit(frame).source_) == [name for name in frame if name != "x3"]


@pytest.mark.parametrize("far", [1e12, -3.4e38, 1e200])
def test_far_values_in_one_row_are_no_repeats(far):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3))).add_prefix("x")
    frame.iloc[7] = far
    assert len(TableEncoder().fit(frame).source_) == 3
    assert len(TableEncoder().fit(1e200 * frame.drop(index=7)).source_) == 3


def test_copies_do_not_change_a_score(frame):
    frame.loc[11, "price"] = 20_000.0
    wanted = TableDetector(random_state=0).fit(frame).score_samples(frame)
    copies = frame.assign(euros=frame["price"], dollars=1.1 * frame["price"], farbe=frame["colour"] + "!")
    found = TableDetector(random_state=0).fit(copies)
    assert_array_equal(found.score_samples(copies), wanted)
    assert wanted.argmin() == 11
    assert found.explain(copies).contributions.loc[11].idxmin() == "price"
