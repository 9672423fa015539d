"""Property tests: a few examples in the suite, and for as long as ODDATOM_FUZZ_SECONDS says in `make fuzz`."""

import itertools
import os
import time

import hypothesis

SECONDS = float(os.environ.get("ODDATOM_FUZZ_SECONDS", "0"))
quick = hypothesis.settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    print_blob=False,
)


def examples(few, many):
    """The number of examples: few in the suite, many where ODDATOM_FUZZ_SECONDS is set."""
    return many if SECONDS else few


def explore(test, share=1.0):
    """Run a hypothesis test as it is; where ODDATOM_FUZZ_SECONDS is set, with other seeds for that share of them."""
    test()
    until = time.monotonic() + SECONDS * share
    for number in itertools.count():
        if time.monotonic() >= until:
            return
        hypothesis.seed(number)(test)()
