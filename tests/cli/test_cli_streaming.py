"""`oddatom score` in constant memory."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from oddatom.cli import main

GROWTH = 25_000  # kB; 300,000 rows × 6 take 14 MB as floats, as much encoded, and more as text
MEASURE = """
import json, os, resource, sys
from oddatom.cli import main
peaks = []
for words, source in json.loads(sys.argv[1]):
    if source:
        os.dup2(os.open(source, os.O_RDONLY), 0)
        sys.stdin = open(0, closefd=False)
    assert main(words) == 0
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(json.dumps(peaks))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in kB on Linux")
def test_peak_memory_does_not_grow_with_the_table(tmp_path):
    rng = np.random.RandomState(0)
    names = [f"x{k}" for k in range(6)]
    files = {}
    for n in (2_000, 40_000, 300_000):
        rows = pa.table(dict(zip(names, rng.normal(size=(6, n)).round(3), strict=True)))
        files[n] = (tmp_path / f"{n}.parquet", tmp_path / f"{n}.csv")
        pa.parquet.write_table(rows, files[n][0], row_group_size=50_000)
        pa.csv.write_csv(rows, files[n][1])
    model = tmp_path / "m.oddatom"
    assert main(["fit", str(files[2_000][0]), "-m", str(model), "-q"]) == 0
    for as_parquet in (True, False):
        runs = []
        for n in (40_000, 300_000):
            source = str(files[n][0]) if as_parquet else "-"
            words = ["score", str(model), source, "-o", str(tmp_path / "out.csv"), "-q", "--batch", "16384"]
            runs.append((words, None if as_parquet else str(files[n][1])))
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, json.dumps(runs)], stdout=subprocess.PIPE, text=True, check=True
        )
        small, large = json.loads(done.stdout)
        assert large - small < GROWTH
