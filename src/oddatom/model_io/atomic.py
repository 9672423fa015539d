"""Write a file in one step: whoever looks sees the old file or the whole new one, also after a crash."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path


def write_atomic(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a temporary file next to `path`, force it to disk, and rename it.

    Whatever ends it early (a full disk, Ctrl-C) leaves `path` as it was and nothing beside it. Links are followed;
    a file that is replaced hands its permissions on.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"Cannot save to {os.fspath(path)!r}: it is a folder. Name a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"Cannot save to {os.fspath(path)!r}: there is no folder {str(target.parent)!r}. Make it first."
        )
    temporary = target.with_name(f".oddatom-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Force the new name to disk too, where folders can be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
