"""TableDetector: the odd row comes first and its wrong column is named; the parts by hand give the same."""

import doctest
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_outlier_detector
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDOneClassSVM
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import oddatom
from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, OddAtomDetector, OddAtomError, ParameterError, TableWarning
from oddatom.table import TableDetector, TableEncoder, table_detector

N = 300
METHODS = ("score_samples", "decision_function", "predict", "p_values")
TINY = {"n_groups": 2, "trim": (0.3,), "n_centroids": 4, "n_atoms": 4, "n_directions": 2}


def orders(n=N, seed=0):
    """Orders of a shop: an id, numbers with gaps, text with gaps, dates; the price goes with product and amount."""
    rng = np.random.default_rng(seed)
    product = rng.choice(["pen", "book", "lamp"], n, p=[0.5, 0.3, 0.2])
    amount = rng.integers(1, 9, n)
    price = amount * np.select([product == "pen", product == "book"], [2.0, 15.0], 40.0) * rng.normal(1, 0.03, n)
    price[rng.choice(n, n // 10, replace=False)] = np.nan
    city = rng.choice(["Ulm", "Bonn", "Trier", "Kiel"], n).astype(object)
    city[rng.choice(n, n // 30, replace=False)] = None
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    columns = {"order": [f"A-{7919 * i % 10007:05}" for i in range(n)], "product": product, "amount": amount}
    return pd.DataFrame({**columns, "price": price, "city": city, "day": day})


# A gross error in a row of its own for each sort of column.
ERRORS = {"price": -4000.0, "amount": 900, "product": "elephant", "city": "Atlantis", "day": pd.Timestamp("1824-03-01")}


@pytest.fixture(scope="module")
def frame():
    return orders()


@pytest.fixture(scope="module")
def model(frame):
    return TableDetector(random_state=0).fit(frame)


CODES = [0, 3]  # product and city, without the id


@pytest.fixture(scope="module", params=["OddAtomDetector", "DLOCSVM", "DPLOCSVM"])
def explaining(request, frame):
    """Models of several detectors that explain, fitted."""
    paper = {"scoring": "description_length", "scaling": "robust", "n_folds": 3, "max_iter": 3, "random_state": 0}
    parameters = {"random_state": 0} if request.param == "OddAtomDetector" else paper
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TableDetector(getattr(oddatom, request.param)(**parameters)).fit(frame)


@pytest.mark.parametrize("column", ["price", "amount", "day"])
def test_a_gross_error_comes_first_and_its_column_is_named(frame, column):
    wrong = frame.copy()
    wrong.loc[41, column] = ERRORS[column]
    model = TableDetector(random_state=0).fit(wrong)
    assert model.score_samples(wrong).argmin() == 41
    assert model.predict(wrong)[41] == -1
    assert model.explain(wrong).contributions.loc[41].idxmin() == column


@pytest.mark.parametrize("column", ["product", "city"])
def test_a_value_of_its_own_is_named(frame, column):
    wrong = frame.copy()
    wrong.loc[41, column] = ERRORS[column]
    model = TableDetector(random_state=0).fit(wrong)
    assert model.score_samples(wrong)[41] < np.quantile(model.score_samples(wrong), 0.2)
    assert model.explain(wrong).contributions.loc[41].idxmin() == column


@pytest.mark.parametrize("column", ERRORS)
def test_a_gross_error_in_new_rows(frame, model, column):
    new = orders(50, seed=1)
    new.loc[17, column] = ERRORS[column]
    assert model.score_samples(new).argmin() == 17
    assert model.explain(new).contributions.loc[17].idxmin() == column
    assert model.p_values(new)[17] < 0.02


def test_it_is_the_encoder_and_the_detector_by_hand(frame, model):
    encoder = TableEncoder(categories="codes").fit(frame)
    X = encoder.transform(frame)
    detector = OddAtomDetector(categorical_features=CODES, random_state=0).fit(X)
    for name in METHODS:
        assert_array_equal(getattr(model, name)(frame), getattr(detector, name)(X), err_msg=name)
    parts, wanted = model.score_parts(frame), detector.score_parts(X)
    assert parts.keys() == wanted.keys()
    for name in wanted:
        assert_array_equal(parts[name], wanted[name])
    assert_array_equal(TableDetector(random_state=0).fit_predict(frame), detector.predict(X))
    assert model.offset_ == detector.offset_
    assert model.threshold_ == detector.threshold_
    assert model.columns_ == encoder.columns_
    assert model.n_features_in_ == 6
    assert list(model.feature_names_in_) == list(frame)
    assert is_outlier_detector(model)


def test_contributions_are_sums_by_column(frame, explaining):
    X = explaining.encoder_.transform(frame)
    by_output = explaining.detector_.explain(X).contributions
    found = explaining.explain(frame)
    assert list(found.contributions) == ["product", "amount", "price", "city", "day"]
    assert found.contributions.index is frame.index
    source = np.array(explaining.encoder_.source_)
    assert source.size > (4 if explaining.encoder_.categories == "codes" else 10)
    for name in found.contributions:
        wanted = by_output[:, source == name].sum(axis=1)
        assert_allclose(found.contributions[name], wanted, rtol=1e-12, atol=1e-12 * np.abs(by_output).max())
    assert_allclose(found.contributions.sum(axis=1), explaining.score_samples(frame), rtol=1e-9)
    by_atom = explaining.detector_.explain(X).by_atom
    assert (found.by_atom is None) == (by_atom is None)
    if by_atom is not None:
        assert_array_equal(found.by_atom, by_atom)
        assert list(found.by_atom) == list(explaining.detector_.get_feature_names_out())


def test_explanations_are_tables_of_the_input(frame, model):
    wanted = model.explain(frame).contributions
    for X, kind in ((pl.from_pandas(frame), pl.DataFrame), (pa.Table.from_pandas(frame), pa.Table)):
        found = model.explain(X).contributions
        assert type(found) is kind
        assert_array_equal(found.to_pandas(), wanted)
        assert list(found.to_pandas()) == list(wanted)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        array = model.explain(frame.to_numpy())
    assert type(array.contributions) is np.ndarray
    assert_array_equal(array.contributions, wanted)
    assert array.by_atom is None


def test_a_kernel_does_not_split_over_columns(frame):
    kernel = KDLOCSVM.paper(scoring="residual", scaling="robust", max_iter=2, approximation=16, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TableDetector(kernel).fit(frame)
    found = model.explain(pl.from_pandas(frame))
    assert found.contributions is None
    assert found.by_atom.shape == (N, model.detector_.components_.shape[0])
    assert type(found.by_atom) is pl.DataFrame


def test_every_library_gives_the_same(frame, model):
    wanted = model.score_samples(frame)
    tables = [pl.from_pandas(frame), pa.Table.from_pandas(frame)]
    for table in (*tables, frame[list(frame)[::-1]], frame.assign(more=1)):
        assert_array_equal(model.score_samples(table), wanted)
    for table in tables:
        assert_array_equal(TableDetector(random_state=0).fit(table).score_samples(frame), wanted)
    by_position = TableDetector(random_state=0).fit(frame.to_numpy())
    assert not hasattr(by_position, "feature_names_in_")
    assert_array_equal(by_position.score_samples(frame.to_numpy()), wanted)


def test_a_row_does_not_depend_on_the_others(frame, model):
    wanted = model.score_samples(frame)
    pieces = [model.score_samples(frame.iloc[start : start + 7]) for start in range(0, N, 7)]
    assert_array_equal(np.concatenate(pieces), wanted)


def test_save_and_load_to_the_bit(frame, explaining, tmp_path):
    explaining.save(tmp_path / "model")
    loaded = oddatom.load(tmp_path / "model")
    assert type(loaded) is TableDetector
    for name in METHODS:
        assert_array_equal(getattr(loaded, name)(frame), getattr(explaining, name)(frame), err_msg=name)
    assert_array_equal(loaded.explain(frame).contributions, explaining.explain(frame).contributions)
    assert repr(loaded) == repr(explaining)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert_array_equal(clone(loaded).fit(frame).score_samples(frame), explaining.score_samples(frame))


def test_a_saved_model_keeps_its_parameters(frame, tmp_path):
    model = TableDetector(ignore=np.array(["day"]), id="order", max_levels=3, missing="always", random_state=7)
    model.fit(frame).set_threshold(0.03).save(tmp_path / "model")
    loaded = oddatom.load(tmp_path / "model")
    assert loaded.get_params() == {**model.get_params(), "ignore": ["day"]}
    assert loaded.threshold_ == model.threshold_ == ("share", 0.03)
    assert loaded.offset_ == model.offset_


def test_what_a_file_cannot_hold(frame, tmp_path):
    model = TableDetector(IsolationForest(random_state=0)).fit(frame)
    with pytest.raises(OddAtomError, match=r"parameters.detector is a IsolationForest, .* Use pickle"):
        model.save(tmp_path / "model")
    with pytest.raises(NotFittedError, match="not fitted yet"):
        TableDetector().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_check_estimator():
    check_estimator(TableDetector(OddAtomDetector(threshold=0.1), random_state=0))
    check_estimator(TableDetector(IsolationForest(n_estimators=10), random_state=0))
    tags = get_tags(TableDetector()).input_tags
    assert tags.allow_nan
    assert tags.string
    assert tags.categorical


def test_parameters():
    model = TableDetector(OddAtomDetector(nu=0.2), ignore=["day"], max_levels=4)
    copied = clone(model)
    assert copied.get_params()["detector__nu"] == 0.2
    assert copied.detector is not model.detector
    assert (copied.ignore, copied.max_levels) == (["day"], 4)
    assert copied.set_params(detector__nu=0.3, dates="drop").detector.nu == 0.3
    assert model.detector.nu == 0.2
    copied.set_params(detector=IsolationForest(), detector__n_estimators=7)
    assert copied.detector.n_estimators == 7


def test_parameters_of_the_detector_that_none_means(frame):
    model = TableDetector(random_state=3).set_params(detector__scoring="norm")
    assert repr(model) == "TableDetector(detector=OddAtomDetector(scoring='norm'), random_state=3)"
    wanted = OddAtomDetector(scoring="norm", random_state=3)
    assert_array_equal(model.fit(frame).score_samples(frame), TableDetector(wanted).fit(frame).score_samples(frame))
    assert TableDetector().set_params(max_levels=3).detector is None
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        TableDetector().set_params(detector__colour=1)


def test_the_random_state_is_the_detectors(frame):
    forest = IsolationForest(n_estimators=5)
    model = TableDetector(forest, random_state=4).fit(frame)
    assert forest.random_state is None
    assert model.detector_.random_state == 4
    assert TableDetector(IsolationForest(random_state=2)).fit(frame).detector_.random_state == 2
    nested = TableDetector(make_pipeline(FunctionTransformer(), forest), random_state=4).fit(frame)
    assert_array_equal(nested.score_samples(frame), model.score_samples(frame))


def test_grid_search(frame):
    wrong = frame.copy()
    wrong.loc[::50, "price"] = 9000.0
    y = np.where(np.arange(N) % 50 == 0, -1, 1)
    grid = {"detector__scoring": ["joined", "norm"], "missing": ["seen", "always"]}
    search = GridSearchCV(
        TableDetector(OddAtomDetector(**TINY), random_state=0),
        grid,
        scoring="roc_auc",
        cv=KFold(2, shuffle=True, random_state=0),
    )
    search.fit(wrong, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_score_ > 0.95
    assert search.best_estimator_.detector_.scoring == search.best_params_["detector__scoring"]
    assert set(search.decision_function(wrong).argsort()[:7]) >= set(range(0, N, 50))


def test_in_a_pipeline(frame, model):
    kept = FunctionTransformer(lambda table: table[["product", "amount", "price"]])
    pipeline = Pipeline([("keep", kept), ("detect", TableDetector(random_state=0))]).fit(frame)
    wanted = TableDetector(columns=["amount", "price", "product"], random_state=0).fit(frame)
    assert_array_equal(pipeline.score_samples(frame), wanted.score_samples(frame))
    assert not np.array_equal(model.score_samples(frame), wanted.score_samples(frame))


def test_partial_fit(frame):
    first, second = frame.iloc[:200], frame.iloc[200:].copy()
    second.loc[210, "city"] = "Hamburg"
    model = TableDetector(random_state=0)
    assert_array_equal(
        model.partial_fit(first).score_samples(first),
        TableDetector(random_state=0).fit(first).score_samples(first),
    )
    encoder = TableEncoder(categories="codes").fit(first)
    by_hand = OddAtomDetector(categorical_features=CODES, random_state=0).partial_fit(encoder.transform(first))
    by_hand.partial_fit(encoder.transform(second), decay=0.5)
    model.partial_fit(second, decay=0.5)
    assert model.columns_ == encoder.columns_
    assert_array_equal(model.score_samples(frame), by_hand.score_samples(encoder.transform(frame)))
    with pytest.raises(ParameterError, match="'decay' parameter of OddAtomDetector"):
        model.partial_fit(second, decay=7)
    with pytest.raises(OddAtomError, match="has none of the columns that TableDetector was fitted on"):
        model.partial_fit(pd.DataFrame({"a": [1.0, 2.0]}))
    assert_array_equal(model.score_samples(frame), by_hand.score_samples(encoder.transform(frame)))
    online = TableDetector(SGDOneClassSVM(random_state=0)).partial_fit(first).partial_fit(second)
    assert online.detector_.t_ > len(first)


def test_methods_are_those_of_the_detector(frame):
    forest = TableDetector(IsolationForest(random_state=0))
    lacking = ("p_values", "explain", "score_parts", "set_threshold", "partial_fit")
    for model in (forest, forest.fit(frame)):
        assert not any(hasattr(model, name) for name in lacking)
        assert all(hasattr(model, name) for name in ("score_samples", "decision_function", "predict", "fit_predict"))
    for model in (TableDetector(), TableDetector(OddAtomDetector())):
        assert all(hasattr(model, name) for name in (*METHODS, *lacking))
    assert not hasattr(TableDetector(DPLOCSVM.paper()), "partial_fit")
    with pytest.raises(AttributeError, match="has no attribute 'p_values'"):
        forest.p_values(frame)
    X = TableEncoder().fit_transform(frame)
    alone = IsolationForest(random_state=0).fit(X)
    assert_array_equal(forest.decision_function(frame), alone.decision_function(X))
    assert forest.offset_ == alone.offset_
    assert not hasattr(forest, "threshold_")
    neighbours = TableDetector(LocalOutlierFactor())
    assert not hasattr(neighbours, "predict")
    assert_array_equal(neighbours.fit_predict(frame), LocalOutlierFactor().fit_predict(X))


def test_what_fit_is_passed_reaches_the_detector(frame):
    weights = np.where(np.arange(N) < 150, 1.0, 0.0)
    detector = DLOCSVM.paper(scoring="residual", scaling="robust", max_iter=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TableDetector(detector).fit(frame, sample_weight=weights)
        wanted = clone(detector).fit(TableEncoder().fit_transform(frame), sample_weight=weights)
    assert_array_equal(model.detector_.components_, wanted.components_)


def test_set_threshold(frame):
    model = TableDetector(random_state=0).fit(frame)
    assert model.set_threshold(0.05) is model
    assert 0 < (model.predict(frame) == -1).sum() <= 0.05 * N
    assert model.threshold_ == ("share", 0.05)
    with pytest.raises(ParameterError, match=r"'threshold' parameter of OddAtomDetector .* Got 7 instead"):
        model.set_threshold(7)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        TableDetector().set_threshold(0.1)


def test_a_failed_fit_leaves_the_old_model(frame):
    model = TableDetector(random_state=0).fit(frame)
    wanted, encoder = model.score_samples(frame), model.encoder_
    ids = frame[["order"]]
    for bad, problem in ((ids, "No column of the table can be used"), (frame.iloc[:1], "minimum of 2 is required")):
        for fit in (model.fit, model.fit_predict):
            with pytest.raises(ValueError, match=problem):
                fit(bad)
    with pytest.raises(ParameterError, match="'nu' parameter of OddAtomDetector"):
        model.set_params(detector__nu=-1.0).fit(frame)
    assert model.encoder_ is encoder
    assert_array_equal(model.score_samples(frame), wanted)
    unfitted = TableDetector()
    with pytest.raises(ValueError, match="No column of the table"):
        unfitted.fit(ids)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        unfitted.score_samples(frame)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        (
            {"detector": "iforest"},
            r"'detector' parameter of TableDetector must be an object implementing 'fit' or None",
        ),
        ({"max_levels": 0}, r"'max_levels' parameter of TableDetector must be .* Got 0 instead. 20 is the default"),
        ({"ignore": ["prise"]}, r"'ignore' parameter of TableDetector must name columns .* It has 'order', 'product'"),
        ({"random_state": "a"}, "'random_state' parameter of TableDetector"),
    ],
)
def test_errors_name_parameters(frame, parameters, problem):
    with pytest.raises(ParameterError, match=problem):
        TableDetector(**parameters).fit(frame)


def test_errors_and_warnings_name_columns(frame, model):
    with pytest.raises(
        OddAtomError, match=r"none of the columns that TableDetector was fitted on \('product', 'amount'"
    ):
        model.score_samples(frame[["order"]])
    with pytest.raises(OddAtomError, match="X has 2 features, but TableDetector is expecting 6 features"):
        model.predict(frame.to_numpy()[:, :2])
    gaps = frame.copy()
    gaps["amount"] = gaps["amount"].astype(object)
    gaps.loc[3, "amount"] = "many"
    with pytest.warns(TableWarning, match="column 'amount' has 1 value that is not a number") as caught:
        model.score_samples(gaps)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="X does not have valid feature names, but TableDetector was fitted") as caught:
        model.explain(frame.to_numpy())
    assert caught[0].filename == __file__
    large = frame.assign(count=2**60 + np.arange(N) % 100)
    with pytest.warns(TableWarning, match="count") as caught:
        TableDetector(IsolationForest(n_estimators=2)).fit(large)
    assert caught[0].filename == __file__


def test_a_detector_recommends_it_for_tables(frame):
    with pytest.raises(OddAtomError, match=r"or use oddatom\.TableDetector, which takes tables with text") as caught:
        OddAtomDetector().fit(frame)
    assert caught.value.advice.startswith("Columns that do not hold numbers: 'order', 'product', 'city', 'day'.")
    with pytest.raises(OddAtomError, match=r"column 'price'\. .* use oddatom\.OddAtomDetector or TableDetector"):
        DLOCSVM.paper().fit(frame[["amount", "price"]])
    assert np.isfinite(OddAtomDetector(**TINY).fit(frame[["amount", "price"]]).train_scores_).all()
    TableDetector(OddAtomDetector(**TINY)).fit(frame)


def test_docstring_example():
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(recurse=False).find(table_detector.TableDetector, "TableDetector", globs={}):
        assert runner.run(test).failed == 0
    assert runner.tries > 5
