"""A fit on a torch device is the fit on the CPU; run on the CPU's own torch device, and on a GPU where there is one."""

import numpy as np
import pytest
import scipy.sparse
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.metrics.pairwise import linear_kernel

from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, OddAtomDetector, load
from oddatom.exceptions import DeviceWarning

torch = pytest.importorskip("torch")

from oddatom.rows.device import find as devices  # noqa: E402
from oddatom.rows.device import tensor_source as tensors  # noqa: E402
from oddatom.rows.device.tensor_source import TensorSource  # noqa: E402
from torch_devices import DEVICES  # noqa: E402

DETECTORS = {
    "dl": DLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, random_state=0),
    "dl robust": DLOCSVM.paper(n_atoms=12, nu=0.3, beta=0.01, scaling="robust", scoring="residual", random_state=0),
    "dl from data": DLOCSVM.paper(
        n_atoms=12, nu=0.2, beta=0.01, init="data", scoring="description_length", random_state=0
    ),
    "dpl": DPLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, random_state=0),
    "dpl omp": DPLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, representation="omp", random_state=0),
    "kdl": KDLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, approximation=40, random_state=0),
    "kdl gram": KDLOCSVM.paper(
        n_atoms=12, nu=0.2, beta=0.01, kernel_params={"coding": "gram"}, kernel="polynomial", random_state=0
    ),
    "kdpl": KDPLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, approximation=40, random_state=0),
    "untuned": OddAtomDetector(random_state=0, rows_per_member=300),
}
ARRAYS = ("components_", "coef_", "train_scores_", "dual_coef_", "train_decision_", "train_coef_")


@pytest.fixture(params=DEVICES)
def device(request):
    return torch.device(request.param, 0) if request.param == "cuda" else torch.device("cpu")


@pytest.fixture
def on(monkeypatch, device):
    """Let device="cuda" stand for the device, the CPU's included; return a detector that is to go there."""
    monkeypatch.setattr(devices, "fit_device", lambda name: None if name == "cpu" else device)

    def use(name, stream=False, **parameters):
        monkeypatch.setattr(tensors, "too_large", lambda rows, device: stream)
        monkeypatch.setattr(tensors, "beyond", lambda n_bytes, device: stream)
        return clone(DETECTORS[name]).set_params(device="cuda", **parameters)

    return use


def rows(seed=0, N=420, m=6):
    rng = np.random.default_rng(seed)
    D = rng.uniform(size=(9, m))
    X = np.array([rng.uniform(0.5, 1.5, 2) @ D[rng.choice(9, 2, replace=False)] for _ in range(N)])
    return X + 0.05 * rng.uniform(size=X.shape)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", DETECTORS)
def test_float64_equals_the_cpu(on, name, stream):
    X = rows()
    here = clone(DETECTORS[name]).fit(X)
    wanted = here.score_samples(X)
    there = on(name, stream).fit(X)
    for attribute in ARRAYS:
        if hasattr(here, attribute):
            np.testing.assert_allclose(
                getattr(there, attribute), getattr(here, attribute), rtol=1e-6, atol=1e-6, err_msg=attribute
            )
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(there.score_samples(X) / scale, wanted / scale, atol=1e-6)
    assert there.offset_ == pytest.approx(here.offset_, rel=1e-6)
    assert (there.predict(X) == here.predict(X)).mean() > 0.99  # rows at the cut may fall on either side


@pytest.mark.parametrize("name", DETECTORS)
def test_float32_ranks_as_the_cpu_does(on, name):
    X = rows(N=1500).astype(np.float32).astype(np.float64)  # the same rows: other ones have other kernels and samples
    wanted = clone(DETECTORS[name]).fit(X).score_samples(X)
    found = on(name).fit(X.astype(np.float32)).score_samples(torch.tensor(X, dtype=torch.float32))
    assert spearmanr(found, wanted).statistic > 0.999


def test_fitted_attributes_are_numpy_and_a_saved_model_scores_without_the_device(on, tmp_path, monkeypatch):
    X = rows()
    model = on("dl").fit(X)
    assert all(isinstance(getattr(model, name), np.ndarray) for name in ARRAYS)
    model.save(tmp_path / "model.oddatom")
    wanted = model.score_samples(X)
    monkeypatch.undo()
    loaded = load(tmp_path / "model.oddatom")
    assert loaded.device == "cuda"
    if not torch.cuda.is_available():
        with pytest.warns(DeviceWarning, match="scored on the CPU: .*torch finds no CUDA device") as caught:
            found = loaded.score_samples(X)
        assert caught[0].filename == __file__
        with pytest.warns(DeviceWarning) as caught:
            loaded.predict(X)
        assert caught[0].filename == __file__
    else:
        found = loaded.score_samples(X)
    np.testing.assert_allclose(found, wanted, atol=1e-8 * np.abs(wanted).max())


def test_cpu_tensors_are_taken_by_every_method():
    X = rows()
    model = DLOCSVM.paper(n_atoms=12, nu=0.2, beta=0.01, random_state=0)
    wanted = model.fit(X).score_samples(X)
    np.testing.assert_array_equal(model.fit(torch.tensor(X)).score_samples(torch.tensor(X)), wanted)
    assert model.predict(torch.tensor(X)).shape == (420,)


def test_tensors_are_used_where_they_are(device):
    X = torch.tensor(rows(), device=device)
    assert TensorSource(X, device).tensor.data_ptr() == X.data_ptr()


def test_rows_too_large_for_the_device_stay_where_they_are(monkeypatch, device):
    monkeypatch.setattr(tensors, "too_large", lambda rows, device: True)
    if device.type == "cuda":
        assert TensorSource(rows(), device).tensor.device.type == "cpu"
    assert not TensorSource(torch.tensor(rows(), device=device), device).stream


@pytest.mark.parametrize("name", ["dl", "untuned"])
def test_nan_is_named_by_column(on, name):
    X = rows()
    X[3, 4] = np.inf
    detector = on(name)
    with pytest.raises(ValueError, match="infinity in column 4"):
        detector.fit(X)
    assert not hasattr(detector, "n_features_in_")


@pytest.mark.parametrize("name", ["tpu", "cuda:99", "cuda"])
def test_a_device_that_is_not_there_is_said_at_once(name):
    if name == "cuda" and torch.cuda.is_available():
        pytest.skip("there is one here")
    with pytest.raises(ValueError, match=f"Got '{name}' instead"):
        DLOCSVM.paper(device=name).fit(rows())


def test_auto_is_the_cpu_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    X = rows()
    wanted = DLOCSVM.paper(n_atoms=12, random_state=0).fit(X).score_samples(X)
    np.testing.assert_array_equal(
        DLOCSVM.paper(n_atoms=12, random_state=0, device="auto").fit(X).score_samples(X), wanted
    )


def test_other_columns_are_refused(on):
    model = on("dl").fit(rows())
    with pytest.raises(ValueError, match="X has 5 features, but DLOCSVM is expecting 6"):
        model.score_samples(rows()[:, :5])


@pytest.mark.parametrize("turn", [lambda X: X[::-1], lambda X: X[:, ::-1], np.asfortranarray, scipy.sparse.csr_array])
def test_rows_in_any_layout(on, turn):
    X = rows()
    wanted = on("dl").fit(np.ascontiguousarray(turn(X).toarray() if scipy.sparse.issparse(turn(X)) else turn(X)))
    found = on("dl").fit(turn(X))
    np.testing.assert_array_equal(found.coef_, wanted.coef_)
    np.testing.assert_array_equal(found.score_samples(turn(X)), wanted.score_samples(turn(X)))


def test_files_are_fitted_here_whatever_the_device(on, tmp_path):
    X = rows()
    np.save(tmp_path / "rows.npy", X)
    model = on("dl").fit(tmp_path / "rows.npy")
    wanted = clone(DETECTORS["dl"]).fit(X)
    np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.score_samples(str(tmp_path / "rows.npy")), wanted.score_samples(X), rtol=1e-8)


@pytest.mark.parametrize(("name", "parameters"), [("dl", {"n_folds": 3}), ("kdl", {"kernel": linear_kernel})])
def test_auto_leaves_on_the_cpu_what_a_device_cannot_do(on, name, parameters):
    X = rows()
    model = on(name, **parameters).set_params(device="auto").fit(X)
    wanted = clone(DETECTORS[name]).set_params(**parameters).fit(X)
    np.testing.assert_array_equal(model.score_samples(X), wanted.score_samples(X))


def test_calibration_is_refused_before_rows_are_moved(on):
    with pytest.raises(ValueError, match="for p-values pass an array, with device='cpu'"):
        on("dl", n_folds=3).fit(rows())
