"""Stretches: the formula, its limits, and which row a score is due to."""

import numpy as np
import pytest

from oddatom.context.ordered import put_in_order
from oddatom.context.stretch import RULE, with_stretches


def slowly(scores, start, first, window):
    out = np.empty(scores.size)
    weights = 0.5 ** (np.arange(window + 1) / (RULE.half_life * window))
    for i in range(scores.size):
        rows = np.zeros(window + 1)  # usual ones
        rows[0] = scores[i]
        before = scores[max(start[i], first[i] - window) : first[i]]
        rows[1 : before.size + 1] = before[::-1]
        mean = -np.log((weights * np.exp(-RULE.power * rows)).sum() / weights.sum()) / RULE.power
        out[i] = min(scores[i], mean - RULE.bonus)
    return out


@pytest.mark.parametrize("window", [2, 7, 30])
def test_the_formula(window):
    rng = np.random.RandomState(window)
    times = np.cumsum(rng.choice([0.0, 1.0, 1.0, 50.0], 400))
    ordered = put_in_order(rng.randint(0, 2, 400), times, rng.randn(400, 1), np.arange(400), gap=20.0)
    scores = -rng.gamma(2.0, 2.0, ordered.times.size)
    found, due = with_stretches(scores, ordered.start, ordered.first, window)
    np.testing.assert_allclose(found, slowly(scores, ordered.start, ordered.first, window), rtol=1e-12)
    assert (found <= scores).all()
    assert (due[found == scores] == np.flatnonzero(found == scores)).all()


def test_huge_scores_do_not_overflow():
    start, first = np.zeros(3, np.int64), np.arange(3)
    found, due = with_stretches(np.array([-1e300, 0.0, -5.0]), start, first, 2)
    assert np.isfinite(found).all()
    assert due.tolist() == [0, 0, 0]


def test_a_lone_odd_row_is_odder_than_the_rows_after_it_and_forgotten_after_a_window():
    scores = np.full(200, -1.0)
    scores[50] = -20.0
    found, due = with_stretches(scores, np.zeros(200, np.int64), np.arange(200), 24)
    assert found.argmin() == 50
    assert (due[51:75] == 50).all()
    assert found[75] == pytest.approx(found[40])


def test_a_stretch_of_odd_rows_is_odder_than_one_of_them_alone():
    one, many = np.full(100, -1.0), np.full(100, -1.0)
    one[60] = many[40:61] = -5.0
    last = [with_stretches(scores, np.zeros(100, np.int64), np.arange(100), 24)[0][60] for scores in (one, many)]
    assert last[1] < last[0] - 1.0


def test_the_first_rows_of_a_series_are_no_odder_than_others():
    scores = np.full(100, -1.0)
    found, _ = with_stretches(scores, np.zeros(100, np.int64), np.arange(100), 24)
    assert found[:24].min() >= found[50] - 1e-12
