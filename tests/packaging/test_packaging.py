"""The wheel and the sdist: what is in them, and that they work in an environment that holds nothing else."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from email import message_from_bytes
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from oddatom import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MOST_BYTES = 1_000_000
SMOKE = """
import sys
import numpy as np
import oddatom
from oddatom.onnx import to_onnx

assert oddatom.__file__.startswith(sys.prefix), oddatom.__file__
X = np.random.default_rng(0).normal(5, 1, (200, 4))
model = oddatom.LinearOneClassSVM(nu=0.1).fit(X)
model.save("model.oddatom")
loaded = oddatom.load("model.oddatom")
assert np.array_equal(loaded.score_samples(X), model.score_samples(X))
assert 0 < (loaded.predict(X) == -1).sum() <= 20
for name in oddatom.__all__:
    if name not in ("TableDetector", "make_detector"):  # of tables, which need an extra
        getattr(oddatom, name)
try:
    to_onnx(model)
except ImportError as error:
    assert "oddatom[onnx]" in str(error)
else:
    raise AssertionError("there is an onnx here")
print("well")
"""


@pytest.fixture(scope="module")
def folder():
    """A folder that goes when the tests are over: an environment takes half a gigabyte."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def environment(path):
    """Make an empty environment, without pip even; return its Python."""
    venv.create(path, with_pip=False)
    return str(next(path.glob("[bS]*/python*")))


def pip_install(python, *what):
    """Install packages into an environment by the pip of this one; nothing is compiled before it is used."""
    words = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", *map(str, what)]
    return subprocess.run(words, capture_output=True, text=True)


def link_installed(python, name):
    """Make a package of this environment, and all that it asks for, importable in another one, and nothing else."""
    target = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())
    waiting, seen = [Requirement(name)], set()
    while waiting:
        wanted = waiting.pop()
        if canonicalize_name(wanted.name) in seen:
            continue
        seen.add(canonicalize_name(wanted.name))
        found = distribution(wanted.name)
        assert wanted.specifier.contains(found.version, prereleases=True), (wanted, found.version)
        for top in {Path(file).parts[0] for file in found.files if ".." not in Path(file).parts}:
            if not (target / top).exists():
                (target / top).symlink_to(found.locate_file(top))
        needs = map(Requirement, found.requires or ())
        waiting += [need for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]


def run(*words, **options):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, **options)


@pytest.fixture(scope="module")
def tree(folder):
    """The files of a checkout: no caches, no results."""
    listed = run("git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z")
    if listed.returncode:
        pytest.skip("not in a git checkout")
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "tree" / name)
    return folder / "tree"


@pytest.fixture(scope="module")
def built(folder, tree):
    """The sdist, and the wheel that is made from it."""
    python = environment(folder / "builder")
    got = pip_install(python, "build>=1.2", "hatchling>=1.24")
    if got.returncode:
        pytest.skip(f"pip finds no packages here: {got.stderr.strip().splitlines()[-1]}")
    done = run(python, "-m", "build", "--no-isolation", "--outdir", folder / "dist", tree)
    assert done.returncode == 0, done.stdout + done.stderr
    wheel = folder / "dist" / f"oddatom-{__version__}-py3-none-any.whl"
    sdist = folder / "dist" / f"oddatom-{__version__}.tar.gz"
    assert sorted((folder / "dist").iterdir()) == sorted([wheel, sdist])
    return wheel, sdist


def test_the_wheel_holds_the_package_and_nothing_else(built, tree):
    wheel, _ = built
    assert wheel.stat().st_size < MOST_BYTES
    source = tree / "src"
    expected = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        about = f"oddatom-{__version__}.dist-info"
        metadata = message_from_bytes(archive.read(f"{about}/METADATA"))
        scripts = archive.read(f"{about}/entry_points.txt").decode()
    assert {name for name in names if not name.startswith(about)} == expected
    assert {"oddatom/py.typed", "oddatom/report/script.js", "oddatom/report/style.css"} <= names
    assert f"{about}/licenses/LICENSE" in names
    assert (metadata["Name"], metadata["Version"]) == ("oddatom", __version__)
    assert metadata["Requires-Python"] == ">=3.11"
    assert {"cli", "gpu", "onnx", "paper"} <= set(metadata.get_all("Provides-Extra"))
    assert "oddatom = oddatom.cli.main:main" in scripts


def test_the_sdist_holds_what_a_packager_needs(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "src/oddatom/py.typed", "tests/conftest.py"} <= names
    assert not any(".hypothesis" in name or "__pycache__" in name or name.startswith(".venv") for name in names)


def test_it_works_where_nothing_else_is_installed(built, folder):
    python = environment(folder / "empty")
    with zipfile.ZipFile(built[0]) as archive:
        metadata = message_from_bytes(archive.read(f"oddatom-{__version__}.dist-info/METADATA"))
    for need in map(Requirement, metadata.get_all("Requires-Dist")):
        if need.marker is None or need.marker.evaluate({"extra": ""}):
            link_installed(python, str(need))
    got = pip_install(python, "--no-deps", built[0])
    assert got.returncode == 0, got.stderr
    checked = run(sys.executable, "-m", "pip", "--python", python, "check")
    assert checked.returncode == 0, checked.stdout
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA", "COV"))}
    inside = {"cwd": folder, "env": clean}
    for words in ([python, "-m", "oddatom"], [next((folder / "empty").glob("[bS]*/oddatom*"))]):
        ended = run(*words, "--version", **inside)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"oddatom {__version__}\n", "")
    (folder / "smoke.py").write_text(SMOKE)
    ended = run(python, "smoke.py", **inside)
    assert (ended.returncode, ended.stdout) == (0, "well\n"), ended.stderr
    assert "LinearOneClassSVM" in run(python, "-m", "oddatom", "inspect", "model.oddatom", **inside).stdout
    (folder / "table.csv").write_text("a,b\n1,2\n3,4\n")
    ended = run(python, "-m", "oddatom", "detect", "table.csv", **inside)
    assert ended.returncode == 1
    assert ended.stderr == (
        "oddatom: this command needs pyarrow, which is not installed: pip install 'oddatom[cli]'.\n"
    )
