"""Fits and scoring take no more memory than `benchmarks.memory` says, and scoring no more for more rows."""

import sys

import pytest
from benchmarks.memory import fit_bound, measured, score_bound

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's /proc")
SMALL, LARGE, FEATURES = 70_000, 140_000, 16
# Both kinds of codes, with and without landmarks; `python -m benchmarks.memory` measures all six.
KINDS = ("DLOCSVM", "KDPLOCSVM", "LinearOneClassSVM", "OddAtomDetector")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_peaks_are_within_bounds(kind):
    # A process for each size: what the allocator keeps of an earlier fit would count with the later one.
    found = {str(N): measured(kind, [N], FEATURES)[str(N)] for N in (SMALL, LARGE)}
    for N in (SMALL, LARGE):
        assert found[str(N)]["fit"] <= fit_bound(kind, N, FEATURES)
        assert found[str(N)]["score"] <= score_bound(kind, N, FEATURES)
    # Scoring is chunked: more rows add their scores, a vector or two beside them, and no copy of the rows.
    more = found[str(LARGE)]["score"] - found[str(SMALL)]["score"]
    assert more <= 8 * (LARGE - SMALL) * 3 + 2**22  # half of such a copy
