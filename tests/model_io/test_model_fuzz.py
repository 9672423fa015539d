"""Whatever a file holds, loading ends in ModelFileError or in a model that answers: no other error, no crash."""

import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oddatom
from long_runs import examples, quick
from model_files import NEW, answers, pack, quietly, rows_of, unpack
from oddatom import ModelFileError
from oddatom.table import TableDetector, TableEncoder

FOLDER = Path(__file__).parent / "golden"
NEWER = (FOLDER / "1.2" / "TableDetector.oddatom", FOLDER / "1.6" / "Timed.oddatom")
GOLDEN = {path.stem: path for path in [*sorted(FOLDER.glob("*.oddatom")), *NEWER]}
PARTS = {kind: unpack(path) for kind, path in GOLDEN.items()}
ROWS = np.vstack([np.asarray(NEW)[:3], np.zeros((1, 4)), np.full((1, 4), 1e300), np.full((1, 4), -1e-300)])
TIMED = rows_of("Timed").iloc[:9]
kinds = st.sampled_from(sorted(GOLDEN))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "model"


def loads_or_refuses(path, content):
    """Load bytes; ask a model that comes out of them everything, on rows of every size."""
    path.write_bytes(content)
    try:
        model = quietly(oddatom.load, path)
    except ModelFileError as error:
        message = str(error)
    else:
        message = ""
    if message:
        assert "\n" not in message
        return False
    first = model.steps[0][1] if hasattr(model, "steps") else model
    rows = (
        TIMED if isinstance(first, TableEncoder | TableDetector) else np.resize(ROWS, (len(ROWS), first.n_features_in_))
    )
    answers(model, rows)
    if hasattr(model, "set_threshold"):
        quietly(model.set_threshold(0.2).predict, rows)
    return True


@settings(quick, max_examples=examples(50, 500))
@given(kind=kinds, share=st.floats(0, 1, exclude_max=True))
def test_truncated(path, kind, share):
    content = GOLDEN[kind].read_bytes()
    assert not loads_or_refuses(path, content[: int(share * len(content))])


@settings(quick, max_examples=examples(100, 1000))
@given(kind=kinds, flips=st.lists(st.integers(0, 2**32), min_size=1, max_size=3, unique=True))
def test_flipped_bits(path, kind, flips):
    content = bytearray(GOLDEN[kind].read_bytes())
    before = bytes(content)
    for flip in flips:
        content[flip // 8 % len(content)] ^= 1 << flip % 8
    assert loads_or_refuses(path, bytes(content)) == (before == bytes(content))


@settings(quick, max_examples=examples(30, 300))
@given(start=st.sampled_from([0, 1, 8, 30, 200, 5000]), kind=kinds, noise=st.binary(max_size=200))
def test_random_bytes(path, start, kind, noise):
    content = GOLDEN[kind].read_bytes()
    changed = content[:start] + noise + content[start + len(noise) :]
    assert loads_or_refuses(path, changed) == (changed == content)


def places(tree, place=()):
    """Every place in a tree."""
    yield place
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from places(tree[key], (*place, key))


PLACES = {kind: [place for place in places(document["model"]) if place] for kind, (document, _) in PARTS.items()}
SCALARS = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    7,
    40,
    2**31,
    2**53,
    2**62,
    -(2**63),
    0.0,
    -0.0,
    0.5,
    -1.5,
    1e-320,
    1e308,
    -1e308,
]
TEXTS = [
    "",
    "margin",
    "residual",
    "description_length",
    "svm",
    "omp",
    "rbf",
    "precomputed",
    "os.system",
    "__class__",
    "é\0\ud800",
]
TREES = [
    [],
    {},
    [[]],
    {"tuple": []},
    {"tuple": ["fdr", 0.5]},
    {"dict": []},
    {"dict": [["a", 1], ["a", 2]]},
    {"float": "nan"},
    {"float": "inf"},
    {"float": "-inf"},
    {"float": 1},
    {"names": ["a", "b", "c", "d"]},
    {"names": [1]},
    {"array": None},
    {"csr": {}},
    {"record": ["Threshold", {"kind": "share", "level": 0.2}]},
    {"record": ["Threshold", {"kind": "fdr", "level": 0.2}]},
    {"record": ["Scaling", {"center": None, "spread": None, "scale": 1e-300}]},
    {"record": ["Kernel", {"function": "poly", "gamma": 1e300, "degree": 1e300, "coef0": -1e300}]},
    {"record": ["CrossConformal", {"held_out": {"tuple": [1]}}]},
    {"record": ["History", {"columns": [], "lagrangian": {}}]},
    {"record": ["os", {}]},
    {"model": {}},
    {"model": None},
    {"__reduce__": ["os.system", "true"]},
]


def reach(tree, place):
    for key in place:
        tree = tree[key]
    return tree


@settings(quick, max_examples=examples(90, 900))
@given(kind=kinds, data=st.data())
def test_changed_trees(path, kind, data):
    """Values of other types, lost and added keys, values and names of arrays from elsewhere in the tree."""
    document, arrays = copy.deepcopy(PARTS[kind][0]), PARTS[kind][1]
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.sampled_from(PLACES[kind]))
        try:
            parent = reach(document["model"], place[:-1])
            deed = data.draw(st.sampled_from(["scalar", "text", "tree", "array", "swap", "lose", "add", "nest"]))
            if deed == "lose":
                del parent[place[-1]]
            elif deed == "add":
                key = data.draw(st.sampled_from(["evil_", "__class__", "__dict__", "coef_", "output", "a"]))
                parent[key] = data.draw(st.sampled_from(SCALARS + TREES))
            elif deed == "swap":
                parent[place[-1]] = copy.deepcopy(reach(document["model"], data.draw(st.sampled_from(PLACES[kind]))))
            elif deed == "nest":
                for _ in range(data.draw(st.sampled_from([1, 5, 70]))):
                    parent[place[-1]] = data.draw(st.sampled_from([lambda t: [t], lambda t: {"tuple": [t]}]))(
                        parent[place[-1]]
                    )
            elif deed == "array":
                tag = data.draw(st.sampled_from(["array", "fortran"]))
                parent[place[-1]] = {tag: data.draw(st.sampled_from(sorted(arrays)))}
            else:
                pool = {"scalar": SCALARS, "text": TEXTS, "tree": TREES}[deed]
                parent[place[-1]] = copy.deepcopy(data.draw(st.sampled_from(pool)))
        except (KeyError, IndexError, TypeError):
            continue  # the first change took the place of the second away
    loads_or_refuses(path, pack(document, arrays))


NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1.0, 1e308, -1e308, 1e-320, 2.0**63, 1e10]
INTEGERS = {"i": [0, 1, -1, 4, 6, 40, 2**31 - 1, -(2**31)], "u": [0, 255], "b": [0, 1]}


def altered(array, data):
    """An array of other entries, another shape, another dtype or another order."""
    deed = data.draw(
        st.sampled_from(["entry", "entry", "all", "shape", "dtype", "cut", "grow", "transpose", "shuffle"])
    )
    array = array.copy()
    if array.size == 0:
        return array
    if deed in ("entry", "all"):
        value = data.draw(st.sampled_from(NUMBERS if array.dtype.kind == "f" else INTEGERS[array.dtype.kind]))
        place = slice(None) if deed == "all" else data.draw(st.integers(0, array.size - 1))
        array.reshape(-1)[place] = value
    elif deed == "shape":
        array = array.reshape(data.draw(st.sampled_from([(-1,), (1, -1), (-1, 1), (1, 1, -1)])))
    elif deed == "dtype":
        array = quietly(array.astype, data.draw(st.sampled_from(["f8", "f4", "i8", "i4", "u1", "b1"])))
    elif deed == "cut":
        axis = data.draw(st.integers(0, array.ndim - 1))
        array = np.take(array, range(data.draw(st.sampled_from([0, 1, array.shape[axis] - 1]))), axis=axis)
    elif deed == "grow":
        axis = data.draw(st.integers(0, array.ndim - 1))
        array = np.concatenate([array, array], axis=axis)
    elif deed == "transpose":
        array = array.T
    else:
        array = array[::-1]
    return np.ascontiguousarray(array)


@settings(quick, max_examples=examples(90, 900))
@given(kind=kinds, data=st.data())
def test_changed_arrays(path, kind, data):
    """Numbers out of range, NaN, other sizes and dtypes, alone or in arrays that belong together."""
    document, arrays = PARTS[kind][0], dict(PARTS[kind][1])
    name = data.draw(st.sampled_from(sorted(arrays)))
    arrays[name] = altered(arrays[name], data)
    if data.draw(st.booleans()):  # and another of the same family, so that sizes may agree again
        family = sorted(n for n in arrays if n.split(".")[:-1] == name.split(".")[:-1])
        other = data.draw(st.sampled_from(family))
        arrays[other] = altered(arrays[other], data)
    loads_or_refuses(path, pack(document, arrays))


@settings(quick, max_examples=examples(30, 300))
@given(
    kind=kinds,
    name=st.sampled_from(["features", "atoms", "active", "rows"]),
    size=st.integers(0, 9),
)
@example(kind="DLOCSVM", name="active", size=0)
@example(kind="OddAtomDetector", name="features", size=1)
def test_sizes_changed_together(path, kind, name, size):
    """Every axis of one length is given another: what agrees is loaded and must answer, or be refused."""
    document, arrays = copy.deepcopy(PARTS[kind][0]), dict(PARTS[kind][1])
    model = oddatom.load(GOLDEN[kind])
    lengths = {
        "features": 4,
        "atoms": getattr(model, "dictionary_", np.empty(3)).shape[0],
        "active": getattr(model, "components_", np.empty(2)).shape[0],
        "rows": 40,
    }
    for key, array in arrays.items():
        for axis, length in enumerate(array.shape):
            if length == lengths[name]:
                array = np.take(array, np.arange(size) % max(length, 1), axis=axis)
        arrays[key] = np.ascontiguousarray(array)
    if name == "features" and "attributes" in document["model"]:
        document["model"]["attributes"]["n_features_in_"] = size
    loads_or_refuses(path, pack(document, arrays))
