"""Fixtures of the tests that every learned detector passes: `make` builds one, `fitted` is one."""

from functools import partial

import pytest

from learned import KINDS, make_detector, rows


@pytest.fixture(scope="module", params=KINDS)
def make(request):
    return partial(make_detector, request.param)


@pytest.fixture(scope="module")
def name(make):
    return type(make()).__name__


@pytest.fixture(scope="module")
def X():
    return rows()


@pytest.fixture(scope="module")
def fitted(make, X):
    return make().fit(X)
