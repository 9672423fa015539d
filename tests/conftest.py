"""Make modules beside the tests importable; compile kernels once, before the workers of pytest-xdist start."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FIRST_RUN = "ODDATOM_FIRST_RUN"  # the folder of the models that the run which compiled the kernels has saved
GROUPS = (
    ("DLOCSVM", "KDLOCSVM", "LinearOneClassSVM", "SVDD", "Loda"),
    ("OddAtomDetector", "Table", "DPLOCSVM", "KDPLOCSVM", "Ball"),
)
# Two workers of pytest-xdist have two threads each: one that waits must not keep the others from a core.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(HERE))


def pytest_configure(config):
    if not config.getoption("numprocesses", None) or config.option.collectonly:  # a worker, or no workers
        return
    os.environ[FIRST_RUN] = tempfile.mkdtemp()
    words = [sys.executable, str(HERE / "compile_kernels.py"), os.environ[FIRST_RUN]]
    if [each.wait() for each in [subprocess.Popen([*words, *group]) for group in GROUPS]] != [0] * len(GROUPS):
        pytest.exit("compile_kernels.py failed", 3)


def pytest_unconfigure(config):
    if config.getoption("numprocesses", None) and FIRST_RUN in os.environ:
        shutil.rmtree(os.environ.pop(FIRST_RUN))
