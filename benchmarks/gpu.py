"""Seconds of a DL fit on a GPU, by what the shard was asked: python -m benchmarks.gpu [--rows N] [--dtype float32]"""

import argparse
import json
import time
from collections import defaultdict

import numpy as np
import torch

from oddatom.learning.alternate import fit_last_svm, learn
from oddatom.learning.dl import DL
from oddatom.learning.penalties import make_penalty
from oddatom.shards.base import ShardGroup
from oddatom.shards.torch_shard import TorchShard

M, ATOMS, NONZERO, SWEEPS = 32, 64, 6, 6


class TimedGroup(ShardGroup):
    """Adds up calls and seconds by method."""

    def __init__(self, shards):
        super().__init__(shards)
        self.seconds, self.calls = defaultdict(float), defaultdict(int)

    def map(self, method, *args):
        started = time.perf_counter()
        out = super().map(method, *args)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.seconds[method] += time.perf_counter() - started
        self.calls[method] += 1
        return out


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
    return Y / torch.linalg.vector_norm(Y, dtype=torch.float64).to(dtype)


def fit_seconds(Y):
    """Fit once; return the whole time and what the shard was asked."""
    rng = np.random.RandomState(0)
    D = rng.uniform(size=(ATOMS, M))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    learner = DL(s=NONZERO, penalty=make_penalty("l21", 0.01, 0.1), nu=0.05, max_iter=SWEEPS)
    torch.cuda.synchronize() if Y.is_cuda else None
    started = time.perf_counter()
    group = TimedGroup([TorchShard(Y, device=str(Y.device), dtype=Y.dtype)])
    model = learn(group, D, learner)
    svm, _ = fit_last_svm(group, model, learner)
    torch.cuda.synchronize() if Y.is_cuda else None
    whole = time.perf_counter() - started
    return whole, group, model, svm


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    Y = make_rows(options.rows, getattr(torch, options.dtype), options.device)
    fit_seconds(Y[: min(options.rows, 100_000)].contiguous())  # warm
    for _ in range(2):
        whole, group, model, svm = fit_seconds(Y)
        peak = torch.cuda.max_memory_allocated() / 2**30 if Y.is_cuda else 0.0
        found = {"rows": options.rows, "dtype": options.dtype, "seconds": round(whole, 3), "GiB": round(peak, 1)}
        print(json.dumps(found))
    for name, seconds in sorted(group.seconds.items(), key=lambda item: -item[1])[:14]:
        print(f"  {name:22s} {group.calls[name]:5d} calls {seconds:8.3f} s")
    print("  total", model.history["total"][-1], "gap", svm.gap)


if __name__ == "__main__":
    main()
