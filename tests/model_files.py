"""What the tests of model files share: small fitted models, everything a model can be asked, forged files."""

import hashlib
import json
import warnings

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.datasets import load_wine
from sklearn.pipeline import Pipeline

from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, SVDD, LinearOneClassSVM, OddAtomDetector
from oddatom.model_io import container
from oddatom.table import TableDetector, TableEncoder

FRAME = load_wine(as_frame=True).data.iloc[:, :4]
TRAIN, NEW = FRAME.iloc[:40], FRAME.iloc[60:100]
# A table of every kind of column.
MIXED = pd.DataFrame(
    {
        "size": [None if i % 13 == 5 else i * i % 17 / 4 for i in range(80)],
        "colour": [None if i % 11 == 7 else ("red", "blue", "grün", "red")[i % 4] for i in range(80)],
        "day": [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(80)],
        "town": [f"town {i * i % 31}" for i in range(80)],
        "paid": [("yes", "no")[i % 3 == 0] for i in range(80)],
        "id": [f"x{i * 7919 % 1000}" for i in range(80)],
    }
)
# The same in the order of a time.
TIMED = MIXED.assign(step=[float(i + (i % 9 == 0)) for i in range(80)])


def kernel_of(A, B):
    return np.exp(-1e-4 * ((np.asarray(A)[:, None] - np.asarray(B)[None]) ** 2).sum(axis=2))


SMALL = {"beta": 0.02, "nu": 0.11, "random_state": 0, "max_iter": 2, "n_atoms": 6}
TINY = {"n_groups": 2, "trim": (0.3,), "n_centroids": 3, "n_atoms": 3, "n_directions": 2, "random_state": 0}
KINDS = {
    "DLOCSVM": lambda: DLOCSVM.paper(**SMALL, n_folds=2),
    "DPLOCSVM": lambda: DPLOCSVM.paper(**SMALL, alpha=0.002, n_folds=2),
    "KDLOCSVM": lambda: KDLOCSVM.paper(**SMALL, approximation=8, n_folds=2),
    "KDPLOCSVM": lambda: KDPLOCSVM.paper(**SMALL, alpha=0.002, approximation=8, n_folds=2),
    "Ball": lambda: DLOCSVM(**SMALL, n_folds=2, scoring="margin"),
    "Loda": lambda: DPLOCSVM(**SMALL, alpha=0.002, scoring="loda"),
    "LinearOneClassSVM": lambda: LinearOneClassSVM(nu=0.1),
    "SVDD": lambda: SVDD(nu=0.1),
    "OddAtomDetector": lambda: OddAtomDetector(**TINY),
    "Pipeline": lambda: Pipeline([("detector", OddAtomDetector(**TINY))]),
    "Table": lambda: Pipeline([("table", TableEncoder(max_levels=5, id="id")), ("detector", OddAtomDetector(**TINY))]),
    "TableDetector": lambda: TableDetector(OddAtomDetector(**TINY), max_levels=5, id="id"),
    "Timed": lambda: TableDetector(OddAtomDetector(**TINY), max_levels=5, id="id", time="step", by="paid", window=4),
}
OF_TABLES = ("Table", "TableDetector", "Timed")
DETECTORS = [kind for kind in KINDS if kind not in ("Pipeline", *OF_TABLES)]


def rows_of(kind):
    """Rows that a kind of model has not seen."""
    return table_of(kind).iloc[40:] if kind in OF_TABLES else NEW


def table_of(kind):
    """The table that a kind of model is fitted to half of."""
    return TIMED if kind == "Timed" else MIXED


def fitted(kind):
    """A model of a kind, fitted to a frame; the seconds that it took are left out, so that it is always the same."""
    model = quietly(KINDS[kind]().fit, table_of(kind).iloc[:40] if kind in OF_TABLES else TRAIN)
    for part in (model, *(getattr(model, "fold_models_", None) or ())):
        if hasattr(part, "history_"):
            for name in [name for name in part.history_ if name.startswith("seconds")]:
                part.history_[name] = np.zeros_like(part.history_[name])
    return model


def quietly(function, *args, **options):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args, **options)


def answers(model, X):
    """Everything that a fitted model says of rows, by name, as arrays."""
    found = {}
    for name in ("score_samples", "decision_function", "predict", "transform", "explain", "detect_batch", "p_values"):
        inner = getattr(model, "detector_", model)
        if not hasattr(model, name) or (name == "p_values" and getattr(inner, "conformal_", 0) is None):
            continue
        said = quietly(getattr(model, name), X)
        parts = said if isinstance(said, tuple) else (said,)
        for k, part in enumerate(parts):
            found[f"{name} {k}"] = part.toarray() if scipy.sparse.issparse(part) else np.asarray(part)
    if hasattr(model, "score_parts"):
        found.update(quietly(model.score_parts, X))
    return found


def assert_same_answers(model, other, X):
    ours, theirs = answers(model, X), answers(other, X)
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


def unpack(path):
    """Document and arrays of a file."""
    return container.read(path)


def pack(document, arrays):
    """A file with a right checksum, whatever it holds."""
    entries, data = {}, b""
    for name, array in arrays.items():
        code = next(code for code, dtype in container.DTYPES.items() if np.dtype(dtype) == array.dtype)
        raw = np.ascontiguousarray(array).tobytes()
        entries[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    return forge(json.dumps({**document, "sha256": "0" * 64}, separators=(",", ":")), entries, data)


def forge(text, entries, data):
    """A file with a right checksum around a document's text, the header's entries and bytes."""
    header = json.dumps({"__metadata__": {"oddatom": text}, **entries}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    content = len(header).to_bytes(8, "little") + header + data
    mark = b'\\"sha256\\":\\"'
    digest = hashlib.sha256(content).hexdigest().encode()
    return content.replace(mark + b"0" * 64, mark + digest, 1)
