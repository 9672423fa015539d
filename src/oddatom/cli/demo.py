"""`oddatom demo`: detect on a real table, scikit-learn's wines, made as messy as tables are."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

from oddatom.cli.console import Console
from oddatom.cli.parser import make_parser
from oddatom.table import TableWriter


def run(options: argparse.Namespace, console: Console) -> bool:
    """Write the table and the commands' results into a folder."""
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "wine.csv"
    _write(table)
    words = ["detect", str(table), "--id", "bottle", "--model", str(folder / "wine.oddatom")]
    console.say(f"{table}: 178 wines of three growers; some cells lost, and rows 18, 75 and 133 corrupted")
    console.say(f"oddatom {shlex.join(words)}")
    console.say()
    words += [f"--{name}" for name in ("json", "quiet") if getattr(options, name)]
    words += ["--threads", str(options.threads)] if options.threads else []
    detect = make_parser().parse_args(words)
    detect.run(detect, console)
    return False


def _write(path: Path) -> None:
    """Wines with an id, a category, lost cells, and three rows with a number that is off."""
    import pyarrow as pa

    wine = load_wine()
    rng = np.random.RandomState(0)
    X = wine.data.copy()
    X[17, 0] /= 10  # a decimal point in the wrong place
    X[74, 12] *= 10
    X[132, 9] *= 10
    columns = {"bottle": [f"B-{k:04d}" for k in rng.permutation(len(X)) + 1]}
    for name, values in zip(wine.feature_names, X.T, strict=True):
        lost = rng.uniform(size=len(X)) < 0.01
        columns[name] = ["" if gone else repr(float(value)) for gone, value in zip(lost, values, strict=True)]
    columns["grower"] = [["north", "hill", "river"][k] for k in wine.target]
    with TableWriter(path) as writer:
        writer.write(pa.table(columns))
