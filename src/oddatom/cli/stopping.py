"""Signals that end the program: no scratch file is left, one line says so, and the exit code is 128 + the signal."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from typing import Any

GRACE = 1.0  # seconds for the main thread to end by itself


class Stopped(KeyboardInterrupt):
    """A signal asks the program to end; the argument is its number."""


def stop_on_signals(grace: float = GRACE) -> None:
    """Raise `Stopped` in the main thread on Ctrl-C, SIGTERM and SIGHUP; those that are ignored (nohup) stay so.

    An exception does not end the program where it waits outside Python, as for input that does not come, nor in a
    finaliser or a callback from C, where Python drops it: then a thread ends it after `grace` seconds.
    """
    if os.name != "posix":  # Ctrl-C is Python's there
        return
    usual = signal.SIG_DFL, signal.default_int_handler
    numbers = [one for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) in usual]

    own, report_dropped = os.getpid(), sys.unraisablehook

    def stop(number: int, frame: Any) -> None:
        if os.getpid() != own:  # a child that was forked ends by itself
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        for one in numbers:
            signal.signal(one, signal.SIG_IGN)  # another would interrupt what this one has begun
        raise Stopped(number)

    def dropped(what: sys.UnraisableHookArgs) -> None:
        if not isinstance(what.exc_value, Stopped):
            report_dropped(what)

    sys.unraisablehook = dropped
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))  # its signals are not this program's
    for one in numbers:
        signal.signal(one, stop)
    threading.Thread(target=_end_after, args=(heard, grace), daemon=True).start()


def _end_after(heard: int, grace: float) -> None:
    """Wait for a signal and for the main thread; then end the program."""
    number = os.read(heard, 1)[0]
    time.sleep(grace)
    discard_files()
    if sys.stderr is not None:  # else 2 may be another file
        with contextlib.suppress(OSError):  # the terminal may be gone
            os.write(2, f"oddatom: {last_words(number)}\n".encode())
    os._exit(128 + number)


def discard_files() -> None:
    """Leave nothing of files that are being written: a signal may come before whoever opened one can discard it."""
    files = sys.modules.get("oddatom._atomic")  # importing it here would take a second before the first signal is heard
    if files is not None:
        files.discard_all()


def last_words(number: int) -> str:
    """Return what is said at the end."""
    return f"{'interrupted' if number == signal.SIGINT else 'stopped'}; no file is half written."
