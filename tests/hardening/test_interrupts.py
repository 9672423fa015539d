"""Ctrl-C in any phase: a model is as it was or wholly new, threads are as before, no file is half written."""

import os
import signal
import subprocess
import sys
import time
from linecache import getline
from pathlib import Path

import numba
import pytest
from small_models import KINDS, digest, make, quietly, rows, run_script, state

import oddatom
from oddatom.arrays import threads as _threads

PACKAGE = str(Path(oddatom.__file__).parent)
TRAIN, NEW = rows(40, 3), rows(10, 3, seed=1)
posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


class At:
    """Raise KeyboardInterrupt before a line of the package is run; without one, list the lines that are, in order."""

    def __init__(self, line=None):
        self.line = line
        self.lines = {}

    def __enter__(self):
        self._usual = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *error):
        sys.settrace(self._usual)

    def _call(self, frame, event, argument):
        return self._line if frame.f_code.co_filename.startswith(PACKAGE) else None

    def _line(self, frame, event, argument):
        if event == "line":
            here = (frame.f_code.co_filename, frame.f_lineno)
            self.lines.setdefault(here)
            if here == self.line:
                self.line = None
                raise KeyboardInterrupt
        return self._line


def interrupt_at(model, line):
    """Whether a fit came to the line: where threads wait for each other it need not."""
    try:
        with At(line):
            quietly(model.fit, TRAIN)
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_interrupted_before_any_line(kind):
    """Of all lines of the package that a fit comes to, a spread of 40, and all that enter and leave threads."""
    quietly(make(kind).fit, TRAIN)  # what is made once is made
    with At() as watched:
        whole = quietly(make(kind).fit, TRAIN)
    want, names = digest(whole, NEW), set(state(whole))
    # Between these words and the next line no signal is looked for.
    lines = [line for line in watched.lines if getline(*line).strip() not in ("try:", "finally:")]
    threads = [line for line in lines if line[0] == _threads.__file__]
    chosen = lines if os.environ.get("ODDATOM_FUZZ_SECONDS") else [*lines[:: max(1, len(lines) // 40)], *threads]
    old = quietly(make(kind, nu=0.3).fit, TRAIN)
    kept, usual = state(old), numba.get_num_threads()
    hits = 0
    for line in chosen:
        new = make(kind)
        for model, before in ((new, {}), (old, kept)):
            model.set_params(nu=0.1)
            hits += interrupt_at(model, line)
            now = state(model)
            unchanged = now.keys() == before.keys() and all(now[name] is before[name] for name in now)
            assert unchanged or (set(now) == names and digest(model, NEW) == want), line
            if not unchanged and model is old:
                old = quietly(make(kind, nu=0.3).fit, TRAIN)
                kept = state(old)
        assert _threads._state.inside == {}, line
        assert _threads._state.limiter is None, line
        assert _threads._state.region == {}, line
        assert numba.get_num_threads() == usual, line
    assert digest(quietly(make(kind).fit, TRAIN), NEW) == want
    assert hits >= len(chosen)  # half of two fits each


@posix
def test_fits_interrupted_by_a_signal():
    hits = int(run_script("interrupts_script.py", 8))
    assert hits > len(KINDS) * 8  # half of them


@posix
@pytest.mark.slow
def test_the_command_line_interrupted_at_any_moment(tmp_path):
    """Exit code 130, one line, and every file whole or not there."""
    table = tmp_path / "data.csv"
    table.write_text("a,b,c\n" + "".join(f"{x},{y},{z}\n" for x, y, z in rows(2_000, 3).round(4)))
    words = [sys.executable, "-m", "oddatom", "detect", table, "-o", "o.csv", "--report", "r.html", "-m", "m.oddatom"]

    def started(folder):
        folder.mkdir()
        usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # children inherit one that is ignored
        try:
            return subprocess.Popen(
                [str(word) for word in words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        finally:
            signal.signal(signal.SIGINT, usual)

    started(tmp_path / "first").communicate()  # which may compile
    process, start = started(tmp_path / "whole"), time.monotonic()
    assert process.communicate()[1].count("Traceback") == 0
    length = time.monotonic() - start
    want = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert (process.returncode, set(want)) == (0, {"o.csv", "r.html", "m.oddatom"})
    hits = missed = 0
    for k in range(5):
        folder = tmp_path / str(k)
        process = started(folder)
        time.sleep(length * (0.1 + 0.15 * k))
        ran = process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        if "_get_module_details" in err:  # Python was still looking for the package, on a busy machine
            assert not list(folder.iterdir())
            continue
        missed += ran  # unless it is interrupted
        hits += process.returncode in (130, -signal.SIGINT)
        assert "Traceback" not in err, err
        found = {path.name: path.read_bytes() for path in folder.iterdir()}
        # Python, as it ends, gives signals back to the system: then all has been written.
        ended = (0, 130) if set(found) < set(want) else (0, 130, -signal.SIGINT)
        assert process.returncode in ended, (process.returncode, err)
        assert set(found) <= set(want), "left behind"
        assert found.get("o.csv", want["o.csv"]) == want["o.csv"]
        if process.returncode == 130:
            assert err.endswith("oddatom: interrupted; no file is half written.\n"), err
    assert hits >= 2
    assert missed - hits <= 1  # one may have been about to end
