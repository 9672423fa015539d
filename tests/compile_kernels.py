"""Compile the kernels that most tests call, and save the models of this first run: compile_kernels.py FOLDER KIND ...

Processes that need a kernel at the same time would each compile it; `conftest.py` runs this before its workers start.
"""

import sys
from pathlib import Path

import numpy as np

from model_files import DETECTORS, KINDS, TRAIN, answers, fitted, quietly, rows_of

MANY = np.random.default_rng(0).gamma(2.0, size=(4_000, 4))  # enough for the SVM's smoothed steps
# Beside the settings of KINDS: what has kernels of its own.
OTHERS = {
    "DLOCSVM": (
        {"solver": "paper", "scaling": "robust"},
        {"penalty": "l20"},
        {"coupling_form": "hinge", "boundary": "ball"},
    ),
    "DPLOCSVM": (
        {"solver": {"pairs": "gradient"}, "representation": "omp"},
        {"penalty": "l20"},
        {"coupling_form": "hinge"},
    ),
    "KDLOCSVM": ({"kernel_params": {"coding": "gram"}, "kernel": "polynomial", "approximation": None},),
    "KDPLOCSVM": (
        {"kernel_params": {"coding": "gram"}, "kernel": "laplacian", "representation": "omp", "approximation": None},
    ),
}


def main(folder: Path, kinds: list[str]) -> None:
    for kind in kinds:
        model = fitted(kind)
        if kind in DETECTORS:
            model.save(folder / kind)
            quietly(KINDS[kind]().fit, MANY)
        answers(model, rows_of(kind))
        for settings in OTHERS.get(kind, ()):
            answers(quietly(KINDS[kind]().set_params(**settings).fit, TRAIN), rows_of(kind))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
