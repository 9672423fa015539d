"""Scores on a torch device against those of this process: codes, whole detectors, blocks, dtypes, rows far away."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr

from oddatom.arrays.namespaces import like
from oddatom.coding import CODINGS
from oddatom.coding.histograms import code_histograms
from oddatom.estimators import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM
from oddatom.scaling.linear import Scaling
from oddatom.scores import SCORES, code_statistics, score
from oddatom.scores.margin import linear_margin

torch = pytest.importorskip("torch")

from oddatom.arrays import torch_rows  # noqa: E402
from oddatom.coding.torch_omp import TorchCodes  # noqa: E402
from oddatom.rows.device.torch_codes import row_code_statistics  # noqa: E402
from oddatom.scores.torch_scores import score_rows  # noqa: E402
from torch_devices import DEVICES  # noqa: E402

NAMES = ("margin", "residual", "description_length")  # of detectors with a plane


@pytest.fixture(params=DEVICES)
def device(request):
    return torch.device(request.param)


@pytest.fixture(params=[2**22, 40_000], ids=["whole", "blocks"])
def work(request, monkeypatch):
    """Passes over all rows at once, or over a few at a time."""
    monkeypatch.setattr(torch_rows, "WORK_BYTES", dict.fromkeys(("cpu", "cuda"), request.param))


def rows(N=260, m=6, seed=0):
    rng = np.random.default_rng(seed)
    loadings = np.abs(np.random.default_rng(1).standard_normal((4, m)))
    return np.abs(rng.standard_normal((N, 4))) @ loadings + 0.1 * rng.standard_normal((N, m)) + 2.0


COMMON = {"n_atoms": 9, "n_nonzero": 3, "nu": 0.1, "max_iter": 1, "random_state": 0, "n_jobs": 1}
DETECTORS = {
    "DL": DLOCSVM.paper(**COMMON),
    "DL standard": DLOCSVM.paper(scaling="standard", **{**COMMON, "nu": 1.0}),
    "DL robust": DLOCSVM.paper(scaling="robust", **{**COMMON, "nu": 1.0}),
    "DPL": DPLOCSVM.paper(beta=0.01, **COMMON),
    "DPL robust": DPLOCSVM.paper(scaling="robust", beta=0.01, **{**COMMON, "nu": 1.0}),
    "DPL omp": DPLOCSVM.paper(representation="omp", beta=0.01, **COMMON),
    "KDL": KDLOCSVM.paper(beta=0.01, approximation=40, **COMMON),
    "KDL gram": KDLOCSVM.paper(beta=0.01, kernel_params={"coding": "gram"}, kernel="polynomial", **COMMON),
    "KDL precomputed": KDLOCSVM.paper(beta=0.01, kernel="precomputed", **COMMON),
    "KDPL": KDPLOCSVM.paper(beta=0.01, kernel="laplacian", approximation=40, **{**COMMON, "nu": 1.0}),
}


@pytest.fixture(scope="module")
def fitted():
    """Each detector, fitted once."""
    models = {}

    def get(name):
        if name not in models:
            X = rows()
            models[name] = DETECTORS[name].fit(X @ X.T if "precomputed" in name else X)
        return models[name]

    return get


def options(model):
    """What score_rows takes from a detector."""
    linear = getattr(model, "representation_", "omp") == "analysis"
    return {
        "scaling": model.scaling_,
        "components": model.components_,
        "coef": model.coef_,
        "n_nonzero": model.n_nonzero_,
        "statistics": model.code_statistics_,
        "coding": model._coding,
        "kernel_map": getattr(model, "kernel_map_", None),
        "analysis": model.analysis_components_ if linear else None,
    }


def new_rows(name, N=300):
    X = rows(N, seed=5)
    X[3] = 0.0
    return X @ rows().T if "precomputed" in name else X


def tolerance(name):
    """Correlations are coded with D Dᵀ as the dictionary, whose rows are nearly dependent."""
    return 1e-8 if name in ("KDL", "KDL precomputed", "KDPL") else 1e-10


def assert_same(got, expected, tol=1e-10):
    assert got.dtype == torch.float64
    assert_allclose(got.cpu(), expected, rtol=tol, atol=tol * np.abs(expected).max())


# Codes


@pytest.mark.parametrize("name", [*SCORES, "distance"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_scores_of_codes(name, dtype, device):
    rng = np.random.default_rng(0)
    D = rng.standard_normal((12, 7))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    Y = rng.standard_normal((50, 7))
    Y[3], Y[4] = 0.0, 2 * D[5]  # no atom, and one where three are allowed
    codes = CODINGS["omp"](Y, D, 3)
    w, statistics = rng.standard_normal(12), code_statistics(codes, 12, 7)
    statistics = statistics._replace(histograms=code_histograms(codes, 12))
    on_device = TorchCodes(
        torch.tensor(codes.indices, device=device),
        torch.tensor(codes.values, dtype=dtype, device=device),
        torch.tensor(codes.sq_residual, dtype=dtype, device=device),
    )
    plane = torch.tensor(w, device=device)
    got = score(name, on_device, plane, like(statistics, plane))
    assert_same(got, score(name, codes, w, statistics), 1e-12 if dtype == torch.float64 else 1e-6)
    assert_array_equal(on_device.indices.cpu(), codes.indices)


def test_what_overflows_is_the_lowest_number(device):
    codes = CODINGS["omp"](np.ones((2, 2)), np.eye(2), 1)
    statistics = code_statistics(codes, 2, 2)
    huge = TorchCodes(
        torch.tensor([[0], [-1]], dtype=torch.int32, device=device),
        torch.tensor([[1e200], [0.0]], dtype=torch.float64, device=device),
        torch.tensor([0.0, np.inf], dtype=torch.float64, device=device),
    )
    plane = torch.ones(2, dtype=torch.float64, device=device)
    prepared = like(statistics, plane)
    lowest = -np.finfo(float).max
    assert score("residual", huge, plane, prepared).tolist() == [0.0, lowest]
    assert score("description_length", huge, plane, prepared).tolist() == [lowest, lowest]


# Detectors


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_on_a_device(name, fitted, device, work):
    model, X = fitted(name), new_rows(name)
    assert model.components_.shape[0] > 0
    expected = model.score_parts(X)
    tensor = torch.tensor(X, device=device)
    got = score_rows(tensor, names=NAMES, **options(model))
    assert list(got) == list(NAMES)
    for each in NAMES:
        assert np.ptp(expected[each]) > 0
        assert_same(got[each], expected[each], tolerance(name))
        (alone,) = score_rows(tensor, names=[each], **options(model)).values()
        assert_same(alone, expected[each], tolerance(name))
    assert_array_equal(tensor.cpu(), X)


@pytest.mark.parametrize("name", ["DPL", "DPL robust", "KDPL"])
def test_linear_margins(name, fitted, device, work):
    model, X = fitted(name), new_rows(name)
    (got,) = score_rows(torch.tensor(X, device=device), names=["margin"], **options(model)).values()
    assert_same(got, model.score_parts(X)["margin"])


@pytest.mark.parametrize("centred", [False, True])
def test_linear_margins_of_terms_that_overflow(centred, device, work):
    rng = np.random.default_rng(3)
    X, v = 1e308 * rng.uniform(-1, 1, (40, 5)), 1e-3 * rng.standard_normal(5)
    X[::3] *= 1e-300
    scaling = Scaling(1e308 * rng.uniform(-1, 1, 5), rng.uniform(0.5, 2, 5), 1e-2)
    if not centred:
        scaling = Scaling(None, None, 1e-2)
    with np.errstate(over="ignore", invalid="ignore"):
        assert not np.isfinite(scaling.apply(X) @ v).all()
    expected = linear_margin(X, scaling, v)
    assert np.isfinite(expected).sum() > 10
    assert_allclose(linear_margin(torch.tensor(X, device=device), scaling, v).cpu(), expected, rtol=1e-10)


@pytest.mark.parametrize("name", DETECTORS)
def test_float32_rows(name, fitted, device):
    model, X = fitted(name), new_rows(name)
    expected = model.score_parts(X)
    got = score_rows(torch.tensor(X, dtype=torch.float32, device=device), names=NAMES, **options(model))
    for each in NAMES:
        assert got[each].dtype == torch.float64
        assert spearmanr(got[each].cpu(), expected[each])[0] > 0.999


@pytest.mark.parametrize("name", [name for name in DETECTORS if "precomputed" not in name])
def test_rows_far_away(name, fitted, device, work):
    model = fitted(name)
    X = rows(40, seed=5) * np.append(np.logspace(0, 307, 39), 1.0)[:, None]
    X[-1] = [1e308, -1e308, 0, 1e-300, 0, 1e300]
    expected = model.score_parts(X)
    got = score_rows(torch.tensor(X, device=device), names=NAMES, **options(model))
    for each in NAMES:
        assert_allclose(got[each].cpu(), expected[each], rtol=1e-8, atol=1e-12)


def test_large_rows_of_float32(fitted, device):
    model = fitted("DL")
    X = (rows(30, seed=5) * np.logspace(0, 37, 30)[:, None]).astype(np.float32)
    expected = model.score_parts(X.astype(np.float64))
    got = score_rows(torch.tensor(X, device=device), names=NAMES, **options(model))
    sizes = np.sum(model.scaling_.apply(X.astype(np.float64)) ** 2, axis=1)  # what the residual is a rest of
    assert_allclose(got["residual"].cpu() / sizes, expected["residual"] / sizes, rtol=1e-4, atol=1e-6)
    for each in set(NAMES) - {"residual"}:
        assert_allclose(got[each].cpu(), expected[each], rtol=1e-3)


def test_no_atoms(fitted, device):
    model, X = fitted("DL"), new_rows("DL")
    none = options(model) | {"components": model.components_[:0], "coef": np.empty(0)}
    none["statistics"] = model.code_statistics_._replace(usage=np.empty(0), variance=np.empty(0))
    got = score_rows(torch.tensor(X, device=device), names=["margin", "residual"], **none)
    assert not got["margin"].any()
    assert_same(got["residual"], -np.sum(model.scaling_.apply(X) ** 2, axis=1))


def test_rows_elsewhere(fitted, device, work):
    model, X = fitted("DL"), new_rows("DL")
    got = score_rows(torch.tensor(X), device=device, **options(model))["margin"]
    assert got.device.type == device.type
    assert_same(got, model.score_samples(X))


@pytest.mark.parametrize("name", ["DL robust", "DPL omp", "KDL", "KDL gram", "KDL precomputed"])
def test_statistics(name, fitted, device, work):
    model = fitted(name)
    X = rows() @ rows().T if "precomputed" in name else rows()
    taken = {key: options(model)[key] for key in ("scaling", "components", "n_nonzero", "coding", "kernel_map")}
    got = row_code_statistics(torch.tensor(X, device=device), **taken)
    for one, two in zip(got[:3], model.code_statistics_[:3], strict=True):
        assert_allclose(one, two, rtol=1e-8)  # codes on atoms that are nearly one another's
