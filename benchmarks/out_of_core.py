"""A fit to data four times as large as the memory it is given, and the same fit in memory, which that ends.

python -m benchmarks.out_of_core [--limit MiB] [--formats npy,parquet] [--folder F] [--unlimited]

The limit is on address space (`ulimit -v`), of a process of its own, set before anything is imported. It counts
everything that the process maps: its code, libraries and compiled kernels, its heap, and the scratch files that it has
mapped at the moment. It does not count the pages of files that the system keeps in memory that nobody else needs: on a
machine with memory to spare the scratch files are read from there, on one without from the disk.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

M, ATOMS, NONZERO = 64, 16, 3
FACTOR = 4
# What takes address space by itself, without use here: threads of OpenBLAS, arenas of malloc, Arrow's own allocator.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", "ARROW_DEFAULT_MEMORY_POOL": "system"}


def blocks(n_bytes: int):
    """Rows around a few positive directions, some noise, a few strays; 2¹⁷ rows at a time."""
    rng = np.random.default_rng(0)
    atoms = rng.uniform(0, 1, size=(8, M))
    left = n_bytes // (8 * M)
    while left > 0:
        n = min(left, 2**17)
        X = rng.gamma(2.0, size=(n, 8)) @ atoms + 0.1 * rng.normal(size=(n, M))
        X[: n // 100] *= rng.uniform(0, 3, size=(n // 100, M))
        yield X
        left -= n


def make_data(folder: Path, n_bytes: int, kind: str) -> list[str]:
    """Write the rows, as one .npy file or as Parquet files of a million rows each."""
    if kind == "npy":
        path = folder / "rows.npy"
        with open(path, "wb") as file:
            header = {"descr": "<f8", "fortran_order": False, "shape": (n_bytes // (8 * M), M)}
            np.lib.format.write_array_header_1_0(file, header)
            for X in blocks(n_bytes):
                X.tofile(file)
        return [str(path)]
    import pyarrow as pa
    import pyarrow.parquet as pq

    paths, writer = [], None
    for number, X in enumerate(blocks(n_bytes)):
        table = pa.table({f"feature{f}": X[:, f] for f in range(M)})
        if number % 8 == 0:
            if writer is not None:
                writer.close()
            paths.append(str(folder / f"rows{number // 8}.parquet"))
            writer = pq.ParquetWriter(paths[-1], table.schema, use_dictionary=False, compression=None)
        writer.write_table(table)
    writer.close()
    return paths


def status(key: str) -> int:
    """Bytes of a line of Linux's /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))


def child(paths: list[str], in_memory: bool, sweeps: int) -> None:
    """Fit, and print what it took."""
    from oddatom import DLOCSVM

    model = DLOCSVM.paper(n_atoms=ATOMS, n_nonzero=NONZERO, max_iter=sweeps, nu=0.1, random_state=0)
    started = time.perf_counter()
    X = paths
    if in_memory:
        X = np.concatenate([np.load(path) for path in paths]) if paths[0].endswith(".npy") else read_table(paths)
    model.fit(X)
    print(
        json.dumps(
            {
                "seconds": round(time.perf_counter() - started, 1),
                "VmPeak": status("VmPeak"),
                "VmHWM": status("VmHWM"),
                "VmSize": status("VmSize"),
                "gap": model.gap_,
                "total": model.history_["total"][-1],
            }
        )
    )


def read_table(paths: list[str]) -> np.ndarray:
    import pyarrow.parquet as pq

    return pq.read_table(paths).to_pandas().to_numpy()


def limited(limit: int | None, paths: list[str], in_memory: bool, sweeps: int, scratch: Path) -> dict:
    """Run `child` under a limit (None: none); return what it printed, or how it ended."""

    def set_limit() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    command = [sys.executable, "-m", "benchmarks.out_of_core", "--child", "--sweeps", str(sweeps), *paths]
    command += ["--in-memory"] if in_memory else []
    environment = {**os.environ, **ENVIRONMENT, "TMPDIR": str(scratch)}
    done = subprocess.run(command, env=environment, preexec_fn=set_limit, capture_output=True, text=True, check=False)
    found: dict = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"ended": ending(done)}
    left = [path.name for path in scratch.iterdir()]
    for name in left:  # a killed process cannot clean up
        shutil.rmtree(scratch / name)
    return found | ({"scratch folders left": len(left)} if left else {})


def ending(done: subprocess.CompletedProcess) -> str:
    if done.returncode < 0:
        return f"killed by signal {-done.returncode}"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"exit status {done.returncode}"


def show(title: str, found: dict) -> None:
    sizes = ("VmPeak", "VmHWM", "VmSize")
    parts = [f"{key} {value / 2**20:.0f} MiB" if key in sizes else f"{key} {value}" for key, value in found.items()]
    print(f"  {title:34s} {', '.join(parts)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=1024, help="MiB")
    parser.add_argument("--formats", default="npy,parquet")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--sweeps", type=int, default=2)
    parser.add_argument("--child", action="store_true")
    parser.add_argument("--in-memory", action="store_true")
    parser.add_argument(
        "--unlimited", action="store_true", help="also fit without a limit; takes 20 times the limit in memory"
    )
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    if options.child:
        child(options.paths, options.in_memory, options.sweeps)
        return
    limit = options.limit * 2**20
    n_bytes = FACTOR * limit
    with tempfile.TemporaryDirectory(prefix="out-of-core-", dir=options.folder or "/var/tmp") as name:
        folder, scratch = Path(name), Path(name) / "scratch"
        scratch.mkdir()
        for kind in options.formats.split(","):
            small = make_data(folder, 2**24, kind)  # compiled kernels are read from their cache after this
            base = limited(None, small, False, options.sweeps, scratch)
            paths = make_data(folder, n_bytes, kind)
            print(
                f"{kind}: {n_bytes // (8 * M)} rows × {M} features, {n_bytes / 2**20:.0f} MiB in memory, "
                f"{sum(os.path.getsize(path) for path in paths) / 2**20:.0f} MiB in files"
            )
            show("16 MiB of rows, no limit", base)
            what = f"limit {options.limit} MiB"
            show(what, limited(limit, paths, False, options.sweeps, scratch))
            show(f"{what}, in memory", limited(limit, paths, True, options.sweeps, scratch))
            if options.unlimited:
                show("no limit", limited(None, paths, False, options.sweeps, scratch))
                show("no limit, in memory", limited(None, paths, True, options.sweeps, scratch))
            for path in paths:
                os.unlink(path)


if __name__ == "__main__":
    main()
