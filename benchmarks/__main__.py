"""Run every benchmark, write benchmarks/results.json and the tables of docs/benchmarks.md.

make bench            (or: python -m benchmarks)
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

from benchmarks import fit, growth, kernels, omp, pairs, svm, twins
from benchmarks._common import data_folder, machine
from benchmarks._tables import render

HERE = Path(__file__).parent


def main() -> None:
    results: dict[str, object] = {"date": date.today().isoformat(), "machine": machine()}
    for name, module, needs_data in (
        ("omp", omp, False),
        ("fit", fit, True),
        ("pairs", pairs, True),
        ("kernels", kernels, True),
        ("svm", svm, True),
        ("growth", growth, False),
        ("twins", twins, False),
    ):
        if needs_data and data_folder() is None:
            print(f"{name}: left out, no ODDS data (set ODDATOM_DATA)")
            continue
        print(f"{name} …", flush=True)
        results[name] = module.run()
    text = json.dumps(results, indent=2, default=float)
    (HERE / "results.json").write_text(text + "\n")
    (HERE.parent / "docs" / "benchmarks.md").write_text(render(json.loads(text)))
    print(text)


if __name__ == "__main__":
    main()
