"""What is fuzzed: reading tables, and loading models. Each target makes inputs and says what an input came to."""

import gzip
import io
import json
import random
import re
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fuzz_mutations import BINARY_TOKENS, CSV_TOKENS, changed, changed_tree
from fuzz_seeds import CSV_SEEDS, arrow_seeds, parquet_seeds

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does by conftest.py
import oddatom
from model_files import NEW, TIMED, answers, forge, quietly
from oddatom import ModelFileError, OddAtomDetector, TableError, TableWarning
from oddatom.table import TableDetector, TableEncoder, open_table

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
GOLDEN = HERE.parent / "model_io" / "golden"
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7", "shift_jis")
MOST_BYTES = 2**18  # of an input
TINY = {"n_groups": 2, "trim": (0.3,), "n_centroids": 2, "n_atoms": 2, "n_directions": 1, "random_state": 0}


class Input(NamedTuple):
    """Bytes, and how the name of their file ends, which says how they are read."""

    ending: str
    content: bytes


class Target:
    """What makes inputs from others, and tries them."""

    tokens: list[bytes] = BINARY_TOKENS

    def __init__(self, name: str, seeds: list[Input]) -> None:
        self.name = name
        self.seeds = seeds
        self.kept = [Input("".join(path.suffixes), path.read_bytes()) for path in sorted((CORPUS / name).glob("*.*"))]

    def warm(self) -> None:
        """Compile what attempts will run: it takes time and memory that no input is to answer for."""
        X = np.random.default_rng(0).normal(size=(20, 3))
        OddAtomDetector(**TINY).fit(X).score_samples(X)

    def change(self, rng: random.Random, old: Input, pool: list[Input]) -> Input:
        """Return another input."""
        content = changed(rng, old.content, [one.content for one in pool], self.tokens)
        return Input(old.ending, content[:MOST_BYTES])

    def attempt(self, path: Path) -> str:
        """Return what an input came to, in words without its own; raise where that is not as promised."""
        raise NotImplementedError


class Tables(Target):
    """Tables in files of one format, read whole, in batches and as standard input, encoded and learned from."""

    def attempt(self, path: Path) -> str:
        options = {}
        for part in path.suffixes[:-1]:
            if part[1:] in ENCODINGS:
                options["encoding"] = part[1:]
        try:
            table = open_table(path, **options).read()
        except TableError as error:
            message = str(error)
        else:
            message = ""
        if path.suffix in (".csv", ".gz", ".arrow"):
            self._same_through_a_pipe(path, options, table if not message else None)
        if message:
            assert "\n" not in message, message
            assert len(message) < 1000 + len(str(path)), message
            return in_general(message.replace(str(path), "PATH"))
        table.validate(full=True)
        pieces = pa.Table.from_batches(list(open_table(path, batch_rows=3, **options)))
        assert same_table(pieces, table)
        return self._learned(table)

    def _same_through_a_pipe(self, path: Path, options: dict[str, str], table: Any) -> None:
        """Standard input is read as the file is, but that a file of Arrow's needs to be one."""
        content = path.read_bytes()
        if content.startswith(b"ARROW1"):
            return
        usual, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(content))
        try:
            other = open_table("-", format="arrow" if path.suffix == ".arrow" else "csv", **options).read()
        except TableError as error:
            assert table is None, error  # noqa: PT017
        else:
            assert table is not None
            assert same_table(other, table)
        finally:
            sys.stdin = usual

    def _learned(self, table: Any) -> str:
        try:
            encoder = TableEncoder(max_levels=4).fit(table)
        except ValueError as error:
            assert str(error).startswith("No column of the table can be used"), error  # noqa: PT017
            return in_general(str(error))
        X = encoder.transform(table)
        assert np.isfinite(X).all()
        if len(X) > 3:
            np.testing.assert_array_equal(encoder.transform(table.slice(2, 1)), X[2:3])
        kinds = " ".join(sorted({f"{column.kind}-{column.action}-{column.style}" for column in encoder.columns_}))
        if 1 < len(X) < 300 and X.shape[1] < 30 and zlib.crc32(X.tobytes()) % 8 == 0:
            assert np.isfinite(OddAtomDetector(**TINY).fit(X).score_samples(X)).all()
        return f"{kinds}, {len(X).bit_length()} {X.shape[1].bit_length()}"


class TextTables(Tables):
    """csv and its relatives."""

    tokens = CSV_TOKENS

    def change(self, rng: random.Random, old: Input, pool: list[Input]) -> Input:
        content, ending = old.content, old.ending
        zipped = ending.endswith(".gz") and rng.random() < 0.8
        if zipped:  # what is inside
            try:
                content = gzip.decompress(content)
            except (OSError, EOFError, zlib.error):
                zipped = False
        content = changed(rng, content, [one.content for one in pool], self.tokens)[:MOST_BYTES]
        deed = rng.random()
        if deed < 0.02:
            content = content.replace(b"\n", rng.choice([b"\r\n", b"\r", b"\n\n", b""]))
        elif deed < 0.04:
            content = content.replace(b",", rng.choice([b";", b"\t", b"|", b",,", b":"]))
        elif deed < 0.045:  # a cell or a row that is larger than what is read at once
            content = content + b"x" * rng.choice([2**16, 2**17, 2**20]) + rng.choice([b"\n1,2\n", b""])
        elif deed < 0.06:
            encoding = rng.choice(ENCODINGS)
            ending = f".{encoding}.csv"
            content = content.decode("utf-8", "replace").encode(encoding, "replace")
        elif deed < 0.07:
            ending = rng.choice([".csv", ".tsv", ".txt", *(f".{encoding}.csv" for encoding in ENCODINGS)])
        elif deed < 0.08 and not zipped:
            zipped, ending = True, ".csv.gz"
        return Input(ending, gzip.compress(content, 1, mtime=0) if zipped else content)


class Models(Target):
    """Model files: bytes, or what is behind the checksum, which is made right again."""

    marks = ('"', "}", "]", "[", "{", ",", ":", "0", "e9", "\\u0000", '"a":1,')
    values: ClassVar[list[Any]] = [
        None, True, 0, 1, -1, 4, 2**31, 2**53, -(2**63), 10**30, 0.0, -0.0, 0.5, 1e-320, 1e308, -1e308, "", "margin",
        "svm", "rbf", "F64", "I64", "BOOL", "F16", "0.9", "1.2", "2.0", "1.1.1", "9999.9999", "é\0\ud800", "os.system",
        "DLOCSVM", "Pipeline", [], {}, [[]], [1, 4], [4], [0, 2**62], [2**32, 2**32], {"float": "nan"}, {"tuple": []},
        {"float": "inf"}, {"dict": []}, {"array": "coef_"}, {"fortran": "components_"}, {"names": ["a"]}, {"csr": {}},
        {"record": ["Threshold", {"kind": "share", "level": 0.2}]}, {"model": {}}, "x" * 3000,
    ]  # fmt: skip
    numbers = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 1e308, -1e308, 5e-324, 2.0**63, 1e-160, 1e160])

    def change(self, rng: random.Random, old: Input, pool: list[Input]) -> Input:
        parts = taken_apart(old.content)
        if parts is None or rng.random() < 0.15:
            return super().change(rng, old, pool)
        text, entries, data = parts
        for _ in range(rng.choice([1, 1, 2, 3])):
            deed = rng.random()
            if deed < 0.25:
                entries = as_object(changed_tree(rng, entries, self.values), entries)
            elif deed < 0.6:
                text = self._other_text(rng, text)
            elif deed < 0.65:  # JSON that is none, or twice the same key
                at = rng.randrange(len(text) + 1)
                text = (
                    text[:at]
                    + rng.choice(['"', "}", "]", "[", "{", ",", ":", "0", "e9", "\\u0000", '"a":1,'])
                    + text[at:]
                )
            elif deed < 0.9:
                data = self._other_numbers(rng, data)
            else:
                data = changed(rng, data, [data], self.tokens)[:MOST_BYTES]
        try:
            return Input(old.ending, forge(text, entries, data))
        except (ValueError, RecursionError):  # too deep to write
            return old

    def _other_text(self, rng: random.Random, text: str) -> str:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return text
        digest = "0" * 64
        document = as_object(changed_tree(rng, {**document, "sha256": 0}, self.values), document)
        return json.dumps({**document, "sha256": digest}, separators=(",", ":"))

    def _other_numbers(self, rng: random.Random, data: bytes) -> bytes:
        if len(data) < 8:
            return data
        out = np.frombuffer(data[: len(data) // 8 * 8], np.float64).copy()
        start = rng.randrange(out.size)
        out[start : start + rng.choice([1, 1, 1, 4, 50])] = rng.choice(self.numbers)
        return out.tobytes() + data[len(data) // 8 * 8 :]

    def attempt(self, path: Path) -> str:
        try:
            model = quietly(oddatom.load, path)
        except ModelFileError as error:
            message = str(error)
            assert "\n" not in message, message
            assert len(message) < 1000 + len(str(path)), message
            return in_general(message.replace(str(path), "PATH"))
        first = model.steps[0][1] if hasattr(model, "steps") else model
        of_tables = isinstance(first, TableEncoder | TableDetector)
        rows = TIMED.iloc[:5] if of_tables else np.resize(NEW, (5, first.n_features_in_))
        said = answers(model, rows)
        scores = said["score_samples 0"] if "score_samples 0" in said else said["transform 0"]
        assert not np.isnan(scores).any()
        if "predict 0" in said:
            assert set(said["predict 0"]) <= {-1, 1}
        for name in said:
            assert not name.startswith("p_values") or ((said[name] > 0) & (said[name] <= 1)).all()
        return f"{type(model).__name__}, a model" + (" with infinite scores" if np.isinf(scores).any() else "")


def as_object(tree: Any, old: dict) -> dict:
    return tree if isinstance(tree, dict) else old


def taken_apart(content: bytes) -> tuple[str, dict, bytes] | None:
    """Return the document's text, the header's entries and the data of a model file, if it is so far in order."""
    try:
        length = int.from_bytes(content[:8], "little")
        entries = json.loads(content[8 : 8 + length])
        text = entries.pop("__metadata__")["oddatom"]
        text = re.sub(r'"sha256":"[0-9a-f]{64}"', f'"sha256":"{"0" * 64}"', text)
        return text, entries, content[8 + length :]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def same_table(one: Any, other: Any) -> bool:
    """Whether two tables hold the same cells: NaN is NaN here."""
    if one.schema != other.schema or one.num_rows != other.num_rows:
        return False
    columns = zip(one.combine_chunks().columns, other.combine_chunks().columns, strict=True)
    return one.equals(other) or all(a.to_string(window=10**9) == b.to_string(window=10**9) for a, b in columns)


def in_general(message: str) -> str:
    """A message without what is an input's own: numbers, and what is in quotes."""
    return re.sub(r"0x[0-9a-f]+|\d[\d,.]*", "#", re.sub(r"'[^']*'|\"[^\"]*\"", "…", message))[:200]


def make_target(name: str) -> Target:
    """Return a target by its name."""
    if name == "csv":
        return TextTables(name, [Input(ending, content) for ending, content in CSV_SEEDS])
    if name == "parquet":
        return Tables(name, [Input(".parquet", content) for content in parquet_seeds(pa, pq)])
    if name == "arrow":
        return Tables(name, [Input(".arrow", content) for content in arrow_seeds(pa)])
    newer = (GOLDEN / "1.2" / "TableDetector.oddatom", GOLDEN / "1.6" / "Timed.oddatom")
    paths = [*sorted(GOLDEN.glob("*.oddatom")), *newer]
    return Models(name, [Input(".oddatom", path.read_bytes()) for path in paths])


TARGETS = ("csv", "parquet", "arrow", "model")


def silence() -> None:
    """Let warnings that the package promises pass, and make errors of others."""
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", TableWarning)
    warnings.simplefilter("ignore", ResourceWarning)
