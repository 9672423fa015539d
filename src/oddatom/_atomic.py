"""A file that appears when it is whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import sys
from typing import Any

from oddatom.exceptions import TableError

_WRITTEN: set[str] = set()  # the hidden files there are


class AtomicFile:
    """A hidden file in the same folder that takes the name at the end. Pipes, devices and "-" are written in place.

    Links are followed; a file that is replaced hands its permissions on.

    Attributes
    ----------
    file : binary stream
    """

    file: Any

    def __init__(self, path: str) -> None:
        self._final = self._temporary = ""
        self._lent = path == "-"
        if self._lent:
            if sys.stdout is None:
                raise TableError("standard output is closed.", value=path, advice="Name a file, or open it.")
            self.file = sys.stdout.buffer
        elif os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            self.file = open(path, "wb")  # noqa: SIM115
        else:
            self._final = os.path.realpath(path)  # what a link points to
            folder, name = os.path.split(self._final)
            self._temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(4)}.part")
            _WRITTEN.add(self._temporary)
            self.file = open(self._temporary, "xb")  # noqa: SIM115
            if os.path.exists(self._final):
                shutil.copymode(self._final, self._temporary)

    def commit(self) -> None:
        """Give the file its name, on disk too: whoever looks after a crash sees the old file or the whole new one."""
        self.file.flush()
        if self._temporary:
            os.fsync(self.file.fileno())
        self._close()
        if self._temporary:
            os.replace(self._temporary, self._final)
            _WRITTEN.discard(self._temporary)
            _sync_folder(os.path.dirname(self._final))

    def discard(self) -> None:
        """Leave nothing."""
        with contextlib.suppress(OSError):
            self._close()
        if self._temporary:
            _unlink(self._temporary)
            _WRITTEN.discard(self._temporary)

    def _close(self) -> None:
        if not self._lent:
            self.file.close()


def write_atomic(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file in one step: whatever ends it early (a full disk, Ctrl-C) leaves `path` as it was."""
    name = os.fspath(path)
    folder = os.path.dirname(os.path.realpath(name))
    if os.path.isdir(name):
        raise IsADirectoryError(f"Cannot write {name!r}: it is a folder. Name a file in it.")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"Cannot write {name!r}: there is no folder {folder!r}. Make it first.")
    target = AtomicFile(os.path.join(".", name))  # "-" is a file's name here
    try:
        target.file.write(content)
        target.commit()
    except BaseException:
        target.discard()
        raise


def discard_all() -> None:
    """Leave nothing of the files that are being written: the program ends."""
    for path in list(_WRITTEN):
        _unlink(path)


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _sync_folder(folder: str) -> None:
    """Force the new name to disk too, where folders can be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
