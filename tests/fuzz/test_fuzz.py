"""The corpus once more, and a few thousand inputs at random; `python -m tests.fuzz --seconds 3600` tries more."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INPUTS = {"csv": 900, "parquet": 900, "arrow": 900, "model": 900}


@pytest.mark.slow
@pytest.mark.parametrize("target", INPUTS)
def test_good_results_or_documented_errors(target, tmp_path):
    pytest.importorskip("pyarrow")
    command = [sys.executable, HERE, "--target", target, "--inputs", INPUTS[target], "--keep", tmp_path]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    told = json.loads(done.stdout)
    assert told["failures"] == {}
    assert told["tried"] >= INPUTS[target]
    assert told["answers"] > 10  # it does reach the reader's errors, and past them
