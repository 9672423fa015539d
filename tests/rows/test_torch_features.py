"""Scaling and kernel coordinates on a torch device against those of this process: kinds, kernels, blocks, extremes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom.kernels.coordinates import fit_kernel_map
from oddatom.kernels.formulas import KERNELS
from oddatom.kernels.functions import LARGEST, Kernel, shorten
from oddatom.scaling.array_columns import fit_scaling
from oddatom.scaling.column_statistics import SCALINGS, fit_columns

torch = pytest.importorskip("torch")

from oddatom.arrays import torch_rows  # noqa: E402
from oddatom.rows.device.torch_features import (  # noqa: E402
    RowKernelMap,
    TensorColumns,
    apply_kernel_map,
    frobenius_norm,
    scale_rows,
)
from torch_devices import DEVICES  # noqa: E402

every_kind = pytest.mark.parametrize("kind", [None, *SCALINGS])


@pytest.fixture(params=DEVICES)
def device(request):
    return torch.device(request.param)


@pytest.fixture(params=[2**22, 4000], ids=["whole", "blocks"])
def work(request, monkeypatch):
    """Passes over all rows at once, or over a few at a time."""
    monkeypatch.setattr(torch_rows, "WORK_BYTES", dict.fromkeys(("cpu", "cuda"), request.param))


def rows(N=203, seed=0):
    """Columns of different units, one of them constant, one mostly one value."""
    rng = np.random.default_rng(seed)
    X = rng.lognormal(size=(N, 6)) * [1.0, 1e-3, 1e4, 1.0, 1.0, 1.0] + [0.0, 5.0, -1e4, 1.0, 0.0, 0.0]
    X[:, 3] = 1 / 3
    X[: int(0.9 * N), 4] = -2.0
    return X


# Scaling


@every_kind
def test_fitted_scaling(kind, device, work):
    X = rows()
    expected, Y = fit_scaling(X, kind)
    tensor = torch.tensor(X, device=device)
    scaling = fit_columns(TensorColumns(tensor), kind)
    assert_allclose(scaling.scale, expected.scale, rtol=1e-13)
    if kind is None:
        assert scaling.center is scaling.spread is None
    else:
        assert_allclose(scaling.center, expected.center, rtol=1e-12)
        assert_allclose(scaling.spread, expected.spread, rtol=1e-12)
        assert scaling.center[3] == 1 / 3
        assert scaling.spread[3] == 1
    assert_array_equal(scale_rows(expected, tensor).cpu(), Y)  # the same operations
    assert_array_equal(tensor.cpu(), X)
    assert_allclose(np.linalg.norm(scale_rows(scaling, tensor).cpu()), 1, rtol=1e-13)


@pytest.mark.parametrize("N", [1, 2, 3, 4, 5, 6, 101])
def test_quartiles_are_those_of_numpy(N, device):
    X = rows(N)[:, :3]
    center, spread, _ = fit_columns(TensorColumns(torch.tensor(X, device=device)), "robust")
    assert_allclose(center, np.median(X, axis=0), rtol=1e-15)
    if N > 1:
        assert_allclose(spread, np.subtract(*np.percentile(X, [75, 25], axis=0)), rtol=1e-12)


@every_kind
@pytest.mark.parametrize("factor", [1e300, 1e-300, 1e-320, 0.0])
def test_extreme_units(kind, factor, device, work):
    X = factor * rows(40)[:, :3]
    expected, Y = fit_scaling(X, kind)
    scaling = fit_columns(TensorColumns(torch.tensor(X, device=device)), kind)
    assert_allclose(scaling.scale, expected.scale, rtol=1e-12)
    assert_allclose(scale_rows(scaling, torch.tensor(X, device=device)).cpu(), Y, rtol=1e-9, atol=1e-15)
    assert_allclose(frobenius_norm(torch.tensor(X, device=device)), fit_scaling(X, None)[0].scale if factor else 0)


def test_a_norm_that_overflows(device):
    with pytest.raises(ValueError, match=r"Frobenius norm overflows. Divide the data by a power of ten"):
        fit_columns(TensorColumns(torch.full((300, 2), 1e308, dtype=torch.float64, device=device)), None)


@every_kind
def test_float32_rows(kind, device, work):
    """The statistics are those of the same rows in float64; only the result is rounded."""
    X = rows().astype(np.float32)
    tensor = torch.tensor(X, device=device)
    expected, Y = fit_scaling(X.astype(np.float64), kind)
    scaling = fit_columns(TensorColumns(tensor), kind)
    assert_allclose(scaling.scale, expected.scale, rtol=1e-12)
    if kind is not None:
        assert_allclose(scaling.spread, expected.spread, rtol=1e-11)
    got = scale_rows(scaling, tensor)
    assert got.dtype == torch.float32
    assert_allclose(got.cpu(), Y, rtol=1e-6, atol=1e-12)
    assert_allclose(scale_rows(scaling, tensor, torch.float64).cpu(), Y, rtol=1e-9, atol=1e-15)


# Kernels


def unit(name, **parameters):
    return Kernel(name, **{"gamma": 0.7, "degree": 2.0, "coef0": 0.3, **parameters})


def kernel_rows(N=90, m=5, seed=0):
    Y = np.random.default_rng(seed).standard_normal((N, m)) + 3.0
    return Y / np.linalg.norm(Y, axis=1).max()


@pytest.mark.parametrize("approximation", [None, 25])
@pytest.mark.parametrize("name", KERNELS)
def test_coordinates(name, approximation, device, work):
    Y, new = kernel_rows(), kernel_rows(57, seed=1)
    new[3], new[4] = Y[8], 0.0
    rng = np.random.RandomState(0)
    kernel_map = fit_kernel_map(unit(name), Y, 1e-8, approximation, "uniform", rng)
    got = apply_kernel_map(kernel_map, torch.tensor(new, device=device))
    expected = kernel_map.apply(new)
    size = np.abs(kernel_map.T).max() * np.abs(kernel_map.kernel(new, kernel_map.landmarks)).max()
    assert_allclose(got.cpu(), expected, rtol=0, atol=1e-14 * max(size, 1.0))  # K's rounding, times T
    on_device, tensor = RowKernelMap(kernel_map, device), torch.tensor(new, device=device)
    assert_allclose(
        on_device.entries(tensor).cpu(), kernel_map.kernel(new, kernel_map.landmarks), rtol=1e-13, atol=1e-14
    )
    assert_allclose(
        on_device.outside(tensor, torch.tensor(expected, device=device)).cpu(),
        kernel_map.outside(new, expected),
        rtol=0,
        atol=1e-12,
    )
    v = np.random.default_rng(2).standard_normal(expected.shape[1])
    margin = on_device.margin(tensor, torch.tensor(v, device=device))
    assert_allclose(margin.cpu(), expected @ v, rtol=0, atol=1e-13 * max(size, 1.0) * np.abs(v).sum())
    narrow = apply_kernel_map(kernel_map, torch.tensor(new.astype(np.float32), device=device))
    assert narrow.dtype == torch.float32
    assert_allclose(
        narrow.cpu(), kernel_map.apply(new.astype(np.float32).astype(float)), atol=1e-6 + 1e-14 * size, rtol=1e-6
    )


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 300.0, 1e5, 1e9])
def test_narrow_kernels(gamma, device):
    """Pairs of rows close together but far from the others."""
    Y = kernel_rows(40) + 1.0
    Y[20:] = Y[:20] * (1 + 0.3 / gamma**0.5 / np.linalg.norm(Y[:20], axis=1)[:, None])
    kernel_map = fit_kernel_map(unit("rbf", gamma=gamma), Y, 1e-12, None, "uniform", np.random.RandomState(0))
    K = kernel_map.kernel(Y, kernel_map.landmarks)
    assert (np.sum(K > 0.5, axis=1) > 1).all()
    on_device = RowKernelMap(kernel_map, device)
    assert_allclose(on_device.entries(torch.tensor(Y, device=device)).cpu(), K, rtol=0, atol=1e-12)


@pytest.mark.parametrize("degree", [3.0, 2.5, 0.0])
def test_powers_of_negative_numbers(degree, device):
    kernel = unit("polynomial", degree=degree, coef0=-0.2)
    Y = np.random.default_rng(0).standard_normal((30, 4))
    kernel_map = fit_kernel_map(kernel, Y, 1e-8, None, "uniform", np.random.RandomState(0))
    K = kernel(Y, kernel_map.landmarks)
    assert degree != 2.5 or (K == 0).any()
    got = RowKernelMap(kernel_map, device).entries(torch.tensor(Y, device=device))
    assert_allclose(got.cpu(), K, rtol=1e-12, atol=1e-13)


def test_precomputed(device, work):
    Y = kernel_rows()
    K = unit("rbf")(Y, Y)
    kernel_map = fit_kernel_map(None, K, 1e-8, 30, "uniform", np.random.RandomState(0))
    tensor = torch.tensor(K, device=device)
    expected = kernel_map.apply(K)
    assert_allclose(apply_kernel_map(kernel_map, tensor).cpu(), expected, atol=1e-14 * np.abs(kernel_map.T).max())
    assert not RowKernelMap(kernel_map, device).outside(tensor, tensor[:, :3]).any()


@pytest.mark.parametrize("name", KERNELS)
def test_rows_far_away(name, device):
    kernel = unit(name)
    Y, new = kernel_rows(), kernel_rows(12, seed=1) * np.logspace(0, 99, 12)[:, None]
    kernel_map = fit_kernel_map(kernel, Y, 1e-8, 20, "uniform", np.random.RandomState(0))
    on_device, tensor = RowKernelMap(kernel_map, device), torch.tensor(new, device=device)
    reach = kernel.reach(new.shape[1])
    near = shorten(new.copy(), reach)
    assert_allclose(on_device.within_reach(tensor).cpu(), near, rtol=1e-14)
    wanted = next(kernel_map.blocks(near))[1]
    got = on_device.entries(on_device.within_reach(tensor)).cpu().numpy()
    assert np.isfinite(got).all()
    assert np.abs(got).max() <= LARGEST * (1 + 1e-12)
    assert_allclose(got, wanted, rtol=1e-10, atol=1e-14)


def test_a_function_cannot_run_on_a_device(device):
    def my_kernel(Y, Z):
        return Y @ Z.T

    kernel_map = fit_kernel_map(Kernel(my_kernel), kernel_rows(), 1e-8, None, "uniform", np.random.RandomState(0))
    with pytest.raises(ValueError, match=r"cannot run on a device. Got my_kernel instead of a name; pass one of 'rbf'"):
        apply_kernel_map(kernel_map, torch.ones((3, 5), dtype=torch.float64, device=device))


def test_a_name_that_is_no_kernel(device):
    kernel_map = fit_kernel_map(unit("rbf"), kernel_rows(), 1e-8, 20, "uniform", np.random.RandomState(0))
    with pytest.raises(ValueError, match=r"There is no kernel 'rfb'\. Choose from 'rbf'"):
        RowKernelMap(kernel_map._replace(kernel=unit("rfb")), device)
