"""A fit on a torch device is the fit on the CPU; run on the CPU's own torch device, and on a GPU where there is one."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.base import clone

from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, OddAtomDetector, load
from oddatom.detectors import _routing
from oddatom.exceptions import DeviceWarning

torch = pytest.importorskip("torch")

from oddatom.sources import tensors  # noqa: E402
from oddatom.sources.tensors import TensorSource, score_tensor  # noqa: E402

DETECTORS = {
    "dl": DLOCSVM(n_atoms=12, nu=0.2, beta=0.01, random_state=0),
    "dl robust": DLOCSVM(n_atoms=12, nu=0.3, beta=0.01, scaling="robust", score="residual", random_state=0),
    "dl from data": DLOCSVM(n_atoms=12, nu=0.2, beta=0.01, init="data", score="description_length", random_state=0),
    "dpl": DPLOCSVM(n_atoms=12, nu=0.2, beta=0.01, random_state=0),
    "dpl omp": DPLOCSVM(n_atoms=12, nu=0.2, beta=0.01, representation="omp", random_state=0),
    "kdl": KDLOCSVM(n_atoms=12, nu=0.2, beta=0.01, approximation="nystroem", n_landmarks=40, random_state=0),
    "kdl gram": KDLOCSVM(n_atoms=12, nu=0.2, beta=0.01, kernel_coding="gram", kernel="polynomial", random_state=0),
    "kdpl": KDPLOCSVM(n_atoms=12, nu=0.2, beta=0.01, approximation="nystroem", n_landmarks=40, random_state=0),
    "untuned": OddAtomDetector(random_state=0, rows_per_member=300),
}
ARRAYS = ("components_", "coef_", "train_scores_", "dual_coef_", "train_decision_", "train_coef_")


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    return torch.device(request.param, 0) if request.param == "cuda" else torch.device("cpu")


@pytest.fixture
def through_torch(monkeypatch, device):
    """Make `fit` and `score_samples` take their rows to the device, the CPU's included."""

    def score(detector, X):
        return score_tensor(detector, X, device)

    def use(stream=None):
        monkeypatch.setattr(_routing, "_open", lambda detector, X: TensorSource(X, device, stream))
        monkeypatch.setattr("oddatom.detectors._base.score_elsewhere", score)
        monkeypatch.setattr("oddatom.detectors.untuned.score_elsewhere", score)

    return use


def rows(seed=0, N=420, m=6):
    rng = np.random.default_rng(seed)
    D = rng.uniform(size=(9, m))
    X = np.array([rng.uniform(0.5, 1.5, 2) @ D[rng.choice(9, 2, replace=False)] for _ in range(N)])
    return X + 0.05 * rng.uniform(size=X.shape)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", DETECTORS)
def test_float64_equals_the_cpu(through_torch, name, stream):
    X = rows()
    here = clone(DETECTORS[name]).fit(X)
    wanted = here.score_samples(X)
    through_torch(stream)
    there = clone(DETECTORS[name]).fit(X)
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
def test_float32_ranks_as_the_cpu_does(through_torch, name):
    X = rows(N=1500).astype(np.float32).astype(np.float64)  # the same rows: other ones have other kernels and samples
    wanted = clone(DETECTORS[name]).fit(X).score_samples(X)
    through_torch()
    found = clone(DETECTORS[name]).fit(X.astype(np.float32)).score_samples(torch.tensor(X, dtype=torch.float32))
    assert spearmanr(found, wanted).statistic > 0.999


def test_fitted_attributes_are_numpy_and_a_saved_model_scores_without_the_device(through_torch, tmp_path, monkeypatch):
    X = rows()
    through_torch()
    model = DLOCSVM(n_atoms=12, nu=0.2, beta=0.01, random_state=0, device="cuda").fit(X)
    assert all(isinstance(getattr(model, name), np.ndarray) for name in ARRAYS)
    model.save(tmp_path / "model.oddatom")
    wanted = model.score_samples(X)
    monkeypatch.undo()
    loaded = load(tmp_path / "model.oddatom")
    assert loaded.device == "cuda"
    if not torch.cuda.is_available():
        with pytest.warns(DeviceWarning, match="scored on the CPU: .*torch finds no CUDA device"):
            found = loaded.score_samples(X)
    else:
        found = loaded.score_samples(X)
    np.testing.assert_allclose(found, wanted, atol=1e-8 * np.abs(wanted).max())


def test_cpu_tensors_are_taken_by_every_method():
    X = rows()
    model = DLOCSVM(n_atoms=12, nu=0.2, beta=0.01, random_state=0)
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


@pytest.mark.parametrize("detector", [DLOCSVM(), OddAtomDetector()], ids=["dl", "untuned"])
def test_nan_is_named_by_column(through_torch, detector):
    X = rows()
    X[3, 4] = np.inf
    through_torch()
    with pytest.raises(ValueError, match="NaN or infinity in column 4"):
        clone(detector).fit(X)
    assert not hasattr(detector, "n_features_in_")


@pytest.mark.parametrize("name", ["tpu", "cuda:99", "cuda"])
def test_a_device_that_is_not_there_is_said_at_once(name):
    if name == "cuda" and torch.cuda.is_available():
        pytest.skip("there is one here")
    with pytest.raises(ValueError, match=f"Got '{name}' instead"):
        DLOCSVM(device=name).fit(rows())


def test_auto_is_the_cpu_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    X = rows()
    wanted = DLOCSVM(n_atoms=12, random_state=0).fit(X).score_samples(X)
    np.testing.assert_array_equal(DLOCSVM(n_atoms=12, random_state=0, device="auto").fit(X).score_samples(X), wanted)


def test_other_columns_are_refused(through_torch):
    through_torch()
    model = DLOCSVM(n_atoms=12, random_state=0).fit(rows())
    with pytest.raises(ValueError, match="X has 5 features, but DLOCSVM is expecting 6"):
        model.score_samples(rows()[:, :5])
