"""The first run says that it compiles, and later ones do not."""

import os
import subprocess
import sys

import pytest

from oddatom.cli import compiling

SAID = "compiling once, about 15 s"


@pytest.fixture
def first(table, tmp_path):
    """Run a command as a program that finds no kernels on disk, or those of the run before."""
    folder = tmp_path / "kernels"

    def run(*words):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
        command = [sys.executable, "-m", "oddatom", *map(str, words)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return run


def test_the_first_run_says_that_it_compiles(first, table, tmp_path):
    wrong = first("detect", tmp_path / "none.csv")
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (1, 1)
    ended = first("detect", table, "--no-report", "-o", tmp_path / "first.csv")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.splitlines()[0] == SAID
    again = first("detect", table, "--no-report", "-o", tmp_path / "again.csv")
    assert SAID not in again.stderr
    assert (tmp_path / "first.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()


@pytest.mark.skipif(os.cpu_count() == 1, reason="one core compiles in one process")
def test_it_is_said_at_once_and_the_second_process_ends_with_the_first(table, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    command = [sys.executable, "-m", "oddatom", "detect", str(table), "--no-report"]
    program = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert program.stderr.readline().strip() == SAID
    while not (children := _children(program.pid)):
        assert program.poll() is None
    program.terminate()
    program.wait(20)
    assert not [child for child in children if _runs(child)]
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["data.csv"]


def _children(pid):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def _runs(pid):
    try:
        return "Z" not in open(f"/proc/{pid}/stat").read().split()[2]
    except OSError:
        return False


def test_what_the_second_process_runs_runs():
    ended = subprocess.run([sys.executable, "-P", "-c", compiling._LAST], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
