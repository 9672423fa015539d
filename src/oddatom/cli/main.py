"""Where the command line begins and ends: parse, run, and make one line and an exit code of what goes wrong."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from oddatom.cli.console import Console, WrongUse
from oddatom.cli.parser import make_parser
from oddatom.cli.stopping import GRACE, Stopped, discard_files, last_words, stop_on_signals

OK, FAILED, WRONG_USE, FOUND_ANOMALIES = 0, 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0, 1 for what went wrong, 2 for wrong use, 3 for --fail-on-anomaly.

    Ctrl-C gives 130, and another signal that ends it 128 and its number.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Words after the program's name. None means those it was started with.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show is no reason to stop
    console = Console()
    try:
        options = make_parser().parse_args(arguments)
        console = Console(quiet=getattr(options, "quiet", False))
        if arguments is None:  # a program: else signals are the caller's
            stop_on_signals(getattr(options, "grace", GRACE))
        found = options.run(options, console)
        if console.out is not None:
            console.out.flush()
    except SystemExit as stop:  # argparse has said why
        return int(stop.code or OK)
    except BrokenPipeError:  # whoever read standard output has had enough
        _drop_output()
        return FAILED
    except KeyboardInterrupt as stop:
        return _stop(stop, console, arguments is None)
    except WrongUse as error:
        console.error(_one_line(error))
        return WRONG_USE
    except Exception as error:
        interruption = _interruption(error)
        if interruption is not None:
            return _stop(interruption, console, arguments is None)
        if not isinstance(error, ValueError | ImportError | MemoryError | OSError):
            raise
        console.error(_one_line(error))
        _drop_output()
        return FAILED
    code = FOUND_ANOMALIES if found and getattr(options, "fail_on_anomaly", False) else OK
    watched = sys.getprofile() is not None or sys.gettrace() is not None  # who watches writes at Python's end
    if arguments is None and options.command != "paper" and not watched:  # its workers end with Python
        _leave(code)
    return code


def _leave(code: int) -> None:
    """End the program without taking its libraries apart, which takes a quarter of a second; files are closed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """Return the interruption that led to an error: Python and libraries that are being loaded turn one into another.

    So does `__set_name__`, whose exceptions are a RuntimeError before Python 3.12.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


def _stop(stop: KeyboardInterrupt, console: Console, is_program: bool) -> int:
    """Say that a signal ended the command, and return its exit code; end the program where it is one."""
    number = stop.args[0] if isinstance(stop, Stopped) else signal.SIGINT
    if is_program:
        discard_files()
    with contextlib.suppress(OSError):  # the terminal may be gone
        console.error(last_words(number))
    if is_program:
        os._exit(128 + number)  # threads that wait for input would hold it up
    return 128 + number


def _one_line(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "out of memory: use fewer columns, or `oddatom score`, which reads the table piece by piece."
    if isinstance(error, ModuleNotFoundError) and error.name and "pip install" not in str(error):
        return f"this command needs {error.name}, which is not installed: pip install 'oddatom[cli]'."
    if isinstance(error, OSError) and error.strerror is not None:
        where = f": {error.filename}" if error.filename else ""
        if error.errno == errno.ENOSPC:
            return f"the disk is full{where}. No file is half written; free some room or choose another place."
        return f"{error.strerror}{where}. Check the place and its permissions."
    said = str(error)
    if hasattr(error, "advise"):  # one of ours; they come with scikit-learn, which `--help` does not wait for
        said = import_module("oddatom.cli.advice").sentence(error)
    return " ".join(said.split()) or type(error).__name__


def _drop_output() -> None:
    """Drop what standard output could not take: Python would try, and complain, once more at its end."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (OSError, ValueError, AttributeError):
            return
