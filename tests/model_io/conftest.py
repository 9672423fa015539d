"""Saved models of every kind, and files forged from them."""

import copy

import pytest

import oddatom
from model_files import KINDS, fitted, pack, unpack


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    out = {}
    for kind in KINDS:
        oddatom.save(fitted(kind), folder / kind)
        out[kind] = unpack(folder / kind)
    return out


@pytest.fixture
def forged(saved, tmp_path):
    """A function that changes a saved model's tree and arrays and returns a path."""

    def make(kind, change):
        document, arrays = copy.deepcopy(saved[kind])
        change(document["model"], arrays)
        (tmp_path / "model").write_bytes(pack(document, arrays))
        return tmp_path / "model"

    return make
