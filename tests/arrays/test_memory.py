"""How much memory may be used: the least of what the machine has and what limits say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oddatom.arrays import memory
from oddatom.arrays.memory import usable_memory

linux = pytest.mark.skipif(not Path("/proc/self/cgroup").exists(), reason="Linux only")


def test_no_more_than_the_machine_has():
    found = usable_memory()
    assert 0 < found < sys.maxsize
    assert found <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@linux
def test_limit_of_address_space():
    code = """
import resource
from oddatom.arrays.memory import usable_memory
before = usable_memory()
resource.setrlimit(resource.RLIMIT_AS, (2**33 + 5, resource.getrlimit(resource.RLIMIT_AS)[1]))
assert usable_memory() == min(before, 2**33 + 5), usable_memory()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@linux
def test_limits_of_control_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path)
    before = usable_memory()
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    own = [(controllers, path) for _, controllers, path in lines if controllers in ("", "memory")]
    assert own
    for controllers, path in own:
        root, name = (tmp_path / "memory", "memory.limit_in_bytes") if controllers else (tmp_path, "memory.max")
        folder = root / path.strip("/")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("12345678\n")
        assert usable_memory() == 12345678
        (folder / name).write_text("max\n")  # no limit here, but one of a group above
        assert usable_memory() == before
        (root / name).write_text("23456789\n")
        assert usable_memory() == 23456789
        (root / name).unlink()
