"""History: columns, copies, pickles."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from oddatom.history import COLUMNS, History

COPIES = {
    "pickle": lambda history: pickle.loads(pickle.dumps(history)),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "copy": lambda history: history.copy(),
}


def line(k):
    return {name: float(10 * k + i) for i, name in enumerate(COLUMNS)}


def filled():
    history = History()
    for k in range(3):
        history.record(**line(k))
    history.lagrangian.append(np.array([3.0, 2.0]))
    return history


def test_columns():
    empty = History()
    assert tuple(empty) == COLUMNS == ("F", "G", "total", "n_active", "gap", "seconds")
    assert all(column.shape == (0,) for column in empty.values())
    assert empty.lagrangian == []
    history = filled()
    for i, name in enumerate(COLUMNS):
        assert_array_equal(history[name], [i, 10 + i, 20 + i])
    assert pd.DataFrame(history).shape == (3, len(COLUMNS))


def test_a_line_needs_every_column():
    values = line(0)
    del values["gap"]
    with pytest.raises(KeyError, match="gap"):
        History().record(**values)


@pytest.mark.parametrize("name", COPIES)
def test_copies(name):
    history = filled()
    twin = COPIES[name](history)
    assert type(twin) is History
    for column in COLUMNS:
        assert_array_equal(twin[column], history[column])
    assert len(twin.lagrangian) == 1
    assert_array_equal(twin.lagrangian[0], history.lagrangian[0])
    # Later iterations of the one leave the other as it is.
    history.record(**line(3))
    history.lagrangian.append(np.array([1.0]))
    assert twin["F"].size == 3
    assert len(twin.lagrangian) == 1
    twin.record(**line(4))
    assert_array_equal(twin["F"], [0, 10, 20, 40])
