"""JSON from a file nobody vouches for: sizes are looked at before anything is built, and what is odd is refused."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, NoReturn

import numpy as np

MAX_BYTES = 64 * 2**20
MAX_NODES = 1_000_000
MAX_DEPTH = 64
_OPEN, _CLOSE = b"[{", b"]}"
_NOT_BRACKETS = bytes(set(range(256)) - set(_OPEN + _CLOSE))
_LARGEST = 2**63


class BadJSON(ValueError):
    """The text is no JSON, or none of ours."""


class TooLarge(BadJSON):
    """A value takes more JSON than would be read again."""


def parse(text: bytes) -> Any:
    """Return what a JSON text says.

    Refused are texts of more than 64 MiB, a million values or 64 levels, which would take much memory or all of the
    stack; NaN, Infinity and numbers that overflow; integers beyond 64 bits; keys that come twice.

    Parameters
    ----------
    text : bytes
        UTF-8.
    """
    check_size(text)
    depth = _depth(text)
    if depth > MAX_DEPTH:
        raise BadJSON(f"{depth} levels of JSON, and {MAX_DEPTH} is the most")
    try:
        return json.loads(
            text.decode("utf-8"),
            parse_int=_integer,
            parse_float=_real,
            parse_constant=_constant,
            object_pairs_hook=_object,
        )
    except BadJSON:
        raise
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError are
        raise BadJSON(str(error)) from None


def write(value: Any) -> str:
    """Return a value as one line of ASCII, keys sorted: the same value always gives the same text."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))
    try:
        parse(text.encode())
    except BadJSON as error:
        raise TooLarge(str(error)) from None
    return text


def check_size(text: bytes | bytearray) -> None:
    """Raise where a text has more bytes, or more values, than will be read."""
    if len(text) > MAX_BYTES:
        raise TooLarge(f"{len(text):,} bytes of JSON, and {MAX_BYTES:,} is the most")
    if text.count(b",") + text.count(b"[") + text.count(b"{") + text.count(b'"') > 4 * MAX_NODES:
        raise TooLarge(f"more than {MAX_NODES:,} values")


def _depth(text: bytes) -> int:
    """How many brackets outside of strings are open at once, at most."""
    outside = b"".join(text.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    brackets = np.frombuffer(outside.translate(None, _NOT_BRACKETS), np.uint8)
    if brackets.size == 0:
        return 0
    opening = np.isin(brackets, np.frombuffer(_OPEN, np.uint8))
    return int(np.cumsum(np.where(opening, 1, -1)).max())


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -_LARGEST <= int(digits) < _LARGEST:
        raise BadJSON(f"an integer beyond 64 bits, {digits[:20]}…")
    return int(digits)


def _real(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise BadJSON(f"a number that overflows, {digits[:20]}")
    return number


def _constant(name: str) -> NoReturn:
    raise BadJSON(f"{name}, which is no JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadJSON("a key that comes twice")
    return found
