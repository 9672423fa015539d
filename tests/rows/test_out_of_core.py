"""A fit to files that are four times as large as what a process may still take, and what happens to one in memory."""

import os
import subprocess
import sys

import numpy as np
import pytest

from oddatom import DLOCSVM

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits address space by Linux's rules")

ALLOWANCE = 24 * 2**20
SETTINGS = {"n_atoms": 8, "n_nonzero": 2, "max_iter": 1, "nu": 0.1, "random_state": 0}
# The limit counts every map of the process. What code and libraries take is not the fit's: the limit is set after they
# are there, and after a small fit has loaded the compiled kernels.
CODE = f"""
import resource, sys
from pathlib import Path
import numpy as np
from oddatom import DLOCSVM
from oddatom.rows import source
from oddatom.rows.files import file_source as files

folder, what = sys.argv[1:]
files.BLOCK, files.ROOM, source.KEPT_ROWS = 2**20, 10**9, 0
model = DLOCSVM.paper(n_jobs=1, **{SETTINGS})
model.fit([f"{{folder}}/warm.{{kind}}" for kind in [what if what == "parquet" else "npy"]])
paths = [f"{{folder}}/part{{k}}.{{'parquet' if what == 'parquet' else 'npy'}}" for k in range(2)]
lines = Path("/proc/self/status").read_text().splitlines()
size = 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (size + {ALLOWANCE},) * 2)
if what == "memory":
    model.fit(np.concatenate([np.load(path) for path in paths]))
elif what == "map":
    model.fit(np.load(paths[1], mmap_mode="r"))
else:
    model.fit(paths)
    np.savez(f"{{folder}}/found.npz", D=model.dictionary_, w=model.coef_, scores=model.train_scores_)
"""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(3 * 2**16, 8)) @ rng.uniform(0, 1, (8, 64))
    X += 0.1 * rng.normal(size=X.shape)
    assert X.nbytes >= 4 * ALLOWANCE
    return X


def fit_in_child(folder, what, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1", "TMPDIR": str(scratch)}
    environment["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    command = [sys.executable, "-c", CODE, str(folder), what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert list(scratch.iterdir()) == []
    return done


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    for name, part in (("warm", rows[:20_000]), ("part0", rows[:30_000]), ("part1", rows[30_000:])):
        np.save(folder / f"{name}.npy", part)
    return folder


@pytest.fixture(scope="module")
def expected(rows):
    return DLOCSVM.paper(**SETTINGS).fit(rows)


@pytest.mark.parametrize("what", ["npy", pytest.param("parquet", marks=pytest.mark.slow)])
def test_a_fit_to_files_stays_within_the_limit(what, folder, rows, expected, tmp_path):
    if what == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        for name in ("warm", "part0", "part1"):
            X = np.load(folder / f"{name}.npy")
            table = pa.table({f"c{f}": X[:, f] for f in range(X.shape[1])})
            pq.write_table(table, folder / f"{name}.parquet", row_group_size=8_000)
    done = fit_in_child(folder, what, tmp_path)
    assert done.returncode == 0, done.stderr
    with np.load(folder / "found.npz") as found:
        np.testing.assert_allclose(found["D"], expected.dictionary_, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found["w"], expected.coef_, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found["scores"], expected.train_scores_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("what", ["memory", "map"])
def test_the_limit_ends_a_fit_that_loads_the_table(what, folder, tmp_path):
    done = fit_in_child(folder, what, tmp_path)
    assert done.returncode != 0
    assert "MemoryError" in done.stderr or "Cannot allocate memory" in done.stderr
