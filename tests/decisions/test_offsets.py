"""Where to cut: a share, the quantile of the one-class SVM of the scores, and "auto"."""

import warnings

import numpy as np
import pytest

from oddatom.decisions import auto_offset, decide, quantile_offset, share_offset
from oddatom.decisions.bump import count_apart

RNG = np.random.default_rng(0)
SETS = {
    "normal": RNG.normal(size=501),
    "skewed": -RNG.exponential(size=300),
    "ties": RNG.integers(0, 6, 200).astype(float),
    "mostly one value": np.append(np.zeros(150), RNG.normal(size=60)),
    "constant": np.full(40, 0.1),
    "steps": np.arange(30.0),
    "two": np.array([1.0, 2.0]),
    "one": np.array([3.0]),
    "three": np.array([-5.0, 1.0, 1.5]),
}
CUTS = {
    "auto": auto_offset,
    "share .1": lambda s: share_offset(s, 0.1),
    "nu .3": lambda s: quantile_offset(s, 0.3),
}


def flagged(scores, offset):
    return int(np.sum(scores < offset))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("share", [1e-9, 0.01, 0.1, 0.29, 1 / 3, 0.5])
def test_share(name, share):
    """Never more than the share, and the next larger score as offset would be."""
    s = SETS[name]
    offset = share_offset(s, share)
    assert offset in s
    assert flagged(s, offset) <= share * len(s) + 1e-9
    larger = s[s > offset]
    assert larger.size == 0 or flagged(s, larger.min()) > share * len(s) * (1 + 1e-12)


def test_a_share_that_floating_point_makes_too_small():
    assert 0.29 * 100 < 29
    assert flagged(np.arange(100.0), share_offset(np.arange(100.0), 0.29)) == 29
    assert 0.07 * 100 > 7
    assert quantile_offset(np.arange(100.0), 0.07) == 6


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("nu", [1e-9, 0.07, 0.1, 1 / 3, 0.5, 1.0])
def test_quantile_solves_the_one_class_svm_of_the_scores(name, nu):
    s = SETS[name]
    offset = quantile_offset(s, nu)
    assert flagged(s, offset) <= nu * len(s) + 1e-9

    def value(rho):
        return rho - np.maximum(rho - s, 0).sum() / (nu * len(s))

    best = max(value(rho) for rho in s)  # concave, with kinks at the scores
    assert value(offset) == pytest.approx(best, rel=1e-9, abs=1e-9 / nu)
    assert not [rho for rho in s if rho < offset and value(rho) >= best + 1e-9 * abs(best)]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", SETS)
def test_shift_scale_and_order(cut, name):
    s = SETS[name]
    offset = CUTS[cut](s)
    assert np.isfinite(offset)
    assert CUTS[cut](s[RNG.permutation(len(s))]) == offset
    for scale, shift in ((1, 1000.0), (1e-12, 0.0), (1e12, -3e11), (1, -0.1), (1e300, 0.0), (1e-300, 0.0)):
        moved = CUTS[cut](scale * s + shift)
        size = scale * np.abs(s).max() + abs(shift)
        assert moved == pytest.approx(scale * offset + shift, rel=1e-12, abs=1e-12 * size)


@pytest.mark.parametrize("cut", CUTS)
def test_nothing_stands_out(cut):
    """Of scores that are all the same, or two, nothing is flagged; the scores are left as they are."""
    for s in (SETS["constant"], np.zeros(7), np.full(3, -1e300), SETS["one"]):
        before = s.copy()
        assert flagged(s, CUTS[cut](s)) == 0
        np.testing.assert_array_equal(s, before)
    assert flagged(SETS["two"], CUTS[cut](SETS["two"])) == 0


@pytest.mark.parametrize(("kind", "most"), [("uniform", 0.0), ("normal", 0.3), ("exponential", 5.0)])
def test_auto_is_silent_where_the_tail_goes_on(kind, most):
    """Tails that fall faster than exponentially have next to nothing to flag; most: rows in a thousand, on average."""
    found = []
    for seed in range(50):
        s = -np.abs(getattr(np.random.default_rng(seed), kind)(size=1000))
        found.append(flagged(s, auto_offset(s)))
    assert np.mean(found) <= most
    assert max(found) <= 25


@pytest.mark.parametrize("share", [0.002, 0.01, 0.05])
def test_auto_finds_what_stands_apart(share):
    n = int(share * 1000)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        s = np.concatenate([rng.normal(size=1000 - n), rng.normal(-12, 1, n)])
        decision = decide(s)
        found = s < decision.offset
        assert found[1000 - n :].all()
        assert not found[: 1000 - n].any()
        assert decision.n_anomalies.estimate == n
        assert decision.n_anomalies.low <= n <= decision.n_anomalies.high


def test_auto_by_hand():
    """k rows beyond t where n₀ = EDGE·N·exp(−(t − edge)/b) are expected: flagged where k − cost·n₀ is largest."""
    s = np.concatenate([np.random.default_rng(3).normal(size=950), np.random.default_rng(4).normal(-5, 0.7, 50)])
    t = -np.sort(s)
    body, edge = np.quantile(t, [0.75, 0.9])
    b = 0.8 * (1 + 1 / np.sqrt(100)) * (edge - body) / np.log(2.5)
    gains = []
    for k in range(1, 100):
        expected = 100 * np.exp(-(t[k - 1] - edge) / b)
        sure = expected <= 0.5 * k and k - expected >= 2 * np.sqrt(expected)
        gains.append(k - 3 * expected if sure else -np.inf)
    k = int(np.argmax(gains)) + 1
    assert flagged(s, auto_offset(s)) == k
    assert auto_offset(s) == pytest.approx(-(t[k - 1] + t[k]) / 2)


def test_auto_by_a_reference():
    """What the scores' own tail does not show, a table without anomalies does."""
    rng = np.random.default_rng(5)
    reference = rng.normal(size=2000)
    s = np.concatenate([rng.normal(size=1800), rng.normal(-2.5, 1.0, 200)])
    assert flagged(s, auto_offset(s)) == 0
    found = decide(s, reference)
    assert 20 <= flagged(s, found.offset) <= 150
    assert np.mean(s[1800:] < found.offset) > 20 * np.mean(s[:1800] < found.offset)
    assert found.n_anomalies.low > 20
    silent = decide(rng.normal(size=2000), reference)
    assert silent.n_anomalies.estimate == silent.n_anomalies.low == 0


def test_positive_scores_and_no_anomaly():
    """Rounding flags nobody."""
    for seed in range(300):
        s = np.random.default_rng(seed).uniform(0.1, 3.0, 300)
        decision = decide(s)
        assert decision.n_anomalies.estimate or flagged(s, decision.offset) == 0
        assert decision.n_anomalies.high <= 300


def test_a_group_is_no_anomaly():
    """A tenth of the rows that are as odd as each other are a group; as many that are odd in all degrees are not."""
    rng = np.random.default_rng(6)
    usual = rng.normal(size=900)
    alike, apart = rng.normal(-40, 0.05, 100), -40 * rng.exponential(size=100) - 10
    assert flagged(np.append(usual, alike), auto_offset(np.append(usual, alike))) == 0
    assert flagged(np.append(usual, apart), auto_offset(np.append(usual, apart))) > 50


def test_auto_of_mostly_one_value():
    """A row a little below many that tie is not odd; a row far below is."""
    s = np.concatenate([np.zeros(80), np.linspace(-0.5, 0.5, 19), [-20.0]])
    assert flagged(s, auto_offset(s)) == 1


def test_auto_of_one_column():
    """Its tail is taken to go on as its widest part does: a row far out is flagged, the tail is not."""
    s = -(np.abs(np.random.default_rng(7).standard_t(3, size=1000)) ** 1.5)
    assert flagged(s, auto_offset(s)) > flagged(s, decide(s, distances=-s).offset)
    far = np.append(s, -1e6)
    assert 1 <= flagged(far, decide(far, distances=-far).offset) <= 3


def test_auto_of_infinite_scores():
    s = SETS["normal"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert auto_offset(np.append(s, [-np.inf, -np.inf, np.inf])) == auto_offset(s)
        assert np.isfinite(auto_offset(np.array([-np.inf, np.inf])))
        assert np.isfinite(auto_offset(np.array([-1.7e308, 1.7e308, 1.7e308])))


def test_auto_with_a_least_scale():
    s = np.concatenate([np.linspace(0.0, 0.02, 300), np.linspace(-0.3, -0.29, 10), [-9.0]])
    assert flagged(s, auto_offset(s)) == 11
    assert flagged(s, auto_offset(s, 0.5)) == 1
    assert auto_offset(1e200 * s, 0.5e200) == pytest.approx(1e200 * auto_offset(s, 0.5))
    normal = SETS["normal"]
    assert auto_offset(normal, 1e-3) == auto_offset(normal)  # whose tail is wider


@pytest.mark.parametrize("kind", ["normal", "exponential", "uniform", "lognormal", "laplace"])
def test_no_value_of_a_falling_tail_lies_apart(kind):
    for seed in range(30):
        d = np.abs(getattr(np.random.default_rng(seed), kind)(size=1000))
        assert count_apart(d, 0.09) == 0


def test_values_that_lie_apart():
    rng = np.random.default_rng(0)
    usual = np.abs(rng.normal(size=1900))
    found = [count_apart(np.append(usual, rng.normal(7, 0.7, 100)), 0.09) for _ in range(10)]
    assert sum(90 <= k <= 110 for k in found) >= 8
    assert count_apart(np.append(usual[:900], rng.normal(9, 1, 100)), 0.09) == 0  # a tenth is a group
    assert count_apart(np.round(np.append(usual, rng.normal(6, 1, 100))), 0.09) == 0  # values repeat
    assert count_apart(np.zeros(50), 0.09) == count_apart(np.ones(1), 0.09) == 0
    s = -np.append(usual, np.full(100, 6.0) + rng.normal(0, 0.1, 100))
    decision = decide(s, distances=-s)
    assert flagged(s, decision.offset) == decision.n_anomalies.estimate == 100
