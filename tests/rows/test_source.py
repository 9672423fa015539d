"""A fit to blocks of rows is the fit to one array of them."""

import numpy as np
import pytest
from sklearn.base import clone

from block_source import BlockSource
from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, OddAtomDetector, WorkerLostError, load
from oddatom.rows.draws import draw_order, draw_rows
from oddatom.scaling.array_columns import fit_scaling

ENDS = {"two": [200], "uneven, some empty": [0, 7, 7, 300, 300], "one": []}
DETECTORS = {
    "dl": DLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, scaling=None, random_state=0),
    "dl from data": DLOCSVM.paper(
        n_atoms=12, nu=0.2, beta=0.01, init="data", scoring="residual", n_init=2, random_state=0
    ),
    "dl description length": DLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, scoring="description_length", random_state=0),
    "dpl": DPLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, random_state=0),
    "dpl omp": DPLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, representation="omp", random_state=0),
    "kdl": KDLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, random_state=0),
    "kdl landmarks": KDLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, approximation=40, random_state=0),
    "kdl from data": KDLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, init="data", scaling="robust", random_state=0),
    "kdpl": KDPLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, approximation=40, random_state=0),
    "untuned": OddAtomDetector(random_state=0, rows_per_member=300),
}
ARRAYS = ("components_", "coef_", "train_scores_", "dual_coef_", "train_decision_", "train_coef_")


def rows(seed=0, N=420, m=6):
    rng = np.random.default_rng(seed)
    D = rng.uniform(size=(9, m))
    X = np.array([rng.uniform(0.5, 1.5, 2) @ D[rng.choice(9, 2, replace=False)] for _ in range(N)])
    return X + 0.05 * rng.uniform(size=X.shape)


@pytest.mark.parametrize("ends", ENDS.values(), ids=list(ENDS))
@pytest.mark.parametrize("name", DETECTORS)
def test_fit_equals_that_of_one_array(name, ends):
    X = rows()
    one = clone(DETECTORS[name]).fit(X)
    many = clone(DETECTORS[name]).fit(BlockSource(X, ends))
    for attribute in ARRAYS:
        if hasattr(one, attribute):
            np.testing.assert_allclose(
                getattr(many, attribute), getattr(one, attribute), rtol=1e-8, atol=1e-8, err_msg=attribute
            )
    scale = np.abs(one.score_samples(X)).max()
    np.testing.assert_allclose(many.score_samples(X) / scale, one.score_samples(X) / scale, atol=1e-8)
    assert many.offset_ == pytest.approx(one.offset_, rel=1e-7)
    assert many.n_features_in_ == 6


@pytest.mark.parametrize("kind", [None, "standard", "robust"])
def test_scaling_of_blocks(kind):
    X = rows(1) * np.array([1e-150, 1.0, 1e150, -3.0, 1.0, 1e5]) + np.array([0, 5.0, 0, 0, 0, 0])
    X[:, 4] = 0.7
    X[::3, 1] = -0.0
    wanted, found = fit_scaling(X, kind)[0], BlockSource(X, [3, 3, 100]).fit_scaling(kind)
    for one, other in zip(wanted, found, strict=True):
        if one is None:
            assert other is None
        else:
            np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-300)


def test_nan_is_named_by_column():
    X = rows()
    X[17, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN or infinity in column 2\."):
        BlockSource(X, [10]).fit_scaling(None)


def test_rows_are_taken_in_the_order_asked_for():
    X = rows()
    wanted = np.array([5, 419, 0, 5, 200, 199])
    np.testing.assert_array_equal(BlockSource(X, [0, 200, 300]).take(wanted), X[wanted])


def test_draw_over_blocks_is_the_draw_of_all_rows():
    X = rows()
    X[50:90] = X[3]  # copies, over two blocks
    wanted = X[draw_order(X, 5)[:30]]
    np.testing.assert_array_equal(draw_rows(BlockSource(X, [60, 200]), 5, 30), wanted)


def test_folds_are_refused():
    with pytest.raises(ValueError, match="'n_folds' parameter of DLOCSVM must be None"):
        DLOCSVM.paper(n_folds=5).fit(BlockSource(rows(), [3]))


def test_rows_that_are_nothing_are_refused():
    with pytest.raises(ValueError, match="nothing but zeros"):
        DLOCSVM.paper().fit(BlockSource(np.zeros((30, 4)), [3]))


@pytest.mark.parametrize("name", ["dl", "dpl", "kdl landmarks", "kdpl"])
def test_many_rows_leave_nothing_by_row_but_scores(monkeypatch, tmp_path, name):
    monkeypatch.setattr("oddatom.rows.source.KEPT_ROWS", 100)
    monkeypatch.setattr("oddatom.estimators._kernel.KEPT_ROWS", 100)
    X = rows()
    model = clone(DETECTORS[name]).fit(BlockSource(X, [200]))
    assert model.dual_coef_ is model.train_codes_ is model.train_decision_ is None
    assert getattr(model, "dictionary_coefficients_", None) is None
    assert model.train_scores_.shape == (420,)
    model.save(tmp_path / "model.oddatom")
    loaded = load(tmp_path / "model.oddatom")
    np.testing.assert_array_equal(loaded.score_samples(X), model.score_samples(X))
    if hasattr(model, "detect_batch"):
        np.testing.assert_array_equal(loaded.detect_batch(X), model.detect_batch(X))


def test_a_precomputed_kernel_is_refused():
    with pytest.raises(ValueError, match="'kernel' parameter of KDLOCSVM must not be 'precomputed'"):
        KDLOCSVM.paper(kernel="precomputed").fit(BlockSource(rows(), [3]))


def test_a_source_is_scored_and_stays_open():
    X = rows()
    source = BlockSource(X, [100])
    source.close = lambda: pytest.fail("it is the caller's")
    model = clone(DETECTORS["dl"]).fit(source)
    np.testing.assert_array_equal(model.score_samples(source), model.score_samples(X))
    with pytest.raises(ValueError, match="X has 5 features, but DLOCSVM is expecting 6"):
        model.predict(BlockSource(X[:, :5]))


def test_lost_workers_leave_the_model_that_was_whole():
    class Lost(BlockSource):
        def code_statistics(self, detector):
            raise WorkerLostError("gone")

    with pytest.raises(WorkerLostError) as caught:
        clone(DETECTORS["dl"]).fit(Lost(rows(), [100]))
    assert caught.value.model.n_iter == 6


def test_coefficients_over_all_rows_are_drawn_a_few_atoms_at_a_time(monkeypatch):
    wanted = clone(DETECTORS["kdl"]).fit(rows())
    monkeypatch.setattr("oddatom.learners.initial.HELD", 1000)  # two atoms of 420 rows
    found = clone(DETECTORS["kdl"]).fit(BlockSource(rows(), [200]))
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-8, atol=1e-8)
