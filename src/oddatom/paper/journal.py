"""Runs on disk: a SQLite file, which a kill costs at most the run being written; a Parquet file at the end."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from oddatom._atomic import write_atomic
from oddatom.exceptions import OddAtomError
from oddatom.paper.base import COLUMNS, Run, Task

PARQUET = "runs.parquet"
MEASURES = ("ba", "tpr", "tnr", "auroc", "ap", "train_s", "test_s", "seconds")
_TABLES = ("about (value TEXT)", "commands (command TEXT PRIMARY KEY)", "runs (place TEXT PRIMARY KEY, record TEXT)")


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
        self.path = folder / "runs.sqlite"
        self.about = about
        old = folder / "runs.jsonl"
        if old.exists():
            raise _refused(
                f"{str(old)!r} is the journal of an earlier version.",
                old,
                f"Remove it to go on from {PARQUET}, which lacks no more than the runs of a command that was killed, "
                "or choose another --output.",
            )
        runs, commands = self._read_parquet(folder / PARQUET)
        try:
            self._database = sqlite3.connect(self.path, timeout=0, isolation_level=None)
        except sqlite3.Error as error:
            raise OSError(f"{str(self.path)!r} cannot be opened: {error}. Choose another --output.") from None
        try:
            self._open(runs, commands)
        except BaseException:
            self.leave()
            raise

    def add(self, run: Run) -> None:
        """Write a run down."""
        record = asdict(run)
        record = {**record.pop("task"), **record}
        self.runs[run.task.place] = record
        self._sql("INSERT OR REPLACE INTO runs VALUES (?, ?)", [_row(record)])

    def note_command(self, command: str) -> None:
        """Remember a command."""
        if command not in self.commands:
            self.commands.append(command)
            self._sql("INSERT INTO commands VALUES (?)", [(command,)])

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
        self._database.close()

    def _open(self, runs: list[dict[str, Any]], commands: list[str]) -> None:
        """Lock the journal, take in what the Parquet file has, and read all of it."""
        self._sql("PRAGMA locking_mode = EXCLUSIVE")  # until the file is closed, not until the transaction ends
        self._sql("BEGIN EXCLUSIVE")
        for table in _TABLES:
            self._sql(f"CREATE TABLE IF NOT EXISTS {table}")
        found = self._sql("SELECT value FROM about")
        if found:
            self._compare(json.loads(found[0][0]))
        else:
            self._sql("INSERT INTO about VALUES (?)", [(json.dumps(self.about),)])
        self._sql("INSERT OR IGNORE INTO runs VALUES (?, ?)", [_row(record) for record in runs])
        self._sql("INSERT OR IGNORE INTO commands VALUES (?)", [(command,) for command in commands])
        self._sql("COMMIT")
        records = [json.loads(text) for (text,) in self._sql("SELECT record FROM runs")]
        self.runs = {_place(record): record for record in records}
        self.commands = [command for (command,) in self._sql("SELECT command FROM commands ORDER BY rowid")]

    def _sql(self, statement: str, rows: Iterable[tuple[str, ...]] | None = None) -> list[Any]:
        """Run a statement, once for each of the rows where there are some; return what it finds."""
        try:
            if rows is None:
                return self._database.execute(statement).fetchall()
            self._database.executemany(statement, rows)
            return []
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                raise _refused(
                    f"another program is writing runs into {str(self.path.parent)!r}.",
                    self.path.parent,
                    "Wait for it, or choose another --output.",
                ) from None
            raise OSError(
                f"{str(self.path)!r} cannot be used: {error}. Check the space left; remove the file to go on from "
                f"{PARQUET}, or choose another --output."
            ) from None

    def _read_parquet(self, path: Path) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the runs and the commands of a Parquet file."""
        if not path.exists():
            return [], []
        table = pa.parquet.read_table(path)
        kept = table.schema.metadata or {}
        self._compare(dict(json.loads(kept.get(b"about", b"{}"))))
        records = table.to_pylist()
        try:
            for record in records:
                record["extra"] = json.loads(record["extra"])
                _place(record)
        except (TypeError, ValueError, LookupError):
            problem = f"{str(path)!r} holds something other than runs."
            raise _refused(problem, path, "Choose another --output.") from None
        return records, json.loads(kept.get(b"commands", b"[]"))

    def _compare(self, about: dict[str, Any]) -> None:
        differ = [
            f"{name} {about.get(name)!r} instead of {wanted!r}"
            for name, wanted in self.about.items()
            if about.get(name) != wanted
        ]
        if differ:
            problem = f"{str(self.path.parent)!r} holds runs with {', '.join(differ)}."
            raise _refused(problem, self.path.parent, "Choose another --output, or remove it.")


def _refused(problem: str, path: Path, advice: str) -> OddAtomError:
    return OddAtomError(problem, parameter="output", value=str(path), advice=advice)


def _row(record: dict[str, Any]) -> tuple[str, str]:
    """Return a run as a row of its table."""
    return json.dumps(_place(record)), json.dumps(record)


def _place(record: dict[str, Any]) -> tuple[Any, ...]:
    """Return where a run belongs; a record that is no run is an error."""
    if not (isinstance(record["error"], str) and isinstance(record["extra"], dict) and isinstance(record["draw"], int)):
        raise TypeError
    for name in MEASURES:
        float(record[name] or 0.0)  # NaN is null in a Parquet file
    return Task(**{name: record[name] for name in COLUMNS[:7]}).place
