"""SVDD as a scikit-learn detector: contract, answers, input, explanations, model files."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.preprocessing import RobustScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from oddatom import SVDD, LinearOneClassSVM, SolverWarning, load


@parametrize_with_checks([SVDD(), SVDD(nu=0.2, n_jobs=1)])
@pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
@pytest.mark.contract
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def wine():
    return RobustScaler().fit_transform(load_wine().data)


def test_attributes_and_scores():
    X = wine()
    model = SVDD(nu=0.2).fit(X)
    assert model.center_.shape == (13,)
    assert_allclose(model.center_, model.dual_coef_ @ X, atol=1e-10)
    assert model.dual_coef_.sum() == pytest.approx(1.0)
    assert_allclose(model.score_samples(X), -((X - model.center_) ** 2).sum(axis=1))
    assert_array_equal(model.decision_function(X), model.score_samples(X) - model.offset_)
    assert (model.predict(X) == -1).sum() <= 0.2 * len(X)
    on_sphere = (model.dual_coef_ > 1e-6) & (model.dual_coef_ < (1 - 1e-6) / (0.2 * len(X)))
    assert on_sphere.any()
    assert_allclose(-model.score_samples(X)[on_sphere], model.radius_**2, rtol=1e-6)
    assert_array_equal(model.predict(X[on_sphere]), 1)


def test_broken_rows_of_centred_columns_come_first():
    """Where a plane fails: usual rows of centred columns lie around the origin."""
    X = wine()
    rng = np.random.default_rng(0)
    broken = rng.choice(len(X), 5, replace=False)
    X[broken, rng.integers(0, 13, 5)] += 12.0
    model = SVDD(nu=0.1).fit(X)
    assert set(np.argsort(model.score_samples(X))[:5]) == set(broken)
    assert_array_equal(model.predict(X[broken]), -1)
    with pytest.warns(match="no margin"):
        assert LinearOneClassSVM(nu=0.1).fit(X).score_samples(X).std() == 0.0


def test_explanations_add_up_and_name_the_broken_column():
    frame = pd.DataFrame(wine(), columns=load_wine().feature_names)
    model = SVDD(nu=0.1).fit(frame)
    row = frame.iloc[[7]].copy()
    row["hue"] += 15.0
    explained = model.explain(row).contributions
    assert explained.columns.tolist() == frame.columns.tolist()
    assert explained.iloc[0].idxmin() == "hue"
    assert_allclose(explained.sum(axis=1), model.score_samples(row))


def test_sparse_rows_have_the_ball_of_dense_ones():
    X = wine() * (np.random.default_rng(0).random((178, 13)) < 0.4)
    dense, sparse = SVDD(nu=0.2).fit(X), SVDD(nu=0.2).fit(scipy.sparse.csr_array(X))
    assert_allclose(sparse.center_, dense.center_, atol=1e-7)
    assert_allclose(sparse.score_samples(scipy.sparse.csr_array(X)), dense.score_samples(X), rtol=1e-6)
    assert_allclose(sparse.explain(scipy.sparse.csr_array(X[:3])).contributions, dense.explain(X[:3]).contributions,
                    atol=1e-6)  # fmt: skip


def test_a_gap_that_stays_is_told(monkeypatch):
    monkeypatch.setattr("oddatom.estimators.linear_one_class_svm.GAP_TOL", -1.0)
    with pytest.warns(SolverWarning, match="SVDD ended with a duality gap of"):
        SVDD(nu=0.1).fit(wine())


def test_saved_and_loaded(tmp_path):
    model = SVDD(nu=0.1).fit(wine())
    model.save(tmp_path / "ball.oddatom")
    assert_array_equal(load(tmp_path / "ball.oddatom").decision_function(wine()), model.decision_function(wine()))
