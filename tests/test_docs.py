"""What the README, the pages and the docstrings show is so: snippets, commands, links, the demo, a quick import."""

import doctest
import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oddatom

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


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


@pytest.mark.parametrize("page", ["index", "quickstart", "choosing", "reading_a_report", "mathematics"])
@pytest.mark.filterwarnings("ignore::oddatom.DegenerateMarginWarning")
def test_blocks_of_a_page_run(page, tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    from oddatom.cli.main import main

    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|sh)\n(.*?)```", (ROOT / "docs" / f"{page}.md").read_text(), re.DOTALL)
    assert blocks
    names: dict = {}
    for language, block in blocks:
        if language == "python":
            exec(block, names)
            continue
        for line in block.splitlines():
            program, *words = shlex.split(line, comments=True)
            assert program in ("oddatom", "pip")
            if program == "oddatom":
                assert main(words) == 0, capsys.readouterr().err
    if page == "quickstart":
        said = re.search(r"```\n(178 rows.*?)```", (ROOT / "docs" / "quickstart.md").read_text(), re.DOTALL)[1]
        shown = capsys.readouterr()
        for line in said.splitlines():
            assert line.strip() == "…" or line in shown.out + shown.err, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_of_a_page_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        made = link.startswith("auto_examples/")  # by the gallery
        assert made or (page.parent / link).exists(), link


def test_every_page_and_every_public_name_is_in_the_documentation():
    contents = "".join((ROOT / "docs" / name).read_text() for name in ("index.md", "background.md"))
    listed = re.findall(r"```\{toctree\}\n(.*?)```", contents, re.DOTALL)
    assert {page.stem for page in PAGES} - {"index"} <= set("".join(listed).split())
    names = re.findall(r"^   ([\w.]+)$", (ROOT / "docs" / "api.rst").read_text(), re.MULTILINE)
    assert set(oddatom.__all__) - {"__version__"} <= set(names)


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
