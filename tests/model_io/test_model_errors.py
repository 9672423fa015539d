"""What is no model file, or a damaged or newer one, is refused in one line that says what is wrong and what to do."""

import json
import os
import struct
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save_file

import oddatom
from model_files import TRAIN, fitted, forge, pack, unpack
from oddatom import LinearOneClassSVM, ModelFileError
from oddatom.model_io.files import FORMAT


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    LinearOneClassSVM(nu=0.1).fit(TRAIN).save(path)
    return path.read_bytes()


@pytest.fixture
def parts(content, tmp_path):
    (tmp_path / "good").write_bytes(content)
    return unpack(tmp_path / "good")


def refused(tmp_path, content, match):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=match) as caught:
        oddatom.load(path)
    message = str(caught.value)
    assert message.startswith("Cannot load '")
    assert "\n" not in message
    assert message.endswith(".")
    assert len(message) < 600
    return message


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*Check the path"):
        oddatom.load(tmp_path / "model")


def test_folders_and_devices(tmp_path):
    with pytest.raises(ModelFileError, match=r"it is a folder. Name a file in it"):
        oddatom.load(tmp_path)
    if os.path.exists(os.devnull) and os.name == "posix":
        with pytest.raises(ModelFileError, match=r"no regular file"):
            oddatom.load(os.devnull)


def test_it_is_a_value_error_of_its_own():
    assert issubclass(ModelFileError, ValueError)
    assert oddatom.ModelFileError is ModelFileError


def test_empty(tmp_path):
    refused(tmp_path, b"", "it is empty. Copy it again")


def test_truncated_anywhere(tmp_path, content):
    for length in range(1, len(content)):
        (tmp_path / "model").write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"cut short|no model file"):
            oddatom.load(tmp_path / "model")
    refused(tmp_path, content[:-1], "cut short: 1 bytes are missing at its end. Copy it again")
    refused(tmp_path, content[:100], "cut short after 100 bytes, within its header")
    refused(tmp_path, content[:5], "cut short after 5 bytes")
    refused(tmp_path, content + b"x", "1 bytes too many at its end")


def test_every_flipped_bit_is_found(tmp_path, content):
    for place in range(len(content)):
        for bit in {place % 8, 5}:  # 5 makes capitals
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            (tmp_path / "model").write_bytes(damaged)
            with pytest.raises(ModelFileError):
                oddatom.load(tmp_path / "model")
    damaged = bytearray(content)
    damaged[-1] ^= 1
    refused(tmp_path, bytes(damaged), "damaged: its checksum does not match. Copy it again")


def test_other_files(tmp_path):
    refused(tmp_path, b"PK\x03\x04" + bytes(100), "no model file, or damaged: it does not start as one. Pass a file")
    refused(tmp_path, b"\x80\x04\x95\x00\x00\x00\x00\x00pickle", "no model file|cut short")
    refused(
        tmp_path,
        struct.pack("<Q", 6) + b"[1, 2]",
        "no safetensors file. Pass a file that oddatom.save or `oddatom fit` wrote",
    )
    refused(tmp_path, struct.pack("<Q", 4) + b"nope", "no model file, or damaged: its header has Expecting value")
    refused(tmp_path, struct.pack("<Q", 2) + b"\xff\xfe", "its header has .*can't decode")
    save_file({"weights": np.zeros(3)}, tmp_path / "other", metadata={"format": "pt"})
    refused(tmp_path, (tmp_path / "other").read_bytes(), "a safetensors file of something else. Pass a file")
    save_file({"weights": np.zeros(3)}, tmp_path / "other", metadata={"oddatom": "{}"})
    refused(tmp_path, (tmp_path / "other").read_bytes(), "no checksum where that belongs")


@pytest.mark.parametrize("length", [2**26 + 1, 2**40, 2**63, 2**64 - 1])
def test_large_headers_are_refused_before_they_are_read(length, tmp_path):
    tracemalloc.start()
    refused(tmp_path, struct.pack("<Q", length) + bytes(1000), "it does not start as one")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize("shape", [[2**40], [2**62, 2**62], [0, 2**62], [1] * 9, [-1], [1.5], "3", [True]])
def test_large_and_strange_shapes_are_refused_before_they_are_made(shape, parts, tmp_path):
    document = parts[0]
    entries = {"coef_": {"dtype": "F64", "shape": shape, "data_offsets": [0, 32]}}
    text = json.dumps({**document, "sha256": "0" * 64}, separators=(",", ":"))
    tracemalloc.start()
    refused(tmp_path, forge(text, entries, bytes(32)), "array 'coef_' is not described as it should be")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize("shape", [[0, 2**62], [2**40, 0, 2**40], [0] * 40, [0, 10_000]])
def test_arrays_without_entries_must_not_claim_large_extents(shape, parts, tmp_path):
    text = json.dumps({**parts[0], "sha256": "0" * 64}, separators=(",", ":"))
    entries = {"coef_": {"dtype": "F64", "shape": shape, "data_offsets": [0, 0]}}
    refused(tmp_path, forge(text, entries, b""), "array 'coef_' is not described as it should be")


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64", "shape": [4], "data_offsets": [0, 2**62]},
        {"dtype": "F64", "shape": [4], "data_offsets": [32, 0]},
        {"dtype": "F64", "shape": [4], "data_offsets": [0]},
        {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]},
        {"dtype": ["F64"], "shape": [4], "data_offsets": [0, 32]},
        {"dtype": "F64", "shape": [4]},
        None,
    ],
)
def test_strange_entries(entry, parts, tmp_path):
    text = json.dumps({**parts[0], "sha256": "0" * 64}, separators=(",", ":"))
    refused(tmp_path, forge(text, {"coef_": entry}, bytes(32)), "array 'coef_' is not described as it should be")


def test_overlapping_arrays(parts, tmp_path):
    text = json.dumps({**parts[0], "sha256": "0" * 64}, separators=(",", ":"))
    for start in (0, 16, 48):
        entries = {
            "coef_": {"dtype": "F64", "shape": [4], "data_offsets": [0, 32]},
            "other": {"dtype": "F64", "shape": [4], "data_offsets": [start, start + 32]},
        }
        refused(tmp_path, forge(text, entries, bytes(80)), "overlap or leave gaps, at 'other'")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[" * 100_000 + "]" * 100_000, "100000 levels of JSON, and 64 is the most"),
        ('{"a":' * 200 + "1" + "}" * 200, "200 levels of JSON"),
        ('{"a":[' + '[],"]\\"[\\\\",' * 2 + "[]" * 1, "Expecting"),
        ("[" + "0," * 4_100_000 + "0]", "more than 1,000,000 values"),
        ('{"a":NaN}', "NaN, which is no JSON"),
        ('{"a":-Infinity}', "-Infinity, which is no JSON"),
        ('{"a":1e999}', "a number that overflows, 1e999"),
        ('{"a":' + "9" * 5000 + "}", "an integer beyond 64 bits"),
        ('{"a":9223372036854775808}', "an integer beyond 64 bits"),
        ('{"a":1,"a":2}', "a key that comes twice"),
        ("", "Expecting value"),
    ],
)
@pytest.mark.parametrize("place", ["header", "description"])
def test_strange_json(text, match, place, tmp_path):
    if place == "header":
        content = struct.pack("<Q", len(text)) + text.encode()
        refused(tmp_path, content, f"its header has {match}")
    elif text.startswith("{"):
        mark = '{"sha256":"' + "0" * 64 + '",'
        refused(tmp_path, forge(mark + text[1:], {}, b""), f"its description has {match}")


def test_brackets_within_text_do_not_count(tmp_path):
    model = LinearOneClassSVM(nu=0.1).fit(TRAIN.rename(columns={"alcohol": '[{"\\' * 1000}))
    model.save(tmp_path / "model")
    assert oddatom.load(tmp_path / "model").feature_names_in_[0] == '[{"\\' * 1000


def test_a_newer_major_format_is_refused(parts, tmp_path):
    document, arrays = parts
    document["format"], document["versions"]["oddatom"] = "2.0", "9.1"
    message = refused(tmp_path, pack(document, arrays), "written by a newer oddatom, '9.1', in format 2.0")
    assert message.endswith(f"This is oddatom {oddatom.__version__}: update it.")
    del document["versions"], document["model"]
    refused(tmp_path, pack(document, {}), "written by a newer oddatom, None, in format 2.0")


def test_a_newer_minor_format_is_read(parts, tmp_path):
    document, arrays = parts
    newer = f"{FORMAT[0]}.{FORMAT[1] + 1}"
    document["format"], document["comment"], document["versions"]["oddatom"] = newer, {"new": 1}, "0.9"
    (tmp_path / "model").write_bytes(pack(document, arrays))
    assert oddatom.load(tmp_path / "model").nu == 0.1
    document["model"]["attributes"]["new_"] = 1
    message = refused(tmp_path, pack(document, arrays), "new_ is nothing that this version knows")
    assert "It was written by oddatom '0.9', a newer one. This is oddatom" in message


@pytest.mark.parametrize("text", ["0.9", "1", 1.0, None, "1.0.0", "1.x", "-1.0", "१.०", "99999999999.0"])
def test_strange_formats(text, parts, tmp_path):
    document, arrays = parts
    document["format"] = text
    refused(tmp_path, pack(document, arrays), "format")


def test_a_checksum_elsewhere_does_not_count(parts, tmp_path):
    document, arrays = parts
    quoted = json.dumps(json.dumps({"sha256": "0" * 64}, separators=(",", ":")))
    document["comment"] = quoted
    (tmp_path / "model").write_bytes(pack(dict(sorted(document.items())), arrays))
    assert oddatom.load(tmp_path / "model").nu == 0.1
    text = json.dumps({**document, "sha256": "0" * 64, "twice": {"sha256": "0" * 64}}, separators=(",", ":"))
    refused(tmp_path, forge(text, {}, b""), "no checksum where that belongs")
    text = json.dumps({"inner": {"sha256": "0" * 64}}, separators=(",", ":"))
    refused(tmp_path, forge(text, {}, b""), "its description is not one of ours")


def test_loading_takes_little_more_than_the_file(tmp_path):
    model = fitted("LinearOneClassSVM")
    model.dual_coef_ = np.zeros(2_000_000)
    model.save(tmp_path / "model")
    oddatom.load(tmp_path / "model")
    tracemalloc.start()
    oddatom.load(tmp_path / "model")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * (tmp_path / "model").stat().st_size
