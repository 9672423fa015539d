"""The list of what files may hold: complete, and asked only for what a file needs."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from oddatom.model_io import dictionary_rules, ensemble_rules
from oddatom.model_io.registry import MODELS, RECORDS
from oddatom.model_io.rules import Mismatch
from oddatom.model_io.table_rules import table_schema
from oddatom.model_io.tree import Decoder, Encoder

GOLDEN = Path(__file__).parent / "golden"


def _inner(rule, name):
    """What a rule was made of."""
    return dict(zip(rule.__code__.co_freevars, rule.__closure__, strict=True))[name].cell_contents


def test_every_field_has_a_rule():
    """Records in the fitted attributes are checked to the last field."""
    pairs = {
        "AsinhScaling": ensemble_rules._SCALING,
        "Histogram": ensemble_rules._HISTOGRAM,
        "Packed": ensemble_rules._PACKED,
        "Calibration": ensemble_rules._CALIBRATION,
        "Ensemble": ensemble_rules._SCHEMA.attributes["ensemble_"],
        "Scaling": dictionary_rules._SCALING,
        "CodeStatistics": dictionary_rules._STATISTICS,
        "Kernel": dictionary_rules._KERNEL,
        "KernelMap": dictionary_rules._KERNEL_MAP,
        "ColumnDecision": _inner(table_schema(object).attributes["columns_"], "rule"),
    }
    for name, rule in pairs.items():
        assert set(_inner(rule, "rules")) == set(RECORDS[name].fields()), name


def test_every_name_is_that_of_its_class():
    for name, entry in {**MODELS, **RECORDS}.items():
        assert entry.get().__name__ == name


def test_tables_are_not_imported_for_others(tmp_path):
    code = (
        "import sys, oddatom; oddatom.load(sys.argv[1]).save(sys.argv[2]); "
        "sys.exit('oddatom.arrays.arrow' in sys.modules)"
    )
    path = GOLDEN / "OddAtomDetector.oddatom"
    assert subprocess.run([sys.executable, "-c", code, path, tmp_path / "model"], check=False).returncode == 0


def test_arrays_have_names_of_their_own():
    encoder = Encoder(None)
    one, other = np.zeros(2), np.ones(3)
    tree = encoder.encode({"a": {"b": one}, "a.b": other, "again": one}, "x")
    assert tree["dict"][0][1] == {"dict": [["b", {"array": "x.a.b"}]]}
    assert tree["dict"][1][1] == {"array": "x.a.b'"}
    assert tree["dict"][2][1] == {"array": "x.a.b"}
    built = Decoder(encoder.arrays, None).decode(tree, "x")
    assert built["a"]["b"] is built["again"] is encoder.arrays["x.a.b"]
    assert built["a.b"] is encoder.arrays["x.a.b'"]


@pytest.mark.parametrize("value", [2**63, np.array(["a"]), np.zeros(2, complex), {1: 2}, object(), print])
def test_what_no_file_can_hold(value):
    def refuse(model, encoder, path):
        raise Mismatch(path, "is no model")

    with pytest.raises(Mismatch, match=r"^here "):
        Encoder(refuse).encode(value, "here")
