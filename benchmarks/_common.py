"""Shared by the benchmarks: data sets at the paper's settings, timing, facts about the machine."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

# n_nonzero, beta (DL) and nu (the true share of outliers) of the paper's experiments.
PAPER = {
    "satellite": {"n_nonzero": 6, "beta": 0.5, "nu": 0.317},
    "pendigits": {"n_nonzero": 5, "beta": 0.115, "nu": 0.023},
    "mnist": {"n_nonzero": 8, "beta": 0.01, "nu": 0.092},
    "shuttle": {"n_nonzero": 4, "beta": 0.32, "nu": 0.072},
}
# beta and gamma (here alpha) of DPL there.
PAPER_PAIRS = {
    "satellite": {"beta": 0.02, "alpha": 0.07},
    "pendigits": {"beta": 0.14, "alpha": 0.04},
    "mnist": {"beta": 0.02, "alpha": 0.16},
    "shuttle": {"beta": 0.14, "alpha": 0.03},
}


def data_folder() -> Path | None:
    """The folder with the ODDS .mat files: ODDATOM_DATA, or shared/data/odds beside the checkout."""
    named = os.environ.get("ODDATOM_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data" / "odds"
    return folder if folder.is_dir() else None


def load(name: str) -> np.ndarray:
    """Rows of an ODDS set."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("No ODDS data: set ODDATOM_DATA to the folder with the .mat files.")
    return read(folder / f"{name}.mat")[0]


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows X and labels y (1: anomaly) of a .mat or .npz file."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            X, y = arrays["X"], arrays["y"]
    else:
        try:
            arrays = scipy.io.loadmat(path)
            X, y = arrays["X"], arrays["y"]
        except NotImplementedError:  # MATLAB 7.3 files are HDF5
            import h5py

            with h5py.File(path) as file:
                X, y = np.array(file["X"]).T, np.array(file["y"])
    return np.ascontiguousarray(X, dtype=np.float64), y.ravel().astype(np.int64)


def seconds(function: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Time of one call."""
    start = clock()
    function()
    return clock() - start


def best_in_turn(
    functions: dict[str, Callable[[], object]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Best time of each function; they are called in turn, so that all meet the same load."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            times[name].append(seconds(function, clock))
    return {name: min(values) for name, values in times.items()}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    packages = ("oddatom", "numpy", "scipy", "scikit-learn", "numba")
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
    }


def package_version(name: str) -> str | None:
    """The version of a package, None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def to_json(value: Any, indent: int = 0) -> str:
    """JSON with every object or list that holds no other on one line."""
    if not isinstance(value, dict) or not any(isinstance(v, (dict, list)) and v for v in value.values()):
        return json.dumps(value)
    inner = " " * (indent + 2)
    lines = (f"{inner}{json.dumps(str(key))}: {to_json(v, indent + 2)}" for key, v in value.items())
    return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace the file at once, so that a reader never sees half of it."""
    new = path.with_suffix(".json.new")
    new.write_text(to_json(value) + "\n")
    os.replace(new, path)
