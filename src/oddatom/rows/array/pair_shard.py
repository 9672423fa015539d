"""The shard of this process for dictionary pairs: codes are x = P y on the rows where OMP put them."""

from __future__ import annotations

import numpy as np

from oddatom.arrays.blas import DSYRK
from oddatom.arrays.block import Block
from oddatom.arrays.threads import split
from oddatom.coding.analysis import analysis_codes
from oddatom.rows.array import _pair_kernels as k
from oddatom.rows.array.sparse_shard import LocalShard


class PairShard(LocalShard):
    """A `LocalShard` that can also solve for the analysis atom of a pair in a basis U of its rows, and commit the pair.

    Between `pair_open` and `pair_commit` it holds one pair: its rows of Y, the target c and, after `pair_basis`,
    U = Y_Ω T and the multipliers τ of ‖Uq‖₁.
    """

    def __init__(self, Y: np.ndarray) -> None:
        super().__init__(Y)
        self._room: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None = None

    def start_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return YᵀY and XᵀY of all rows, for the least-squares map from rows to codes."""
        cross = np.empty((self._ptr.size - 1, self.Y.shape[1]))
        k.cross_moments(self.Y, self.indices, self.values, cross)
        return self.Y.T @ self.Y, cross

    def start_pairs(self, P: np.ndarray) -> None:
        """Replace the codes that OMP made by P y, where it made them."""
        k.analysis_codes(self.Y, P, self.indices, self.values)

    def absolute_sums(self) -> tuple[np.ndarray]:
        """Return Σ_j |x_j| by atom."""
        out = np.zeros(self._ptr.size - 1)
        k.absolute_sums(self.indices, self.values, out)
        return (out,)

    def pair_open(
        self, i: int, old: np.ndarray, new: np.ndarray, kappa: float, alpha: float, bend: float = 0.0
    ) -> tuple[float, float]:
        """Take up the rows of atom i, now `old`, and c = R d + a (kappa − bend·x) for d = `new`.

        Returns ‖c‖² and ‖soft(c, alpha)‖².
        """
        return self._open(i, old, new, self.multipliers, kappa, alpha, bend)

    def pair_open_at_zero(self, i: int, old: np.ndarray, new: np.ndarray, alpha: float) -> tuple[float, float]:
        """Take up the rows of atom i, now `old`, and c = R d + kappa·w_i on the rows that lie outside where x = 0.

        The boundary is the fixed one, with its kappa, and d = `new`. Returns ‖c‖² and ‖soft(c, alpha)‖².
        """
        return self._open(i, old, new, self._outside(i), self._pull(i), alpha, 0.0)

    def _open(
        self, i: int, old: np.ndarray, new: np.ndarray, a: np.ndarray, kappa: float, alpha: float, bend: float
    ) -> tuple[float, float]:
        pos, m = self._rows_of(i), new.size
        n = pos.size
        if self._room is None or self._room[2].size < n:
            most = int(np.diff(self._ptr).max())
            self._room = np.empty(most * m), np.empty(most * m), np.empty(most), np.empty(most)
        self._pair_atom = i
        self._pair_pos, self._pair_c = pos, self._room[2][:n]
        self._pair_Y = self._room[0][: n * m].reshape(n, m)
        plan = split(n, 5 + m)
        codes = self.values.ravel(), a, pos, self.values.shape[1]
        sums = np.empty((plan.k, 2))
        plan.run(k.target, self.E, self.Y, *codes, old, new, kappa, bend, alpha, self._pair_c, self._pair_Y, sums)
        return float(sums[0, 0]), float(sums[0, 1])

    def pair_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the pair's rows of Y and c themselves."""
        return self._pair_Y, self._pair_c

    def pair_gram(self) -> tuple[np.ndarray]:
        """Return YᵀY of the pair's rows."""
        return (self._gram(self._pair_Y),)

    def pair_basis(self, T: np.ndarray, alpha: float) -> tuple[np.ndarray]:
        """Compute and keep U = Y_Ω T; return Uᵀc, Uᵀ soft(c, alpha) and Uᵀx, one below the other."""
        assert self._room is not None
        (n, m), r = self._pair_Y.shape, T.shape[1]
        self._pair_U, self._pair_tau = self._room[1][: n * r].reshape(n, r), self._room[3][:n]
        plan = split(n, 5 + m * r / 12, rows_per_chunk=2 * r + 1)
        out = np.empty((plan.k, 3, r))
        codes = self.values.ravel(), self._pair_pos
        plan.run(k.basis, self._pair_Y, T, self._pair_U, self._pair_c, *codes, alpha, out)
        return (out[0],)

    def pair_basis_gram(self) -> tuple[np.ndarray]:
        """Return UᵀU."""
        return (self._gram(self._pair_U),)

    def _gram(self, rows: np.ndarray) -> np.ndarray:
        n, r = rows.shape
        plan = split(n, 5 + r * r / 25, rows_per_chunk=2 * r + 1)
        G = np.empty((plan.k, r, r))
        plan.run(k.gram, DSYRK, rows, G)
        return G[0]

    def pair_soft(self, B: np.ndarray, alpha: float) -> tuple[np.ndarray]:
        """Return Uᵀ soft(U b, alpha) for every row b of B, one below the other."""
        out = np.zeros(B.shape)
        for start in range(0, self._pair_U.shape[0], 16_384):
            U = self._pair_U[start : start + 16_384]
            C = B @ U.T
            C -= np.clip(C, -alpha, alpha)
            out += C @ U
        return (out,)

    def pair_nearest(self, q: np.ndarray, n: int) -> np.ndarray:
        """Compute and keep x = Uq; return its n smallest absolute values."""
        self._pair_x = self._pair_U @ q
        size = np.abs(self._pair_x)
        return np.partition(size, n)[:n] if n < size.size else size

    def pair_band(self, threshold: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of U with |x| ≤ threshold; fix τ = sign(x) elsewhere and return Uᵀτ over those."""
        U, tau = self._pair_U, self._pair_tau
        band, fixed = np.empty(tau.size, np.int64), np.zeros(U.shape[1])
        self._pair_band = band[: k.split_band(U, self._pair_x, threshold, tau, band, fixed)]
        return U[self._pair_band], fixed

    def pair_set_band(self, tau: np.ndarray) -> None:
        """Set τ of the rows in the band."""
        self._pair_tau[self._pair_band] = tau

    def pair_all(self) -> np.ndarray:
        """Return U."""
        return self._pair_U

    def pair_set_all(self, tau: np.ndarray) -> None:
        """Set τ of every row."""
        self._pair_tau[:] = tau

    def pair_measure(self, q: np.ndarray, alpha: float) -> tuple[np.ndarray, float, float]:
        """Return Uᵀτ, Σ |x| − τ x and the square of the natural residual ‖x − soft(x + alpha τ, alpha)‖, x = Uq."""
        out = np.empty(q.size)
        slack, natural = k.measure(self._pair_U, q, self._pair_tau, alpha, out)
        return out, slack, natural

    def pair_ascend(self, v: np.ndarray, step: float) -> tuple[np.ndarray]:
        """Take a projected gradient step of τ along Uv, from τ = 0 where step is 0; return Uᵀτ."""
        if step == 0.0:
            self._pair_tau[:] = 0.0
        out = np.empty(v.size)
        k.ascend(self._pair_U, v, step, self._pair_tau, out)
        return (out,)

    def pair_cross(self, d: np.ndarray) -> tuple[np.ndarray]:
        """Return UᵀR, r×m, for the atom d."""
        rows = self._pair_pos // self.values.shape[1]
        R = self.E[rows] + self.values.ravel()[self._pair_pos, None] * d
        return (self._pair_U.T @ R,)

    def pair_line(
        self, p: np.ndarray, kappa: float, bend: float, rest: np.ndarray, step: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the sums of the objective at shares of x, the codes as they are, and of y = Y_Ω p: rest·x + step·y.

        They are x·x, x·y, y·y, x·r and y·r with r = R d; and for each pair of shares Σ |·| and Σ hinge. The pair was
        opened with kappa and bend.
        """
        codes = self.values.ravel(), self._pair_pos, self.values.shape[1]
        w, _, curvature, _, slack = self._hinge_of(self._pair_atom)
        products, absolute, hinge = np.zeros(5), np.zeros(step.size), np.zeros(step.size)
        rows = self._pair_Y, p, self._pair_c, self.multipliers
        k.line(*codes, *rows, kappa, bend, w, curvature, slack, rest, step, products, absolute, hinge)
        return products, absolute, hinge

    def pair_commit(self, old: np.ndarray, new: np.ndarray, p: np.ndarray) -> tuple[float]:
        """Replace the pair's atom `old` by `new` and its codes by x = Y_Ω p, bring E up to date; return ‖x‖²."""
        plan = split(self._pair_pos.size, 10 + new.size)
        xx = np.empty(plan.k)
        codes = self.values.ravel(), self._pair_pos, self.values.shape[1]
        if self._hinge is not None:
            k.move_slack(*codes, self._pair_Y, p, *self._hinge_of(self._pair_atom))
        plan.run(k.commit, self.E, *codes, self._pair_Y, p, old, new, xx)
        return (float(xx[0]),)

    def analyse(self, P: np.ndarray) -> None:
        """Hand the SVM the codes P y of all rows, dense."""
        self._set_rows(Block.dense(analysis_codes(self.Y, P)))

    def analysed(self) -> np.ndarray:
        """Return the codes that `analyse` has just made, N×n."""
        return self._rows.X

    def analysis_squares(self, P: np.ndarray) -> tuple[np.ndarray]:
        """Return ‖Y p_i‖² over all rows, by atom."""
        total = np.zeros(P.shape[0])
        for start in range(0, self.Y.shape[0], 16_384):  # not through YᵀY, whose rounding would swamp a null row
            codes = analysis_codes(self.Y[start : start + 16_384], P)
            total += np.einsum("ji,ji->i", codes, codes)
        return (total,)
