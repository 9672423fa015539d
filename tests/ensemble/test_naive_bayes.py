"""How well a category goes with its row: against counts by hand, rare levels, missing and new ones, and limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ensembles import CATEGORICAL, mixed
from oddatom.ensemble import naive_bayes as module
from oddatom.ensemble.naive_bayes import context_nats, fit_context

STEPS = np.isin(np.arange(8), CATEGORICAL) * 1.0
TWO = np.arange(8) == 7


def place(u, edges):
    return len(edges) + 1 if np.isnan(u) else int(np.sum(u > edges))


def by_hand(train, context, x, p, held_out):
    """log p(l) − log p(l | x) of target p of one row, from counts over the training rows."""
    f, n = context.targets[p], context.n_levels[p]
    level = place(x[f], context.edges[f])
    if level >= n:
        return 0.0
    less = np.where(np.arange(n) == level, float(held_out), 0.0)  # the row itself
    of_row = [place(u, context.edges[f]) for u in train[:, f]]
    counts = np.array([of_row.count(l) for l in range(n)]) - less
    share = (counts + 0.5) / (len([l for l in of_row if l < n]) + 0.5 * n - less)
    known = (counts + less + 0.5) / (sum(counts + less) + 0.5 * n)
    share = np.where(less > 0, share, known)
    total = np.log(share)
    for g in context.predictors[p]:
        b = place(x[g], context.edges[g])
        if b == context.edges.shape[1] + 1:
            continue
        rows = [l for l, u in zip(of_row, train[:, g], strict=True) if place(u, context.edges[g]) == b and l < n]
        pairs = np.array([rows.count(l) for l in range(n)], float)
        plain = np.log((pairs + known) / ((pairs.sum() + 1) * known))
        own = np.log((pairs - less + share) / ((pairs.sum() - less + 1) * share))
        total = total + np.where(less > 0, own, plain)
    return np.log(share[level]) - (total[level] - np.log(np.exp(total).sum()))


@pytest.mark.parametrize("held_out", [False, True])
def test_against_counts(held_out):
    train = mixed(300)
    context = fit_context(train, STEPS, TWO)
    assert context.targets == (5, 6, 7)
    rows = train[:40] if held_out else mixed(40, seed=1)
    found = context_nats(rows, context, held_out=held_out)
    for j, x in enumerate(rows):
        for p, f in enumerate(context.targets):
            assert_allclose(found[j, f], by_hand(train, context, x, p, held_out), rtol=1e-9, atol=1e-12)
    assert_array_equal(found[:, :5], 0.0)


def test_a_predictor_is_chosen_by_what_it_tells():
    context = fit_context(mixed(2000), STEPS, TWO)
    by_target = dict(zip(context.targets, context.predictors, strict=True))
    assert by_target[6][0] == 3  # the code was made of it
    assert by_target[7][0] == 4
    assert set(by_target[5]) == {0, 1, 2}  # numbers that differ by group


def test_what_costs_and_what_does_not():
    rng = np.random.default_rng(0)
    number = rng.normal(size=2000)
    level = np.where(rng.random(2000) < 0.005, 2.0, number > 0)  # a rare one, whatever the number
    U = np.column_stack([number, level, rng.normal(size=2000)])
    context = fit_context(U, np.array([0.0, 1.0, 0.0]), np.zeros(3, bool))
    cases = np.array([[1.5, 1, 0], [1.5, 0, 0], [1.5, 2, 0], [np.nan, 0, 0], [1.5, np.nan, 0], [1.5, 3, 0]])
    usual, wrong, rare, unknown, missing, new = context_nats(cases, context)[:, 1]
    assert usual < 0.0
    assert wrong > 3.0
    assert rare < 0.5  # to be rare is no error
    assert abs(unknown) < 0.5
    assert missing == new == 0.0


def test_nothing_to_judge_by():
    rng = np.random.default_rng(0)
    U = np.column_stack([rng.normal(size=(500, 2)), rng.integers(0, 3, 500)])
    none = np.zeros(3, bool)
    assert fit_context(U, np.zeros(3), none) is None
    context = fit_context(U, np.array([0.0, 0.0, 1.0]), none)  # independent columns: what they tell is chance
    assert context is None or np.abs(context_nats(U, context)).max() < 1.5
    U[:, 2] = np.arange(500) % 40  # too many levels
    assert fit_context(U, np.array([0.0, 0.0, 1.0]), none) is None


def test_categories_beyond_the_limit_are_not_judged(monkeypatch):
    monkeypatch.setattr(module, "MOST_PAIRS", 20)  # two categories of eight columns
    assert fit_context(mixed(300), STEPS, TWO).targets == (5, 6)


def test_order_of_rows_does_not_matter():
    train, new = mixed(600), mixed(50, seed=1)  # fewer than columns are compared by
    order = np.random.default_rng(0).permutation(600)
    one, two = (context_nats(new, fit_context(rows, STEPS, TWO)) for rows in (train, train[order]))
    assert_allclose(one, two, rtol=1e-12, atol=1e-14)
