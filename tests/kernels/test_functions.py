"""Kernels against scikit-learn's, the rules for gamma, and the same bits for an entry whatever is around it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import pairwise

from oddatom.arrays import threads as _threads
from oddatom.arrays.threads import threads
from oddatom.exceptions import OddAtomError
from oddatom.kernels import _compiled
from oddatom.kernels import functions as kernels
from oddatom.kernels.formulas import KERNELS
from oddatom.kernels.functions import LARGEST, Kernel, check_range, find_gamma, shorten

REFERENCE = {
    "rbf": lambda Y, Z: pairwise.rbf_kernel(Y, Z, gamma=0.7),
    "laplacian": lambda Y, Z: pairwise.laplacian_kernel(Y, Z, gamma=0.7),
    "polynomial": lambda Y, Z: pairwise.polynomial_kernel(Y, Z, degree=2, gamma=0.7, coef0=0.3),
    "poly": lambda Y, Z: pairwise.polynomial_kernel(Y, Z, degree=2, gamma=0.7, coef0=0.3),
    "sigmoid": lambda Y, Z: pairwise.sigmoid_kernel(Y, Z, gamma=0.7, coef0=0.3),
    "linear": pairwise.linear_kernel,
    "cosine": pairwise.cosine_similarity,
}


def rows(N, m=5, seed=0):
    return np.random.default_rng(seed).standard_normal((N, m))


def make(name):
    return Kernel(name, 0.7, 2.0, 0.3)


def test_every_kernel_has_a_reference():
    assert set(REFERENCE) == set(KERNELS)


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.parametrize("m", [1, 5])
def test_entries(name, m):
    Y, Z = rows(40, m), rows(23, m, seed=1)
    before = Y.copy(), Z.copy()
    K = make(name)(Y, Z)
    assert K.shape == (40, 23)
    assert_allclose(K, REFERENCE[name](Y, Z), atol=1e-13)
    assert_array_equal(make(name)(np.asfortranarray(Y), np.asfortranarray(Z)), K)
    assert_array_equal(Y, before[0])
    assert_array_equal(Z, before[1])


@pytest.mark.parametrize("name", REFERENCE)
def test_an_entry_is_the_same_in_any_block(name):
    kernel, Y = make(name), rows(151)
    K = kernel(Y, Y)
    assert_array_equal(K, K.T)
    assert_array_equal(kernel.diagonal(Y), np.diag(K))
    assert_array_equal(kernel(Y[7:30], Y[50:]), K[7:30, 50:])
    for j in (0, 3, 150):
        assert_array_equal(kernel(Y[[j]], Y), K[[j]])
        assert_array_equal(kernel(Y[[j]], Y[[8]]), K[[j]][:, [8]])


@pytest.mark.parametrize("name", REFERENCE)
def test_threads_do_not_matter(name, monkeypatch):
    monkeypatch.setattr(_threads, "SERIAL_NS", 100.0)
    monkeypatch.setattr(_threads._here, "serial_until", 0, raising=False)  # also where other cores are busy
    plans, plan = [], _threads.split
    monkeypatch.setattr(_compiled, "split", lambda *args, **kw: plans.append(plan(*args, **kw)) or plans[-1])
    Y = rows(400)
    with threads(1):
        serial = make(name)(Y, Y)
    with threads(2):
        assert_array_equal(make(name)(Y, Y), serial)
    assert [p.parallel for p in plans] == [False, True]


def test_which_are_positive_whatever_the_rows():
    assert all(Kernel(name).positive for name in ("rbf", "laplacian", "polynomial", "poly", "linear", "cosine"))
    assert not Kernel("sigmoid").positive
    assert not Kernel(pairwise.rbf_kernel).positive
    assert not Kernel("polynomial", degree=2.5).positive
    assert not Kernel("polynomial", coef0=-0.1).positive


def test_a_name_that_is_no_kernel():
    Y, rng = rows(5), np.random.RandomState(0)
    calls = (
        lambda: Kernel("rfb")(Y, Y),
        lambda: Kernel("rfb").diagonal(Y),
        lambda: Kernel("rfb").positive,
        lambda: Kernel("rfb").reach(5),
        lambda: find_gamma("median", "rfb", Y, rng),
    )
    for call in calls:
        with pytest.raises(OddAtomError, match=r"There is no kernel 'rfb'\. Choose from 'rbf', 'laplacian',") as caught:
            call()
        assert (caught.value.parameter, caught.value.value) == ("kernel", "rfb")


def test_a_power_that_is_no_number_counts_as_zero():
    Y = rows(30)
    base = 0.7 * Y @ Y.T + 0.3
    assert base.min() < 0
    K = Kernel("polynomial", 0.7, 1.5, 0.3)(Y, Y)
    assert_allclose(K, np.maximum(base, 0) ** 1.5, rtol=1e-12)


def test_cosine_does_not_depend_on_the_size_of_rows():
    Y = rows(20)
    wanted = pairwise.cosine_similarity(Y)
    assert_allclose(Kernel("cosine")(1e-200 * Y, 1e90 * Y), wanted, atol=1e-13)
    Y[4] = 0
    assert_array_equal(Kernel("cosine")(Y, Y)[4], 0)


# Functions


def test_a_function_is_called_with_two_arrays_of_rows():
    Y, Z, seen = rows(9), rows(4, seed=1), []

    def kernel(A, B):
        seen.append((A.shape, B.shape))
        return (A @ B.T).astype(np.float32).tolist()

    K = Kernel(kernel)(Y, Z)
    assert seen == [((9, 5), (4, 5))]
    assert K.dtype == np.float64
    assert_allclose(K, Y @ Z.T, atol=1e-5)
    assert_allclose(Kernel(pairwise.linear_kernel).diagonal(rows(130)), np.sum(rows(130) ** 2, axis=1))


def test_what_a_function_may_not_return():
    Y, Z = rows(9), rows(4)
    with pytest.raises(ValueError, match=r"shape \(9, 4\) for 9 and 4 rows\. Got \(4, 9\) instead; it is called"):
        Kernel(lambda A, B: B @ A.T)(Y, Z)
    with pytest.raises(ValueError, match=r"Got \(\) instead; it is called with two arrays of rows, not with two rows"):
        Kernel(lambda A, B: 1.0)(Y, Z)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"kernel function returned NaN or infinity\. Make it finite"):
            Kernel(lambda A, B, bad=bad: np.full((len(A), len(B)), bad))(Y, Z)


# Gamma


def gamma(rule, name, Y):
    return find_gamma(rule, name, Y, np.random.RandomState(0))


def test_gamma_rules():
    Y = rows(60) * [1, 2, 3, 4, 5]
    pairs = np.triu_indices(60, 1)
    medians = {
        "rbf": pairwise.euclidean_distances(Y, squared=True),
        "laplacian": pairwise.manhattan_distances(Y),
        "polynomial": np.abs(Y @ Y.T),
        "sigmoid": np.abs(Y @ Y.T),
    }
    for name, values in medians.items():
        assert gamma(2.5, name, Y) == 2.5
        assert gamma("auto", name, Y) == 1 / 5
        assert gamma("scale", name, Y) == pytest.approx(1 / (5 * Y.var()), rel=1e-12)
        assert gamma("median", name, Y) == pytest.approx(1 / np.median(values[pairs]), rel=1e-9)
    assert gamma("median", pairwise.rbf_kernel, Y) == gamma("median", "linear", Y)


def test_gamma_of_rows_that_do_not_vary():
    Y = np.full((9, 3), 0.25)
    assert gamma("scale", "rbf", Y) == gamma("median", "rbf", Y) == 1
    # Pairs of equal rows do not count: half of all here, and the median would be nothing.
    Y = np.repeat(rows(1), 30, axis=0)
    Y[:4] = rows(4, seed=2)
    distances = pairwise.euclidean_distances(Y, squared=True)[np.triu_indices(30, 1)]
    assert gamma("median", "rbf", Y) == pytest.approx(1 / np.median(distances[distances > 1e-9]), rel=1e-9)


def test_median_over_some_of_many_rows(monkeypatch):
    Y = rows(400)
    whole = gamma("median", "rbf", Y)
    monkeypatch.setattr(kernels, "_MEDIAN_ROWS", 150)
    some = gamma("median", "rbf", Y)
    assert some != whole
    assert some == pytest.approx(whole, rel=0.15)
    assert some == gamma("median", "rbf", Y)


# The range of numbers


def test_values_at_fit_must_leave_room():
    K = np.array([[1.0, -1e100], [3.0, 0.0]])
    assert check_range(K) is K
    for bad in (1.1e100, -np.inf, np.nan):
        with pytest.raises(
            ValueError, match=r"kernel overflows on the training rows: its values go up to .* Scale the"
        ):
            check_range(np.array([[1.0, bad]]))


@pytest.mark.filterwarnings("error")
def test_shorten():
    K = np.array([[1.0, -2.0], [1e101, -2e101], [np.inf, 1.0], [1.7e308, -1.7e308], [1e100, 0.0]])
    before = K.copy()
    out = shorten(K)
    assert_allclose(out, [[1, -2], [0.5e100, -1e100], [1e100, 0], [1e100, -1e100], [1e100, 0]], rtol=1e-14, atol=1e-200)
    assert_array_equal(out[[0, 4]], K[[0, 4]])
    assert_array_equal(K, before)
    assert shorten(K[:1]) is not None
    small = K[[0]]
    assert shorten(small) is small
    assert_allclose(shorten(small, 1.0), [[0.5, -1]])


@pytest.mark.parametrize("degree", [0.0, 0.5, 1.0, 2.0, 3.0, 30.0])
@pytest.mark.parametrize("gamma", [1e-3, 200.0])
def test_rows_within_reach_have_values_in_range(degree, gamma):
    kernel = Kernel("polynomial", gamma, degree, 1.0)
    reach = kernel.reach(4)
    assert 1 <= reach <= LARGEST
    landmark = np.full((1, 4), 0.5)  # of length 1
    value = kernel(np.full((1, 4), reach), landmark)[0, 0]
    assert value <= 10 * LARGEST
    if reach > 1 and degree >= 1:
        assert value > 1e-9**degree * LARGEST  # no shorter than it need be
    assert Kernel("rbf", gamma).reach(4) == Kernel(pairwise.rbf_kernel).reach(4) == LARGEST
