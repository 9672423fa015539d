"""A small model of every detector, the rows it is for, and everything it says of them as bytes."""

import hashlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse

from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, SVDD, LinearOneClassSVM, OddAtomDetector

COMMON = {"n_atoms": 6, "beta": 0.02, "nu": 0.1, "max_iter": 2, "n_folds": 2, "random_state": 0}
LANDMARKS = {"approximation": 8}
KINDS = {
    "DLOCSVM": (DLOCSVM, COMMON),
    "DPLOCSVM": (DPLOCSVM, {**COMMON, "alpha": 0.002}),
    "KDLOCSVM": (KDLOCSVM, {**COMMON, **LANDMARKS}),
    "KDPLOCSVM": (KDPLOCSVM, {**COMMON, **LANDMARKS, "alpha": 0.002}),
    "LinearOneClassSVM": (LinearOneClassSVM, {"nu": 0.1}),
    "SVDD": (SVDD, {"nu": 0.1}),
    "OddAtomDetector": (OddAtomDetector, {"n_groups": 2, "n_centroids": 4, "n_atoms": 4, "random_state": 0}),
}
METHODS = ("score_samples", "predict", "explain", "p_values")


def make(kind, **others):
    """An unfitted detector."""
    Class, parameters = KINDS[kind]
    return Class(**{**parameters, **others})


def rows(N=200, m=5, seed=0):
    """Positive rows, a few of them odd."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(2.0, size=(N, 3)) @ np.random.default_rng(9).uniform(0, 1, (3, m)) + 0.5
    X[::37, 0] *= 3.0
    return X


def digest(model, X):
    """Everything that a model says of rows, as one number; the same bits give the same."""
    said = hashlib.sha256()
    for name in METHODS:
        if not hasattr(model, name):
            continue
        answer = getattr(model, name)(X)
        for part in answer if isinstance(answer, tuple) else (answer,):
            if part is None:  # an explanation without atoms
                continue
            said.update(np.ascontiguousarray(part.toarray() if scipy.sparse.issparse(part) else part).tobytes())
    return said.hexdigest()


def state(model):
    """The fitted attributes of a model: names, and the objects themselves."""
    return {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}


def quietly(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


def run_script(name, *words, seconds=300, **environment):
    """Run one of the scripts beside this file; one that hangs is ended and fails. Return what it printed."""
    script = Path(__file__).parent / name
    process = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", str(script), *map(str, words)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)  # and the children that it waits for
        out, err = process.communicate()
        raise AssertionError(f"{name} {words} hangs.\n{out}\n{err}") from None
    assert process.returncode == 0, f"{name} {words} ended with {process.returncode}.\n{out}\n{err}"
    return out
