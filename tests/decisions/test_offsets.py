"""Where to cut: a share, the quantile of the one-class SVM of the scores, and the cut found from the scores alone."""

import warnings

import numpy as np
import pytest

from oddatom.decisions import auto_offset, quantile_offset, share_offset
from oddatom.decisions.threshold import OFFSETS
from reference import shortest_half

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
    **OFFSETS,
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


@pytest.mark.parametrize("name", SETS)
def test_auto_is_the_shortest_half_and_two_and_a_half_deviations(name):
    s = SETS[name]
    center, length = shortest_half(s)
    spread = length / 2 / 0.6744897501960817 if length > 0 else s.std()
    assert auto_offset(s) == pytest.approx(center - 2.5 * spread, rel=1e-9, abs=1e-9)


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


def test_auto_finds_what_stands_apart():
    for share in (0.02, 0.1, 0.3, 0.45):
        n = int(share * 1000)
        s = np.concatenate([RNG.normal(size=1000 - n), RNG.normal(-12, 1, n)])
        found = s < auto_offset(s)
        assert found[1000 - n :].all()
        assert found[: 1000 - n].mean() < 0.03


def test_auto_leaves_normal_scores_alone():
    shares = [flagged(s, auto_offset(s)) / 1000 for s in np.random.default_rng(4).normal(size=(20, 1000))]
    assert 0.001 < np.mean(shares) < 0.015  # 0.6 % of a normal distribution lies below −2.5


def test_auto_of_mostly_one_value():
    """A row a little below many that tie is not odd; a row far below is."""
    s = np.concatenate([np.zeros(80), np.linspace(-0.5, 0.5, 19), [-20.0]])
    assert flagged(s, auto_offset(s)) == 1


def test_auto_of_infinite_scores():
    s = SETS["normal"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert auto_offset(np.append(s, [-np.inf, -np.inf, np.inf])) == auto_offset(s)
        assert np.isfinite(auto_offset(np.array([-np.inf, np.inf])))
        assert np.isfinite(auto_offset(np.array([-1.7e308, 1.7e308, 1.7e308])))


def test_auto_with_a_least_deviation():
    s = np.concatenate([np.tile([0.0, 0.01, 0.02], 100), np.full(40, -0.3), [-9.0]])
    assert flagged(s, auto_offset(s)) == 41
    assert auto_offset(s, 0.5) == pytest.approx(0.01 - 2.5 * 0.5, abs=0.02)
    assert flagged(s, auto_offset(s, 0.5)) == 1
    assert auto_offset(1e200 * s, 0.5e200) == pytest.approx(1e200 * auto_offset(s, 0.5))
    normal = SETS["normal"]
    assert auto_offset(normal, 100.0) == auto_offset(normal)  # which do not repeat
    assert auto_offset(np.round(normal, 1), 0.1) == auto_offset(np.round(normal, 1))  # which spread more
