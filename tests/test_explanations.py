"""Tables that add up to a row's margin or residual, against dense NumPy; frames like the input."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oddatom
from oddatom.arrays.namespaces import like
from oddatom.arrays.threads import threads
from oddatom.coding import Codes, batch_omp
from oddatom.explanations import Explanation, as_frame_like, by_atom, by_feature
from oddatom.scores import code_statistics, description_length, margin, residual, score

RNG = np.random.default_rng(0)
D = RNG.standard_normal((12, 7))
D /= np.linalg.norm(D, axis=1, keepdims=True)
Y = RNG.standard_normal((50, 7))
Y[3] = 0  # a code without a single atom
Y[4] = 2 * D[5]  # one atom where three are allowed
W = RNG.standard_normal(12)


@pytest.fixture(scope="module")
def codes():
    with threads(1):
        return batch_omp(Y, D, 3)


def part(codes, rows):
    return Codes(*(field[rows] for field in codes))


def dense(codes):
    X = np.zeros((len(Y), len(D)))
    for j, k in zip(*np.nonzero(codes.indices >= 0), strict=True):
        X[j, codes.indices[j, k]] += codes.values[j, k]
    return X


def margin_by_atom(codes, w):
    return by_atom(margin(codes, w), codes, len(w))


def residual_by_feature(Y, codes, D):
    with np.errstate(over="ignore"):
        return -by_feature(residual(codes, None), codes, Y, D)


def test_margin_by_atom(codes):
    table = margin_by_atom(codes, W)
    assert_array_equal(table, dense(codes) * W)
    assert_allclose(table.sum(axis=1), score("margin", codes, W, None), atol=1e-14)


def test_margin_by_feature(codes):
    table = by_feature(margin(codes, W), codes, Y, D)
    assert_allclose(table, (dense(codes) * W) @ D**2, atol=1e-14)
    assert_allclose(table.sum(axis=1), score("margin", codes, W, None), atol=1e-13)


def test_residual_by_feature(codes):
    before = Y.copy()
    table = residual_by_feature(Y, codes, D)
    assert_allclose(table, (Y - dense(codes) @ D) ** 2, atol=1e-14)
    assert_allclose(table.sum(axis=1), -score("residual", codes, W, None), atol=1e-13)
    assert_array_equal(Y, before)


def test_description_length_by_feature_and_atom(codes):
    statistics = code_statistics(codes, 12, 7)
    terms, scores = description_length(codes, W, statistics), score("description_length", codes, W, statistics)
    assert_allclose(by_feature(terms, codes, Y, D).sum(axis=1), scores, rtol=1e-12)
    left = codes.sq_residual / (2 * statistics.noise)
    assert_allclose(by_atom(terms, codes, 12).sum(axis=1) - left, scores, rtol=1e-12)


def test_torch(codes):
    torch = pytest.importorskip("torch")
    statistics = code_statistics(codes, 12, 7)
    there = Codes(*(torch.tensor(field) for field in codes))
    terms, wanted = (
        description_length(some, w, like(statistics, w)) for some, w in ((there, torch.tensor(W)), (codes, W))
    )
    assert_allclose(by_atom(terms, there, 12), by_atom(wanted, codes, 12), atol=1e-12)
    found = by_feature(terms, there, torch.tensor(Y), torch.tensor(D))
    assert_allclose(found, by_feature(wanted, codes, Y, D), rtol=1e-10, atol=1e-12)


def test_padding_is_not_an_atom(codes):
    """Its index is −1: taken for an atom, it would be the last one."""
    assert (codes.indices[3] == -1).all()
    assert (codes.indices[4] >= 0).sum() == 1
    few = part(codes, slice(3, 5))
    atoms = D.copy()
    atoms[-1] = 1e300
    assert_array_equal(margin_by_atom(few, np.append(W[:-1], np.inf))[:, -1], 0)
    assert_allclose(residual_by_feature(Y[3:5], few, atoms), 0, atol=1e-28)


def test_a_row_does_not_depend_on_the_others(codes):
    order = RNG.permutation(50)
    tables = {
        "margin": (margin_by_atom(codes, W), lambda r: margin_by_atom(part(codes, r), W)),
        "residual": (residual_by_feature(Y, codes, D), lambda r: residual_by_feature(Y[r], part(codes, r), D)),
    }
    for whole, of in tables.values():
        assert_array_equal(of(order), whole[order])
        assert_array_equal(np.concatenate([of([j]) for j in range(50)]), whole)


def test_no_atoms_and_no_rows(codes):
    none = Codes(np.full((50, 1), -1, np.int32), np.zeros((50, 1)), np.sum(Y**2, axis=1))
    assert margin_by_atom(none, W[:0]).shape == (50, 0)
    assert_array_equal(residual_by_feature(Y, none, D[:0]), Y**2)
    assert margin_by_atom(part(codes, slice(0)), W).shape == (0, 12)
    assert residual_by_feature(Y[:0], part(codes, slice(0)), D).shape == (0, 7)


@pytest.mark.filterwarnings("error")
def test_squares_that_overflow_are_the_largest_number(codes):
    big = Codes(codes.indices, codes.values * 1e200, codes.sq_residual)
    table = residual_by_feature(Y * 1e200, big, D)
    assert_array_equal(table[5:], np.finfo(np.float64).max)
    assert_array_equal(table[3], 0)
    assert_allclose(margin_by_atom(big, W), margin_by_atom(codes, W) * 1e200, rtol=1e-14)


# Frames


VALUES = np.arange(6.0).reshape(3, 2)


def test_pandas_frames_keep_their_index():
    X = pd.DataFrame(np.zeros((3, 2)), columns=["a", "b"], index=["x", "y", "x"])
    named = as_frame_like(VALUES, X, np.array(["p", "q"], dtype=object))
    pd.testing.assert_frame_equal(named, pd.DataFrame(VALUES, columns=["p", "q"], index=X.index))
    pd.testing.assert_frame_equal(as_frame_like(VALUES, X), pd.DataFrame(VALUES, columns=["a", "b"], index=X.index))
    assert as_frame_like(VALUES[:, :0], X, []).shape == (3, 0)


def test_polars_frames():
    X = pl.DataFrame({"a": [0, 0, 0], "b": [0, 0, 0]})
    named = as_frame_like(VALUES, X, np.array(["p", "q"], dtype=object))
    assert named.equals(pl.DataFrame({"p": VALUES[:, 0], "q": VALUES[:, 1]}))
    assert as_frame_like(VALUES, X).columns == ["a", "b"]
    square = as_frame_like(VALUES[:2], X[:2])
    assert_array_equal(square.to_numpy(), VALUES[:2])


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((3, 2)),
        [[0, 0], [0, 0], [0, 0]],
        pd.DataFrame(np.zeros((3, 2))),
        pd.DataFrame(np.zeros((3, 2)), columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])),
    ],
    ids=["array", "list", "numbers for names", "tuples for names"],
)
def test_what_has_no_names_gives_arrays(X):
    assert as_frame_like(VALUES, X, ["p", "q"]) is VALUES


def test_no_library_of_frames_is_imported():
    code = (
        "import sys, numpy as np; from oddatom.explanations import as_frame_like; before = set(sys.modules);"
        "v = np.ones((2, 2)); assert as_frame_like(v, [[0, 0], [0, 0]], ['a', 'b']) is v;"
        "sys.exit(bool({'pandas', 'polars'} & (set(sys.modules) - before)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_explanation_is_public():
    assert oddatom.Explanation is Explanation
    assert "Explanation" in oddatom.__all__
    assert Explanation._fields == ("contributions", "by_atom")
