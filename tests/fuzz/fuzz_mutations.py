"""Changes to bytes: what a bad disk, a bad program or a bad person makes of a file."""

import copy
import random
from collections.abc import Callable, Sequence

# In text tables.
CSV_TOKENS = [
    b'"', b'""', b'"""', b",", b";", b"\t", b"|", b"\r", b"\n", b"\r\n", b"\n\n", b"\0", b" ", b"'", b"\\", b"\\N",
    b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff", b"\xe9", b"\xed\xa0\x80", b"\xc2\xa0", b"\xe2\x80\xae",
    b"\xe2\x80\xa8", b"\x1a", b"\x1f\x8b", b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"#", b"sep=;\n",
    b"=1+1", b"=cmd|' /C calc'!A0", b"@SUM(1)", b"-", b"+", b"%", "€ 5".encode(), b"5 %", b"1,5", b"1.234,5",
    b"1,234.5", b"1e999", b"-1e-999", b"1e308", b"5e-324", b"nan", b"inf", b"-0", b"007", b"0x10", b"1_000", b"9" * 400,
    "٣".encode(), "１２".encode(), b"2024-01-31", b"31.1.2024", b"01/02/2024", b"2024-02-30", b"0001-01-01",
    b"9999-12-31T23:59:59.999999999", b"12024-01-31", b"2024-01-31 12:00:00+99:99", b"1970-01-01Z", b"true", b"No",
    b"n/a", b"NULL", b"a" * 3000, b"a,b\n", b"id", b"\xf0\x9f\x98\x80",
]  # fmt: skip
# In Parquet and Arrow files: names, sizes, magic bytes.
BINARY_TOKENS = [
    b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x01\0\0\0", b"\xff\xff\xff\x7f", b"\0\0\0\x80",
    b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x10", b"\xff\xff\xff\xff\x0f",
    b"\x15", b"\x18", b"\x19", b"\x1c", b"\x2c", b"\x16", b"\x26", b"ARROW:schema", b"pandas", b"\xed\xa0\x80", b"\x7f",
]  # fmt: skip
SIZES = [0, 1, -1, 2, 7, 8, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, -(2**63)]


def changed(rng: random.Random, content: bytes, pool: Sequence[bytes], tokens: Sequence[bytes]) -> bytes:
    """Bytes after one to a few changes; `pool` is what others to splice with are drawn from."""
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        content = rng.choice(_CHANGES)(rng, content, pool, tokens)
    return content


def place(rng: random.Random, content: bytes) -> int:
    return rng.randint(0, len(content))


def _span(rng: random.Random, content: bytes) -> tuple[int, int]:
    start = place(rng, content)
    return start, min(len(content), start + rng.choice([1, 1, 2, 4, 8, 30, 200, 2000]))


def _flip(rng, content, pool, tokens):
    if not content:
        return content
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


def _overwrite(rng, content, pool, tokens):
    at, noise = place(rng, content), rng.choice([rng.randbytes(rng.choice([1, 2, 4, 8])), rng.choice(tokens)])
    return content[:at] + noise + content[at + len(noise) :]


def _insert(rng, content, pool, tokens):
    at = place(rng, content)
    return content[:at] + rng.choice([rng.randbytes(rng.randint(1, 4)), rng.choice(tokens)]) + content[at:]


def _token(rng, content, pool, tokens):
    at = place(rng, content)
    return content[:at] + rng.choice(tokens) + content[at:]


def _number(rng, content, pool, tokens):
    width, size = rng.choice([1, 2, 4, 8]), rng.choice(SIZES)
    at = place(rng, content)
    number = (size % 256**width).to_bytes(width, rng.choice(["little", "big"]))
    return content[:at] + number + content[at + width :]


def _delete(rng, content, pool, tokens):
    start, end = _span(rng, content)
    return content[:start] + content[end:]


def _repeat(rng, content, pool, tokens):
    start, end = _span(rng, content)
    return content[:end] + content[start:end] * rng.choice([1, 1, 2, 10, 100]) + content[end:]


def _cut(rng, content, pool, tokens):
    return content[: place(rng, content)]


def _splice(rng, content, pool, tokens):
    other = rng.choice(pool)
    return content[: place(rng, content)] + other[place(rng, other) :]


def _move(rng, content, pool, tokens):
    start, end = _span(rng, content)
    rest = content[:start] + content[end:]
    at = place(rng, rest)
    return rest[:at] + content[start:end] + rest[at:]


_CHANGES: list[Callable[..., bytes]] = [
    _flip, _overwrite, _insert, _token, _token, _number, _delete, _repeat, _cut, _splice, _move,
]  # fmt: skip


def changed_tree(rng: random.Random, tree: object, values: Sequence[object]) -> object:
    """A JSON value with one place in it changed: another value, one from elsewhere, a key or an item lost or added."""
    spots: list[tuple] = []
    _collect(tree, spots)
    if not spots:
        return copy.deepcopy(rng.choice(values))
    parent, key = rng.choice(spots)
    deed = rng.choice(["value", "value", "elsewhere", "lose", "add", "nest", "size"])
    if deed == "lose":
        del parent[key]
    elif deed == "add" and isinstance(parent, dict):
        parent[rng.choice(["a", "", "__class__", "evil_", "__metadata__", "é\0", str(key) + "_"])] = copy.deepcopy(
            rng.choice(values)
        )
    elif deed == "add":
        parent.insert(key, copy.deepcopy(rng.choice(values)))
    elif deed == "nest":
        for _ in range(rng.choice([1, 2, 70])):
            parent[key] = [parent[key]] if rng.random() < 0.5 else {"tuple": [parent[key]]}
    elif deed == "elsewhere":
        other, there = rng.choice(spots)
        parent[key] = copy.deepcopy(other[there])
    elif deed == "size" and isinstance(parent[key], int):
        parent[key] = rng.choice([parent[key] + 1, parent[key] - 1, 2 * parent[key], *SIZES])
    else:
        parent[key] = copy.deepcopy(rng.choice(values))
    return tree


def _collect(tree: object, spots: list[tuple]) -> None:
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        spots.append((tree, key))
        _collect(tree[key], spots)  # type: ignore[index]
