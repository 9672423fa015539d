"""The passes over the rows of a shard, as types: what a fit may ask, and what each pass reads, changes and returns.

A shard holds rows Y, codes X, the residual E = Y − X D and multipliers a, and answers with small sums. Tuples of sums
over the shard's rows are added up by `ShardGroup.sum`; of other answers `ShardGroup.map` returns one a shard.
The drivers in `boundary`, `atoms`, `pairs` and `learners` know these types alone; `rows` has the shards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, Protocol

import numpy as np
import scipy.sparse

from oddatom.arrays.block import Block
from oddatom.coding import Codes
from oddatom.passes.declared import shard_pass

# Which number of a row is meant: its margin f, or its distance to the margin.
MARGIN, DISTANCE = 0, 1
KEY_BITS = 11  # of the order-preserving key of a number, counted at a time

P = ParamSpec("P")


class MarginPasses(Protocol):
    """What every solver of the one-class SVM asks of rows x: their margins f and multipliers a in [0, 1].

    f = x·w for a plane, f = x·w − ½‖x‖² for a ball: f = x·w − h/2 ‖x‖² with h the curvature, 0 or 1.
    """

    @shard_pass("svm", reads="svm_rows")
    def svm_summary(self) -> tuple[float, float, float]:
        """Return the number of rows, of zero rows, and the sum of squares; of rows with weights the sums of these."""

    @shard_pass("svm", writes="scale")
    def svm_scale(self, scale: float, curvature: float = 0.0) -> None:
        """Speak of rows divided by `scale` from now on, and of a boundary with this curvature."""

    @shard_pass("svm", reads="svm_rows", writes="multipliers")
    def svm_zero_rows(self, value: float) -> None:
        """Put the whole weight on the zero rows (the origin is then the optimum)."""

    @shard_pass("svm", reads="svm_rows scale")
    def svm_total(self) -> tuple[np.ndarray]:
        """Return Σ x."""

    @shard_pass("svm", reads="svm_rows scale", writes="margins")
    def svm_margins(self, w: np.ndarray) -> None:
        """Compute and keep f = x·w − h/2 ‖x‖²."""

    @shard_pass("svm", reads="margins")
    def svm_range(self) -> tuple[float, float]:
        """Return the lowest and the highest margin (of no rows: inf, −inf)."""

    @shard_pass("svm", reads="margins multipliers")
    def svm_slack(self, rho: float) -> tuple[float, float]:
        """Return Σ (rho − f)₊, and Σ a (f − rho)₊ + (1 − a)(rho − f)₊: nu N times the duality gap of w = w(a)."""

    @shard_pass("svm", reads="margins multipliers")
    def svm_residual(self, rho: float) -> float:
        """Return the largest violation of the optimality conditions."""

    @shard_pass("svm", reads="band", changes="multipliers")
    def svm_set_band(self, a: np.ndarray) -> None:
        """Set the multipliers of the rows in the band."""

    @shard_pass("svm", reads="multipliers")
    def svm_dual_coef(self, C: float) -> np.ndarray:
        """Return lam = a / C of the rows, C = nu N; of a row of weight ω, a ω / C."""


class WeightedPasses(MarginPasses, Protocol):
    """What the solver of rows with weights asks, of one shard."""

    @shard_pass("svm", reads="margins")
    def svm_quantile(self, C: float) -> float:
        """Return the lowest margin such that the weights of the rows up to it add up to C."""

    @shard_pass("svm", reads="svm_rows scale margins", writes="distances multipliers band")
    def svm_weighted_band(self, rho: float, size: int) -> tuple[Block, np.ndarray, np.ndarray, float, bool]:
        """Return the `size` rows nearest the margin, or more that are as near, and their weights; fix the others."""


class PlanePasses(MarginPasses, Protocol):
    """What the exact solver and libsvm's path ask."""

    @shard_pass("svm", reads="direction", changes="margins", symmetric=(1,))
    def svm_smooth(self, rho: float, eps: float, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Take a step along the direction last tried, then return the sums of the smoothed objective.

        With a = clip(½ + (rho − f)/eps, 0, 1) they are Σ a [x, 1] and, over 0 < a < 1, Σ [x, −1]ᵀ[x, −1] (its lower
        triangle).
        """

    @shard_pass("svm", reads="svm_rows scale", writes="direction")
    def svm_try(self, dw: np.ndarray, rho: float, drho: float, eps: float) -> tuple[float]:
        """Compute and keep g = X dw, how the margins move; return Σ ψ(rho − f) after the whole step."""

    @shard_pass("svm", reads="margins direction")
    def svm_smooth_values(self, rho: float, drho: float, eps: float, steps: np.ndarray) -> tuple[np.ndarray]:
        """Return Σ ψ(rho − f) after each of the steps along (dw, drho)."""

    @shard_pass("svm", reads="svm_rows scale margins", writes="distances")
    def svm_distances(self, rho: float, by_norm: bool) -> None:
        """Compute and keep |f − rho|, divided by the row's norm if asked."""

    @shard_pass("svm", reads="margins distances", counts=(0,))
    def svm_histogram(self, which: int, prefix: int, shift: int, bits: int) -> tuple[np.ndarray]:
        """Return the counts of the next key bits among rows whose key starts with `prefix`."""

    @shard_pass("svm", reads="margins distances")
    def svm_values(self, which: int, prefix: int, shift: int) -> np.ndarray:
        """Return the numbers whose key starts with `prefix`."""

    @shard_pass("svm", reads="margins distances", writes="multipliers band")
    def svm_band(self, rho: float, threshold: float) -> tuple[Block, np.ndarray, int]:
        """Return the rows within `threshold` of the margin; fix the others; return Σx and count of those at one."""

    @shard_pass("svm", reads="svm_rows")
    def svm_all_rows(self) -> scipy.sparse.csr_array:
        """Return every row, unscaled (for solvers that need them in one place)."""

    @shard_pass("svm", writes="multipliers")
    def svm_set_all(self, a: np.ndarray) -> None:
        """Set the multipliers of every row."""


class SweepPasses(PlanePasses, Protocol):
    """What Algorithm 1 asks: codes, and the passes of Theorem 1.

    `kappa` stands for eta·w_i/(nu N): with it, c = kappa·a on the rows of atom i; for a ball c = a (kappa − bend·x).
    The passes named `hinge_` are those of a coupling with a fixed boundary, see `boundary/hinge_codes.py`.
    """

    @shard_pass("coding", writes="codes", counts=(0,))
    def encode(self, D: np.ndarray, s: int, coding: str = "omp") -> tuple[np.ndarray, float]:
        """Code the rows with D; return how many rows use each atom, and the sum of squared residuals."""

    @shard_pass("coding", reads="codes", writes="residual hinge")
    def start_sweeps(self, D: np.ndarray) -> None:
        """Compute E = Y − X D, which the sweeps keep up to date."""

    @shard_pass("atoms", reads="codes residual multipliers", symmetric=(0,))
    def moments(self, i: int, d: np.ndarray, kappa: float, bend: float = 0.0) -> tuple[np.ndarray, np.ndarray, float]:
        """Return A = RᵀR, g = Rᵀc and ‖c‖² of atom i, R its residual without its own part.

        The arrays may be the shard's own, and hold until the next call.
        """

    @shard_pass("atoms", reads="codes residual multipliers")
    def rows(self, i: int, d: np.ndarray, kappa: float, bend: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return R and c of atom i themselves."""

    @shard_pass("atoms", reads="multipliers", changes="codes residual")
    def commit(self, i: int, old: np.ndarray, new: np.ndarray, shrink: float, kappa: float) -> None:
        """Replace atom i: x ← shrink·(R new + c), E ← R − x newᵀ (shrink 0 trims the row)."""

    @shard_pass("atoms", reads="multipliers", changes="codes residual", symmetric=(0,))
    def commit_and_moments(
        self, done: tuple[int, np.ndarray, np.ndarray, float, float], ahead: tuple[int, np.ndarray, float]
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Commit one atom and return the moments of the next, in one message."""

    @shard_pass("atoms", reads="codes residual")
    def direction(self, i: int, d: np.ndarray) -> tuple[np.ndarray]:
        """Return Rᵀx, the direction of the best atom for the codes as they are."""

    @shard_pass("atoms", reads="codes", writes="hinge")
    def hinge_start(self, w: np.ndarray, rho: float, curvature: float, kappa: float) -> None:
        """Fix the boundary, with the weight `kappa` of a row outside it; compute and keep how far outside rows lie."""

    @shard_pass("atoms", reads="codes residual hinge", symmetric=(0,))
    def hinge_zero_moments(self, i: int, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the moments of atom i with c = kappa·w_i on the rows that lie outside where x = 0."""

    @shard_pass("atoms", reads="codes residual hinge", writes="hinge_target")
    def hinge_try(self, i: int, old: np.ndarray, new: np.ndarray, p: float) -> tuple[float, ...]:
        """Compute and keep r = R·new; return Σ x², Σ x r and Σ hinge of the codes for p, then of the old ones.

        Last come Σ hinge at x = 0, and ‖r + kappa w‖² with w on the rows that lie outside there.
        """

    @shard_pass("atoms", reads="codes hinge hinge_target")
    def hinge_values(self, i: int, p: float) -> tuple[float, float, float]:
        """Return Σ x², Σ x r and Σ hinge of the codes for another p."""

    @shard_pass("atoms", reads="hinge_target", changes="codes residual hinge")
    def hinge_commit(self, i: int, old: np.ndarray, new: np.ndarray, p: float) -> None:
        """Replace atom i and its codes by those for p (inf trims the row)."""

    @shard_pass("atoms", reads="multipliers hinge_target", changes="codes residual hinge", symmetric=(0,))
    def hinge_commit_and_moments(
        self, done: tuple[int, np.ndarray, np.ndarray, float], ahead: tuple[int, np.ndarray, float, float]
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Commit one atom and return the moments of the next, in one message."""

    @shard_pass("atoms", reads="hinge")
    def hinge_total(self) -> tuple[float]:
        """Return Σ (rho − f)₊ of the codes as they are."""

    @shard_pass("other", reads="residual")
    def sq_error(self) -> tuple[float]:
        """Return ‖E‖²."""

    @shard_pass("other", reads="codes multipliers")
    def code_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ_j a_j x_j and Σ_j x_j² by atom."""

    @shard_pass("other", reads="codes")
    def codes(self) -> scipy.sparse.csr_array:
        """Return the codes as they stand, N × number of atoms."""

    @shard_pass("other", reads="codes")
    def last_codes(self) -> Codes:
        """Return the codes that `encode` has just made, of all rows."""

    @shard_pass("svm", reads="codes", writes="svm_rows scale direction band")
    def svm_open(self, active: np.ndarray) -> None:
        """Hand the codes on the active atoms to the one-class SVM."""


class PairPasses(SweepPasses, Protocol):
    """What dictionary pairs ask besides: the passes of Theorem 2.

    Between `pair_open` and `pair_commit` a shard holds one pair: its rows of Y, the target c and, after `pair_basis`,
    U = Y_Ω T and the multipliers τ of ‖Uq‖₁.
    """

    @shard_pass("coding", reads="codes", symmetric=(0,))
    def start_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return YᵀY and XᵀY of all rows, for the least-squares map from rows to codes."""

    @shard_pass("coding", changes="codes")
    def start_pairs(self, P: np.ndarray) -> None:
        """Replace the codes that OMP made by P y, where it made them."""

    @shard_pass("other", reads="codes")
    def absolute_sums(self) -> tuple[np.ndarray]:
        """Return Σ_j |x_j| by atom."""

    @shard_pass("atoms", reads="codes residual multipliers", writes="pair")
    def pair_open(
        self, i: int, old: np.ndarray, new: np.ndarray, kappa: float, alpha: float, bend: float = 0.0
    ) -> tuple[float, float]:
        """Take up the rows of atom i, now `old`, and c = R d + a (kappa − bend·x) for d = `new`.

        Returns ‖c‖² and ‖soft(c, alpha)‖².
        """

    @shard_pass("atoms", reads="codes residual hinge", writes="pair")
    def pair_open_at_zero(self, i: int, old: np.ndarray, new: np.ndarray, alpha: float) -> tuple[float, float]:
        """Take up the rows of atom i, now `old`, and c = R d + kappa·w_i on the rows that lie outside where x = 0.

        The boundary is the fixed one, with its kappa, and d = `new`. Returns ‖c‖² and ‖soft(c, alpha)‖².
        """

    @shard_pass("atoms", reads="pair")
    def pair_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the pair's rows of Y and c themselves."""

    @shard_pass("atoms", reads="pair", symmetric=(0,))
    def pair_gram(self) -> tuple[np.ndarray]:
        """Return YᵀY of the pair's rows."""

    @shard_pass("atoms", reads="pair", writes="basis pair_multipliers")
    def pair_basis(self, T: np.ndarray, alpha: float) -> tuple[np.ndarray]:
        """Compute and keep U = Y_Ω T; return Uᵀc, Uᵀ soft(c, alpha) and Uᵀx, one below the other."""

    @shard_pass("atoms", reads="basis", symmetric=(0,))
    def pair_basis_gram(self) -> tuple[np.ndarray]:
        """Return UᵀU."""

    @shard_pass("atoms", reads="basis")
    def pair_soft(self, B: np.ndarray, alpha: float) -> tuple[np.ndarray]:
        """Return Uᵀ soft(U b, alpha) for every row b of B, one below the other."""

    @shard_pass("atoms", reads="basis", writes="pair_codes")
    def pair_nearest(self, q: np.ndarray, n: int) -> np.ndarray:
        """Compute and keep x = Uq; return its n smallest absolute values."""

    @shard_pass("atoms", reads="basis pair_codes", writes="pair_band", changes="pair_multipliers")
    def pair_band(self, threshold: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of U with |x| ≤ threshold; fix τ = sign(x) elsewhere and return Uᵀτ over those."""

    @shard_pass("atoms", reads="pair_band", changes="pair_multipliers")
    def pair_set_band(self, tau: np.ndarray) -> None:
        """Set τ of the rows in the band."""

    @shard_pass("atoms", reads="basis")
    def pair_all(self) -> np.ndarray:
        """Return U."""

    @shard_pass("atoms", writes="pair_multipliers")
    def pair_set_all(self, tau: np.ndarray) -> None:
        """Set τ of every row."""

    @shard_pass("atoms", reads="basis pair_multipliers")
    def pair_measure(self, q: np.ndarray, alpha: float) -> tuple[np.ndarray, float, float]:
        """Return Uᵀτ, Σ |x| − τ x and the square of the natural residual ‖x − soft(x + alpha τ, alpha)‖, x = Uq."""

    @shard_pass("atoms", reads="basis", changes="pair_multipliers")
    def pair_ascend(self, v: np.ndarray, step: float) -> tuple[np.ndarray]:
        """Take a projected gradient step of τ along Uv, from τ = 0 where step is 0; return Uᵀτ."""

    @shard_pass("atoms", reads="pair basis codes residual")
    def pair_cross(self, d: np.ndarray) -> tuple[np.ndarray]:
        """Return UᵀR, r×m, for the atom d."""

    @shard_pass("atoms", reads="pair codes multipliers hinge")
    def pair_line(
        self, p: np.ndarray, kappa: float, bend: float, rest: np.ndarray, step: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the sums of the objective at shares of x, the codes as they are, and of y = Y_Ω p: rest·x + step·y.

        They are x·x, x·y, y·y, x·r and y·r with r = R d; and for each pair of shares Σ |·| and Σ hinge. The pair was
        opened with kappa and bend.
        """

    @shard_pass("atoms", reads="pair", changes="codes residual hinge")
    def pair_commit(self, old: np.ndarray, new: np.ndarray, p: np.ndarray) -> tuple[float]:
        """Replace the pair's atom `old` by `new` and its codes by x = Y_Ω p, bring E up to date; return ‖x‖²."""

    @shard_pass("coding", writes="svm_rows scale direction band")
    def analyse(self, P: np.ndarray) -> None:
        """Hand the SVM the codes P y of all rows, dense."""

    @shard_pass("coding", reads="svm_rows")
    def analysed(self) -> np.ndarray:
        """Return the codes that `analyse` has just made, N×n."""

    @shard_pass("other")
    def analysis_squares(self, P: np.ndarray) -> tuple[np.ndarray]:
        """Return ‖Y p_i‖² over all rows, by atom."""


def by_kind(sparse: Callable[P, SweepPasses], pairs: Callable[P, PairPasses]) -> dict[str, Callable[P, SweepPasses]]:
    """Return the shards of a place by kind: through it mypy checks their passes, and the calls that make them."""
    return {"sparse": sparse, "pairs": pairs}
