import numpy as np
import pytest

from oddatom.penalties import PENALTIES, make_penalty

T = (0.0, 1e-9, 0.03, 0.2, 0.5, 0.999, 1.0, 1.3, 2.0, 7.5)
BETA = (0.0, 1e-6, 0.02, 0.125, 0.5, 1.0, 3.0)
EPSILON = (1e-3, 0.1, 0.5, 1.2, 4.0)


def _cost(penalty, z, t):
    return 0.5 * (z - t) ** 2 + penalty.value(z)


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("beta", BETA)
@pytest.mark.parametrize("epsilon", EPSILON)
def test_prox_reaches_the_minimum_of_a_grid(name, beta, epsilon):
    penalty = make_penalty(name, beta, epsilon)
    grid = np.append(np.linspace(0.0, 8.0, 801), [epsilon, beta])
    for t in T:
        z = penalty.prox(t)
        costs = [_cost(penalty, v, t) for v in np.append(grid, t)]
        assert 0.0 <= z <= max(t, epsilon)
        assert _cost(penalty, z, t) <= min(costs) + 1e-12
        # The cost grows at most like (t + β + 8) a unit of z within a grid cell: not impossibly low either.
        assert _cost(penalty, z, t) >= min(costs) - 0.005 * (t + beta + 8.0)


@pytest.mark.parametrize("name", PENALTIES)
def test_prox_without_weight_changes_nothing(name):
    penalty = make_penalty(name, 0.0, 0.5)
    assert [penalty.prox(t) for t in T] == list(T)
    assert [penalty.value(t) for t in T] == [0.0] * len(T)


@pytest.mark.parametrize("name", PENALTIES)
def test_numpy_scalars_give_scalars(name):
    penalty = make_penalty(name, 0.1, 0.5)
    for t in (0.05, 0.3, 2.0):
        assert float(penalty.prox(np.float64(t))) == penalty.prox(t)
        assert np.ndim(penalty.prox(np.float64(t))) == 0


@pytest.mark.parametrize(
    ("name", "t", "value", "prox"),
    [
        ("l21", 0.3, 0.03, 0.2),
        ("l21", 0.05, 0.005, 0.0),
        ("l20", 0.3, 0.1, 0.0),
        ("l20", 0.5, 0.1, 0.5),
        ("l20", 0.0, 0.0, 0.0),
        ("l2eps", 0.3, 0.03, 0.2),
        ("l2eps", 2.0, 0.05, 2.0),
    ],
)
def test_values_by_hand(name, t, value, prox):
    penalty = make_penalty(name, 0.1, 0.5)
    assert penalty.value(t) == pytest.approx(value, abs=1e-15)
    assert penalty.prox(t) == pytest.approx(prox, abs=1e-15)


def test_a_penalty_is_a_value():
    assert make_penalty("l21", 0.1, 0.5) == make_penalty("l21", 0.1, 9.0)
    assert make_penalty("l2eps", 0.1, 0.5) != make_penalty("l2eps", 0.1, 9.0)


def test_clipped_nowhere_is_not_clipped():
    for t in (0.05, 0.3, 2.0):
        assert make_penalty("l2eps", 0.1, 1e300).prox(t) == make_penalty("l21", 0.1, 1.0).prox(t)
