"""Rows in time and of groups for `benchmarks.streams`: labelled files, simulated series and machines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.signal import lfilter

from benchmarks._common import data_folder

LABELS = ("anomaly", "changepoint")
MACHINES, ROWS_EACH, COLUMNS = 20, 200, 5
SPREAD, SHARE, SHIFT = 100.0, 0.01, 6.0


def stream_files() -> tuple[list[Path], list[Path]]:
    """Files of the pump and of the series; none where the folder is not there."""
    sets = data_folder()
    folder = None if sets is None else sets.parent / "streams"
    paths = sorted(folder.glob("*.csv")) if folder is not None and folder.is_dir() else []
    pump = [path for path in paths if path.name.startswith("valve")]
    return pump, [path for path in paths if path not in pump]


def read_stream(path: Path) -> tuple[pd.DataFrame, str, np.ndarray]:
    """The table without its labels, the name of its time column, and the labels (1: anomaly)."""
    with path.open() as file:
        header = file.readline()
    table = pd.read_csv(path, sep=";" if ";" in header else ",")
    time = "datetime" if "datetime" in table else "timestamp"
    table[time] = pd.to_datetime(table[time])
    return table.drop(columns=[c for c in LABELS if c in table]), time, table["anomaly"].to_numpy().astype(int)


def ar(rng: np.random.Generator, n: int, phi: float, m: int = 1) -> np.ndarray:
    """m columns x[t] = phi x[t - 1] + e[t], Gaussian, with variance 1 from the first row on."""
    e = rng.normal(size=(n, m)) * np.sqrt(1.0 - phi**2)
    e[0] /= np.sqrt(1.0 - phi**2)
    return lfilter([1.0], [1.0, -phi], e, axis=0)


def _day(n: int) -> np.ndarray:
    """A cycle of 24 rows between 0 and 1, lowest at midnight."""
    return (1.0 - np.cos(2.0 * np.pi * np.arange(n) / 24.0))[:, None] / 2.0


def _working_day(n: int) -> np.ndarray:
    """1 on Monday to Friday; the first row is a Monday's."""
    return (np.arange(n) // 24 % 7 < 5)[:, None]


Draw = Callable[[np.random.Generator, int], np.ndarray]
STEADY: dict[str, Draw] = {
    "white noise, 5 columns": lambda rng, n: rng.normal(size=(n, 5)),
    "AR(1), 0.5": lambda rng, n: ar(rng, n, 0.5),
    "AR(1), 0.9": lambda rng, n: ar(rng, n, 0.9),
    "daily cycle": lambda rng, n: 6.0 * _day(n) + ar(rng, n, 0.5),
    "weekly pattern": lambda rng, n: 6.0 * _day(n) * np.where(_working_day(n), 1.0, 0.3) + ar(rng, n, 0.5),
}
DRIFTING: dict[str, Draw] = {
    "random walk": lambda rng, n: np.cumsum(rng.normal(size=(n, 1)), axis=0),
    "linear trend": lambda rng, n: np.linspace(0.0, 8.0, n)[:, None] + ar(rng, n, 0.5),
    # In the middle of the second half.
    "level shift": lambda rng, n: 4.0 * (np.arange(n) >= 3 * n // 4)[:, None] + ar(rng, n, 0.5),
}
FAMILIES = STEADY | DRIFTING


def simulate(family: str, n: int, seed: int) -> pd.DataFrame:
    """Hourly rows of a family, the column "timestamp" first."""
    X = FAMILIES[family](np.random.default_rng([seed, list(FAMILIES).index(family), n]), n)
    return stamped(X, "h")


def stamped(X: np.ndarray, freq: str) -> pd.DataFrame:
    """Columns x0, x1, … after a column of times."""
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    frame.insert(0, "timestamp", pd.date_range("2024-01-01", periods=len(X), freq=freq))  # a Monday
    return frame


def machines(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of 20 machines in random order, and 1 for those shifted by 6 of their own deviations in 1 or 2 columns."""
    rng = np.random.default_rng([seed, 1000])
    levels = SPREAD * rng.normal(size=(MACHINES, COLUMNS))
    scales = rng.lognormal(size=(MACHINES, COLUMNS))
    of = rng.permutation(np.repeat(np.arange(MACHINES), ROWS_EACH))
    noise = rng.normal(size=(len(of), COLUMNS))
    y = np.zeros(len(of), dtype=int)
    for row in rng.choice(len(of), int(SHARE * len(of)), replace=False):
        wrong = rng.choice(COLUMNS, rng.integers(1, 3), replace=False)
        noise[row, wrong] += SHIFT * rng.choice([-1.0, 1.0], len(wrong))
        y[row] = 1
    frame = pd.DataFrame(levels[of] + scales[of] * noise, columns=[f"x{i}" for i in range(COLUMNS)])
    frame.insert(0, "machine", [f"M{k:02d}" for k in of])
    return frame, y
