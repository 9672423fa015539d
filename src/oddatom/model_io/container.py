r"""The file around a model: safetensors, with one JSON document in its metadata and a checksum over every byte.

    8 bytes, length of the header | header, JSON | arrays, one after the other

The header's metadata has one entry, "oddatom": the document as a JSON string. Its member "sha256" is the SHA-256 of the
whole file in which these 64 hexadecimal digits are zeros.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from math import prod
from typing import IO, Any, NamedTuple

import numpy as np
from safetensors.numpy import save as safetensors_bytes

from oddatom.exceptions import ModelFileError
from oddatom.model_io import jsontext

KEY = "oddatom"
AGAIN = "Copy it again from where it came, or save the model again."
ANOTHER = "Pass a file that oddatom.save or `oddatom fit` wrote."
DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
MAX_DIMENSIONS = 8
_NO_DIGEST = "0" * 64
_DIGEST = re.compile(rb'\\"sha256\\":\\"([0-9a-f]{64})\\"')  # as it stands in the header, where the document is quoted


class _Tensor(NamedTuple):
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    start: int
    end: int


def to_bytes(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Return the file that holds a document and arrays (C-ordered, of DTYPES)."""
    text = jsontext.write({**document, "sha256": _NO_DIGEST})
    content = bytearray(safetensors_bytes(arrays, metadata={KEY: text}))
    header = content[: 8 + int.from_bytes(content[:8], "little")]
    jsontext.check_size(header[8:])  # quotes within quotes take more room
    (found,) = _DIGEST.finditer(header)
    content[slice(*found.span(1))] = hashlib.sha256(content).hexdigest().encode()
    return bytes(content)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return document and arrays of a file whose checksum is right, or say what is wrong.

    Nothing is allocated before the file has been seen to be large enough for it.
    """
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise ModelFileError("it is a folder.", advice="Name a file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError("it is no regular file.", advice="Copy what it gives to a file first.")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        raw = _read_header(file, size)
        header = _parsed(raw, "its header")
        text = _metadata(header)
        tensors = _layout(header, size - 8 - len(raw), size)
        hashed = hashlib.sha256(len(raw).to_bytes(8, "little"))
        digest = _hash_header(raw, hashed)
        arrays = {tensor.name: _read_tensor(file, tensor, hashed) for tensor in tensors}
    if digest != hashed.hexdigest():
        raise ModelFileError("it is damaged: its checksum does not match.", advice=AGAIN)
    document = _parsed(text.encode("utf-8", "surrogatepass"), "its description")
    if not isinstance(document, dict) or document.pop("sha256", None) != digest:
        raise ModelFileError("its description is not one of ours.", advice=AGAIN)
    return document, arrays


def _read_header(file: IO[bytes], size: int) -> bytes:
    if size == 0:
        raise ModelFileError("it is empty.", advice=AGAIN)
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) == 8 and length > jsontext.MAX_BYTES:
        raise ModelFileError("it is no model file, or damaged: it does not start as one.", advice=ANOTHER)
    if size < 8 + length or len(start) < 8:
        raise ModelFileError(f"it is cut short after {size:,} bytes, within its header.", advice=AGAIN)
    return file.read(length)


def _parsed(text: bytes, what: str) -> Any:
    try:
        return jsontext.parse(text)
    except jsontext.BadJSON as error:
        raise ModelFileError(f"it is no model file, or damaged: {what} has {error}.", advice=ANOTHER) from None


def _metadata(header: Any) -> str:
    if not isinstance(header, dict):
        raise ModelFileError("it is no safetensors file.", advice=ANOTHER)
    metadata = header.pop("__metadata__", None)
    text = metadata.get(KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError("it is a safetensors file of something else.", advice=ANOTHER)
    return text


def _layout(header: dict[str, Any], n_bytes: int, size: int) -> list[_Tensor]:
    """Return the tensors in the order of the file, which they fill without gaps."""
    tensors = sorted((_tensor(name, entry, size) for name, entry in header.items()), key=lambda t: (t.start, t.end))
    place = 0
    for tensor in tensors:
        if tensor.start != place:
            raise ModelFileError(f"its arrays overlap or leave gaps, at {tensor.name[:60]!r}.", advice=AGAIN)
        place = tensor.end
    if place > n_bytes:
        raise ModelFileError(f"it is cut short: {place - n_bytes:,} bytes are missing at its end.", advice=AGAIN)
    if place < n_bytes:
        raise ModelFileError(f"it has {n_bytes - place:,} bytes too many at its end.", advice=AGAIN)
    return tensors


def _tensor(name: str, entry: Any, size: int) -> _Tensor:
    wrong = ModelFileError(f"the place of its array {name[:60]!r} is not described as it should be.", advice=AGAIN)
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise wrong
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES or not (_whole(shape) and _whole(offsets)):
        raise wrong
    kind = np.dtype(DTYPES[dtype])
    if len(offsets) != 2 or offsets[1] - offsets[0] != prod(shape) * kind.itemsize:
        raise wrong
    # An array without entries may claim any other extent: none is to be larger than the file.
    if len(shape) > MAX_DIMENSIONS or prod(extent or 1 for extent in shape) * kind.itemsize > size:
        raise wrong
    return _Tensor(name, kind, tuple(shape), *offsets)


def _whole(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _hash_header(raw: bytes, hashed: Any) -> str:
    """Hash the header with its digest zeroed; return the digest."""
    found = list(_DIGEST.finditer(raw))
    if len(found) != 1:
        raise ModelFileError("it is damaged: it has no checksum where that belongs.", advice=AGAIN)
    start, end = found[0].span(1)
    hashed.update(raw[:start] + _NO_DIGEST.encode() + raw[end:])
    return raw[start:end].decode()


def _read_tensor(file: IO[bytes], tensor: _Tensor, hashed: Any) -> np.ndarray:
    array = np.empty(tensor.shape, tensor.dtype)
    place = array.reshape(-1).view(np.uint8).data if array.size else memoryview(bytearray())
    if file.readinto(place) != len(place):  # type: ignore[attr-defined]
        raise ModelFileError("it became shorter while it was read.", advice=AGAIN)
    hashed.update(place)
    if tensor.dtype.kind == "b" and array.size and int(array.view(np.uint8).max()) > 1:
        raise ModelFileError(f"its array {tensor.name[:60]!r} has truth values other than 0 and 1.", advice=AGAIN)
    return array.astype(tensor.dtype.newbyteorder("="), copy=False)
