"""The labelled sets of the ranking benchmark, the rows that a seed chooses of them, and halves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from benchmarks._common import data_folder, read

MOST_ROWS = 10_000


@dataclass(frozen=True)
class Set:
    """A file with rows X and labels y, in the ODDS folder or in `dev` beside it."""

    file: str
    folder: str = "odds"

    @property
    def name(self) -> str:
        return self.file.rsplit(".", 1)[0]

    def load(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows as they are, duplicates too, and their labels (1: anomaly)."""
        odds = data_folder()
        if odds is None:
            raise FileNotFoundError("No ODDS data: set ODDATOM_DATA to the folder with the .mat files.")
        path = (odds if self.folder == "odds" else odds.parent / self.folder) / self.file
        if not path.is_file():
            raise FileNotFoundError(
                f"{self.folder}/{self.file} is missing: put `{self.folder}` beside the ODDS folder."
            )
        return read(path)


SETS = (
    Set("cardio.mat"),
    Set("glass.mat"),
    Set("lympho.mat"),
    Set("mnist.mat"),
    Set("pendigits.mat"),
    Set("satellite.mat"),
    Set("shuttle.mat"),
    Set("speech_fifth.npz"),
    Set("thyroid.mat"),
    Set("vowels.mat"),
    Set("wbc.mat"),
    Set("Stamps.npz", "dev"),
    Set("Waveform.npz", "dev"),
    Set("annthyroid.npz", "dev"),
    Set("breastw.npz", "dev"),
    Set("fault.npz", "dev"),
    Set("letter.npz", "dev"),
    Set("mammography.npz", "dev"),
    Set("optdigits.npz", "dev"),
)


def choose_rows(n_rows: int, seed: int, most: int = MOST_ROWS) -> np.ndarray:
    """Indices of all rows, or of `most` that the seed chooses, in their order."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(check_random_state(seed).choice(n_rows, most, replace=False))


def halves(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of two random halves, anomalies shared out evenly, so that neither half lacks them."""
    fit, other = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    return fit, other
