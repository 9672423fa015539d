"""Runs on disk: a journal that grows by a line a run, wherever it is cut off; a Parquet file at the end."""

from __future__ import annotations

import io
import json
import os
import weakref
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from oddatom._atomic import write_atomic
from oddatom.paper.base import COLUMNS, Run, Task

PARQUET = "runs.parquet"
MEASURES = ("ba", "tpr", "tnr", "auroc", "ap", "train_s", "test_s", "seconds")


class Journal:
    """The runs of a folder. Those of the Parquet file that the journal lacks are taken into it.

    Parameters
    ----------
    folder : path
        Made where it is missing. One process at a time may use it.
    about : dict
        What all runs of a folder have in common; a folder with other runs is refused.
    """

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "runs.jsonl"
        self.about = about
        self.runs: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.commands: list[str] = []  # that made the runs
        self._file: Any = None
        self._unlock = _lock(self, folder)
        try:
            self._open()
        except BaseException:
            self.leave()
            raise

    def add(self, run: Run) -> None:
        """Write a run down."""
        record = asdict(run)
        record = {**record.pop("task"), **record}
        self.runs[run.task.place] = record
        self._write(record)

    def note_command(self, command: str) -> None:
        """Remember a command."""
        if command not in self.commands:
            self.commands.append(command)
            self._write({"command": command})

    def done(self) -> set[tuple[Any, ...]]:
        """Return the places of tasks that need not be run again: those that failed are tried once more."""
        return {place for place, record in self.runs.items() if not record["error"]}

    def frame(self) -> pd.DataFrame:
        """Return all runs, in the order of their tasks."""
        records = [self.runs[place] for place in sorted(self.runs)]
        frame = pd.DataFrame(records, columns=list(COLUMNS))
        frame[list(MEASURES)] = frame[list(MEASURES)].astype(float)
        frame["draw"] = frame["draw"].astype(int)
        frame["extra"] = [json.dumps(extra) for extra in frame["extra"]]
        return frame

    def close(self) -> None:
        """Write all runs into a Parquet file beside the journal."""
        table = pa.Table.from_pandas(self.frame(), preserve_index=False)
        kept = {b"about": json.dumps(self.about), b"commands": json.dumps(self.commands)}
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), **kept})
        content = io.BytesIO()
        pa.parquet.write_table(table, content)
        write_atomic(self.path.with_name(PARQUET), content.getvalue())
        self.leave()

    def leave(self) -> None:
        """Let others use the folder."""
        if self._file is not None:
            self._file.close()
        self._unlock()

    def _open(self) -> None:
        size = self._read() if self.path.exists() else 0
        n_lines = len(self.runs) + len(self.commands)
        self._take(self.path.with_name(PARQUET))
        if size == 0 or len(self.runs) + len(self.commands) > n_lines:
            first: list[dict[str, Any]] = [{"about": self.about}, *({"command": one} for one in self.commands)]
            content = b"".join(_line(record) for record in (*first, *self.runs.values()))
            write_atomic(self.path, content)
            size = len(content)
        self._file = open(self.path, "ab")  # noqa: SIM115
        self._file.truncate(size)  # a line that was being written when a run was killed

    def _write(self, record: dict[str, Any]) -> None:
        self._file.write(_line(record))
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> int:
        """Read the journal; return the bytes of its whole lines. The last may be half written, no other."""
        size, about = 0, None
        *lines, _ = self.path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                if "about" in record:
                    found = dict(record["about"])
                    about = about or found
                elif "command" in record:
                    self.commands.append(str(record["command"]))
                else:
                    self.runs[_place(record)] = record
            except (TypeError, ValueError, LookupError):
                raise ValueError(
                    f"line {number} of {str(self.path)!r} is no run. Remove that line, or choose another --output."
                ) from None
            size += len(line) + 1
        if size:
            self._compare(about or {})
        return size

    def _take(self, path: Path) -> None:
        """Take the runs of a Parquet file that the journal lacks."""
        if not path.exists():
            return
        table = pa.parquet.read_table(path)
        kept = table.schema.metadata or {}
        self._compare(dict(json.loads(kept.get(b"about", b"{}"))))
        try:
            for record in table.to_pylist():
                record["extra"] = json.loads(record["extra"])
                self.runs.setdefault(_place(record), record)
        except (TypeError, ValueError, LookupError):
            raise ValueError(f"{str(path)!r} holds something other than runs. Choose another --output.") from None
        self.commands += [one for one in json.loads(kept.get(b"commands", b"[]")) if one not in self.commands]

    def _compare(self, about: dict[str, Any]) -> None:
        differ = [
            f"{name} {about.get(name)!r} instead of {wanted!r}"
            for name, wanted in self.about.items()
            if about.get(name) != wanted
        ]
        if differ:
            raise ValueError(
                f"{str(self.path.parent)!r} holds runs with {', '.join(differ)}. Choose another --output, or remove it."
            )


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _place(record: dict[str, Any]) -> tuple[Any, ...]:
    """Return where a run belongs; a record that is no run is an error."""
    if not (isinstance(record["error"], str) and isinstance(record["extra"], dict) and isinstance(record["draw"], int)):
        raise TypeError
    for name in MEASURES:
        float(record[name] or 0.0)  # NaN is null in a Parquet file
    return Task(**{name: record[name] for name in COLUMNS[:7]}).place


def _lock(owner: Journal, folder: Path) -> Callable[[], Any]:
    """Keep other processes out of a folder as long as its owner is there, where the system can; return what ends it."""
    try:
        import fcntl
    except ImportError:  # Windows
        return lambda: None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise ValueError(
            f"another program is writing runs into {str(folder)!r}. Wait for it, or choose another --output."
        ) from None
    except OSError:  # a file system without locks
        pass
    return weakref.finalize(owner, os.close, handle)
