"""What the command line says: data on standard output, messages and progress bars on standard error."""

from __future__ import annotations

import os
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator
from typing import IO, Any, TypeVar

Item = TypeVar("Item")
_STYLES = {"bold": "1", "dim": "2", "red": "31", "yellow": "33", "green": "32"}
_BAR_EVERY = 0.1  # seconds between two pictures of a progress bar


def printable(text: Any, width: int | None = None) -> str:
    """Return text that a terminal shows as it is: control and direction marks as escapes, cut to a width.

    A cell must not move the cursor, change colours or hide what follows.
    """
    out = []
    for char in str(text):
        if char == "\t":
            out.append(" ")
        elif unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            out.append(f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")
        else:
            out.append(char)
    shown = "".join(out)
    return shown if width is None or len(shown) <= width else shown[: max(width - 1, 0)] + "…"


class Console:
    """Writes messages where they belong, in colour on a terminal unless NO_COLOR is set.

    Parameters
    ----------
    quiet : bool
        Say nothing but errors.
    out, err : text streams, default=sys.stdout, sys.stderr
    """

    def __init__(self, quiet: bool = False, out: IO[str] | None = None, err: IO[str] | None = None) -> None:
        self.quiet = quiet
        self.out = sys.stdout if out is None else out
        self.err = sys.stderr if err is None else err

    def style(self, text: str, name: str, stream: IO[str] | None = None) -> str:
        """Return text in a style where the stream is a terminal that wants colour."""
        stream = self.out if stream is None else stream
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not _is_terminal(stream):
            return text
        return f"\x1b[{_STYLES[name]}m{text}\x1b[0m"

    def say(self, text: str = "") -> None:
        """Write a message to standard error."""
        if not self.quiet:
            print(text, file=self.err, flush=True)

    def warn(self, text: str) -> None:
        """Write a warning to standard error."""
        self.say(f"{self.style('warning:', 'yellow', self.err)} {text}")

    def error(self, text: str) -> None:
        """Write an error to standard error, in one line, quiet or not."""
        print(f"{self.style('oddatom:', 'red', self.err)} {printable(text)}", file=self.err, flush=True)

    def show(self, text: str = "") -> None:
        """Write a line of the answer to standard output."""
        print(text, file=self.out)

    def progress(self, items: Iterable[Item], what: str, sizes: Any = None, total: int | None = None) -> Iterator[Item]:
        """Yield the items; on a terminal, draw how far they are.

        Parameters
        ----------
        items : iterable
        what : str
            What is counted, for instance "rows".
        sizes : function of an item, optional
            How much an item counts; 1 if left out.
        total : int, optional
            How much there is in all, where that is known.
        """
        drawing = not self.quiet and _is_terminal(self.err)
        done, drawn, start = 0, 0.0, time.monotonic()
        try:
            for item in items:
                yield item
                done += 1 if sizes is None else sizes(item)
                now = time.monotonic()
                if drawing and now - drawn >= _BAR_EVERY:
                    drawn = now
                    self.err.write("\r\x1b[K" + _bar(done, total, what, now - start))
                    self.err.flush()
        finally:
            if drawing:
                self.err.write("\r\x1b[K")
                self.err.flush()


def _is_terminal(stream: IO[str]) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _bar(done: int, total: int | None, what: str, seconds: float) -> str:
    rate = f"{done / seconds:,.0f} {what}/s" if seconds > 0 else ""
    if not total:
        return f"{done:,} {what}  {rate}"
    filled = min(int(24 * done / total), 24)
    return f"[{'#' * filled}{'.' * (24 - filled)}] {done:,} of {total:,} {what}  {rate}"
