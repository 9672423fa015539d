"""Pipes, devices, links and closed streams; signals that end a command."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager

import pytest
from cli_tables import N_ROWS, csv_rows

from oddatom import load
from oddatom.cli.console import Console
from oddatom.cli.tables import told
from oddatom.exceptions import TableWarning

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes and signals of POSIX")


@pytest.fixture
def pipe(tmp_path):
    """Make a pipe that someone writes bytes into."""
    threads = []

    def make(data):
        path = tmp_path / f"pipe{len(threads)}.csv"
        os.mkfifo(path)
        threads.append(threading.Thread(target=path.write_bytes, args=[data], daemon=True))
        threads[-1].start()
        return path

    yield make
    for thread in threads:
        thread.join(10)


def read_from(path):
    """Make a pipe that is read; return a function that waits for what came."""
    os.mkfifo(path)
    got = []
    thread = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    thread.start()

    def wait():
        thread.join()
        return got[0]

    return wait


def test_a_pipe_is_read_as_standard_input_is(run, table, model, tmp_path, pipe, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(os.listdir())
    ended = run("detect", pipe(table.read_bytes()), "--top", 3)
    assert [row["rank"] for row in csv_rows(ended.out)] == ["1", "2", "3"]
    assert "report" not in ended.err
    ended = run("score", model, pipe(table.read_bytes()))
    assert len(csv_rows(ended.out)) == N_ROWS
    assert set(os.listdir()) - before == {"pipe0.csv", "pipe1.csv"}
    assert run("report", model, pipe(table.read_bytes())).err == "report: stdin.report.html\n"
    page = (tmp_path / "stdin.report.html").read_text()
    assert "Odd rows of standard input" in page
    assert "pipe2" not in page


def test_a_pipe_is_closed_and_no_warning_says_otherwise(run, table, tmp_path, pipe):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ended = run("detect", pipe(table.read_bytes()), "--report", tmp_path / "r.html", "-o", tmp_path / "o.csv")
        assert run("detect", pipe(b"a,b\n")).code == 1
    assert "warning" not in ended.err
    assert "unclosed" not in (tmp_path / "r.html").read_text()
    assert [one for one in caught if issubclass(one.category, ResourceWarning)] == []


def test_warnings_for_programmers_are_not_told(capsys):
    with told(Console()) as said:
        for kind in (ResourceWarning, DeprecationWarning, PendingDeprecationWarning, ImportWarning, FutureWarning):
            warnings.warn("for programmers", kind, stacklevel=1)
        for n in (1, 2):
            parts = {"kind": f"{n} for users, fit with {{missing}}", "other": "another"}
            warnings.warn(TableWarning(parts, {"missing": "always"}), stacklevel=1)
        warnings.warn("numbers overflow", RuntimeWarning, stacklevel=1)
    assert said == ["1 for users, fit with --missing always", "another", "numbers overflow"]
    assert capsys.readouterr().err.count("warning:") == 3


def test_advice_names_options(run, table, tmp_path, model):
    text = table.read_text().splitlines()
    row = text[1].split(",")
    row[1] = ""
    (tmp_path / "new.csv").write_text("\n".join([text[0], ",".join(row), *text[2:]]))
    ended = run("score", model, tmp_path / "new.csv", "-o", tmp_path / "o.csv")
    assert "column 'size' has 1 value missing, where training had none\n" in ended.err
    assert run("fit", table, "-m", tmp_path / "o.oddatom", "--detector", "dl").code == 0
    ended = run("score", tmp_path / "o.oddatom", tmp_path / "new.csv", "-o", tmp_path / "o.csv")
    assert "(filled in: fit with --missing always to have such rows stand out)" in ended.err
    assert run("fit", table, "-m", tmp_path / "m.oddatom", "--missing", "always", "--dates", "drop").code == 0
    assert "warning" not in run("score", tmp_path / "m.oddatom", tmp_path / "new.csv", "-o", tmp_path / "o.csv").err
    encoder = load(tmp_path / "m.oddatom").encoder_
    assert "size is missing" in encoder.get_feature_names_out()
    assert "day" not in encoder.source_
    line = run("inspect", table).line()
    assert line.endswith("it does not start as one. Pass a file that oddatom.save or `oddatom fit` wrote.")


@pytest.mark.parametrize("stream", ["<&- >&-", "2>&-"])
def test_a_file_is_written_though_streams_are_closed(table, model, tmp_path, stream):
    out = tmp_path / "out.csv"
    words = [sys.executable, "-m", "oddatom", "score", model, table, "-o", out, *(["-q"] if "<" in stream else [])]
    done = subprocess.run(["sh", "-c", f'exec "$@" {stream}', "sh", *map(str, words)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(csv_rows(out)) == N_ROWS


def test_closed_streams_that_are_needed(run, table, model, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", None)
        assert run("score", model, "-").line() == "oddatom: standard input is closed. Pass a file, or open it."
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        said = "oddatom: standard output is closed. Pass -o FILE for the rows, or open it."
        assert run("score", model, table, "-o", "-").line() == said
        said = "oddatom: standard output is closed, and the answer goes there. Open it."
        assert run("inspect", model).line() == said
    monkeypatch.setattr(sys, "stderr", None)
    assert run("inspect", table) == (1, "", "")  # errors do not go elsewhere


def test_detect_lists_nothing_on_a_closed_stream(run, table, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert run("detect", table, "--no-report").code == 0
    assert run("detect", table, "--no-report", "--json").code == 1


@pytest.mark.parametrize("option", ["--report", "-m"])
def test_links_are_followed_and_pipes_written_in_place(run, table, tmp_path, option):
    real, link, fifo = tmp_path / "real", tmp_path / "link", tmp_path / "fifo"
    link.symlink_to(real)
    words = ["detect", table, "-o", tmp_path / "o.csv", "-q", *(["--no-report"] if option == "-m" else [])]
    for _ in range(2):  # a link to nothing yet, then to a file
        assert run(*words, option, link).code == 0
        assert link.is_symlink()
        assert real.stat().st_size > 1000
        assert {path.name for path in tmp_path.iterdir()} == {"data.csv", "o.csv", "real", "link"}
    wait = read_from(fifo)
    assert run(*words, option, fifo).code == 0
    assert fifo.is_fifo()
    got = wait()
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv", "o.csv", "real", "link", "fifo"}
    assert got == real.read_bytes() if option == "-m" else got.startswith(b"<!DOCTYPE html>")


@contextmanager
def usual_signals():
    """Signals as a terminal leaves them: in the background, or under nohup, some are ignored, by children too."""
    usual = {signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize(
    ("name", "closes"),  # whether input ends, or nothing comes
    [("SIGTERM", True), ("SIGTERM", False), ("SIGHUP", True), ("SIGINT", True), ("SIGINT", False)],
)
def test_signals_leave_no_half_file(table, model, tmp_path, name, closes):
    out = tmp_path / "out.csv"
    words = [sys.executable, "-m", "oddatom", "score", model, "-", "-o", out, "--batch", "10"]
    with usual_signals():
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(table.read_bytes() * 8)
    process.stdin.flush()
    until = time.monotonic() + 60
    while not list(tmp_path.glob(".out.csv.*.part")) and time.monotonic() < until:
        assert process.poll() is None
    process.send_signal(getattr(signal, name))
    if closes:
        process.stdin.close()
    said = process.stderr.read().decode()
    assert process.wait() == 128 + getattr(signal, name)
    process.stdin.close()
    process.stderr.close()
    assert said == f"oddatom: {'interrupted' if name == 'SIGINT' else 'stopped'}; no file is half written.\n"
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv"}


def ended(code, **options):
    """Run code after `stop_on_signals()`; return exit code and standard error."""
    head = "import hashlib, os, signal, sys, time\nfrom oddatom.cli.stopping import stop_on_signals\n"
    with usual_signals():
        done = subprocess.run(
            [sys.executable, "-c", head + code], capture_output=True, text=True, timeout=60, check=False, **options
        )
    return done.returncode, done.stderr


IN_FINALISER = """
class InFinaliser:
    def __del__(self):
        signal.raise_signal(signal.{name})
stop_on_signals(0.1)
InFinaliser()
{then}
"""


@pytest.mark.parametrize("then", ["time.sleep(60)", "hashlib.pbkdf2_hmac('sha256', b'a', b'b', 2**31 - 1)"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_falls_into_a_finaliser_is_not_lost(name, then):
    code, said = ended(IN_FINALISER.format(name=name, then=then))
    assert code == 128 + getattr(signal, name)
    assert said == f"oddatom: {'interrupted' if name == 'SIGINT' else 'stopped'}; no file is half written.\n"


def test_a_signal_that_falls_into_a_callback_from_c_is_not_lost():
    """As numba's compiler calls one for each file of its cache."""
    code, said = ended(
        """
import ctypes
stop_on_signals(0.1)
@ctypes.CFUNCTYPE(None)
def called():
    signal.raise_signal(signal.SIGINT)
called()
time.sleep(60)
"""
    )
    assert (code, said) == (130, "oddatom: interrupted; no file is half written.\n")


def test_a_signal_between_opening_a_file_and_its_use_leaves_nothing(table, model, tmp_path):
    code, said = ended(
        f"""
from oddatom import _atomic
class Interrupted(_atomic.AtomicFile):
    def __init__(self, path):
        super().__init__(path)
        signal.raise_signal(signal.SIGTERM)  # no one has the file yet
_atomic.AtomicFile = Interrupted
import oddatom.table.writing
oddatom.table.writing.AtomicFile = Interrupted
sys.argv = ["oddatom", "score", {str(model)!r}, {str(table)!r}, "-o", {str(tmp_path / "out.csv")!r}]
from oddatom.cli.main import main
sys.exit(main())
"""
    )
    assert (code, said) == (143, "oddatom: stopped; no file is half written.\n")
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv"}


def test_what_else_is_dropped_is_still_reported():
    code, said = ended(
        """
stop_on_signals()
class Broken:
    def __del__(self):
        raise RuntimeError("in a finaliser")
Broken()
"""
    )
    assert code == 0
    assert "RuntimeError: in a finaliser" in said


def test_one_signal_does_not_cut_short_what_another_has_begun():
    code, said = ended(
        """
stop_on_signals()
try:
    signal.raise_signal(signal.SIGTERM)
finally:
    signal.raise_signal(signal.SIGINT)
    time.sleep(0.1)
    os._exit(7)
"""
    )
    assert (code, said) == (7, "")


def test_ignored_signals_stay_so():
    code, said = ended(
        """
signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
stop_on_signals(0.1)
signal.raise_signal(signal.SIGHUP)
time.sleep(0.5)
"""
    )
    assert (code, said) == (0, "")


def test_signals_are_the_callers_in_its_process(run, table, tmp_path):
    numbers = signal.SIGTERM, signal.SIGHUP, signal.SIGINT
    before = [signal.getsignal(number) for number in numbers]
    assert run("detect", table, "-o", tmp_path / "o.csv", "--no-report", "-q").code == 0
    assert [signal.getsignal(number) for number in numbers] == before
    assert signal.set_wakeup_fd(-1) == -1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_signal_to_a_forked_child_leaves_the_parent_alone():
    code = (
        "import os, signal, time; from oddatom.cli.stopping import stop_on_signals; stop_on_signals(0.2)\n"
        "child = os.fork()\n"
        "if child == 0: time.sleep(30)\n"
        "time.sleep(0.2); os.kill(child, signal.SIGTERM); status = os.waitpid(child, 0)[1]; time.sleep(0.6)\n"
        "print(os.WTERMSIG(status))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, str(int(signal.SIGTERM)), "")
