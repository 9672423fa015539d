"""One cluster for all tests of a file, and no client left after it; killed workers are started again by nannies."""

import pytest


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("distributed")
    from clusters import running

    with running(3) as client:
        yield client
