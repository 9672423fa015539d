"""Simulated tables of the synthetic cases. Every maker takes a seed and returns a frame and its labels (1: odd)."""

from __future__ import annotations

import numpy as np
import pandas as pd

Made = tuple[pd.DataFrame, np.ndarray]


def gaussian(rng: np.random.Generator, rows: int, columns: int) -> pd.DataFrame:
    """Independent standard normal columns a, b, c, … (c0, c1, … where there are more than 26)."""
    names = [chr(97 + i) if columns <= 26 else f"c{i}" for i in range(columns)]
    return pd.DataFrame(rng.normal(size=(rows, columns)), columns=names)


def shifted_cells(rng: np.random.Generator, frame: pd.DataFrame, rows: int, size: float, columns: int) -> np.ndarray:
    """Set one of the first `columns` cells of `rows` random rows to ±size, in place; return the labels."""
    chosen = rng.choice(len(frame), rows, replace=False)
    for row in chosen:
        frame.iat[row, rng.integers(columns)] = size * rng.choice([-1.0, 1.0])
    return _labels(len(frame), chosen)


def _labels(n: int, rows: np.ndarray) -> np.ndarray:
    y = np.zeros(n, dtype=int)
    y[rows] = 1
    return y


def binary(seed: int, share: float) -> Made:
    """5,000 × 4 Gaussian and a 0/1 column with a share of ones; 50 rows have one cell at 8 standard deviations."""
    rng = np.random.default_rng(seed)
    frame = gaussian(rng, 5000, 4)
    y = shifted_cells(rng, frame, 50, 8.0, 4)
    return frame.assign(flag=(rng.random(5000) < share).astype(float)), y


def category(seed: int) -> Made:
    """4,000 × 3 Gaussian and a text column with seven levels, down to 1 %; 40 rows have one cell at 8."""
    rng = np.random.default_rng(seed)
    frame = gaussian(rng, 4000, 3)
    y = shifted_cells(rng, frame, 40, 8.0, 3)
    shares = [0.6, 0.2, 0.1, 0.05, 0.03, 0.01, 0.01]
    return frame.assign(level=rng.choice(list("ABCDEFG"), 4000, p=shares).astype(object)), y


def empty_cells(seed: int) -> Made:
    """800 × 4 Gaussian, 5 % of column b empty; two rows have one cell at 20, in b and in d."""
    rng = np.random.default_rng(seed)
    frame = gaussian(rng, 800, 4)
    rows = rng.permutation(800)
    frame.iloc[rows[:40], 1] = np.nan
    frame.iat[rows[40], 1] = 20.0
    frame.iat[rows[41], 3] = -20.0
    return frame, _labels(800, rows[40:42])


def machines(seed: int) -> Made:
    """20 machines × 200 rows, levels of sd 10 and noise of sd 1 in two columns; 40 cells are 8 noise sd off."""
    rng = np.random.default_rng(seed)
    machine = np.repeat(np.arange(20), 200)
    X = 10.0 * rng.normal(size=(20, 2))[machine] + rng.normal(size=(4000, 2))
    rows = rng.choice(4000, 40, replace=False)
    X[rows, rng.integers(2, size=40)] += 8.0 * rng.choice([-1.0, 1.0], 40)
    frame = pd.DataFrame(X, columns=["pressure", "speed"])
    return frame.assign(machine=pd.Series([f"M{m:02}" for m in machine], dtype=object)), _labels(4000, rows)


def dense_group(seed: int, rows: int, columns: int, share: float, size: float) -> Made:
    """Gaussian rows, a share of them within .01 of one point, at `size` in three columns and 0 in the others."""
    rng = np.random.default_rng(seed)
    frame = gaussian(rng, rows, columns)
    chosen = rng.choice(rows, round(share * rows), replace=False)
    centre = np.where(np.arange(columns) < 3, size, 0.0)
    frame.iloc[chosen] = centre + 0.01 * rng.normal(size=(len(chosen), columns))
    return frame, _labels(rows, chosen)


def single_cells(seed: int, columns: int, sizes: tuple[float, ...]) -> Made:
    """1,000 Gaussian rows; one row each has one cell at each of the sizes."""
    rng = np.random.default_rng(seed)
    frame = gaussian(rng, 1000, columns)
    rows = rng.choice(1000, len(sizes), replace=False)
    for row, size in zip(rows, sizes, strict=True):
        frame.iat[row, rng.integers(columns)] = size
    return frame, _labels(1000, rows)


def ring(seed: int) -> Made:
    """A ring of radius 1, noise .05, and 3 rows within .3 of its centre."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 1000)
    radius = 1 + 0.05 * rng.normal(size=1000)
    radius[:3] = rng.uniform(0, 0.3, 3)
    return pd.DataFrame({"x": radius * np.cos(angle), "y": radius * np.sin(angle)}), _labels(1000, np.arange(3))


def line(seed: int) -> Made:
    """y = 2x, noise .05, and 3 rows off by 1 where x and y are in their range."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, 1000)
    y = 2 * x + 0.05 * rng.normal(size=1000)
    x[:3] = rng.uniform(-1, 1, 3)
    y[:3] = 2 * x[:3] + rng.choice([-1.0, 1.0], 3)
    return pd.DataFrame({"x": x, "y": y}), _labels(1000, np.arange(3))


def sine(seed: int) -> Made:
    """y = sin x over two periods, noise .05, and 3 rows off by .8, towards 0 from above or below."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4 * np.pi, 1000)
    y = np.sin(x) + 0.05 * rng.normal(size=1000)
    y[:3] = np.sin(x[:3]) - 0.8 * np.sign(np.sin(x[:3]))
    return pd.DataFrame({"x": x, "y": y}), _labels(1000, np.arange(3))


def loose_group(seed: int) -> Made:
    """1,000 × 5 Gaussian, of which 5 rows are moved by 10 in one column."""
    frame = gaussian(np.random.default_rng(seed), 1000, 5)
    frame.iloc[:5, 0] += 10.0
    return frame, _labels(1000, np.arange(5))


def amounts(seed: int) -> Made:
    """1,000 log-normal amounts beside two Gaussian columns; one amount is -50."""
    rng = np.random.default_rng(seed)
    frame = gaussian(rng, 1000, 2).assign(amount=rng.lognormal(3.0, 1.0, 1000))
    frame.iat[0, 2] = -50.0
    return frame, _labels(1000, np.arange(1))


def gross_errors(seed: int) -> Made:
    """1,000 × 8 Gaussian; 30 rows have one cell at 10."""
    rng = np.random.default_rng(seed)
    frame = gaussian(rng, 1000, 8)
    return frame, shifted_cells(rng, frame, 30, 10.0, 8)


def dependent(seed: int) -> pd.DataFrame:
    """2,000 × 5, Gaussian with dependent columns; 20 rows have one cell at 8."""
    rng = np.random.default_rng(seed)
    frame = gaussian(rng, 2000, 5) @ (np.eye(5) + 0.3 * rng.normal(size=(5, 5)))
    frame.columns = list("abcde")
    shifted_cells(rng, frame, 20, 8.0, 5)
    return frame


def three_copies(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with column a three times."""
    return frame.assign(a2=frame["a"], a3=frame["a"])


def quantile_levels(frame: pd.DataFrame) -> pd.DataFrame:
    """The table and a text column that says in which twentieth of column a each row is."""
    twentieth = pd.qcut(frame["a"], 20, labels=False)
    return frame.assign(band=pd.Series([f"q{i:02}" for i in twentieth], dtype=object))
