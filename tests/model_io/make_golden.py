"""Write the golden files: `python tests/model_io/make_golden.py`. Those of older formats are kept."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import oddatom
from model_files import KINDS, answers, fitted, rows_of
from oddatom.model_io.files import FORMAT

FOLDER = Path(__file__).parent / "golden" / ".".join(map(str, FORMAT))
KEPT = ("score_samples 0", "decision_function 0", "p_values 0")


def main():
    FOLDER.mkdir(exist_ok=True)
    for kind in KINDS:
        model, path = fitted(kind), FOLDER / f"{kind}.oddatom"
        oddatom.save(model, path)
        found = {name: values.tolist() for name, values in answers(model, rows_of(kind)).items() if name in KEPT}
        rows = rows_of(kind).astype(object)
        expected = {**rows.where(rows.notna(), None).to_dict("split", index=False), **found}
        path.with_suffix(".json").write_text(json.dumps(expected, allow_nan=False) + "\n")
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
