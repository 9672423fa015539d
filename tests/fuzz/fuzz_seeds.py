"""Small tables of every kind that files are made of: what fuzzing starts from."""

import datetime as dt
import decimal
import gzip
import io
from typing import Any

PEOPLE = (
    "id,size,colour,day,paid\n"
    'x1,1.5,red,2024-01-31,yes\nx2,,"bl,ue",2024-02-01,no\nx3,-2e3,"a ""b""",,yes\nx4,007,red,2024-03-01,n/a\n'
)
COMMAS = "größe;preis;datum\n1,5;1.234,50 €;31.1.2024\n2,5;12,00 €;1.2.2024\n-3,25;;2.2.2024\n0,5;7 %;3.2.2024\n"
NUMBERS = "a\tb\tc\n" + "".join(f"{k}\t{k * k / 7:.4f}\t{k % 3}\n" for k in range(12))
CSV_SEEDS = [
    (".csv", PEOPLE.encode()),
    (".csv", b"\xef\xbb\xbf" + PEOPLE.replace("\n", "\r\n").encode()),
    (".csv", COMMAS.encode()),
    (".txt", b"\n\n" + COMMAS.replace(";", "|").encode()),
    (".tsv", NUMBERS.encode()),
    (".csv", b"one\n1\n\n3\n4\n"),
    (".csv", b"a,a,,\n1,2,3,4\n5,6,7,8\n"),
    (".csv", b'text,more\n"line\nbreak",=1+1\n"",@x\n'),
    (".csv", b"mac,old\r1,2\r3,4\r"),
    (".csv.gz", gzip.compress(PEOPLE.encode(), mtime=0)),
    (".utf-16.csv", PEOPLE.encode("utf-16")),
    (".utf-32.csv", COMMAS.encode("utf-32")),
    (".latin-1.csv", COMMAS.replace("€", "$").encode("latin-1")),
    (".cp1252.csv", COMMAS.encode("cp1252")),
]


def _columns(pa: Any) -> dict[str, Any]:
    """A column of each of many types."""
    when = dt.datetime(2024, 1, 31, 12)
    return {
        "int": pa.array([1, None, 3, 4]),
        "float": pa.array([0.5, float("nan"), None, -1e300]),
        "half": pa.array([1.0, 2.0, None, 4.0], pa.float32()),
        "text": pa.array(["red", "blue", None, "grün"]),
        "large": pa.array(["1,5", "2,5", "", "x"], pa.large_string()),
        "category": pa.array(["a", "b", "a", None]).dictionary_encode(),
        "truth": pa.array([True, False, None, True]),
        "when": pa.array([when, None, when + dt.timedelta(days=3), when], pa.timestamp("ns", "UTC")),
        "day": pa.array([dt.date(2024, 1, 31), dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
        "time": pa.array([dt.time(1, 2, 3), None, dt.time(4), dt.time(5)]),
        "span": pa.array([dt.timedelta(1), dt.timedelta(-2), None, dt.timedelta(0)]),
        "decimal": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25"), decimal.Decimal("0.00")]),
        "list": pa.array([[1, 2], [], None, [3]]),
        "struct": pa.array([{"a": 1}, {"a": None}, None, {"a": 4}]),
        "bytes": pa.array([b"ab", b"\xff", None, b""]),
        "nothing": pa.nulls(4),
        "tiny": pa.array([1, 2, 3, None], pa.uint8()),
    }


def _tables(pa: Any) -> list[Any]:
    columns = _columns(pa)
    few = [["int", "text"], ["float", "category", "truth"], ["when", "day", "decimal"], ["large", "half", "tiny"]]
    return [pa.table({name: columns[name] for name in names}) for names in few] + [pa.table(columns)]


def parquet_seeds(pa: Any, pq: Any) -> list[bytes]:
    """Parquet files: with and without dictionaries, compression, statistics and checksums."""
    out = []
    for k, table in enumerate(_tables(pa)):
        for options in (
            {"compression": "none", "store_schema": False},
            {"compression": "snappy", "use_dictionary": False, "data_page_version": "2.0"},
            {"compression": "zstd", "write_statistics": False, "row_group_size": 2, "write_page_checksum": True},
        ):
            if k == 4 and options["compression"] != "snappy":
                continue  # the largest one once
            sink = io.BytesIO()
            pq.write_table(table, sink, **options)
            out.append(sink.getvalue())
    return out


def arrow_seeds(pa: Any) -> list[bytes]:
    """Arrow files and streams."""
    out = []
    for table in _tables(pa):
        for make in (pa.ipc.new_file, pa.ipc.new_stream):
            for compression in (None, "lz4"):
                sink = io.BytesIO()
                with make(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
                    writer.write_table(table, max_chunksize=3)
                out.append(sink.getvalue())
    return out
