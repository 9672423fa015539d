"""Runs on disk: a journal that grows by a line a run, wherever it is cut off; a Parquet file at the end."""

from __future__ import annotations

import io
import json
import os
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
    """The runs of a folder. Where it holds the Parquet file alone, those runs are gone on with.

    Parameters
    ----------
    folder : path
        Made where it is missing.
    about : dict
        What all runs of a folder have in common; a folder with other runs is refused.
    """

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "runs.jsonl"
        self.runs: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.commands: list[str] = []  # that made the runs
        self._size = 0  # bytes of whole lines
        found = self._read() if self.path.exists() else self._from_parquet(folder / PARQUET)
        if found is not None and found != about:
            differ = [
                f"{name} {found.get(name)!r} instead of {about[name]!r}"
                for name in about
                if found.get(name) != about[name]
            ]
            raise ValueError(
                f"{str(folder)!r} holds runs with {', '.join(differ)}. Choose another --output, or remove it."
            )
        self._file = open(self.path, "ab")  # noqa: SIM115
        self._file.truncate(self._size)  # a line that was being written when a run was killed
        if self._size == 0:
            self._write({"about": about})
            for command in self.commands:
                self._write({"command": command})
            for record in self.runs.values():
                self._write(record)
        self.about = about

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
        self._file.close()
        table = pa.Table.from_pandas(self.frame(), preserve_index=False)
        kept = {b"about": json.dumps(self.about), b"commands": json.dumps(self.commands)}
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), **kept})
        content = io.BytesIO()
        pa.parquet.write_table(table, content)
        write_atomic(self.path.with_name(PARQUET), content.getvalue())

    def _write(self, record: dict[str, Any]) -> None:
        self._file.write(json.dumps(record).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> dict[str, Any] | None:
        """Read whole lines; return what the first says all runs have in common."""
        about = None
        for line in self.path.read_bytes().splitlines(keepends=True):
            try:
                record = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                record = None
            if record is None:  # the rest was never written whole
                break
            self._size += len(line)
            if about is None:
                about = record.get("about", {})
                continue
            if "command" in record:
                self.commands.append(record["command"])
                continue
            self.runs[Task(**{name: record[name] for name in COLUMNS[:7]}).place] = record
        return about

    def _from_parquet(self, path: Path) -> dict[str, Any] | None:
        """Take the runs of a Parquet file; return what they have in common."""
        if not path.exists():
            return None
        table = pa.parquet.read_table(path)
        for record in table.to_pylist():
            record["extra"] = json.loads(record["extra"])
            self.runs[Task(**{name: record[name] for name in COLUMNS[:7]}).place] = record
        kept = table.schema.metadata or {}
        self.commands = list(json.loads(kept.get(b"commands", b"[]")))
        return dict(json.loads(kept.get(b"about", b"{}")))
