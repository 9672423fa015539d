"""Rows with missing cells under the members: against loops, and what missing cells must not do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ensembles import factors, random_member
from oddatom import OddAtomDetector
from oddatom.ensemble.coded import coded_rows
from oddatom.ensemble.histogram import fit_histogram, missing_nats, nats
from oddatom.ensemble.joining import fit_calibration, z_scores
from oddatom.ensemble.members import Sizes, learn_member
from oddatom.ensemble.packed import pack
from oddatom.ensemble.parts import BUILT_IN
from oddatom.ensemble.row_parts import row_parts
from oddatom.ensemble.tails import CAP, fit_tails, tail_nats
from oddatom.ensemble.trimmed import HIDDEN, find_missing
from oddatom.scaling.asinh import fit_asinh


def emptied(X, share, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def model():
    X, rng = factors(200), np.random.default_rng(0)
    scaling = fit_asinh(X)
    members = [random_member(rng, 12, *sizes) for sizes in ((5, 4, 3), (1, 9, 3), (8, 1, 3))]
    return scaling, fit_histogram(X * scaling.unit), members


def coded_by_hand(y, absent, member):
    """The centroid next to the cells that are there, the atom that takes most of them, and what it takes."""
    here = ~absent
    c = min(member.centroids, key=lambda c: np.sum((y - c)[here] ** 2))
    w = np.where(here, y - c, 0.0)
    squares = [np.sum(d[here] ** 2) + HIDDEN * np.sum(d[absent] ** 2) for d in member.atoms]
    gains = [d @ w / square for d, square in zip(member.atoms, squares, strict=True)]
    i = int(np.argmax([abs(g) * np.sqrt(square) for g, square in zip(gains, squares, strict=True)]))
    taken = gains[i] * member.atoms[i]
    return i, gains[i], np.where(here, w, taken), taken


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_parts_against_loops(share, model):
    scaling, histogram, members = model
    X = emptied(factors(90, seed=1), share)
    parts = row_parts(X, scaling, histogram, pack(members))
    Y = scaling.apply(X)
    assert_array_equal(Y[np.isnan(X)], 0.0)
    for j, (x, y) in enumerate(zip(X, Y, strict=True)):
        absent = np.isnan(x)
        assert parts.missing[j] == absent.mean()
        assert_allclose(parts.rows[j, 1], np.sum(y**2), rtol=1e-12)
        for b, member in enumerate(members):
            if absent.all():
                continue
            i, gain, w, taken = coded_by_hand(y, absent, member)
            e = np.where(absent, 0.0, w - taken)
            length = member.cost[i] + gain**2 / (2 * member.gain_variance[i]) + e @ e / (2 * member.noise)
            wanted = length, member.spread.distance(w[None])[0], None, e @ e
            for k in (0, 1, 3):
                assert_allclose(parts.members[j, b, k], wanted[k], rtol=1e-9, atol=1e-12)


def test_a_complete_row_does_not_depend_on_missing_cells_around_it(model):
    scaling, histogram, members = model
    X = factors(100, seed=1)
    some = X.copy()
    some[1::2] = emptied(X[1::2], 0.3)
    whole = row_parts(X, scaling, histogram, pack(members))
    mixed = row_parts(some, scaling, histogram, pack(members))
    for one, two in zip(whole, mixed, strict=True):
        assert_array_equal(one[::2], two[::2])


def test_a_missing_cell_is_what_the_code_makes_of_it(model):
    scaling, histogram, members = model
    X = emptied(factors(50, seed=1), 0.2)
    rows = coded_rows(X, scaling, histogram, pack(members))
    absent = np.isnan(X)
    assert_array_equal(rows.residual[:, absent], 0.0)
    assert_array_equal(rows.deviation[:, absent], rows.taken[:, absent])


def test_a_row_without_cells_is_coded_as_the_medians(model):
    scaling, histogram, members = model
    none = np.full((1, 12), np.nan)
    medians = (scaling.center / scaling.unit)[None]
    one, two = (row_parts(rows, scaling, histogram, pack(members)) for rows in (none, medians))
    assert_allclose(one.members, two.members, rtol=1e-12)
    assert one.missing == 1.0


def test_a_missing_cell_counts_as_a_usual_one(model):
    """Of rows that lack a quarter of their cells about as many as of others lie on either side of 0."""
    scaling, histogram, members = model
    X = factors(4000, seed=1)
    X[::2] = emptied(X[::2], 0.25)
    parts = row_parts(X, scaling, histogram, pack(members))
    Z = z_scores(parts, fit_calibration(parts, BUILT_IN))
    for name in ("description_length", "distance", "norm", "residual"):
        lacking, whole = (np.median(Z[start::2, BUILT_IN.index(name)]) for start in (0, 1))
        assert abs(lacking - whole) < 0.5, name


def test_members_learned_from_rows_with_missing_cells():
    """Their noise is that of the complete rows, nearly; with medians filled in it is half as large again."""
    X = factors(2000)
    some = emptied(X, 0.2)
    found = []
    for rows in (X, some, np.where(np.isnan(some), np.median(X, axis=0), some)):
        scaling = fit_asinh(X)
        missing = find_missing(rows, np.ones(12, bool))
        Y = scaling.apply(rows)
        member = learn_member(Y, np.sum(Y**2, axis=1), 0.2, Sizes(4), np.random.RandomState(0), Y[:0], missing)
        found.append(member.noise)
    whole, lacking, filled = found
    assert 0.8 < lacking / whole < 1.25
    assert filled / whole > 1.4


@pytest.mark.parametrize("n_missing", [0, 1, 10, 40, 400])
def test_what_emptiness_costs(n_missing):
    U = np.random.default_rng(0).normal(size=(800, 2))
    U[:n_missing, 1] = np.nan
    cost = tail_nats(np.full((1, 2), np.nan), fit_tails(U))[0]
    share = (n_missing + 0.5) / 801
    assert_allclose(cost[1], max(-np.log(share) - CAP, 0.0))
    assert cost[1] <= -np.log(share)
    assert (cost[1] > 0) == (n_missing < 16)  # nothing from one in fifty on
    histogram = fit_histogram(U)
    assert_allclose(nats(np.full((1, 2), np.nan), histogram)[0], missing_nats(histogram))
    entropy = -np.sum(np.exp(-histogram.cost[1]) * -histogram.cost[1])
    assert_allclose(missing_nats(histogram)[1], entropy + cost[1])


def test_columns_without_a_value():
    X = factors(300)
    X[:, 4] = np.nan
    scores = OddAtomDetector(random_state=0).fit(X).score_samples(X)
    assert np.isfinite(scores).all()
    assert np.ptp(scores) > 0
