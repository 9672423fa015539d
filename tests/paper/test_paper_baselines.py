"""The baselines against scikit-learn called directly, their grids against the protocol, and the set-inclusion rule."""

import json
import warnings
from importlib import import_module

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import orthogonal_mp_gram
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from oddatom import DLOCSVM
from oddatom.paper.base import DataSet, setting_text
from oddatom.paper.standardising import standardise
from oddatom.paper.uniform import EPSILON, inclusion, learn_uniform
from oddatom.penalties import make_penalty

NAMES = ("ocsvm", "lof", "iforest", "autoencoder", "uniform_l21", "uniform_l20", "uniform_l2eps")
UNIFORM = NAMES[4:]
BETAS = {"uniform_l21": 0.05, "uniform_l20": 0.003, "uniform_l2eps": 0.03}  # some atoms trimmed, some not


def method(name):
    return import_module(f"oddatom.paper.methods.{name}").METHOD


def data_set(n_rows=300, n_features=6, sparsity=3, nu=0.05):
    return DataSet("made", "", "", n_features, n_rows, 15, False, sparsity, nu, {}, {})


@pytest.fixture(scope="module")
def rows():
    """Rows near a plane, 15 of 300 off it; one column is constant, and columns have units of their own."""
    rng = np.random.RandomState(3)
    X = np.abs(rng.normal(size=(300, 2))) @ np.abs(rng.normal(size=(2, 6))) + 0.05 * rng.normal(size=(300, 6))
    X[:15] = 4.0 * rng.normal(size=(15, 6))
    X *= [1.0, 10.0, 0.1, 1.0, 100.0, 1.0]
    X[:, 5] = 7.0
    return X


def plain(X):
    """Standardise by hand."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0)


def fit(name, X, setting, draw=0, view="published", nu=0.05, **shape):
    if name == "autoencoder":
        pytest.importorskip("torch")
        pytest.importorskip("tqdm")
        pytest.importorskip("pyod")
    return method(name).fit(X, data_set(**shape), setting, draw, view, nu)


def small_setting(name):
    setting = dict(method(name).grid(data_set(), "quick")[0])
    if name == "autoencoder":
        setting["epochs"] = 3
    if name in BETAS:
        setting["beta"] = BETAS[name]
    return setting


# ---- standardising


def test_standardising_is_fitted_once_and_safe_for_constant_columns(rows):
    scaler, Z = standardise(rows[:200])
    np.testing.assert_allclose(Z, plain(rows[:200]), atol=1e-12)
    assert (Z[:, 5] == 0.0).all()
    spread = np.where(np.arange(6) == 5, 1.0, rows[:200].std(axis=0))
    np.testing.assert_allclose(
        scaler.transform(rows[200:]), (rows[200:] - rows[:200].mean(axis=0)) / spread, atol=1e-12
    )


# ---- every method


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_is_the_same_again_and_follows_the_contract(name, rows):
    setting = small_setting(name)
    one, two = fit(name, rows, setting), fit(name, rows, setting)
    np.testing.assert_array_equal(one.train_labels, two.train_labels)
    np.testing.assert_array_equal(one.train_scores, two.train_scores)
    assert one.train_labels.dtype == bool
    assert one.train_labels.shape == one.train_scores.shape == (300,)
    assert np.isfinite(one.train_scores).all()
    new = rows[40:90] * 1.01
    np.testing.assert_array_equal(one.labels(new), two.labels(new))
    np.testing.assert_array_equal(one.scores(new), two.scores(new))
    assert one.labels(new).dtype == bool
    json.dumps(one.extra)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "lof"])
def test_training_rows_are_labelled_as_new_rows_are(name, rows):
    fitted = fit(name, rows, small_setting(name))
    np.testing.assert_array_equal(fitted.labels(rows), fitted.train_labels)
    np.testing.assert_array_equal(fitted.scores(rows), fitted.train_scores)


@pytest.mark.parametrize("name", NAMES)
def test_draws_matter_to_random_methods_alone(name, rows):
    setting = small_setting(name)
    same = np.array_equal(fit(name, rows, setting, 0).train_scores, fit(name, rows, setting, 1).train_scores)
    assert same != method(name).random


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_plain_and_all_different(name):
    for shape in ({}, {"n_rows": 49_097, "n_features": 9}, {"n_features": 36}):
        for effort in ("quick", "full"):
            settings = [setting_text(s) for s in method(name).grid(data_set(**shape), effort)]
            assert len(set(settings)) == len(settings)
            assert [setting_text(json.loads(s)) for s in settings] == settings
        json.dumps(method(name).fixed(data_set(**shape)))


@pytest.mark.parametrize(
    ("name", "size", "quick"),
    [
        ("ocsvm", 1 + 3 * (2 + 19), 8),
        ("lof", 6 * 4 * (15 + 4), 8),
        ("iforest", 8 * 2 * 18, 6),
        ("autoencoder", 7 * 8 * 10, 4),
        *((name, 50, 5) for name in UNIFORM),
    ],
)
def test_grids_have_the_sizes_of_the_protocol(name, size, quick):
    satellite = data_set(n_rows=6435, n_features=36)
    assert len(method(name).grid(satellite, "full")) == size
    for shape in ({"n_rows": 6435, "n_features": 36}, {"n_rows": 49_097, "n_features": 9}, {"n_rows": 148}):
        assert 1 <= len(method(name).grid(data_set(**shape), "quick")) <= quick


@pytest.mark.parametrize("name", [n for n in NAMES if n != "autoencoder"])
@pytest.mark.parametrize("n_rows", [300, 49_097])
def test_quick_settings_are_some_of_the_published_ones(name, n_rows):
    data = data_set(n_rows=n_rows, n_features=9)
    full = {setting_text(s) for s in method(name).grid(data, "full")}
    quick = [dict(s) for s in method(name).grid(data, "quick")]
    thinned = [s.pop("every", 1) for s in quick]
    assert {setting_text(s) for s in quick} < full
    assert set(thinned) == ({16} if name == "ocsvm" and n_rows > 10_000 else {1})


def test_the_protocols_values_are_in_the_grids():
    data = data_set(n_features=9)
    gammas = {s["gamma"] for s in method("ocsvm").grid(data, "full") if s["kernel"] == "rbf"}
    assert {"auto", "scale", 1 / 16654, 1 / 8126, 1 / 12, 1.0, 32.0} < gammas
    assert {s["nu"] for s in method("ocsvm").grid(data, "full")} == {0.5}
    assert {s["kernel"] for s in method("ocsvm").grid(data, "full")} == {"linear", "poly", "rbf", "sigmoid"}
    lof = method("lof").grid(data, "full")
    assert {s["n_neighbors"] for s in lof} == {3, 5, 7, 9, 11, 13}
    assert {s["leaf_size"] for s in lof} == {20, 30, 40, 50}
    assert {s.get("p") for s in lof} == {None, 1, 2, 5, 50}
    assert len({s["metric"] for s in lof}) == 16
    forest = method("iforest").grid(data, "full")
    assert {s["n_estimators"] for s in forest} == set(range(50, 401, 50))
    assert {s["max_features"] for s in forest} == {1, 3, 5, 7, 9}
    betas = [s["beta"] for s in method("uniform_l21").grid(data, "full")]
    np.testing.assert_allclose(betas, np.linspace(0.01, 0.5, 50))


# ---- scikit-learn's methods, against scikit-learn


@pytest.mark.parametrize("index", range(64))
def test_ocsvm_is_scikit_learns(index, rows):
    setting = method("ocsvm").grid(data_set(), "full")[index]
    Z = plain(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        direct = OneClassSVM(kernel=setting["kernel"], gamma=setting.get("gamma", "scale"), max_iter=5000).fit(Z)
    fitted = fit("ocsvm", rows, setting)
    margins = direct.decision_function(Z)
    sure = np.abs(margins) > 1e-6 * np.abs(margins).max()
    np.testing.assert_array_equal(fitted.train_labels[sure], (direct.predict(Z) == -1)[sure])
    np.testing.assert_allclose(fitted.train_scores, -margins, rtol=1e-6, atol=1e-6 * np.abs(margins).max())
    assert fitted.extra["stopped"] == (direct.n_iter_ >= 5000)


def test_ocsvm_stops_early_as_published_and_says_so(rows, monkeypatch):
    module = import_module("oddatom.paper.methods.ocsvm")
    setting = {"kernel": "rbf", "gamma": 1.0, "nu": 0.5}
    monkeypatch.setattr(module, "PUBLISHED_STEPS", 20)
    published, converged = (fit("ocsvm", rows, setting, view=view) for view in ("published", "converged"))
    assert published.extra["stopped"]
    assert published.extra["n_iter"] == 20
    assert not converged.extra["stopped"]
    direct = OneClassSVM(gamma=1.0).fit(plain(rows))
    np.testing.assert_allclose(converged.train_scores, -direct.decision_function(plain(rows)), atol=1e-6)
    assert np.abs(published.train_scores - converged.train_scores).max() > 1e-2
    monkeypatch.setattr(module, "LARGE", 299)
    monkeypatch.setattr(module, "MOST_STEPS", 30)
    large = fit("ocsvm", rows, setting, view="converged").extra
    assert (large["stopped"], large["n_iter"]) == (True, 30)


def test_ocsvm_quick_on_large_sets_fits_to_some_rows_and_labels_all(rows):
    fitted = fit("ocsvm", rows, {"kernel": "rbf", "gamma": "scale", "nu": 0.5, "every": 16})
    Z = plain(rows)
    direct = OneClassSVM().fit(Z[::16])
    np.testing.assert_allclose(fitted.train_scores, -direct.decision_function(Z), rtol=1e-6, atol=1e-9)


def test_ocsvm_without_labels_does_not_take_the_share_of_outliers(rows):
    setting = method("ocsvm").fixed(data_set())
    fitted = fit("ocsvm", rows, setting, view="unlabelled", nu=0.4)
    direct = OneClassSVM(nu=0.1).fit(plain(rows))
    np.testing.assert_allclose(fitted.train_scores, -direct.decision_function(plain(rows)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("metric", import_module("oddatom.paper.methods.lof").METRICS)
@pytest.mark.parametrize("columns", [6, 18])  # by trees, and by brute force
def test_lof_is_scikit_learns(metric, columns, rows):
    X = np.hstack([rows] * (columns // 6)) + np.random.RandomState(0).normal(size=(300, columns))
    setting = {"n_neighbors": 5, "leaf_size": 20, "metric": metric, **({"p": 5} if metric == "minkowski" else {})}
    fitted = fit("lof", X, setting)
    Z = plain(X)
    given = {
        "seuclidean": {"metric": "euclidean"},  # standardised columns have variance one
        "l1": {"metric": "manhattan"},
        "l2": {"metric": "euclidean"},
        "mahalanobis": {"metric": "euclidean"},  # of whitened rows
        "minkowski": {"metric": "minkowski", "p": 5},
    }.get(metric, {"metric": metric})
    if metric == "mahalanobis":
        Z = Z @ np.linalg.inv(np.linalg.cholesky(np.cov(Z.T))).T
    direct = LocalOutlierFactor(n_neighbors=5, **given)
    labels = direct.fit_predict(Z) == -1
    np.testing.assert_allclose(fitted.train_scores, -direct.negative_outlier_factor_, rtol=1e-6)
    np.testing.assert_array_equal(fitted.train_labels, labels)


def test_lof_labels_new_rows_by_a_novelty_model(rows):
    setting = {"n_neighbors": 7, "leaf_size": 30, "metric": "euclidean"}
    fitted = fit("lof", rows[:200], setting)
    spread = np.where(np.arange(6) == 5, 1.0, rows[:200].std(axis=0))
    Z = (rows - rows[:200].mean(axis=0)) / spread
    direct = LocalOutlierFactor(n_neighbors=7, novelty=True).fit(Z[:200])
    np.testing.assert_array_equal(fitted.labels(rows[200:]), direct.predict(Z[200:]) == -1)
    np.testing.assert_allclose(fitted.scores(rows[200:]), -direct.score_samples(Z[200:]))


def test_lof_takes_constant_columns_and_duplicates(rows):
    X = np.vstack([rows[:100]] * 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for metric in ("seuclidean", "mahalanobis", "euclidean"):
            fitted = fit("lof", X, {"n_neighbors": 3, "leaf_size": 30, "metric": metric})
            assert not np.isnan(fitted.scores(rows)).any()


@pytest.mark.parametrize("setting", [{"n_estimators": 50, "bootstrap": True, "max_features": 3}, None])
def test_iforest_is_scikit_learns(setting, rows):
    setting = setting or method("iforest").fixed(data_set())
    fitted = fit("iforest", rows[:250], setting, draw=4)
    scaler, Z = standardise(rows[:250])
    direct = IsolationForest(**setting, random_state=4).fit(Z)
    np.testing.assert_array_equal(fitted.train_labels, direct.predict(Z) == -1)
    np.testing.assert_array_equal(fitted.train_scores, -direct.score_samples(Z))
    new = scaler.transform(rows[200:])
    np.testing.assert_array_equal(fitted.labels(rows[200:]), direct.predict(new) == -1)
    assert roc_auc_score(np.arange(250) < 15, fitted.train_scores) > 0.9


# ---- the autoencoder


def test_autoencoder_layers():
    layers = import_module("oddatom.paper.methods.autoencoder").hidden_layers
    assert layers(36) == [36, 27, 18, 12]
    assert len(layers(9)) == 3


def test_autoencoder_trains_and_flags_the_share_asked_for(rows):
    setting = {**small_setting("autoencoder"), "epochs": 60, "patience": None}
    fitted = fit("autoencoder", rows, setting, nu=0.05)
    assert fitted.train_labels.sum() == 15
    assert roc_auc_score(np.arange(300) < 15, fitted.train_scores) > 0.9
    first, last = (fit("autoencoder", rows[15:], {**setting, "epochs": k}).extra["loss"] for k in (1, 60))
    assert last < 0.5 * first
    half = fit("autoencoder", rows, {**setting, "epochs": 1, "contamination": 0.5}, nu=0.05)
    assert half.train_labels.sum() == 150


def test_autoencoder_at_pyods_defaults_is_pyods(rows):
    torch = pytest.importorskip("torch")
    pytest.importorskip("tqdm")
    pyod = pytest.importorskip("pyod.models.auto_encoder")
    fitted = fit("autoencoder", rows, method("autoencoder").fixed(data_set()), draw=5, view="unlabelled", nu=0.4)
    before = np.random.get_state(), torch.get_rng_state(), torch.get_num_threads()  # noqa: NPY002  PyOD seeds it
    torch.set_num_threads(1)
    direct = pyod.AutoEncoder(preprocessing=False, random_state=5, verbose=0, device="cpu")
    direct.fit(plain(rows))
    np.random.set_state(before[0])  # noqa: NPY002
    torch.set_rng_state(before[1])
    torch.set_num_threads(before[2])
    np.testing.assert_allclose(fitted.train_scores, direct.decision_scores_, rtol=1e-3)
    assert (fitted.train_labels != direct.labels_).mean() < 0.01
    assert fitted.extra["epochs"] == 10


def test_autoencoder_leaves_random_numbers_and_threads_alone(rows):
    torch = pytest.importorskip("torch")
    before = np.random.get_state()[1].copy(), torch.get_rng_state(), torch.get_num_threads()  # noqa: NPY002
    fit("autoencoder", rows, small_setting("autoencoder")).scores(rows)
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])
    assert torch.get_num_threads() == before[2]


def test_autoencoder_takes_every_optimiser_and_activation(rows):
    grid = method("autoencoder").grid(data_set(), "full")
    optimizers = dict.fromkeys(s["optimizer"] for s in grid)
    activations = dict.fromkeys(s["activation"] for s in grid)
    scores = {}
    for kind, names in (("optimizer", optimizers), ("activation", activations)):
        for name in names:
            setting = {**small_setting("autoencoder"), "epochs": 2, kind: name}
            scores[kind, name] = fit("autoencoder", rows, setting).train_scores
            assert np.isfinite(scores[kind, name]).all()
    assert len({s.tobytes() for s in scores.values()}) == 7 + 8 - 1  # Adam with ReLU comes twice


def test_autoencoder_stops_when_the_loss_no_longer_falls(rows):
    setting = {**small_setting("autoencoder"), "optimizer": "adadelta", "epochs": 100, "patience": 1}
    assert fit("autoencoder", rows, setting).extra["epochs"] < 100


# ---- uniform-support dictionary learning


def explicit_inclusion(X, D, active, s):
    """The rule row by row: code by OMP with all atoms, ask whether the support is included."""
    labels, scores = np.zeros(len(X), bool), np.zeros(len(X))
    for j, row in enumerate(X):
        code = orthogonal_mp_gram(D @ D.T, D @ row, n_nonzero_coefs=s)
        support, kept = set(np.flatnonzero(code)), set(np.flatnonzero(active))
        labels[j] = not support <= kept
        scores[j] = sum(code[i] ** 2 for i in support - kept) / sum(code**2)
    return labels, scores


@pytest.mark.parametrize("name", UNIFORM)
def test_anomalies_are_rows_whose_support_leaves_the_atoms_in_use(name, rows):
    fitted = fit(name, rows, {"beta": BETAS[name]})
    assert 0 < fitted.extra["n_active"] == fitted.active.sum() < 12
    assert 0 < fitted.train_labels.sum() < 300
    labels, scores = explicit_inclusion(rows, fitted.dictionary, fitted.active, 3)
    np.testing.assert_array_equal(fitted.train_labels, labels)
    np.testing.assert_allclose(fitted.train_scores, scores, atol=1e-8)
    np.testing.assert_array_equal(fitted.train_scores > 0.0, fitted.train_labels)
    new = 3.0 * rows[100:140] + 1.0
    labels, scores = explicit_inclusion(new, fitted.dictionary, fitted.active, 3)
    np.testing.assert_array_equal(fitted.labels(new), labels)
    np.testing.assert_allclose(fitted.scores(new), scores, atol=1e-8)


@pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
@pytest.mark.parametrize("name", UNIFORM)
def test_the_dictionary_is_the_detectors_without_its_svm(name, rows):
    fitted = fit(name, rows, {"beta": BETAS[name]}, draw=2)
    penalty = name.removeprefix("uniform_")
    detector = DLOCSVM.paper(
        n_nonzero=3,
        beta=BETAS[name],
        penalty=(penalty, EPSILON) if penalty == "l2eps" else penalty,
        coupling=("eta", 0.0),
        random_state=2,
    ).fit(rows)
    np.testing.assert_array_equal(fitted.active, detector.active_atoms_)
    np.testing.assert_allclose(fitted.dictionary, detector.dictionary_, atol=1e-10)


@pytest.mark.parametrize("name", UNIFORM)
def test_where_all_is_trimmed_every_row_but_a_zero_one_is_an_anomaly(name, rows):
    fitted = fit(name, rows, {"beta": 50.0})
    assert fitted.extra["n_active"] == 0
    assert fitted.train_labels.all()
    np.testing.assert_allclose(fitted.train_scores, 1.0)
    zero = np.zeros((1, 6))
    assert not fitted.labels(zero).any()
    assert fitted.scores(zero) == 0.0


def test_an_atom_that_no_row_used_at_first_is_outside():
    D = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    Y = np.array([[2.0, 0.1], [1.0, -0.05], [0.1, 2.0]]) / 3.0
    learned, active = learn_uniform(Y, D, 1, make_penalty("l21", 0.0, EPSILON))
    assert active.tolist() == [True, True, False]
    np.testing.assert_array_equal(learned[2], D[2])
    labels, scores = inclusion(np.array([[3.0, 0.0], [3.0, 4.0]]), learned, active, 1)
    assert labels.tolist() == [False, True]
    assert scores.tolist() == [0.0, 1.0]


def test_without_labels_the_number_of_non_zeros_follows_from_the_features(rows):
    assert fit("uniform_l21", rows, {"beta": 0.1}, sparsity=5).n_nonzero == 5
    assert fit("uniform_l21", rows, {"beta": 0.1}, view="unlabelled", sparsity=5).n_nonzero == 2
