"""Where the command line begins and ends: parse, run, and make one line and an exit code of what goes wrong."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

from oddatom.cli.console import Console
from oddatom.cli.parser import make_parser

OK, FAILED, WRONG_USE, FOUND_ANOMALIES, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0, 1 for what went wrong, 2 for wrong use, 3 for --fail-on-anomaly.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Words after the program's name. None means those it was started with.
    """
    parser = make_parser()
    options = parser.parse_args(arguments)
    console = Console(quiet=getattr(options, "quiet", False))
    try:
        found = options.run(options, console)
        console.out.flush()
    except BrokenPipeError:
        # Whoever read standard output has had enough; Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        console.error("interrupted; nothing was written")
        return INTERRUPTED
    except (ValueError, ImportError, FileNotFoundError, MemoryError) as error:
        console.error(_one_line(error))
        return FAILED
    except OSError as error:
        console.error(_os_line(error))
        return FAILED
    return FOUND_ANOMALIES if found and getattr(options, "fail_on_anomaly", False) else OK


def _one_line(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "out of memory: use fewer columns, or `oddatom score`, which reads the table piece by piece"
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"no such file: {error.filename}"
    return " ".join(str(error).split()) or type(error).__name__


def _os_line(error: OSError) -> str:
    where = f": {error.filename}" if error.filename else ""
    if error.errno == errno.ENOSPC:
        return f"the disk is full{where}; nothing was written. Free some room or choose another place with --output."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"not allowed to read or write{where}. Choose another place with --output."
    return f"{error.strerror or error}{where}"
