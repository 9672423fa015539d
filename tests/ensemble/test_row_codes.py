import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ensembles import TABLES, duplicates, random_member, wide
from oddatom import OddAtomDetector
from oddatom.ensemble.coded import row_codes
from oddatom.ensemble.packed import pack
from oddatom.ensemble.parts import BUILT_IN

MORE_TABLES = {**TABLES, "duplicates": duplicates, "wide": wide}


@pytest.mark.parametrize("table", MORE_TABLES)
def test_codes_leave_the_residuals_that_scores_are_made_of(table):
    X = MORE_TABLES[table]()
    ensemble = OddAtomDetector(random_state=0).fit(X).ensemble_
    codes = row_codes(X, ensemble.scaling, ensemble.packed)
    Y, members = ensemble.scaling.apply(X), np.arange(codes.atom.shape[0])
    centroids = ensemble.packed.centroids[members, codes.centroid.T]
    atoms = ensemble.packed.atoms[members, codes.atom.T]
    left = Y[:, None] - centroids - codes.gain.T[..., None] * atoms
    expected = ensemble.parts(X).members[:, :, BUILT_IN.index("residual")]
    assert_allclose((left**2).sum(axis=2), expected, atol=1e-9 * max(expected.max(), 1.0))


def test_each_choice_is_the_best():
    X = np.random.default_rng(0).normal(size=(50, 5))
    ensemble = OddAtomDetector(random_state=0).fit(X).ensemble_
    members = [random_member(np.random.default_rng(seed), 5, K=3 + seed, n=2 + seed) for seed in range(3)]
    ensemble = ensemble._replace(packed=pack(members))
    codes, Y = row_codes(X, ensemble.scaling, ensemble.packed), ensemble.scaling.apply(X)
    for j in range(50):
        for b, member in enumerate(members):
            k = ((Y[j] - member.centroids) ** 2).sum(axis=1).argmin()
            gains = member.atoms @ (Y[j] - member.centroids[k])
            i = np.abs(gains).argmax()
            assert (codes.centroid[b, j], codes.atom[b, j]) == (k, i)
            assert codes.gain[b, j] == pytest.approx(gains[i])


@pytest.mark.parametrize("table", MORE_TABLES)
def test_the_code_of_a_row_is_its_own(table):
    X = MORE_TABLES[table]()[:200]
    ensemble = OddAtomDetector(random_state=0).fit(X).ensemble_
    twice = ensemble.packed._replace(atoms=np.repeat(ensemble.packed.atoms, 2, axis=1))  # every atom ties with its twin
    ensemble = ensemble._replace(packed=twice)
    together = row_codes(X, ensemble.scaling, ensemble.packed)
    assert (together.atom % 2 == 0).all()  # the first of two
    alone = [row_codes(x[None], ensemble.scaling, twice) for x in X]
    turned = row_codes(np.asfortranarray(X[::-1]), ensemble.scaling, twice)
    for name in together._fields:
        values = getattr(together, name)
        assert_array_equal(np.hstack([getattr(one, name) for one in alone]), values)
        assert_array_equal(getattr(turned, name)[:, ::-1], values)
