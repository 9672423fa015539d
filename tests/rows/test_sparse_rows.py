"""Sparse rows give what the same rows give dense, in memory and beyond it."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, OddAtomDetector
from oddatom.estimators import _validation
from oddatom.rows.files import file_source as files

DETECTORS = {
    "dl": DLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, random_state=0),
    "dpl": DPLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, random_state=0),
    "kdl": KDLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, approximation=40, random_state=0),
    "kdpl": KDPLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, approximation=40, random_state=0),
    "untuned": OddAtomDetector(random_state=0, rows_per_member=200),
}
FORMATS = (scipy.sparse.csr_array, scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array)


def rows(N=300, m=8):
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(N, 3)) @ rng.uniform(size=(3, m)) + 0.05 * rng.uniform(size=(N, m))
    X[rng.random(X.shape) < 0.3] = 0.0
    return X


@pytest.mark.parametrize("make", FORMATS)
@pytest.mark.parametrize("name", DETECTORS)
def test_sparse_is_dense(name, make):
    X = rows()
    dense, sparse = clone(DETECTORS[name]).fit(X), clone(DETECTORS[name]).fit(make(X))
    np.testing.assert_array_equal(sparse.score_samples(make(X)), dense.score_samples(X))
    np.testing.assert_array_equal(sparse.predict(make(X)), dense.predict(X))
    np.testing.assert_array_equal(sparse.predict(X), dense.predict(X))


@pytest.mark.parametrize("name", DETECTORS)
def test_sparse_rows_beyond_memory(monkeypatch, name):
    X = rows()
    wanted = clone(DETECTORS[name]).fit(X)
    opened = []
    monkeypatch.setattr(files, "usable_memory", lambda: 4 * X.nbytes)  # blocks of a sixteenth, on scratch files
    monkeypatch.setattr(files, "SpilledShard", lambda *args: opened.append(1) or spilled(*args))
    found = clone(DETECTORS[name]).fit(scipy.sparse.csr_array(X))
    assert len(opened) > 4 or name == "untuned"
    scale = np.abs(wanted.score_samples(X)).max()
    np.testing.assert_allclose(
        found.score_samples(scipy.sparse.csr_array(X)) / scale, wanted.score_samples(X) / scale, atol=1e-8
    )


spilled = files.SpilledShard


def test_what_does_not_fit_is_refused_with_its_size(monkeypatch):
    X = scipy.sparse.random_array((300, 8), density=0.3, rng=np.random.default_rng(0), format="csr")
    model = DLOCSVM.paper(n_atoms=12, random_state=0).fit(X)
    monkeypatch.setattr(_validation, "usable_memory", lambda: 20_000)
    with pytest.raises(MemoryError, match=r"300 × 8 sparse rows take 1.92e-05 GB as dense numbers, of 2e-05 GB"):
        model.transform(X)


def test_a_precomputed_kernel_is_not_sparse():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        KDLOCSVM.paper(kernel="precomputed").fit(scipy.sparse.eye_array(20))


def test_nan_is_named_by_column():
    X = scipy.sparse.csr_array(rows())
    X.data[0] = np.nan
    with pytest.raises(ValueError, match=f"NaN or infinity in column {X.indices[0]}"):
        DLOCSVM.paper().fit(X)


@pytest.mark.parametrize("method", ["p_values", "explain", "decision_function"])
def test_other_methods_of_the_untuned_detector(method):
    X = rows()
    model = clone(DETECTORS["untuned"]).fit(X)
    sparse, dense = (getattr(model, method)(rows) for rows in (scipy.sparse.csr_array(X), X))
    if method == "explain":
        sparse, dense = sparse.contributions, dense.contributions
    np.testing.assert_array_equal(sparse, dense)


def test_codes_of_sparse_rows():
    X = rows()
    model = clone(DETECTORS["dl"]).fit(X)
    assert abs(model.transform(scipy.sparse.csr_array(X)) - model.transform(X)).max() == 0.0
