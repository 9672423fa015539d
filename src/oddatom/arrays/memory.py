"""How much memory this process may use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


def usable_memory() -> int:
    """Return bytes: the machine's memory, or less where a container, a batch system or `ulimit -v` sets a limit."""
    return min([sys.maxsize, *_physical(), *_address_space(), *_cgroup()])


def _physical() -> list[int]:
    try:
        return [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, ValueError, OSError):  # not on this system
        return []


def _address_space() -> list[int]:
    try:
        import resource
    except ImportError:
        return []
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return [] if soft == resource.RLIM_INFINITY else [soft]


def _cgroup() -> list[int]:
    """Limits of the control group this process is in and of those above it, version 1 or 2."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, name = (_CGROUPS / "memory", "memory.limit_in_bytes") if controllers else (_CGROUPS, "memory.max")
        folder = root / path.strip("/")
        for place in (folder, *folder.parents):
            if not place.is_relative_to(root):
                break
            try:
                found.append(int((place / name).read_text()))
            except (OSError, ValueError):  # no such file in the topmost group; "max" is no limit
                continue
    return found
