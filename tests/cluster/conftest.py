"""One cluster for all tests of this folder; killed workers are started again by their nannies."""

import pytest


@pytest.fixture(scope="session")
def client():
    pytest.importorskip("distributed")
    from clusters import running

    with running(3) as client:
        yield client
