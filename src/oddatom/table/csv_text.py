"""Text tables: what their first bytes say, and batches of text columns from the rest.

Every column is read as text, so that its type never depends on how the file is cut; `TableEncoder` finds the numbers.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from oddatom.arrays.arrow import pa
from oddatom.exceptions import TableError
from oddatom.table.columns import unique_names
from oddatom.table.csv_faults import BREAKS, Faults, find_faults, open_quote
from oddatom.table.headers import like_a_row

HEAD = 2**16  # bytes that the delimiter and the names are found in
BLOCK = 2**20  # bytes read at once; no row may be longer
DELIMITERS = (",", ";", "\t", "|")
MAGIC = {
    b"PAR1": ("a parquet file", "Name it .parquet, or pass {format}.", "parquet"),
    b"ARROW1": ("an Arrow file", "Name it .arrow, or pass {format}.", "arrow"),
    b"FEA1": ("an old Feather file", "Save it again as Feather 2, parquet or csv.", None),
    b"\xff\xff\xff\xff": ("an Arrow stream", "Name it .arrow, or pass {format}.", "arrow"),
    b"PK\x03\x04": ("a zip file or a spreadsheet", "Unpack it, or save it as csv.", None),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet", "Save it as csv.", None),
    b"SQLite": ("a database", "Export its table as csv.", None),
    b"%PDF": ("a PDF", "Export its table as csv.", None),
}


class Layout(NamedTuple):
    """How a text table is written.

    Attributes
    ----------
    names : list of str
        All different.
    delimiter : str
    encoding : str
    n_blank : int
        Empty lines before the header.
    header : bool
        Whether there is a header.
    doubt : str
        Why the header may be a row, "" where it is none.
    """

    names: list[str]
    delimiter: str
    encoding: str
    n_blank: int
    header: bool = True
    doubt: str = ""


def unzipped(stream: Any) -> Any:
    """Return a binary stream that can be peeked into, unzipped where it is gzip."""
    stream = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    return io.BufferedReader(gzip.GzipFile(fileobj=stream), HEAD) if stream.peek(2)[:2] == b"\x1f\x8b" else stream


def find_layout(
    stream: Any, label: str, delimiter: str | None, encoding: str, header: bool = True
) -> tuple[Layout, bytes]:
    """Return the layout of a text table and the bytes that were read to find it.

    Parameters
    ----------
    stream : binary stream
    label : str
        What to call it in errors.
    delimiter : str or None
        None means to find it.
    encoding : str
    header : bool, default=True
        Whether the first line has the names; else they are "column 1", "column 2", …
    """
    head, whole, size = b"", False, HEAD
    while not whole and head.count(b"\n") < 2 and size <= BLOCK:
        while len(head) < size and not whole:
            more = stream.read(size - len(head))
            head, whole = head + more, not more
        size *= 4
    text = _decoded(head, label, encoding, whole)
    if not text.strip():
        raise TableError(f"{label} is empty.", advice="Pass a table with a header line and rows.")
    n_blank = len(BREAKS.findall(text[: len(text) - len(text.lstrip("\r\n"))]))
    if not whole:
        text = text[: text.rfind("\n") + 1] or text  # the last row is cut
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda candidate: _fit(text, candidate))
    rows = _rows(text, delimiter)
    if not rows:
        problem = f"{label} has no header but a cell of more than 128 KiB."
        raise TableError(problem, advice="Pass a table with a header line.")
    if not header:
        return Layout(unique_names("" for _ in rows[0]), delimiter, encoding, n_blank, header), head
    if len(rows) < 2 and whole:
        raise TableError(
            f"{label} has a header and no rows.",
            advice="Pass a table with rows below its header line, or {header} if it has none.",
            options={"header": False},
        )
    doubt = ""
    if like_a_row(rows):
        shown = ", ".join(repr(cell[:20]) for cell in rows[0][:3]) + (", …" if len(rows[0]) > 3 else "")
        doubt = f"the first line of {label} looks like a row, and its cells were taken for names ({shown}): "
        doubt += "pass {header} if it is one, or give the columns names"
    return Layout(unique_names(rows[0]), delimiter, encoding, n_blank, header, doubt), head


def csv_batches(
    stream: Any, layout: Layout, label: str, columns: Sequence[str], head: bytes = b"", reopen: Any = None
) -> Iterator[Any]:
    """Yield record batches of text columns.

    Parameters
    ----------
    stream : binary stream
    layout : Layout
    label : str
    columns : sequence of str
        Names of the columns to read.
    head : bytes
        What has been read of the stream before.
    reopen : callable, optional
        Returns the stream from its start once more, to find the line of an error.
    """
    counted = _Counted(stream, head)
    last = None
    try:
        reader = pa.csv.open_csv(
            counted,
            read_options=pa.csv.ReadOptions(
                column_names=layout.names,
                skip_rows=layout.n_blank,
                skip_rows_after_names=int(layout.header),
                use_threads=False,
                block_size=BLOCK,
                encoding="utf8" if layout.encoding == "utf-8" else layout.encoding,
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=True, ignore_empty_lines=len(layout.names) > 1
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types={name: pa.string() for name in layout.names},
                include_columns=list(columns),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
        for batch in reader:
            if batch.num_rows:
                last = batch.slice(batch.num_rows - 1)
                yield batch
    except (pa.ArrowInvalid, UnicodeError) as error:
        raise _reason(error, layout, label, reopen) from None
    except (EOFError, OSError, zlib.error) as error:
        problem = f"{label} is cut off or damaged: {' '.join(str(error).split())}."
        raise TableError(problem, advice="Get it once more.") from None
    runs_on = last is not None and "\n" in (last.column(last.num_columns - 1)[0].as_py() or "")
    if runs_on and counted.n_quotes % 2 and layout.encoding[:6] not in ("utf-16", "utf-32"):
        raise open_quote(label, find_faults(reopen, layout).quote)


class _Counted(io.RawIOBase):
    """A stream, after bytes that have been read of it, that counts the quotes it passes on."""

    def __init__(self, stream: Any, head: bytes) -> None:
        self.stream = stream
        self.head = head
        self.n_quotes = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        if self.head:
            end = len(self.head) if size < 0 else size
            data, self.head = self.head[:end], self.head[end:]
        else:
            data = self.stream.read(size)
        self.n_quotes += data.count(b'"')
        return data

    def readable(self) -> bool:
        """Return True."""
        return True


def _decoded(head: bytes, label: str, encoding: str, whole: bool) -> str:
    """Return the first bytes as text, or say why they are none."""
    for magic, (what, advice, name) in MAGIC.items():
        if head.startswith(magic):
            raise TableError(f"{label} is no csv table but {what}.", advice=advice, options={"format": name})
    if encoding == "utf-8":
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise _utf_16(f"{label} is not UTF-8 but UTF-16.", "utf-16")
        if b"\0" in head:
            for name, low, high in (("utf-16-le", head[::2], head[1::2]), ("utf-16-be", head[1::2], head[::2])):
                if high.count(0) > 0.7 * len(high) and low.count(0) < 0.1 * len(low):
                    raise _utf_16(f"{label} is not UTF-8 but looks like UTF-16.", name)
            problem = f"{label} is not a table: it holds binary data."
            raise TableError(problem, advice="Pass a csv, parquet or Arrow file.")
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head, final=whole)
    except UnicodeError:
        raise _undecodable(label, encoding) from None
    return text.removeprefix("\ufeff")


def _utf_16(problem: str, encoding: str) -> TableError:
    return TableError(problem, advice="Pass {encoding}.", options={"encoding": encoding})


def _undecodable(label: str, encoding: str) -> TableError:
    other = "latin-1" if encoding == "utf-8" else "utf-8"
    name = {"utf-8": "UTF-8"}.get(encoding, encoding)
    advice = "Pass its encoding, for instance {encoding}, or save it as UTF-8."
    return TableError(f"{label} is not {name}.", advice=advice, options={"encoding": other})


def _rows(text: str, delimiter: str, most: int = 50) -> list[list[str]]:
    """Return the first rows that are not empty; all where the table has one column."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if row or rows:
                rows.append(row)
            if len(rows) == most:
                break
    except csv.Error:  # a cell of more than 128 KiB
        rows.extend(rows[:1])
    return [row for row in rows if row or len(rows[0]) == 1]


def _fit(text: str, delimiter: str) -> tuple[float, int]:
    """Return how well a delimiter fits: the share of rows as wide as the header, where it has several cells."""
    rows = _rows(text, delimiter)
    width = len(rows[0]) if rows else 0
    return (0.0, 0) if width < 2 else (sum(len(row) == width for row in rows) / len(rows), width)


def _reason(error: Exception, layout: Layout, label: str, reopen: Any) -> TableError:
    """Return pyarrow's error as one that says what to do."""
    said = str(error)
    if isinstance(error, UnicodeError) or "invalid UTF8" in said:
        return _undecodable(label, layout.encoding)
    straddling = "straddling" in said
    ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", said)
    faults = find_faults(reopen, layout) if ragged or straddling else Faults()
    if faults.quote:
        return open_quote(label, faults.quote)
    if straddling:
        said = f"{label} has a row of more than {BLOCK // 2**20} MiB: a quote that opens may never close."
        return TableError(said, advice="Close it.")
    if ragged:
        row, expected, got = ragged.groups()
        where = faults.ragged or f"row {row}" + (", the header being row 1" if layout.header else "")
        return TableError(
            f"{label} has {got} cell{'s' if got != '1' else ''} instead of {expected} in {where}.",
            advice=f"Mend it, or pass {{delimiter}} if it is not {layout.delimiter!r}.",
            options={"delimiter": None},
        )
    return TableError(
        f"{label} cannot be read as csv: {' '.join(said.split())}.",
        advice="Mend it, or pass {delimiter} or {encoding}.",
        options={"delimiter": None, "encoding": None},
    )
