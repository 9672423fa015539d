"""What the README and the docstrings show is so: snippets, examples, the demo, a quick import."""

import doctest
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oddatom

ROOT = Path(__file__).parents[1]


def test_readme_snippets_run():
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(snippets) >= 2
    names: dict = {}
    for snippet in snippets:
        exec(snippet, names)
    assert names["svm"].gap_ <= 1e-8
    assert names["untuned"].weights_["residual"] == 0
    flagged = np.mean(names["detector"].predict(names["X"]) == -1)
    assert 0 < flagged <= 0.05


def test_readme_has_no_gaps():
    text = (ROOT / "README.md").read_text()
    assert not re.search(r"[A-Z]+_RATIO|TODO|XXX|\{[A-Z0-9]+\}", text)
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize("name", ["OddAtomDetector", "DLOCSVM", "DPLOCSVM", "LinearOneClassSVM"])
def test_docstring_examples(name):
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    tests = [t for t in finder.find(getattr(oddatom, name), name) if t.examples]
    assert tests
    for test in tests:
        assert runner.run(test).failed == 0


def test_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location("demo", ROOT / "examples" / "demo.py")
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    demo.main()
    lines = capsys.readouterr().out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("rank")) + 1
    scores = [float(line.split()[2]) for line in lines[first : first + 10]]
    assert np.all(np.diff(scores) >= 0)
    assert len(set(scores)) == 10
    strays = sum(line.split()[-1] != "0" for line in lines[first : first + 10])
    assert strays >= 4  # 33 of 211 rows are: chance would find one or two
    png = (tmp_path / "demo_output" / "anomalies.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 10_000


def test_import_is_immediate():
    code = "import sys, oddatom; sys.exit(bool({'sklearn', 'numba', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match=r"no attribute 'DLOCSVN'; it has .*DLOCSVM"):
        _ = oddatom.DLOCSVN
