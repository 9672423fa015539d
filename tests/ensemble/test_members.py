"""A learned member: its statistics recounted, its sizes, where it starts, and that rows left out do not shape it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from ensembles import mixture, random_member
from oddatom.ensemble.members import Sizes, learn_member
from oddatom.ensemble.trimmed import LLOYD_STEPS, SWEEPS, kept


def learn(Y, t=0.35, sizes=None, rarity=None, seed=0):
    rarity = np.sum(Y**2, axis=1) if rarity is None else rarity
    return learn_member(Y, rarity, t, sizes or Sizes(), np.random.RandomState(seed), Y[:0])


def leaves(member):
    return [values for name, values in member._asdict().items() if name != "spread"] + list(member.spread)


def assert_same(one, two):
    for a, b in zip(leaves(one), leaves(two), strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("t", [0.0, 0.35, 0.5])
def test_statistics_by_counting(t):
    Y = mixture(300, 6) / 10
    member = learn(Y, t)
    C, D = member.centroids, member.atoms
    W = np.array([y - min(C, key=lambda c: np.sum((y - c) ** 2)) for y in Y])
    chosen = np.array([np.argmax([abs(d @ w) for d in D]) for w in W])
    E = np.array([w - (D[i] @ w) * D[i] for w, i in zip(W, chosen, strict=True)])
    residual = np.sum(E**2, axis=1)
    rows = kept(residual, t)
    assert rows.sum() == np.ceil((1 - t) * 300)
    assert_allclose(member.noise, np.median(residual) / 5, rtol=1e-9)
    gain = np.array([D[i] @ w for w, i in zip(W, chosen, strict=True)])
    cost, variance = reference.atom_costs(chosen[rows], gain[rows], member.noise, len(D))
    assert_allclose(member.cost, cost, rtol=1e-9)
    assert_allclose(member.gain_variance, variance, rtol=1e-9)
    feature_noise = np.mean((E**2 * np.sinh(4 * Y) / (4 * Y))[rows], axis=0)
    assert_allclose(member.feature_noise, feature_noise + 0.1 * feature_noise.mean(), rtol=1e-9)
    if t == 0:
        assert_allclose(reference.spread_covariance(member.spread), reference.ridge_covariance(W), atol=1e-9)


def test_history_is_what_is_left_of_the_rows_kept():
    Y = mixture(300, 6) / 10
    for t in (0.0, 0.35):
        history = learn(Y, t).history
        assert history.shape == (LLOYD_STEPS + SWEEPS,)
        assert (np.diff(history[:LLOYD_STEPS]) <= 1e-12).all()  # no centroid is dropped here
        assert (np.diff(history[LLOYD_STEPS:]) <= 1e-12).all()
        assert history[LLOYD_STEPS] < history[LLOYD_STEPS - 1]  # an atom takes something up
    last = learn(Y, 0.0)
    W = np.array([y - min(last.centroids, key=lambda c: np.sum((y - c) ** 2)) for y in Y])
    left = np.mean([min(np.sum((w - (d @ w) * d) ** 2) for d in last.atoms) for w in W])
    assert 0.9 * history_end(last) < left <= history_end(last)  # the last step comes after it
    assert_array_equal(learn(np.ones((30, 2))).history, 0.0)  # stopped early


def history_end(member):
    return member.history[-1] * (1 + 1e-12)


def test_sizes():
    Y = mixture(400, 8)
    for sizes in (Sizes(), Sizes(3, 5, 2), Sizes(1, 1, 1), Sizes(7, 1, 20)):
        member = learn(Y, sizes=sizes)
        assert 1 <= len(member.centroids) <= min(sizes.n_centroids, 40)
        assert 1 <= len(member.atoms) <= min(sizes.n_atoms, 8)
        assert member.spread.directions.shape == (min(sizes.n_directions, 8), 8)
        assert member.cost.shape == member.gain_variance.shape == (len(member.atoms),)
    assert len(learn(Y[:30]).centroids) <= 3  # ten rows to a centroid, five to an atom
    assert len(learn(Y[:20]).atoms) <= 4
    # Every atom is kept that takes up something: as many as asked for.
    assert len(learn(Y, sizes=Sizes(n_atoms=6)).atoms) == 6


def test_the_seed_draws_the_starts():
    Y = mixture(300)
    assert_same(learn(Y), learn(Y))
    assert not np.array_equal(learn(Y).centroids, learn(Y, seed=1).centroids)


def test_rarity_decides_which_half_centroids_start_from():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(200, 3)) + np.repeat([[-20.0], [20.0]], 100, axis=0)
    for low, side in ((slice(0, 100), -1), (slice(100, 200), 1)):
        rarity = np.ones(200)
        rarity[low] = 0.0
        member = learn(Y, 0.5, rarity=rarity)
        assert_array_equal(np.sign(member.centroids), side)
    assert set(np.sign(learn(Y, 0.0).centroids[:, 0])) == {-1.0, 1.0}


@pytest.mark.parametrize("t", [0.35, 0.5])
def test_rows_left_out_shape_nothing(t):
    """Anomalies may be anywhere far away: the member is the same, bit for bit."""
    rng = np.random.default_rng(1)
    Y, far = mixture(400, 5) / 10, rng.normal(size=(100, 5))
    far *= 6 / np.linalg.norm(far, axis=1, keepdims=True)
    at = rng.permutation(500)
    one, two = (np.r_[Y, rows][at] for rows in (far, -1.4 * far[::-1]))
    rarity = np.r_[np.sum(Y**2, axis=1), np.full(100, 99.0)][at]
    assert_same(learn(one, t, rarity=rarity), learn(two, t, rarity=rarity))
    assert np.abs(learn(one, t, rarity=rarity).centroids).max() <= np.abs(Y).max()


@pytest.mark.parametrize("n", [1, 2, 3, 9])
@pytest.mark.parametrize("m", [1, 4, 100])
def test_few_rows(n, m):
    for Y in (np.random.default_rng(n).normal(size=(n, m)), np.ones((n, m)), np.zeros((n, m))):
        member = learn(Y)
        for values in leaves(member):
            assert np.isfinite(values).all()
        assert member.noise > 0
        assert (member.feature_noise > 0).all()
        assert (member.gain_variance >= member.noise).all()
        assert (member.cost >= 0).all()
        assert_allclose(np.linalg.norm(member.atoms, axis=1), 1, rtol=1e-12)


def test_rows_that_are_centroids_have_unit_noise():
    member = learn(np.repeat(np.eye(3), 40, axis=0), rarity=np.zeros(120))
    assert np.isfinite(member.noise)
    alike = learn(np.ones((50, 3)))
    assert alike.noise == 1.0
    assert_array_equal(alike.feature_noise, 1.0)


def test_random_members_have_the_fields_of_learned_ones():
    """What the tests of the kernel use in their place."""
    made, learned = random_member(np.random.default_rng(0), 8, 32, 8, 16), learn(mixture(600))
    for a, b in zip(leaves(made), leaves(learned), strict=True):
        assert np.ndim(a) == np.ndim(b)
