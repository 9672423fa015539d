"""The ensemble on a torch device against that of this process: parts, calibrated parts, every score, blocks, dtypes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr

from ensembles import CATEGORICAL, factors, mixed, mixture, random_member, wide
from oddatom import OddAtomDetector
from oddatom.ensemble.histogram import fit_histogram, nats
from oddatom.ensemble.joining import fit_calibration
from oddatom.ensemble.model import SCORES, Ensemble
from oddatom.ensemble.packed import pack
from oddatom.ensemble.row_parts import row_parts
from oddatom.ensemble.shares import feature_shares
from oddatom.ensemble.trimmed import learn_spread
from oddatom.scaling.asinh import fit_asinh

torch = pytest.importorskip("torch")

from oddatom.arrays import torch_rows  # noqa: E402
from oddatom.ensemble.torch_ensemble import score_rows  # noqa: E402
from torch_devices import DEVICES  # noqa: E402


@pytest.fixture(params=DEVICES)
def device(request):
    return torch.device(request.param)


@pytest.fixture(params=[2**22, 60_000], ids=["whole", "blocks"])
def work(request, monkeypatch):
    """Passes over all rows at once, or over a few at a time."""
    monkeypatch.setattr(torch_rows, "WORK_BYTES", dict.fromkeys(("cpu", "cuda"), request.param))


def rows(N, m, seed=0):
    """Columns of different units, the last of three or more constant."""
    X = np.random.default_rng(seed).standard_t(4, (N, m)) * 10.0 ** np.linspace(-3, 3, m)
    if m > 2:
        X[:, -1] = 4.0
    return X


def made_up(m):
    """An ensemble of two groups of two members of different sizes, random numbers but for scaling and histogram."""
    train, rng = rows(120, m, seed=9), np.random.default_rng(0)
    scaling = fit_asinh(train)
    histogram = fit_histogram(train * scaling.unit)
    bulk = learn_spread(scaling.apply(train), 3, 0.3, rng)
    packed = pack([random_member(rng, m, *sizes) for sizes in ((5, 4, 3), (1, 9, 3), (8, 1, 3), (3, 3, 3))], bulk)
    calibration = fit_calibration(row_parts(train, scaling, histogram, packed))
    weights = np.array([0.3, 0.2, 0.1, 0.0, 0.25, 0.15])
    return Ensemble(scaling, histogram, packed, 2, calibration, weights, rng.uniform(size=5), 0.5, np.zeros((4, 9)))


@pytest.fixture(scope="module")
def detectors():
    tables = {"factors": factors(), "mixture": mixture(), "wide": wide()}
    found = {name: OddAtomDetector(random_state=0, n_jobs=1).fit(X) for name, X in tables.items()}
    return {**found, "mixed": OddAtomDetector(categorical_features=CATEGORICAL, random_state=0, n_jobs=1).fit(mixed())}


NEW = {
    "factors": factors(300, seed=1),
    "mixture": mixture(300, seed=1),
    "wide": wide(90, seed=1),
    "mixed": mixed(300, seed=1),
}


def assert_same(got, expected, tol=1e-8):
    assert got.dtype == torch.float64
    assert got.shape == expected.shape
    assert_allclose(got.cpu(), expected, rtol=tol, atol=tol)


def odd(X):
    """Some rows made odd: far away, and values never seen in a constant column."""
    X = X.copy()
    X[::7] *= 30.0
    X[::5, -1] += 1.0
    return X


@pytest.mark.parametrize("m", [1, 3, 20, 70])
def test_parts(m, device):
    ensemble, X = made_up(m), odd(rows(200, m))
    tensor = torch.tensor(X, device=device)
    got, expected = ensemble.like(tensor).parts(tensor), ensemble.parts(X)
    for one, two in zip(got[:2], expected[:2], strict=True):
        assert_same(one, two, 1e-10)
    assert_array_equal(tensor.cpu(), X)


@pytest.mark.parametrize("held_out", [False, True])
def test_nats(held_out, device):
    ensemble, X = made_up(20), odd(rows(200, 20))
    X[0], X[1] = ensemble.histogram.low / ensemble.scaling.unit, ensemble.histogram.high / ensemble.scaling.unit
    tensor = torch.tensor(X, device=device)
    there = ensemble.like(tensor)
    got = nats(tensor * there.scaling.unit, there.histogram, held_out=held_out)
    assert_same(got, nats(X * ensemble.scaling.unit, ensemble.histogram, held_out=held_out), 1e-13)


@pytest.mark.parametrize("name", SCORES)
def test_shares(name, device):
    ensemble, X = made_up(20), odd(rows(200, 20))
    tensor = torch.tensor(X, device=device)
    there = ensemble.like(tensor)
    Z = ensemble.z_scores(ensemble.parts(X))
    got = feature_shares(tensor, there, torch.tensor(Z, device=device), name)
    assert_same(got, feature_shares(X, ensemble, Z, name), 1e-9)


@pytest.mark.parametrize("group", [None, 0, 1])
def test_calibrated_parts(group, device):
    ensemble, X = made_up(20), odd(rows(200, 20))
    tensor = torch.tensor(X, device=device)
    there = ensemble.like(tensor)
    Z = there.z_scores(there.parts(tensor), group)
    assert_same(Z, ensemble.z_scores(ensemble.parts(X), group), 1e-10)


@pytest.mark.parametrize("table", NEW)
def test_scores_of_a_detector(table, detectors, device, work):
    model, X = detectors[table], odd(NEW[table])
    expected = model.score_parts(X)
    tensor = torch.tensor(X, device=device)
    for name in SCORES:
        assert np.ptp(expected[name]) > 0 or (name == "context" and table != "mixed")  # there is no category
        assert_same(score_rows(model.ensemble_, tensor, device, name), expected[name])
    assert_same(score_rows(model.ensemble_, tensor, device), model.score_samples(X))


@pytest.mark.parametrize("name", ["joined", "margin"])
def test_scores_by_group(name, detectors, device):
    model, X = detectors["mixture"], odd(NEW["mixture"])
    ensemble = model.ensemble_
    tensor = torch.tensor(X, device=device)
    there = ensemble.like(tensor)
    found = there.parts(tensor)
    got = torch.stack([there.score(there.z_scores(found, g), name) for g in range(ensemble.n_groups)], dim=1)
    parts = ensemble.parts(X)
    groups = [ensemble.score(ensemble.z_scores(parts, group), name) for group in range(ensemble.n_groups)]
    assert_same(got, np.stack(groups, axis=1))


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324, 0.0])
def test_extreme_rows(value, device):
    ensemble, X = made_up(20), np.full((3, 20), value)
    tensor = torch.tensor(X, device=device)
    got = ensemble.like(tensor).parts(tensor)
    for one, two in zip(got[:2], ensemble.parts(X)[:2], strict=True):
        assert torch.isfinite(one).all()
        assert_same(one, two)


def test_float32_rows(detectors, device, work):
    model, X = detectors["factors"], odd(NEW["factors"]).astype(np.float32)
    got = score_rows(model.ensemble_, torch.tensor(X, device=device), device)
    assert_same(got, model.score_samples(X.astype(np.float64)))  # the very numbers: they are taken to float64
    assert spearmanr(got.cpu(), model.score_samples(odd(NEW["factors"])))[0] > 0.999


def test_rows_elsewhere_and_arrays(detectors, device, work):
    model, X = detectors["mixture"], NEW["mixture"]
    for given in (X, torch.tensor(X), np.asfortranarray(X), torch.tensor(X).T.contiguous().T):
        got = score_rows(model.ensemble_, given, device)
        assert got.device.type == device.type
        assert_same(got, model.score_samples(X))


def test_the_same_bits_twice(device, work):
    ensemble, X = made_up(20), rows(200, 20)
    for name in ensemble.scores:
        one, two = (score_rows(ensemble, X, device, name) for _ in range(2))
        assert torch.equal(one, two)
