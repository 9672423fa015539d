"""Shares of a score by feature: against loops over parts and members, and that they are shares."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from ensembles import random_member
from oddatom.ensemble.histogram import fit_histogram
from oddatom.ensemble.joining import fit_calibration
from oddatom.ensemble.model import OF_ALL, Ensemble
from oddatom.ensemble.packed import pack
from oddatom.ensemble.parts import BUILT_IN as PARTS
from oddatom.ensemble.row_parts import row_parts
from oddatom.ensemble.shares import feature_shares, share_out
from oddatom.scaling.asinh import fit_asinh

WEIGHTS = np.array([0.3, 0.1, 0.2, 0.0, 0.25, 0.15])  # in the order of PARTS: the residual has none
JOINED = tuple(name for name in PARTS if name != "residual")
PLANE = np.array([0.5, 0.1, -0.2, 0.3, 0.4])


def rows(N=120, m=6, seed=0):
    X = np.random.default_rng(seed).standard_t(4, (N, m)) * 10.0 ** np.arange(m)
    X[:, 2] = 1.0
    return X


@pytest.fixture(scope="module")
def model():
    """Training rows, members and the ensemble of them."""
    X = rows()
    scaling = fit_asinh(X)
    histogram = fit_histogram(X * scaling.unit)
    rng = np.random.default_rng(1)
    members = [random_member(rng, 6, *sizes) for sizes in ((5, 4, 3), (2, 6, 3))]
    packed = pack(members)
    calibration = fit_calibration(row_parts(X, scaling, histogram, packed))
    return X, members, Ensemble(scaling, histogram, packed, 1, calibration, WEIGHTS, PLANE, 0.1, np.zeros((2, 9)))


def new_rows():
    X = rows(25, seed=3)
    X[::4, 2] = 2.0  # never seen in the constant column
    return X


def normal(values):
    return values / values.sum() if values.sum() > 0 else np.full(len(values), 1 / len(values))


def shares_of_parts(train, members, x):
    """By part, (6, m), slowly."""
    m = len(x)
    y = reference.asinh_columns(train, x[None])[0]
    out = np.zeros((6, m))
    for member in members:
        terms, _ = reference.member_terms(y, member)
        terms[2] = np.where(terms[2] == terms[2].max(), terms[2], 0.0)
        for p in range(4):
            out[p] += normal(np.maximum(terms[p], 0.0)) / len(members)
    rare = reference.histogram_nats(train, x[None])[0]
    out[4] = normal(np.maximum(rare - reference.histogram_entropy(train), 0.0))
    out[5] = normal(y**2)
    return out


@pytest.fixture(scope="module")
def by_part(model):
    train, members, _ = model
    return [shares_of_parts(train, members, x) for x in new_rows()]


@pytest.mark.parametrize("name", [*OF_ALL, *PARTS])
def test_shares_against_loops(model, by_part, name):
    _, _, ensemble = model
    X = new_rows()
    Z = ensemble.z_scores(ensemble.parts(X))
    shares = feature_shares(X, ensemble, Z, name)
    assert (shares >= 0).all()
    assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    for wanted, z, share in zip(by_part, Z, shares, strict=True):
        if name == "joined":
            of_part = normal(WEIGHTS * np.exp(z))
        elif name == "margin":
            odd = {part: np.exp(t) / (1 + np.exp(t)) for part, t in zip(PARTS, z, strict=True)}
            by_name = dict(zip(JOINED, np.abs(PLANE), strict=True))
            of_part = normal(np.array([odd[part] * by_name.get(part, 0.0) for part in PARTS]))
        else:
            of_part = (np.array(PARTS) == name).astype(float)
        assert_allclose(share, of_part @ wanted, rtol=1e-9, atol=1e-12)


def test_a_value_never_seen_in_a_constant_column_has_a_share(model):
    _, _, ensemble = model
    X = np.repeat(new_rows()[1:2], 2, axis=0)
    X[1, 2] = 2.0
    Z = ensemble.z_scores(ensemble.parts(X))
    usual, odd = feature_shares(X, ensemble, Z, "joined")
    assert odd[2] > 2 * usual[2]
    assert feature_shares(X, ensemble, Z, "histogram")[0, 2] == 0
    assert feature_shares(X, ensemble, Z, "histogram")[1].argmax() == 2
    assert feature_shares(X, ensemble, Z, "norm")[0, 2] == 0
    assert feature_shares(X, ensemble, Z, "norm")[1].argmax() == 2


def test_a_residual_that_stands_out_has_no_part_in_the_joined_score(model):
    _, _, ensemble = model
    X = new_rows()
    Z = ensemble.z_scores(ensemble.parts(X))
    wanted = feature_shares(X, ensemble, Z, "joined")
    Z[:, PARTS.index("residual")] = 1e6
    assert_array_equal(feature_shares(X, ensemble, Z, "joined"), wanted)


@pytest.mark.parametrize("name", [*OF_ALL, *PARTS])
def test_huge_rows_and_parts(model, name):
    _, _, ensemble = model
    X = np.array([[1e308] * 6, [-1e308] * 6, [0.0] * 6])
    for Z in (ensemble.z_scores(ensemble.parts(X)), np.full((3, 6), 1e9), np.full((3, 6), -1e9)):
        shares = feature_shares(X, ensemble, Z, name)
        assert (shares >= 0).all()
        assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 7])
def test_share_out(m):
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(m), 40)
    scores = rng.normal(size=40)
    scores[0] = 0.0
    out = share_out(scores, shares)
    assert_allclose(out.sum(axis=1), scores, atol=1e-14)
    if m > 1:
        assert_array_equal(out[1:].argmin(axis=1), shares[1:].argmax(axis=1))
    assert_allclose(out[scores < 0], scores[scores < 0, None] * shares[scores < 0])
    assert (out[scores > 0] >= 0).all()
