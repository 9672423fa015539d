"""The page of the paper's evaluation: what fills it, and that its tables are those of the runs that are kept."""

import importlib.util
import json
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from oddatom.paper.context import Context
from oddatom.paper.datasets import DATASETS
from oddatom.paper.figures import FIGURES
from oddatom.paper.methods import METHODS
from oddatom.paper.output import write_results
from oddatom.paper.tables import TABLES

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "benchmarks" / "paper" / "runs.parquet"
PAGE = (ROOT / "docs" / "paper.md").read_text()
MACHINE = re.search(r"- Here: (.*?)\. The paper: ", PAGE)


@pytest.fixture(scope="module")
def fill():
    spec = importlib.util.spec_from_file_location("paper_tables", ROOT / "docs" / "paper_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.fill


@pytest.fixture(scope="module")
def runs():
    return pd.read_parquet(RUNS)


def context(**changes):
    """Return what the page was made with: the commands that the file of runs keeps, the machine that the page names."""
    commands = json.loads(pa.parquet.read_schema(RUNS).metadata[b"commands"])
    given = {
        "datasets": [data for data in DATASETS.values() if data.name != "speech"],
        "missing": {"speech": re.search("speech could not be had and is in no table: (.*)", PAGE)[1]},
        "methods": list(METHODS.values()),
        "machine": MACHINE[1],
        "command": "\n".join(commands),
        "effort": "quick",
    }
    return Context(**(given | changes))


def rows_of(text):
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_page_has_every_table_and_figure():
    marked = re.findall(r"<!-- (table|figure) (\w+) -->", PAGE)
    assert {name for kind, name in marked if kind == "table"} == set(TABLES)
    assert {name for kind, name in marked if kind == "figure"} == set(FIGURES)


def test_the_page_is_that_of_the_runs(runs, fill, tmp_path):
    write_results(tmp_path / "results", runs, context())
    (tmp_path / "images").mkdir()
    empty = re.sub(r"(<!-- (?:table|figure|commands)[^>]*-->).*?(<!-- end -->)", r"\1\2", PAGE, flags=re.DOTALL)
    assert len(empty) < len(PAGE) / 3
    assert fill(empty, tmp_path / "results", tmp_path / "images") == PAGE


def test_filling_puts_tables_captions_and_commands_in_their_places(runs, fill, tmp_path):
    some = runs[runs["experiment"].isin(["order", "convergence"])]
    write_results(tmp_path / "results", some, context(command="oddatom paper --quick\noddatom paper --full"))
    page = "<!-- table order -->\nold\n<!-- end -->\n<!-- figure order --><!-- end -->\n<!-- commands --><!-- end -->\n"
    (tmp_path / "images").mkdir()
    filled = fill(page, tmp_path / "results", tmp_path / "images")
    assert "old" not in filled
    assert filled.count("oddatom paper --full") == 1
    assert rows_of(filled) == rows_of(TABLES["order"](some, context()).to_markdown(title=False))
    assert re.search(r"!\[The order of the rows\]\(images/paper_order.svg\)\n\nWhat the order of the rows does", filled)
    assert (tmp_path / "images" / "paper_order.svg").read_bytes() == (
        tmp_path / "results/figures/order.svg"
    ).read_bytes()
    assert fill(filled, tmp_path / "results", tmp_path / "images") == filled
