"""Benjamini and Hochberg's procedure against SciPy's adjusted p-values, and by its definition."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import false_discovery_control

from oddatom.decisions import benjamini_hochberg

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("q", [0.01, 0.1, 0.3, 0.9])
def test_against_scipy(q):
    for n in (1, 2, 7, 100):
        for _ in range(20):
            p = RNG.uniform(size=n) ** RNG.choice([1, 2, 5])
            assert_array_equal(benjamini_hochberg(p, q), false_discovery_control(p) <= q)


def test_by_its_definition():
    for _ in range(50):
        p = RNG.integers(1, 30, 12) / 40  # with ties
        q = float(RNG.choice([0.05, 0.2, 0.5]))
        count = max((k for k in range(13) if np.sum(p <= q * k / 12) >= k), default=0)
        wanted = p <= q * count / 12 if count else np.zeros(12, bool)
        assert_array_equal(benjamini_hochberg(p, q), wanted)


def test_a_larger_p_value_carries_smaller_ones_along():
    """No p-value but the largest is at or below its own line, and that is enough for all."""
    assert_array_equal(benjamini_hochberg(np.array([0.1, 0.09, 0.08]), 0.1), True)
    assert_array_equal(benjamini_hochberg(np.array([0.11, 0.09, 0.08]), 0.1), False)


def test_bounds():
    assert benjamini_hochberg(np.empty(0), 0.1).shape == (0,)
    assert_array_equal(benjamini_hochberg(np.array([0.1, 1.0]), 0.2), [True, False])  # at the line
    assert_array_equal(benjamini_hochberg(np.ones(5), 0.99), False)
    assert benjamini_hochberg(np.array([0.0]), 0.01).dtype == bool
