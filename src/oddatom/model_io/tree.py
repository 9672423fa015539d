"""Values as a typed tree for JSON, arrays aside: what `encode` makes, `decode` builds again, and nothing else.

null, true, 1, 1.0, "text", [...]   themselves
{"float": "inf"}                    inf, -inf or nan
{"tuple": [...]}                    a tuple
{"dict": [["key", value], ...]}     a dict with text keys, in its order
{"array": "name"}                   the tensor of that name; {"fortran": "name"}: its transpose, column by column
{"names": ["a", ...]}               a NumPy array of text
{"csr": {"data": .., "indices": .., "indptr": .., "shape": [n, m]}}
{"record": ["Name", {field: value}]}  one of the registry's small classes
{"model": {...}}                    a fitted estimator
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse

from oddatom.model_io.container import DTYPES
from oddatom.model_io.registry import RECORDS, record_name
from oddatom.model_io.rules import Mismatch, shown

_STORED = frozenset(np.dtype(code).newbyteorder("=") for code in DTYPES.values())
_FLOATS = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}


class Encoder:
    """Makes trees of values; `arrays` collects their arrays by names that say where they belong."""

    def __init__(self, encode_model: Callable[[Any, Encoder, str], dict[str, Any]]) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._encode_model = encode_model
        self._names: dict[int, str] = {}  # an array that is met again is stored once
        self._kept: list[np.ndarray] = []  # so that no id is given twice

    def encode(self, value: Any, path: str) -> Any:
        """Return the tree of a value that is found at `path`."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is int:
            if not -(2**63) <= value < 2**63:
                raise Mismatch(path, f"is an integer beyond 64 bits, {shown(value)}")
            return value
        if type(value) is float:
            return value if np.isfinite(value) else {"float": str(value)}
        if type(value) is list:
            return self._items(value, path)
        if type(value) is tuple:
            return {"tuple": self._items(value, path)}
        if type(value) is dict:
            return {"dict": [[self._key(key, path), self.encode(v, f"{path}.{key}")] for key, v in value.items()]}
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, scipy.sparse.csr_array):
            parts = {
                name: self.encode(getattr(value, name), f"{path}.{name}") for name in ("data", "indices", "indptr")
            }
            return {"csr": {**parts, "shape": [int(n) for n in value.shape]}}
        name = record_name(value)
        if name is not None:
            fields = RECORDS[name].take(value)
            return {"record": [name, {key: self.encode(v, f"{path}.{key}") for key, v in fields.items()}]}
        if callable(value):
            raise Mismatch(
                path,
                f"is a function, {shown(value)}, and a file that is safe to load holds none",
                "Fit with a named kernel, or with kernel='precomputed' on the matrix of your own; or use pickle.",
            )
        return {"model": self._encode_model(value, self, path)}

    def _items(self, values: list | tuple, path: str) -> list[Any]:
        return [self.encode(value, f"{path}.{k}") for k, value in enumerate(values)]

    def _key(self, key: Any, path: str) -> str:
        if type(key) is not str:
            raise Mismatch(path, f"must have keys of text. Got {shown(key)} instead")
        return key

    def _array(self, array: np.ndarray, path: str) -> dict[str, Any]:
        if array.dtype == object and array.ndim == 1 and all(type(name) is str for name in array):
            return {"names": array.tolist()}
        if array.dtype.newbyteorder("=") not in _STORED:
            raise Mismatch(path, f"must be an array of numbers. Got dtype {array.dtype} instead")
        tag = "fortran" if array.flags.f_contiguous and not array.flags.c_contiguous else "array"
        if id(array) not in self._names:
            name = path
            while name in self.arrays:
                name += "'"
            stored = array.T if tag == "fortran" else array
            self.arrays[name] = np.require(stored, array.dtype.newbyteorder("="), "C")
            self._names[id(array)] = name
            self._kept.append(array)
        return {tag: self._names[id(array)]}


class Decoder:
    """Builds values from trees. What is not as a tree should be raises `Mismatch`."""

    def __init__(self, arrays: Mapping[str, np.ndarray], decode_model: Callable[[Any, Decoder, str], Any]) -> None:
        self._arrays = arrays
        self._decode_model = decode_model
        self._built: dict[tuple[str, str], np.ndarray] = {}

    @property
    def unused(self) -> set[str]:
        """Tensors that no tree has named."""
        return set(self._arrays) - {name for _, name in self._built}

    def decode(self, tree: Any, path: str) -> Any:
        """Return the value of a tree."""
        if tree is None or type(tree) in (bool, int, float, str):
            return tree
        if type(tree) is list:
            return self._items(tree, path)
        if type(tree) is not dict or len(tree) != 1:
            raise Mismatch(path, "is no value that a model file may hold")
        ((tag, body),) = tree.items()
        build = _BUILDERS.get(tag)
        if build is None:
            raise Mismatch(path, f"is of a type that this version does not know, {shown(tag)}")
        return build(self, body, path)

    def _items(self, trees: Any, path: str) -> list[Any]:
        _demand(type(trees) is list, path, "must hold a list")
        return [self.decode(tree, f"{path}.{k}") for k, tree in enumerate(trees)]

    def _float(self, body: Any, path: str) -> float:
        _demand(type(body) is str and body in _FLOATS, path, "must be one of inf, -inf and nan")
        return _FLOATS[body]

    def _tuple(self, body: Any, path: str) -> tuple[Any, ...]:
        return tuple(self._items(body, path))

    def _dict(self, body: Any, path: str) -> dict[str, Any]:
        _demand(type(body) is list, path, "must hold pairs")
        out: dict[str, Any] = {}
        for pair in body:
            fits = type(pair) is list and len(pair) == 2 and type(pair[0]) is str and pair[0] not in out
            _demand(fits, path, "must hold pairs of a text, each another one, and a value")
            out[pair[0]] = self.decode(pair[1], f"{path}.{pair[0][:60]}")
        return out

    def _array(self, body: Any, path: str, order: str = "C") -> np.ndarray:
        _demand(type(body) is str and body in self._arrays, path, f"names an array that is not there, {shown(body)}")
        if (order, body) not in self._built:
            array = self._arrays[body]
            self._built[order, body] = array.T if order == "F" else array
        return self._built[order, body]

    def _fortran(self, body: Any, path: str) -> np.ndarray:
        return self._array(body, path, "F")

    def _names(self, body: Any, path: str) -> np.ndarray:
        _demand(type(body) is list and all(type(name) is str for name in body), path, "must hold names")
        return np.array(body, dtype=object)

    def _csr(self, body: Any, path: str) -> scipy.sparse.csr_array:
        keys = {"data", "indices", "indptr", "shape"}
        _demand(type(body) is dict and set(body) == keys, path, "must have data, indices, indptr and shape")
        data, indices, indptr, shape = (
            self.decode(body[name], f"{path}.{name}") for name in ("data", "indices", "indptr", "shape")
        )
        _demand(
            type(shape) is list and len(shape) == 2 and all(type(n) is int and 0 <= n < 2**31 for n in shape),
            path,
            "must have a shape of two numbers",
        )
        arrays = all(
            isinstance(a, np.ndarray) and a.ndim == 1 and a.flags.c_contiguous for a in (data, indices, indptr)
        )
        _demand(arrays and data.dtype == np.float64, path, "must have data of float64 and arrays of one dimension")
        whole = indices.dtype == indptr.dtype and indices.dtype in (np.int32, np.int64)
        _demand(whole, path, "must have indices of int32 or int64")
        rising = indptr.size == shape[0] + 1 and indptr[0] == 0 and indptr[-1] == data.size == indices.size
        _demand(rising and bool((np.diff(indptr) >= 0).all()), path, "must have rows of which each follows the last")
        inside = indices.size == 0 or (int(indices.min()) >= 0 and int(indices.max()) < shape[1])
        _demand(inside, path, f"must have columns from 0 to {shape[1] - 1}")
        return scipy.sparse.csr_array((data, indices, indptr), shape=tuple(shape))

    def _record(self, body: Any, path: str) -> Any:
        fits = type(body) is list and len(body) == 2 and type(body[0]) is str and type(body[1]) is dict
        _demand(fits, path, "must be a name and fields")
        name, trees = body
        _demand(name in RECORDS, path, f"is of a class that this version does not know, {shown(name)}")
        record = RECORDS[name]
        if not set(record.fields()) - set(record.defaults()) <= set(trees) <= set(record.fields()):
            raise Mismatch(
                path, f"must have the fields {', '.join(record.fields())}. Got {shown(sorted(trees))} instead"
            )
        found = [key for key in record.fields() if key in trees]
        return record.make({key: self.decode(trees[key], f"{path}.{key}") for key in found}, path)

    def model(self, body: Any, path: str) -> Any:
        """Return the estimator of a tree."""
        return self._decode_model(body, self, path)


_BUILDERS: dict[str, Callable[[Decoder, Any, str], Any]] = {
    "float": Decoder._float,
    "tuple": Decoder._tuple,
    "dict": Decoder._dict,
    "array": Decoder._array,
    "fortran": Decoder._fortran,
    "names": Decoder._names,
    "csr": Decoder._csr,
    "record": Decoder._record,
    "model": Decoder.model,
}


def _demand(fits: Any, path: str, what: str) -> None:
    if not fits:
        raise Mismatch(path, what)
