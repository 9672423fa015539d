"""Fits with trim on a cluster: the rows kept, and the model, are those of an array."""

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine

from oddatom import DLOCSVM, DPLOCSVM


@pytest.mark.parametrize("Class", [DLOCSVM, DPLOCSVM])
@pytest.mark.parametrize("scoring", ["description_length", "loda", "margin"])
def test_a_cluster_gives_the_model_of_an_array(client, Class, scoring):
    X = load_wine().data
    X[::20, 3] += 100.0
    here = Class(scoring=scoring, random_state=0).fit(X)
    there = Class(scoring=scoring, random_state=0).fit(da.from_array(X, chunks=(70, 13)))
    assert_array_equal(there.kept_rows_, here.kept_rows_)
    scores = here.score_samples(X)
    assert_allclose(there.score_samples(X), scores, atol=1e-5 * np.abs(scores).max())
    assert_allclose(there.train_scores_, here.train_scores_, atol=1e-5 * np.abs(scores).max())


def test_partitions_of_which_nothing_is_kept(client):
    """The rows of one partition are all odd."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60, 4)), rng.uniform(-900, 900, size=(30, 4))])
    here = DLOCSVM(trim=1 / 3, random_state=0).fit(X)
    there = DLOCSVM(trim=1 / 3, random_state=0).fit(da.from_array(X, chunks=(30, 4)))
    assert not here.kept_rows_[60:].any()
    assert_array_equal(there.kept_rows_, here.kept_rows_)
    assert_allclose(there.score_samples(X), here.score_samples(X), rtol=1e-6)
