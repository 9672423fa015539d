"""A file that appears when it is whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import sys
from typing import Any


class AtomicFile:
    """A hidden file in the same folder that takes the name at the end. Pipes, devices and "-" are written in place.

    Attributes
    ----------
    file : binary stream
    """

    file: Any

    def __init__(self, path: str) -> None:
        self._final = self._temporary = ""
        if path == "-":
            self.file = sys.stdout.buffer
        elif os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            self.file = open(path, "wb")  # noqa: SIM115
        else:
            self._final = os.path.realpath(path)  # what a link points to
            folder, name = os.path.split(self._final)
            self._temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(4)}.part")
            self.file = open(self._temporary, "xb")  # noqa: SIM115
            if os.path.exists(self._final):
                shutil.copymode(self._final, self._temporary)

    def commit(self) -> None:
        """Give the file its name."""
        self.file.flush()
        if self._temporary:
            os.fsync(self.file.fileno())
        self._close()
        if self._temporary:
            os.replace(self._temporary, self._final)

    def discard(self) -> None:
        """Leave nothing."""
        with contextlib.suppress(OSError):
            self._close()
        if self._temporary:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._temporary)

    def _close(self) -> None:
        if self.file is not sys.stdout.buffer:
            self.file.close()
