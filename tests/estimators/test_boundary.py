"""boundary="ball", coupling_form="hinge" and trim in the four detectors: answers, invariances, errors, everywhere."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.metrics import roc_auc_score

from block_source import BlockSource
from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, SVDD, ParameterError, load

CLASSES = [DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM]
BALL = {"scoring": "margin", "trim": 0.0, "beta": 0.02, "random_state": 0}  # the others are defaults


def broken(n=8, seed=0):
    """Wine with some entries far off, and which rows those are."""
    X = load_wine().data
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(X), n, replace=False)
    columns = rng.integers(0, X.shape[1], n)
    X[rows, columns] += 12 * X.std(axis=0)[columns]
    return X, np.isin(np.arange(len(X)), rows)


@pytest.mark.parametrize("Class", CLASSES)
def test_the_ball_ranks_where_the_plane_does_not(Class):
    """Of kernels it says little: a row far from all others has codes near zero, which lie inside."""
    X, odd = broken()
    model = Class(**BALL).fit(X)
    assert (model.scoring_, model.boundary_) == ("distance", "ball")
    if Class in (DLOCSVM, DPLOCSVM):
        assert roc_auc_score(odd, -model.score_samples(X)) > 0.8
    assert model.train_scores_.max() <= 0.0
    flagged = model.predict(X) == -1
    assert 0 < flagged.sum() <= 0.1 * len(X)
    total = model.history_["total"]
    assert np.diff(total).max() <= 1e-8 * np.abs(total).max()


@pytest.mark.parametrize("Class", CLASSES)
def test_the_last_ball_is_svdd_of_the_codes(Class):
    X, _ = broken()
    model = Class(nu=0.2, **BALL).fit(X)
    codes = model.transform(X)
    codes = codes.toarray() if scipy.sparse.issparse(codes) else codes
    svdd = SVDD(nu=0.2).fit(codes)
    size = np.abs(codes).max()
    assert_allclose(model.coef_, svdd.center_, atol=1e-4 * size)
    assert_allclose(model.score_samples(X), -((codes - model.coef_) ** 2).sum(axis=1), atol=1e-9 * size**2)
    assert -model.svm_offset_ == pytest.approx(svdd.radius_**2, rel=1e-3)
    assert_allclose(model.train_decision_.shape, len(X))


@pytest.mark.parametrize("Class", CLASSES)
@pytest.mark.parametrize("scoring", ["margin", "description_length", "loda"])
def test_explanations_add_up(Class, scoring):
    X, _ = broken()
    model = Class(**{**BALL, "scoring": scoring}).fit(X)
    explained, scores = model.explain(X), model.score_samples(X)
    size = np.abs(scores).max()
    if explained.contributions is not None:
        assert_allclose(explained.contributions.sum(axis=1), scores, atol=1e-9 * size)
    if scoring != "description_length":
        assert_allclose(explained.by_atom.sum(axis=1), scores, atol=1e-9 * size)


@pytest.mark.parametrize("Class", CLASSES)
def test_parts_files_and_batches(Class, tmp_path):
    X, _ = broken()
    model = Class(**BALL).fit(X)
    parts = model.score_parts(X)
    assert set(parts) == {"distance", "residual", "description_length"}
    assert_array_equal(parts["distance"], model.score_samples(X))
    assert set(Class.paper(random_state=0).fit(X).score_parts(X)) == {"margin", "residual", "description_length"}
    assert "loda" in Class(scoring="loda", random_state=0).fit(X).score_parts(X)
    model.save(tmp_path / "m.oddatom")
    assert_array_equal(load(tmp_path / "m.oddatom").decision_function(X), model.decision_function(X))
    if hasattr(model, "detect_batch"):
        labels = model.detect_batch(X)
        assert set(np.unique(labels)) <= {-1, 1}
        assert (labels == 1).any()
    for i in (3, 90):  # a row's score does not depend on the others
        assert_array_equal(model.score_samples(X[i : i + 1]), model.score_samples(X)[i : i + 1])


@pytest.mark.parametrize("boundary", ["plane", "ball"])
@pytest.mark.parametrize("Class", CLASSES)
def test_hinge_descends(Class, boundary):
    X, _ = broken()
    total = Class(boundary=boundary, coupling=0.2, random_state=0, beta=0.02).fit(X).history_["total"]
    assert np.diff(total).max() <= 1e-8 * np.abs(total).max()


@pytest.mark.parametrize("Class", CLASSES)
def test_coupling_is_a_share_of_nu_n(Class):
    X, _ = broken()
    share, eta = (Class(**{**BALL, "nu": 0.2, "coupling": c}).fit(X) for c in (0.3, ("eta", 0.3 * 0.2 * len(X))))
    assert_allclose(share.score_samples(X), eta.score_samples(X), rtol=1e-9)
    other = Class(**{**BALL, "nu": 0.2, "coupling": ("eta", 0.3)}).fit(X)
    assert (other.score_samples(X) != share.score_samples(X)).any()
    history = share.history_
    assert_allclose(history["total"], history["F"] + 0.3 * 0.2 * len(X) * history["G"], rtol=1e-12)


def test_weights_are_repeated_rows():
    X, _ = broken()
    weights = np.random.default_rng(0).integers(1, 3, len(X))
    settings = {**BALL, "init": np.random.default_rng(1).normal(size=(10, 13)), "max_iter": 2}
    one = DLOCSVM(**settings).fit(X, sample_weight=weights)
    two = DLOCSVM(**settings).fit(np.repeat(X, weights, axis=0))
    assert_allclose(one.score_samples(X), two.score_samples(X), rtol=1e-3)


def test_files_have_the_ball_of_arrays(tmp_path):
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    X, _ = broken()
    pd.DataFrame(X, columns=[f"c{k}" for k in range(13)]).to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    for Class in (DLOCSVM, DPLOCSVM):
        here, there = Class(**BALL).fit(X), Class(**BALL).fit(str(tmp_path / "rows.parquet"))
        assert_allclose(there.coef_, here.coef_, atol=1e-6 * np.abs(here.coef_).max())
        assert_allclose(there.score_samples(X), here.score_samples(X), rtol=1e-6)


@pytest.mark.parametrize("Class", CLASSES)
def test_tensors_have_the_ball_of_arrays(Class):
    torch = pytest.importorskip("torch")
    X, _ = broken()
    here, there = Class(**BALL).fit(X), Class(**BALL).fit(torch.tensor(X))
    assert_allclose(there.coef_, here.coef_, atol=1e-5 * np.abs(here.coef_).max())
    assert_allclose(np.asarray(there.score_samples(torch.tensor(X))), here.score_samples(X), rtol=1e-4)


@pytest.mark.parametrize("Class", CLASSES)
def test_trimmed_rows_do_not_shape_the_dictionary(Class):
    X, odd = broken(16)
    model = Class(trim=0.2, random_state=0).fit(X)
    kept = model.kept_rows_
    assert kept.sum() == pytest.approx(0.8 * len(X), abs=2)
    assert kept[odd].mean() < 0.2 < 0.8 < kept[~odd].mean()
    assert model.train_scores_.size == len(X)
    assert (model.predict(X) == -1).sum() <= 0.1 * len(X)
    assert model.predict(X[odd]).sum() < 0
    total = model.history_["total"]
    assert np.diff(total).max() <= 1e-8 * np.abs(total).max()


def test_a_group_of_rows_that_is_not_rare_takes_part():
    """A quarter of the rows lies far from the others, and is as dense as they are; odd rows lie anywhere."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        A, far = rng.normal(size=(8, 3)), 6 * rng.normal(size=8)
        X = rng.normal(size=(800, 3)) @ A.T + 0.3 * rng.normal(size=(800, 8))
        X[:200] += far
        Z, odd = np.vstack([X, rng.uniform(X.min(0), X.max(0), (24, 8))]), np.arange(824) >= 800
        for Class in (DLOCSVM, DPLOCSVM):
            model = Class(random_state=seed).fit(Z)
            assert roc_auc_score(odd, -model.score_samples(Z)) > 0.98
            assert model.kept_rows_[:200].mean() > 0.1


def test_rows_with_the_flag_of_a_rare_thing_keep_their_share():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(600, 4)), rng.random(600) < 0.03])
    kept = DLOCSVM(random_state=0).fit(X).kept_rows_
    assert kept[X[:, -1] == 1].mean() > 0.4


@pytest.mark.parametrize("Class", CLASSES)
def test_the_kept_rows_alone_give_the_same_dictionary(Class):
    X, _ = broken(16)
    model = Class(scaling=None, random_state=0).fit(X)
    alone = Class(scaling=None, trim=0.0, random_state=0).fit(X[model.kept_rows_])
    assert_array_equal(alone.score_samples(X), model.score_samples(X))
    assert_array_equal(np.sort(model.score_samples(X)), model.train_scores_)


def test_columns_are_scaled_by_all_rows():
    """A column that varies among the rows left out alone has a spread; the norm is that of the rows kept."""
    X, odd = broken(16)
    X = np.column_stack([X, np.where(odd, 1e6 + np.arange(len(X)), 0.0)])
    model = DLOCSVM(random_state=0).fit(X)
    assert not X[model.kept_rows_, -1].any()
    assert model.scaling_.spread[-1] == pytest.approx(X[:, -1].std())
    rows = (X - model.scaling_.center) / model.scaling_.spread
    assert np.linalg.norm(rows[model.kept_rows_]) == pytest.approx(model.scale_)


def test_rows_that_are_nearly_all_the_same_are_all_kept():
    X = np.zeros((100, 3))
    X[:20] = np.random.default_rng(0).normal(size=(20, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DLOCSVM(beta=0.01, random_state=0).fit(X)
    assert not hasattr(model, "kept_rows_")


@pytest.mark.parametrize("scoring", ["description_length", "loda", "margin"])
@pytest.mark.parametrize("Class", CLASSES)
def test_rows_anywhere_give_the_same_model(Class, scoring, tmp_path):
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    torch = pytest.importorskip("torch")
    X, _ = broken()
    pd.DataFrame(X, columns=[f"c{k}" for k in range(13)]).to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    settings = {"scoring": scoring, "random_state": 0, "beta": 0.02}
    here = Class(**settings).fit(X)
    size = np.abs(here.score_samples(X)).max()
    for rows in (BlockSource(X, [60, 61]), str(tmp_path / "rows.parquet"), torch.tensor(X)):
        there = Class(**settings).fit(rows)
        assert_array_equal(there.kept_rows_, here.kept_rows_)
        assert_allclose(there.score_samples(X), here.score_samples(X), atol=1e-4 * size)
        assert_allclose(there.train_scores_, here.train_scores_, atol=1e-4 * size)
        assert there.offset_ == pytest.approx(here.offset_, abs=1e-3 * size)


def test_trim_with_folds_weights_and_files(tmp_path):
    X, odd = broken(12)
    model = DLOCSVM(n_folds=3, random_state=0).fit(X)
    p = model.p_values(X)
    assert np.median(p[odd]) < 0.1 < np.median(p[~odd])
    model.save(tmp_path / "m.oddatom")
    assert_array_equal(load(tmp_path / "m.oddatom").kept_rows_, model.kept_rows_)
    weights = np.where(odd, 1.0, 2.0)
    weighted = DLOCSVM(random_state=0).fit(X, sample_weight=weights)
    repeated = DLOCSVM(random_state=0).fit(np.repeat(X, weights.astype(int), axis=0))
    assert_array_equal(np.repeat(weighted.kept_rows_, weights.astype(int)), repeated.kept_rows_)
    partial = DLOCSVM(random_state=0).partial_fit(X)
    assert_array_equal(partial.score_samples(X), DLOCSVM(random_state=0).fit(X).score_samples(X))


@pytest.mark.parametrize("Class", [KDLOCSVM, KDPLOCSVM])
def test_all_rows_of_a_precomputed_kernel_are_kept(Class):
    X, _ = broken()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2) / 26)
    model = Class(kernel="precomputed", random_state=0).fit(K)
    assert not hasattr(model, "kept_rows_")
    assert model.scaling_.center is None


def test_what_does_not_go_together_is_refused():
    X, _ = broken()
    with pytest.raises(ParameterError, match=r"'coupling_form' parameter of DLOCSVM must be \"hinge\" where boundary"):
        DLOCSVM(coupling_form="multipliers").fit(X)
    with pytest.raises(ParameterError, match="'solver' parameter of DPLOCSVM must have an exact SVM where boundary"):
        DPLOCSVM(solver="paper").fit(X)
    with pytest.raises(ParameterError, match=r"'trim' parameter of DLOCSVM must leave two rows. Got 0.9 with 9 rows"):
        DLOCSVM(trim=0.9).fit(X[:9])
    for wrong in ({"boundary": "cube"}, {"coupling_form": "loose"}, {"trim": 1.0}, {"trim": -0.1}, {"scoring": "pit"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            DLOCSVM(**wrong).fit(X)
    for wrong in (-1.0, "much", ("eta", -1), ("share", 1), ("eta",), np.nan, True, None):
        with pytest.raises(
            ParameterError, match=r"'coupling' parameter of DLOCSVM must be a number ≥ 0 or \('eta', num"
        ):
            DLOCSVM(coupling=wrong).fit(X)
