"""What the command line says: data on standard output, messages and progress bars on standard error."""

from __future__ import annotations

import os
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, TypeVar

Item = TypeVar("Item")
_STYLES = {"bold": "1", "red": "31", "yellow": "33"}
_BAR_EVERY = 0.1  # seconds between two pictures of a progress bar
_CLEAR = "\r\x1b[K"


class WrongUse(ValueError):
    """Words that do not go together, whatever the files hold."""


def printable(text: Any, width: int | None = None) -> str:
    """Return text that a terminal shows as it is: control and direction marks as escapes, cut to a width.

    A cell must not move the cursor, change colours or hide what follows.
    """
    shown = str(text) if width is None else str(text)[: width + 1]
    shown = shown if shown.isprintable() else "".join(map(_shown, shown))
    return shown if width is None or len(shown) <= width else shown[: width - 1] + "…"


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
        self._drawing = not quiet and _is_terminal(self.err)

    @property
    def on_terminal(self) -> bool:
        """Whether standard output is a terminal."""
        return _is_terminal(self.out)

    def style(self, text: str, name: str, stream: IO[str] | None = None) -> str:
        """Return text in a style where the stream is a terminal that wants colour."""
        stream = self.out if stream is None else stream
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not _is_terminal(stream):
            return text
        return f"\x1b[{_STYLES[name]}m{text}\x1b[0m"

    def say(self, text: str = "") -> None:
        """Write a message to standard error."""
        self._tell(printable(text))

    def warn(self, text: str) -> None:
        """Write a warning to standard error."""
        self._tell(f"{self.style('warning:', 'yellow', self.err)} {printable(text)}")

    def error(self, text: str) -> None:
        """Write an error to standard error, in one line, quiet or not."""
        if self.err is not None:  # closed
            print(f"{self.style('oddatom:', 'red', self.err)} {printable(text)}", file=self.err, flush=True)

    def show(self, text: str = "") -> None:
        """Write a line of the answer to standard output, as it is."""
        if self.out is None:
            raise output_closed()
        print(text, file=self.out)

    def show_lines(self, lines: Iterable[str]) -> None:
        """Write lines of the answer, and hand them over to whoever reads them."""
        for line in lines:
            self.show(line)
        if self.out is not None:
            self.out.flush()

    @contextmanager
    def status(self, text: str) -> Iterator[None]:
        """Show on a terminal what takes a while, while it does."""
        self._draw(text)
        try:
            yield
        finally:
            self._draw("")

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
        done, drawn, start = 0, 0.0, time.monotonic()
        try:
            for item in items:
                yield item
                done += 1 if sizes is None else sizes(item)
                now = time.monotonic()
                if now - drawn >= _BAR_EVERY:
                    drawn = now
                    self._draw(_bar(done, total, what, now - start))
        finally:
            self._draw("")

    def draw_bar(self, done: int, total: int, what: str) -> None:
        """Draw on a terminal how far something is."""
        self._draw(_bar(done, total, what, 0.0) if done < total else "")

    def _tell(self, text: str) -> None:
        if not self.quiet and self.err is not None:
            print(f"{_CLEAR if self._drawing else ''}{text}", file=self.err, flush=True)

    def _draw(self, text: str) -> None:
        if self._drawing:
            self.err.write(_CLEAR + text)
            self.err.flush()


def output_closed() -> ValueError:
    """Return the error that the answer has no place to go."""
    from oddatom import OddAtomError  # comes with scikit-learn, which `--help` does not wait for

    return OddAtomError("standard output is closed, and the answer goes there.", advice="Open it.")


def _is_terminal(stream: IO[str]) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _shown(char: str) -> str:
    if char == "\t":
        return " "
    if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return char
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def _bar(done: int, total: int | None, what: str, seconds: float) -> str:
    rate = f"{done / seconds:,.0f}/s" if seconds > 0 else ""
    if not total:
        return f"{done:,} {what}  {rate}"
    filled = min(int(24 * done / total), 24)
    return f"[{'#' * filled}{'.' * (24 - filled)}] {done:,} of {total:,} {what}  {rate}"
