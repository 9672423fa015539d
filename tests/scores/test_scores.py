"""Every score against NumPy, row by row."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom.arrays import threads as _threads
from oddatom.arrays.threads import threads
from oddatom.coding import Codes, batch_omp
from oddatom.coding.histograms import BINS, CodeHistograms
from oddatom.scaling.linear import Scaling
from oddatom.scores import SCORES, CodeStatistics, score
from oddatom.scores.margin import linear_margin
from reference import description_length

RNG = np.random.default_rng(0)
D = RNG.standard_normal((12, 7))
D /= np.linalg.norm(D, axis=1, keepdims=True)
Y = RNG.standard_normal((50, 7))
Y[3] = 0  # a code without a single atom
Y[4] = 2 * D[5]  # one atom where three are allowed
W = RNG.standard_normal(12)
HISTOGRAMS = CodeHistograms(
    RNG.uniform(-1, 1, 12), RNG.uniform(0.5, 2, 12), RNG.uniform(-2, 0, 12), RNG.uniform(-5, 0, (12, BINS))
)
STATISTICS = CodeStatistics(RNG.uniform(0.01, 0.9, 12), RNG.uniform(0.1, 3, 12), 0.2, HISTOGRAMS)


def log_density(X):
    """LODA atom by atom, in plain NumPy."""
    center, spread, absent, present = HISTOGRAMS
    out = np.zeros(len(X))
    for j, i in np.ndindex(X.shape):
        u = (X[j, i] - center[i]) / spread[i]
        place = int((u / (1 + abs(u)) + 1) / 2 * BINS)
        out[j] += absent[i] if X[j, i] == 0.0 else present[i, place]
    return out


WANTED = {
    "margin": lambda X: X @ W,
    "residual": lambda X: -np.sum((Y - X @ D) ** 2, axis=1),
    "description_length": lambda X: -description_length(Y, D, X, *STATISTICS[:3]),
    "distance": lambda X: -np.sum((X - W) ** 2, axis=1),
    "loda": log_density,
}
# A row of more of what w points to, of less that the atoms leave, of shorter description, nearer, in denser bins.
NORMALITY = {
    "margin": lambda X: X @ W,
    "residual": lambda X: -np.linalg.norm(Y - X @ D, axis=1),
    "description_length": lambda X: np.exp(-description_length(Y, D, X, *STATISTICS[:3]) / 20),
    "distance": lambda X: 1 / (1 + np.linalg.norm(X - W, axis=1)),
    "loda": lambda X: np.exp(log_density(X) / 20),
}


@pytest.fixture(scope="module")
def codes():
    with threads(1):
        return batch_omp(Y, D, 3)


def dense(codes):
    X = np.zeros((len(Y), len(D)))
    for j, k in zip(*np.nonzero(codes.indices >= 0), strict=True):
        X[j, codes.indices[j, k]] += codes.values[j, k]
    return X


def test_every_score_is_tested():
    assert set(WANTED) == {*SCORES, "distance"} == set(NORMALITY)


@pytest.mark.parametrize("name", WANTED)
def test_against_numpy(codes, name):
    assert (codes.indices[3] == -1).all()
    assert (codes.indices[4] >= 0).sum() == 1
    scores = score(name, codes, W, STATISTICS)
    assert scores.shape == (50,)
    assert_allclose(scores, WANTED[name](dense(codes)), atol=1e-12)


@pytest.mark.parametrize("name", WANTED)
def test_padding_is_not_an_atom(codes, name):
    """Its index is −1: taken for an atom, it would be the last one."""
    unused = np.append(W[:-1], np.inf)
    bad = HISTOGRAMS._replace(spread=np.append(HISTOGRAMS.spread[:-1], np.nan))
    odd = STATISTICS._replace(variance=np.append(STATISTICS.variance[:-1], np.nan), histograms=bad)
    assert np.isfinite(score(name, Codes(*(part[3:5] for part in codes)), unused, odd)).all()


@pytest.mark.parametrize("name", WANTED)
def test_higher_is_more_normal(codes, name):
    scores = score(name, codes, W, STATISTICS)
    assert_array_equal(np.argsort(scores[5:]), np.argsort(NORMALITY[name](dense(codes))[5:]))


@pytest.mark.parametrize("name", WANTED)
def test_a_score_does_not_depend_on_the_other_rows(codes, name):
    scores = score(name, codes, W, STATISTICS)
    order = RNG.permutation(50)
    assert_array_equal(score(name, Codes(*(part[order] for part in codes)), W, STATISTICS), scores[order])
    for j in range(50):
        assert_array_equal(score(name, Codes(*(part[[j]] for part in codes)), W, STATISTICS), scores[[j]])


@pytest.mark.parametrize("name", WANTED)
def test_no_rows(codes, name):
    assert score(name, Codes(*(part[:0] for part in codes)), W, STATISTICS).shape == (0,)


# The margin of linear codes, in one pass over the rows


SCALINGS = {
    "scale": Scaling(None, None, 3.0),
    "columns": Scaling(RNG.standard_normal(7), RNG.uniform(0.1, 10, 7), 0.2),
}
V = RNG.standard_normal(7)


@pytest.mark.parametrize("name", SCALINGS)
def test_linear_margin(name):
    scaling = SCALINGS[name]
    center, spread = (0, 1) if scaling.center is None else scaling[:2]
    wanted = ((Y - center) / spread / scaling.scale) @ V
    scores = linear_margin(Y, scaling, V)
    assert_allclose(scores, wanted, atol=1e-12)
    wide = np.repeat(Y, 2, axis=1)
    before = wide.copy()
    for same in (wide[:, ::2], np.asfortranarray(Y), Y[::-1][::-1]):
        assert_array_equal(linear_margin(same, scaling, V), scores)
    assert_array_equal(wide, before)
    order = RNG.permutation(50)
    assert_array_equal(linear_margin(Y[order], scaling, V), scores[order])
    assert_array_equal(np.concatenate([linear_margin(Y[[j]], scaling, V) for j in range(50)]), scores)
    assert linear_margin(Y[:0], scaling, V).shape == (0,)


@pytest.mark.parametrize("m", [1, 3, 4, 8, 33])
def test_linear_margin_in_parallel(m, monkeypatch):
    monkeypatch.setattr(_threads, "SERIAL_NS", 100.0)
    monkeypatch.setattr(_threads._here, "serial_until", 0, raising=False)  # also where other cores are busy
    X, scaling = RNG.standard_normal((997, m)), Scaling(None, None, 0.7)
    v = RNG.standard_normal(m)
    plans = []
    plan = _threads.split
    monkeypatch.setattr(
        sys.modules["oddatom.scores.margin"], "split", lambda *args: plans.append(plan(*args)) or plans[-1]
    )
    with threads(1):
        serial = linear_margin(X, scaling, v)
    with threads(2):
        parallel = linear_margin(X, scaling, v)
    assert [p.parallel for p in plans] == [False, True]
    assert plans[1].k > 2
    assert_array_equal(parallel, serial)
    assert_allclose(serial, X @ v / 0.7, atol=1e-11)


@pytest.mark.filterwarnings("error")
def test_linear_margin_of_huge_rows():
    """A margin beyond all numbers is the largest, with the right sign; one within is found, whatever its terms."""
    largest = np.finfo(np.float64).max
    v = np.array([2.0, -1.0, 0.0])
    scaling = Scaling(np.array([0.0, 0.0, -1e308]), np.array([1e-3, 1e-3, 1.0]), 1e-2)
    huge = np.array([[1e308, 0, 0], [-1e308, 0, 0], [1e308, 1.5e308, 0], [0, 0, 1.7e308], [1e300, 2e300, 0], [0, 0, 0]])
    assert_array_equal(linear_margin(huge, scaling, v), [largest, -largest, largest, 0, 0, 0])
    assert_allclose(linear_margin(huge[:3] * 1e-8, scaling, v), [2e305, -2e305, 5e304], rtol=1e-12)
    plain = Scaling(None, None, 1e-3)
    assert_array_equal(linear_margin(huge[:2], plain, v), [largest, -largest])
    assert_array_equal(linear_margin(np.array([[1e307, 2e307, 0.0]]), plain, v), [0])
    assert_array_equal(linear_margin(huge, plain, np.zeros(3)), 0)
    far = Scaling(np.full(3, 1e308), np.ones(3), 1e-3)
    assert_array_equal(linear_margin(np.zeros((1, 3)), far, -v), largest)
