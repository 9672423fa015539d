"""The corpus once more, and a hundred inputs of each kind at random; `make fuzz` tries more."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TARGETS = ("csv", "parquet", "arrow", "model")
INPUTS = 100


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_good_results_or_documented_errors(target, tmp_path):
    pytest.importorskip("pyarrow")
    command = [sys.executable, HERE, "--target", target, "--inputs", INPUTS, "--keep", tmp_path]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    told = json.loads(done.stdout)
    assert told["failures"] == {}
    assert told["tried"] >= INPUTS
    assert told["answers"] > 10  # it does reach the reader's errors, and past them
