"""A small table with everything in it, a model of it, and the command line as a function."""

from __future__ import annotations

import io
import os
import sys
import threading

import numpy as np
import pytest
from cli_tables import N_ROWS, ODD_ROW, Ended, write_csv

from oddatom.cli import main


@pytest.fixture(scope="session")
def columns():
    """An id, four numbers of which two go together, a category and a date; row 123 is odd in "weight"."""
    rng = np.random.RandomState(0)
    size = rng.normal(size=N_ROWS)
    weight = size + 0.1 * rng.normal(size=N_ROWS)
    weight[ODD_ROW - 1] = 9.0
    day = np.datetime64("2024-01-01") + rng.randint(0, 200, N_ROWS)
    return {
        "id": [f"SECRET-{k:04d}" for k in rng.permutation(N_ROWS)],
        "size": [f"{value:.5f}" for value in size],
        "weight": [f"{value:.5f}" for value in weight],
        "noise": ["" if k % 50 == 0 else f"{value:.5f}" for k, value in enumerate(rng.normal(size=N_ROWS))],
        "colour": [["red", "green", "blue"][k] for k in rng.randint(0, 3, N_ROWS)],
        "day": [str(value) for value in day],
    }


@pytest.fixture
def table(columns, tmp_path):
    return write_csv(tmp_path / "data.csv", columns)


@pytest.fixture(scope="session")
def model(columns, tmp_path_factory):
    """A model file that `oddatom fit` wrote."""
    folder = tmp_path_factory.mktemp("model")
    path = folder / "model.oddatom"
    assert main(["fit", str(write_csv(folder / "data.csv", columns)), "-m", str(path), "-q"]) == 0
    return path


@pytest.fixture
def run(capsys):
    """Run a command: how it ended, what it said."""

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture
def stdin(monkeypatch):
    """Put bytes on standard input."""

    def put(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put


@pytest.fixture
def on_terminal(monkeypatch):
    """Run a command with standard output, standard error or both on a terminal; return what the terminal got."""
    pty = pytest.importorskip("pty")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")

    def run(*words, streams=("stdout", "stderr")):
        ours, theirs = pty.openpty()
        got = []

        def read():
            while True:
                try:
                    data = os.read(ours, 65536)
                except OSError:  # the other end is closed
                    return
                if not data:
                    return
                got.append(data)

        reader = threading.Thread(target=read)
        reader.start()
        with open(theirs, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
            for stream in streams:
                patch.setattr(sys, stream, terminal)
            code = main([str(word) for word in words])
        reader.join()
        os.close(ours)
        return code, b"".join(got).decode()

    return run
