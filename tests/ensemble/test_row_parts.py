"""The kernel that computes the parts of rows, against loops in NumPy; blocks, chunks and threads change no bit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from ensembles import random_member, wide
from oddatom.arrays.threads import Plan, threads
from oddatom.ensemble import fused as module
from oddatom.ensemble.histogram import fit_histogram, nats
from oddatom.ensemble.members import Sizes, learn_member
from oddatom.ensemble.packed import pack
from oddatom.ensemble.row_parts import row_parts
from oddatom.scaling.asinh import fit_asinh

SIZES = ((5, 4, 3), (1, 9, 3), (8, 1, 3))  # centroids, atoms and directions of three members


def rows(N, m, seed=0):
    """Columns of different units, the last of three or more constant."""
    X = np.random.default_rng(seed).standard_t(4, (N, m)) * 10.0 ** np.linspace(-3, 3, m)
    if m > 2:
        X[:, -1] = 4.0
    return X


def model(m, seed=0):
    train = rows(120, m, seed=9)
    scaling = fit_asinh(train)
    rng = np.random.default_rng(seed)
    members = [random_member(rng, scaling.unit.size, *sizes) for sizes in SIZES]
    return train, scaling, fit_histogram(train * scaling.unit), members


@pytest.mark.parametrize("m", [1, 3, 20, 70])
@pytest.mark.parametrize("N", [1, 63, 64, 65, 200])
def test_parts_against_loops(N, m):
    train, scaling, histogram, members = model(m)
    X = rows(N, m)
    if m > 2:
        X[::5, -1] += 1.0  # never seen
    parts = row_parts(X, scaling, histogram, pack(members))
    Y = reference.asinh_columns(train, X)
    assert_allclose(parts.members, reference.member_parts(Y, members), rtol=1e-10, atol=1e-12)
    some = slice(0, 30)
    assert_allclose(parts.rows[some, 0], reference.histogram_nats(train, X[some]).sum(axis=1), rtol=1e-10)
    assert_allclose(parts.rows[:, 0], nats(X * scaling.unit, histogram).sum(axis=1), rtol=1e-12)
    assert_allclose(parts.rows[:, 1], np.sum(Y**2, axis=1), rtol=1e-10)


def test_learned_members():
    X = wide(120)
    scaling = fit_asinh(X)
    Y = scaling.apply(X)
    rng = np.random.RandomState(0)
    members = [learn_member(Y, np.sum(Y**2, axis=1), t, Sizes(), rng, Y[:0]) for t in (0.0, 0.35, 0.5)]
    new = wide(70, seed=1)
    parts = row_parts(new, scaling, fit_histogram(X * scaling.unit), pack(members))
    assert_allclose(parts.members, reference.member_parts(reference.asinh_columns(X, new), members), rtol=1e-10)


def test_a_member_is_the_same_alone_and_beside_larger_ones():
    _, scaling, histogram, members = model(20)
    X = rows(70, 20)
    together = row_parts(X, scaling, histogram, pack(members)).members
    for b, member in enumerate(members):
        assert_array_equal(row_parts(X, scaling, histogram, pack([member])).members[:, 0], together[:, b])


@pytest.mark.parametrize("m", [3, 70])
@pytest.mark.parametrize("size", [1, 7, 63, 64, 65])
def test_a_row_does_not_depend_on_those_around_it(m, size):
    _, scaling, histogram, members = model(m)
    packed, X = pack(members), rows(150, m)
    whole = row_parts(X, scaling, histogram, packed)
    pieces = [row_parts(X[i : i + size], scaling, histogram, packed) for i in range(0, 150, size)]
    for values, joined in zip(whole, zip(*pieces, strict=True), strict=True):
        assert_array_equal(values, np.concatenate(joined))
    assert_array_equal(row_parts(np.asfortranarray(X), scaling, histogram, packed).members, whole.members)
    assert_array_equal(row_parts(X[::-1], scaling, histogram, packed).members[::-1], whole.members)


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("parallel", [False, True])
def test_chunks_and_threads(k, parallel, monkeypatch):
    _, scaling, histogram, members = model(20)
    X = rows(300, 20)
    whole = row_parts(X, scaling, histogram, pack(members))
    monkeypatch.setattr(module, "split", lambda *_, **__: Plan(k, parallel, 1.0))
    with threads(2):
        for a, b in zip(row_parts(X, scaling, histogram, pack(members)), whole, strict=True):
            assert_array_equal(a, b)


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324, 0.0])
def test_extreme_rows(value):
    _, scaling, histogram, members = model(20)
    for values in row_parts(np.full((3, 20), value), scaling, histogram, pack(members)):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
