"""Ids are left out; what only looks a little like one is kept."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from oddatom.table import TableEncoder
from oddatom.table.ids import looks_like_id

N = 40
RNG = np.random.default_rng(0)


def decided(name, values):
    return TableEncoder().fit(pd.DataFrame({name: values, "kept": 1.0})).columns_[0]


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "customer_id", "Customer ID", "orderId", "orderID", "uuid", "row_key", "Unnamed: 0", "index"],
)
def test_names_of_ids(name):
    assert looks_like_id(name)


@pytest.mark.parametrize("name", ["paid", "width", "grid", "turkey", "kid", "heat index", "PAID", "idle", ""])
def test_names_of_other_columns(name):
    assert not looks_like_id(name)


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("customer_id", RNG.permutation(1000)[:N], "every value is different"),
        ("customer_id", RNG.permutation(1000)[:5], "every value is different"),
        ("customer_id", [str(i * 3) for i in range(N)], "every value is different"),
        ("customer_id", np.where(np.arange(N) == 3, np.nan, np.arange(N) * 2.0), "every value is different"),
        ("x", np.arange(5, N + 5), "it runs with the rows"),
        ("x", RNG.permutation(N), "it counts the rows"),
        ("x", [str(i) for i in range(N)], "it runs with the rows"),
        ("name", [f"n{i}" for i in range(N)], "every value is different"),
        ("name", [f"n{i}" for i in range(N - 1)] + ["n1"], "nearly every value is different"),
        ("uuid", [f"n{i}" for i in range(5)], "every value is different"),
    ],
)
def test_ids(name, values, reason):
    decision = decided(name, values)
    assert decision.action == "left out"
    assert decision.reason.startswith(reason)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("customer_id", np.arange(N) // 2),  # rows of the same customer
        ("id", np.linspace(0, 1, N)),
        ("x", RNG.permutation(1000)[:N]),
        ("x", RNG.permutation(N) * 10),
        ("x", RNG.permutation(N).astype(float)),  # floats are ids by their name alone
        ("x", np.arange(19)),
        ("x", np.arange(N) % (N - 1)),
        ("name", [f"n{i}" for i in range(19)]),
        ("name", [f"n{i % 36}" for i in range(N)]),
        ("id", [7]),
    ],
)
def test_no_ids(name, values):
    assert decided(name, values).used


def test_large_ids_differ_in_digits_that_floats_do_not_have():
    for values in (pa.array(range(2**60, 2**60 + N)), pa.array([str(2**60 + i) for i in range(N)])):
        encoder = TableEncoder().fit(pa.table({"id": values, "kept": [1.0] * N}))
        assert not encoder.columns_[0].used
    objects = pd.DataFrame({"id": pd.Series([2**60 + i for i in range(N)], dtype=object), "kept": 1.0})
    assert not TableEncoder().fit(objects).columns_[0].used


@pytest.mark.filterwarnings("error")
def test_whole_numbers_too_far_apart_to_subtract():
    far = ["-" + "9" * 308, "9" * 308] + [str(k) for k in range(N)]
    assert decided("x", far).kind == "number"
