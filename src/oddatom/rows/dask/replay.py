"""The calls that have made a shard what it is, so that a lost one can be made again, bit for bit.

Every call that changes a shard is kept until later calls have overwritten all that it left behind. For that the table
below says which parts of a shard's state a call reads, overwrites and changes in place.
"""

from __future__ import annotations

from typing import NamedTuple

# Parts of the state: sparse codes X and their support; the residual E; the multipliers a; the codes S handed to the SVM
# and their unit s; margins f, the direction g they move along, distances d, the band b; of the pair that is open its
# rows and target p, the basis U, codes x = Uq, multipliers t and their band c.
STATE = frozenset("XEaSsfgdbpUxtc")


class Effect(NamedTuple):
    """What a call does to a shard: parts that it reads, overwrites whole, and changes in place."""

    reads: str = ""
    writes: str = ""
    changes: str = ""


EFFECTS: dict[str, Effect] = {
    "encode": Effect(writes="X"),
    "start_pairs": Effect(changes="X"),
    "start_sweeps": Effect(reads="X", writes="E"),
    "commit": Effect(reads="a", changes="XE"),
    "commit_and_moments": Effect(reads="a", changes="XE"),
    "analyse": Effect(writes="Ssgb"),
    "svm_open": Effect(reads="X", writes="Ssgb"),
    "svm_scale": Effect(writes="s"),
    "svm_zero_rows": Effect(reads="S", writes="a"),
    "svm_margins": Effect(reads="Ss", writes="f"),
    "svm_smooth": Effect(reads="g", changes="f"),
    "svm_try": Effect(reads="Ss", writes="g"),
    "svm_distances": Effect(reads="Ssf", writes="d"),
    "svm_band": Effect(reads="fd", writes="ab"),
    "svm_set_band": Effect(reads="b", changes="a"),
    "svm_set_all": Effect(writes="a"),
    "pair_open": Effect(reads="XEa", writes="p"),
    "pair_basis": Effect(reads="p", writes="Ut"),
    "pair_nearest": Effect(reads="U", writes="x"),
    "pair_band": Effect(reads="Ux", writes="c", changes="t"),
    "pair_set_band": Effect(reads="c", changes="t"),
    "pair_set_all": Effect(writes="t"),
    "pair_ascend": Effect(reads="U", changes="t"),
    "pair_commit": Effect(reads="p", changes="XE"),
}
QUERIES = frozenset(
    {
        "moments", "rows", "sq_error", "code_sums", "absolute_sums", "codes", "last_codes", "analysed", "start_moments",
        "analysis_squares", "svm_summary", "svm_total", "svm_range", "svm_histogram", "svm_values", "svm_slack",
        "svm_residual", "svm_all_rows", "svm_smooth_values", "svm_multipliers", "pair_direction", "pair_rows",
        "pair_gram", "pair_basis_gram", "pair_all", "pair_measure", "pair_cross",
    }
)  # fmt: skip
_UNKNOWN = Effect(changes="".join(sorted(STATE)))  # a method that is not listed: all before it is kept


class Call(NamedTuple):
    """A call of every shard: its method, its arguments, and each shard's own piece, all pickled."""

    method: str
    args: bytes
    pieces: tuple[bytes, ...] | None = None


class Log:
    """Calls in their order, less those that no longer matter."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._limit = 64

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, call: Call) -> None:
        """Keep a call that has been answered by every shard."""
        if call.method in QUERIES:
            return
        self._calls.append(call)
        if len(self._calls) > self._limit:
            self._prune()
            self._limit = 2 * len(self._calls) + 64

    def calls(self) -> list[Call]:
        """Return the calls that make a new shard what the others are."""
        self._prune()
        return list(self._calls)

    def _prune(self) -> None:
        """Go backwards; drop a call none of whose effects is still to be seen."""
        seen, kept = set(STATE), []
        for call in reversed(self._calls):
            effect = EFFECTS.get(call.method, _UNKNOWN)
            if seen.isdisjoint(effect.writes) and seen.isdisjoint(effect.changes):
                continue
            seen.difference_update(effect.writes)
            seen.update(effect.reads, effect.changes)
            kept.append(call)
        self._calls = kept[::-1]
