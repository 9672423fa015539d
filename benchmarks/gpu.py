"""Fit and score on a GPU, against its bounds and against others: python -m benchmarks.gpu [--rows 1000000,10000000]

Rows × 32 features in float32, 64 atoms, 6 non-zeros, 6 sweeps, exact SVM. Without a GPU it runs on the CPU's torch
device, to be looked at and not quoted.
"""

import argparse
import os
import time

import numpy as np
import torch
from sklearn.ensemble import IsolationForest

from oddatom import DLOCSVM
from oddatom.coding.torch_omp import torch_omp
from oddatom.rows.device.tensor_source import TensorSource, device_scores

M, ATOMS, NONZERO, SWEEPS = 32, 64, 6, 6
SETTINGS = {"n_atoms": ATOMS, "n_nonzero": NONZERO, "max_iter": SWEEPS, "beta": 0.01, "nu": 0.05, "random_state": 0}


def make_rows(n_rows, dtype, device, seed=0):
    """Rows of a planted dictionary with six atoms each, noise, and one row in a hundred of noise alone."""
    generator = torch.Generator(device=device).manual_seed(seed)
    D = torch.rand((ATOMS, M), generator=generator, device=device, dtype=dtype)
    D /= D.norm(dim=1, keepdim=True)
    Y = torch.empty((n_rows, M), device=device, dtype=dtype)
    for lo in range(0, n_rows, 2**20):
        hi = min(lo + 2**20, n_rows)
        atoms = torch.randint(ATOMS, (hi - lo, NONZERO), generator=generator, device=device)
        gains = torch.rand((hi - lo, NONZERO), generator=generator, device=device, dtype=dtype) + 0.2
        Y[lo:hi] = torch.einsum("ns,nsm->nm", gains, D[atoms])
        Y[lo:hi] += 0.05 * torch.randn((hi - lo, M), generator=generator, device=device, dtype=dtype)
    odd = torch.randperm(n_rows, generator=generator, device=device)[: n_rows // 100]
    Y[odd] = torch.randn((odd.numel(), M), generator=generator, device=device, dtype=dtype).abs()
    return Y


def plain_omp(Y, D, s):
    """Batched OMP as it is usually written in torch: correlations of the residual, least squares on the support."""
    N = Y.shape[0]
    support = torch.zeros((N, 0), dtype=torch.int64, device=Y.device)
    residual = Y
    for _ in range(s):
        correlations = (residual @ D.T).abs().scatter_(1, support, -1.0)
        support = torch.cat([support, correlations.argmax(dim=1, keepdim=True)], dim=1)
        A = D[support]  # N × k × m
        x = torch.linalg.solve(A @ A.mT, (A @ Y[:, :, None]))
        residual = Y - (x.mT @ A)[:, 0]
    return support, x[:, :, 0]


def best(function, repeat, on_gpu):
    """Return the shortest of several times, after one that is not counted."""
    times = []
    for _ in range(repeat + 1):
        started = time.perf_counter()
        function()
        if on_gpu:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return min(times[1:]) if repeat else times[0]


def fitted(X, device, repeat=2, **more):
    """Return a fitted model and the shortest time of its fit."""
    model = DLOCSVM.paper(**SETTINGS, **more)
    if device.type == "cpu":
        return model, best(lambda: model.fit(X.numpy()), repeat, False)
    model.set_params(device=str(device))
    return model, best(lambda: model.fit(X), repeat, True)


def gpu_lines(n_rows, device, dtype):
    """Measure fit and scores of rows in the device's memory."""
    on_gpu = device.type == "cuda"
    X = make_rows(n_rows, dtype, device)
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    model, fit = fitted(X, device)
    h = model.history_
    phases = {name: round(float(h[name].sum()), 2) for name in h if name.startswith("seconds")}
    peak = torch.cuda.max_memory_allocated() / 2**30 if on_gpu else 0.0
    print(f"fit {n_rows:,} {dtype}: {fit:.2f} s, {n_rows / fit / 1e6:.1f} M rows/s, peak {peak:.1f} GiB, {phases}")
    rounds = h.get("rounds", np.zeros(1)).sum()
    print(f"    rounds {rounds:.0f}, gap {model.gap_:.1e}, active {model.components_.shape[0]}")
    score = best(lambda: device_scores(model, X, device), 5, on_gpu)
    whole = best(lambda: model.score_samples(X), 3, on_gpu)
    size = dtype.itemsize
    least = n_rows * (M * size + 8) / score  # rows in, scores out
    flops = n_rows * (2 * ATOMS * M + NONZERO * 2 * ATOMS + (NONZERO * (NONZERO - 1) // 2) * 4 * ATOMS) / score
    print(
        f"score {n_rows:,} {dtype}: {score * 1e3:.1f} ms, {n_rows / score / 1e6:.0f} M rows/s in device memory; "
        f"{n_rows / whole / 1e6:.0f} M rows/s with the scores as a NumPy array; rows in and scores out alone "
        f"{least / 1e12:.2f} TB/s, pursuit {flops / 1e12:.1f} TFLOP/s",
        flush=True,
    )
    return X, model


def omp_lines(X, model, device, n_plain=1_000_000):
    """Measure the pursuit alone, as it is and as it is usually written."""
    on_gpu = device.type == "cuda"
    D = torch.tensor(model.components_, device=device)
    ours = best(lambda: torch_omp(X, D, NONZERO), 5, on_gpu)
    some, atoms = X[:n_plain], D.to(X.dtype)
    plain = best(lambda: [plain_omp(block, atoms, NONZERO) for block in some.split(250_000)], 2, on_gpu)
    rates = X.shape[0] / ours / 1e6, some.shape[0] / plain / 1e6
    print(f"OMP alone: {rates[0]:.0f} M rows/s; plain batched OMP in torch {rates[1]:.1f} M rows/s", flush=True)


def bandwidth(device):
    """Print what a copy and a matrix product reach."""
    X = torch.empty(2**29 if device.type == "cuda" else 2**25, device=device)
    Y = torch.empty_like(X)
    t = best(lambda: Y.copy_(X), 5, device.type == "cuda")
    A = torch.rand((8192, 8192), device=device) if device.type == "cuda" else torch.rand((1024, 1024))
    p = best(lambda: A @ A, 5, device.type == "cuda")
    print(f"copy {2 * X.numel() * 4 / t / 1e12:.2f} TB/s, float32 product {2 * A.shape[0] ** 3 / p / 1e12:.1f} TFLOP/s")


def streamed(n_rows, device):
    """Measure rows that stay in the host's memory."""
    from oddatom.estimators._elsewhere import fit_source

    X = make_rows(n_rows, torch.float32, device).cpu()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    def fit():
        source = TensorSource(X, device, stream=True)
        model = DLOCSVM.paper(**SETTINGS)
        model.n_features_in_ = M
        fit_source(model, source, X, None)
        return model

    t = best(fit, 1, device.type == "cuda")
    model = fit()
    peak = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else 0.0
    s = best(lambda: device_scores(model, X, device), 2, device.type == "cuda")
    rate = n_rows / s / 1e6
    print(f"streamed from the host: fit {n_rows:,}: {t:.2f} s, peak {peak:.1f} GiB; score {rate:.0f} M rows/s")


def cpu_lines(n_rows, dtype=torch.float64):
    """Measure this machine's cores, and IsolationForest on them."""
    X = make_rows(n_rows, torch.float32, torch.device("cuda" if torch.cuda.is_available() else "cpu")).cpu().to(dtype)
    model, fit = fitted(X, torch.device("cpu"), repeat=1 if n_rows <= 1_000_000 else 0)
    score = best(lambda: model.score_samples(X.numpy()), 1, False)
    print(f"{os.cpu_count()} cores, {n_rows:,}: fit {fit:.2f} s, score {n_rows / score / 1e6:.2f} M rows/s", flush=True)
    forest = IsolationForest(random_state=0, n_jobs=-1)
    few = X.numpy()[:1_000_000]
    fit = best(lambda: forest.fit(X.numpy()), 0, False)
    score = best(lambda: forest.score_samples(few), 0, False)
    print(
        f"IsolationForest on them, {n_rows:,}: fit {fit:.2f} s, score {few.shape[0] / score / 1e6:.2f} M rows/s",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1000000,10000000,50000000")
    parser.add_argument("--float64", type=int, default=0, help="rows in float64, too")
    parser.add_argument("--streamed", type=int, default=0, help="rows that stay in the host's memory")
    parser.add_argument("--cpu", default="", help="rows for this machine's cores")
    options = parser.parse_args()
    device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    print(torch.cuda.get_device_name() if device.type == "cuda" else "no GPU", "torch", torch.__version__)
    bandwidth(device)
    for n_rows in map(int, options.rows.split(",")):
        X, model = gpu_lines(n_rows, device, torch.float32)
    omp_lines(X[:10_000_000], model, device)
    del X
    if options.float64:
        gpu_lines(options.float64, device, torch.float64)
    if options.streamed:
        streamed(options.streamed, device)
    for n_rows in map(int, filter(None, options.cpu.split(","))):
        cpu_lines(n_rows)


if __name__ == "__main__":
    main()
