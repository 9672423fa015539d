"""The codes of an atom given a fixed boundary: the formula against a search on a grid, and its limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from oddatom.boundary.hinge_codes import hinge_codes, slack


def objective(x, r, q, w, kappa, curvature, p):
    return 0.5 * p * x**2 - r * x + kappa * np.maximum(slack(x, q, w, curvature), 0.0)


@pytest.mark.parametrize("curvature", [0.0, 1.0])
def test_no_other_code_is_better(curvature):
    rng = np.random.default_rng(0)
    grid = np.linspace(-12, 12, 48_001)
    kinds = {"inside": 0, "outside": 0, "edge": 0}
    for _ in range(300):
        r, q = rng.normal(size=2) * [2.0, 1.5]
        w, kappa, p = rng.normal() * rng.choice([1.0, 0.0, 2.0]), rng.uniform(0, 3), 1.0 + rng.exponential()
        (x,) = hinge_codes(np.array([r]), np.array([q]), np.array([w]), kappa, curvature, p)
        least = objective(x, r, q, w, kappa, curvature, p)
        assert least <= objective(grid, r, q, w, kappa, curvature, p).min() + 1e-12
        edge = abs(slack(x, q, w, curvature)) < 1e-9
        kinds["edge" if edge else "inside" if x == r / p else "outside"] += 1
    assert min(kinds.values()) > 10, kinds


def test_limits():
    r, q, w = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.3, -5.0]), np.array([0.5, 0.5, 0.5])
    assert_allclose(hinge_codes(r, q, w, 0.7, 0.0, np.inf), 0.0)
    assert_allclose(hinge_codes(r, q, w, 0.0, 1.0, 2.0), r / 2.0)  # no coupling
    assert_allclose(hinge_codes(r, np.full(3, 1e9), w, 0.7, 0.0, 2.0), (r + 0.35) / 2.0)  # far outside
    assert_allclose(hinge_codes(r, np.full(3, 1e9), w, 0.7, 1.0, 2.0), (r + 0.35) / 2.7)
