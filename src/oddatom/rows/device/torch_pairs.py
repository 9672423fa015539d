"""The shard on a torch device for dictionary pairs: what `PairShard` answers, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import scipy.sparse
import torch

from oddatom.arrays.block import Block
from oddatom.arrays.torch_rows import cross, from_host, gram, rows_per_block, spans, to_host
from oddatom.boundary.hinge_codes import slack
from oddatom.rows.device.torch_shard import TorchShard
from oddatom.rows.device.torch_slots import Slots, dense


class TorchPairShard(TorchShard):
    """A `TorchShard` that can also solve for the analysis atom of a pair in a basis U of its rows, and commit the pair.

    Between `pair_open` and `pair_commit` it holds one pair: its rows of Y in their dtype, and in float64 the target c
    and the multipliers τ of ‖Uq‖₁. U = Y_Ω T is made anew, in float64, for each block of each pass.
    """

    _pair_Y: torch.Tensor
    _pair_pos: torch.Tensor
    _pair_c: torch.Tensor
    _pair_T: torch.Tensor
    _pair_x: torch.Tensor
    _pair_tau: torch.Tensor
    _pair_band: torch.Tensor

    def start_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return YᵀY and XᵀY of all rows, for the least-squares map from rows to codes."""
        m, n = self._source.shape[1], self._ptr.size - 1
        YY, XY = self._zeros(m, m), self._zeros(n + 1, m)
        for lo, hi, rows in self._source.blocks(24 * m + 16 * (n + 1)):
            Y = rows.to(torch.float64).contiguous()
            YY += gram(Y)
            XY += cross(self._dense_codes(lo, hi), Y)
        square, product = to_host(YY, XY)
        return _mirrored(square), product[:n].copy()

    def start_pairs(self, P: np.ndarray) -> None:
        """Replace the codes that OMP made by P y, where it made them."""
        atoms = from_host(P, self.device)
        for lo, hi, rows in self._source.blocks(16 * sum(P.shape)):
            indices = self.indices[lo:hi]
            codes = (rows.to(torch.float64) @ atoms.T).gather(1, indices.clamp(min=0).to(torch.int64))
            self.values[lo:hi] = torch.where(indices < 0, 0.0, codes)

    def absolute_sums(self) -> tuple[np.ndarray]:
        """Return Σ_j |x_j| by atom."""
        n = self._ptr.size - 1
        total = self._zeros(n + 1)
        for lo, hi in spans(self.values.shape[0], rows_per_block(self.device, 16 * (n + 1))):
            total += self._dense_codes(lo, hi).abs_().sum(dim=0)
        return (to_host(total)[0][:n].copy(),)

    def _dense_codes(self, lo: int, hi: int) -> torch.Tensor:
        """Codes of some rows in float64, a column for each atom and a last one that holds nothing."""
        n, indices = self._ptr.size - 1, self.indices[lo:hi]
        return dense(torch.where(indices < 0, n, indices), self.values[lo:hi], n)

    # The atom of a pair

    def pair_open(
        self, i: int, old: np.ndarray, new: np.ndarray, kappa: float, alpha: float, bend: float = 0.0
    ) -> tuple[float, float]:
        """Take up the rows of atom i, now `old`, and c = R d + a (kappa − bend·x) for d = `new`.

        Returns ‖c‖² and ‖soft(c, alpha)‖².
        """
        return self._open(i, old, new, self._a, kappa, alpha, bend)

    def pair_open_at_zero(self, i: int, old: np.ndarray, new: np.ndarray, alpha: float) -> tuple[float, float]:
        """Take up the rows of atom i, now `old`, and c = R d + kappa·w_i on the rows that lie outside where x = 0.

        The boundary is the fixed one, with its kappa, and d = `new`. Returns ‖c‖² and ‖soft(c, alpha)‖².
        """
        return self._open(i, old, new, self._outside(i), self._pull(i), alpha, 0.0)

    def _open(
        self, i: int, old: np.ndarray, new: np.ndarray, a: torch.Tensor, kappa: float, alpha: float, bend: float
    ) -> tuple[float, float]:
        self._pair_atom = i
        pos = self._pair_pos = self._pos[self._ptr[i] : self._ptr[i + 1]]
        self._pair_Y = self._pair_x = self._pair_tau = self._zeros(0)  # the last pair's go before this one's come
        self._pair_Y = self._taken(pos // self.values.shape[1])
        self._pair_c = self._zeros(pos.numel())
        d, overlap, kappa = from_host(new, self.device), float(np.dot(old, new)), float(kappa)
        lo = 0
        for part, rows, x in self._positions(i, 24 * new.size):
            c = self.E.index_select(0, rows).to(torch.float64) @ d
            hi = lo + part.numel()
            self._pair_c[lo:hi] = c.add_(x, alpha=overlap).add_(a.index_select(0, rows) * (kappa - bend * x))
            lo = hi
        square, shrunk = to_host(self._pair_c.square().sum(), _soft(self._pair_c, float(alpha)).square_().sum())
        return float(square), float(shrunk)

    def _taken(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the rows of Y listed, on the device in their dtype."""
        source = self._source
        out = torch.empty((rows.numel(), source.shape[1]), dtype=source.dtype, device=self.device)
        rows = rows.to(source.tensor.device)
        for lo, hi in spans(rows.numel(), rows_per_block(self.device, 16 * source.shape[1])):
            out[lo:hi] = source.tensor.index_select(0, rows[lo:hi])
        return out

    def pair_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the pair's rows of Y and c themselves."""
        return _host(self._pair_Y), _host(self._pair_c)

    def pair_gram(self) -> tuple[np.ndarray]:
        """Return YᵀY of the pair's rows."""
        m = self._pair_Y.shape[1]
        total = self._zeros(m, m)
        for lo, hi in spans(self._pair_Y.shape[0], rows_per_block(self.device, 16 * m)):
            total += gram(self._pair_Y[lo:hi].to(torch.float64))
        return (_mirrored(to_host(total)[0]),)

    # Its analysis atom, in the basis

    def _basis_blocks(self, bytes_per_row: int = 0) -> Iterator[tuple[int, int, torch.Tensor]]:
        """Yield (lo, hi, U[lo:hi])."""
        m, r = self._pair_T.shape
        for lo, hi in spans(self._pair_Y.shape[0], rows_per_block(self.device, 8 * m + 16 * r + 32 + bytes_per_row)):
            yield lo, hi, self._pair_Y[lo:hi].to(torch.float64) @ self._pair_T

    def _pair_codes(self, lo: int, hi: int) -> torch.Tensor:
        return self.values.view(-1).index_select(0, self._pair_pos[lo:hi]).to(torch.float64)

    def pair_basis(self, T: np.ndarray, alpha: float) -> tuple[np.ndarray]:
        """Take U = Y_Ω T; return Uᵀc, Uᵀ soft(c, alpha) and Uᵀx, one below the other."""
        self._pair_T = from_host(T, self.device)
        self._pair_tau = torch.zeros_like(self._pair_c)
        total = self._zeros(3, T.shape[1])
        for lo, hi, U in self._basis_blocks():
            c = self._pair_c[lo:hi]
            total += cross(torch.stack([c, _soft(c, float(alpha)), self._pair_codes(lo, hi)], dim=1), U)
        return (to_host(total)[0],)

    def pair_basis_gram(self) -> tuple[np.ndarray]:
        """Return UᵀU."""
        r = self._pair_T.shape[1]
        total = self._zeros(r, r)
        for _, _, U in self._basis_blocks():
            total += gram(U)
        return (_mirrored(to_host(total)[0]),)

    def pair_soft(self, B: np.ndarray, alpha: float) -> tuple[np.ndarray]:
        """Return Uᵀ soft(U b, alpha) for every row b of B, one below the other."""
        targets, total = from_host(B, self.device), self._zeros(*B.shape)
        for _, _, U in self._basis_blocks(24 * len(B)):
            total += cross(_soft(U @ targets.T, float(alpha)), U)
        return (to_host(total)[0],)

    def pair_nearest(self, q: np.ndarray, n: int) -> np.ndarray:
        """Compute and keep x = Uq; return its n smallest absolute values."""
        plane = from_host(q, self.device)
        self._pair_x = torch.empty_like(self._pair_c)
        for lo, hi, U in self._basis_blocks():
            self._pair_x[lo:hi] = U @ plane
        size = self._pair_x.abs()
        return _host(torch.topk(size, n, largest=False).values if n < size.numel() else size)

    def pair_band(self, threshold: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of U with |x| ≤ threshold; fix τ = sign(x) elsewhere and return Uᵀτ over those."""
        inside = self._pair_x.abs() <= float(threshold)
        self._pair_band = torch.nonzero(inside).flatten()
        self._pair_tau = torch.sign(self._pair_x).masked_fill_(inside, 0.0)
        U = self._pair_Y.index_select(0, self._pair_band).to(torch.float64) @ self._pair_T
        fixed, rows = to_host(self._sum_signs(), U)
        return np.ascontiguousarray(rows), fixed

    def _sum_signs(self) -> torch.Tensor:
        """Uᵀτ."""
        total = self._zeros(1, self._pair_T.shape[1])
        for lo, hi, U in self._basis_blocks():
            total += cross(self._pair_tau[lo:hi, None], U)
        return total[0]

    def pair_set_band(self, tau: np.ndarray) -> None:
        """Set τ of the rows in the band."""
        self._pair_tau.index_copy_(0, self._pair_band, from_host(tau, self.device))

    def pair_all(self) -> np.ndarray:
        """Return U."""
        pieces = [_host(U) for _, _, U in self._basis_blocks()]
        return np.concatenate([np.empty((0, self._pair_T.shape[1])), *pieces])

    def pair_set_all(self, tau: np.ndarray) -> None:
        """Set τ of every row."""
        self._pair_tau = from_host(tau, self.device)

    def pair_measure(self, q: np.ndarray, alpha: float) -> tuple[np.ndarray, float, float]:
        """Return Uᵀτ, Σ |x| − τ x and the square of the natural residual ‖x − soft(x + alpha τ, alpha)‖, x = Uq."""
        plane, alpha = from_host(q, self.device), float(alpha)
        total, sums = self._zeros(1, q.size), self._zeros(2)
        for lo, hi, U in self._basis_blocks():
            tau, x = self._pair_tau[lo:hi], U @ plane
            total += cross(tau[:, None], U)
            sums[0] += (x.abs() - tau * x).sum()
            sums[1] += (x - _soft(x + alpha * tau, alpha)).square_().sum()
        signs, (slack, natural) = to_host(total, sums)
        return signs[0], float(slack), float(natural)

    def pair_ascend(self, v: np.ndarray, step: float) -> tuple[np.ndarray]:
        """Take a projected gradient step of τ along Uv, from τ = 0 where step is 0; return Uᵀτ."""
        step = float(step)
        if step == 0.0:
            self._pair_tau.zero_()
            return (np.zeros(v.size),)
        direction, total = from_host(v, self.device), self._zeros(1, v.size)
        for lo, hi, U in self._basis_blocks():
            tau = self._pair_tau[lo:hi].add_(U @ direction, alpha=step).clamp_(-1.0, 1.0)
            total += cross(tau[:, None], U)
        return (to_host(total)[0][0],)

    def pair_cross(self, d: np.ndarray) -> tuple[np.ndarray]:
        """Return UᵀR, r×m, for the atom d."""
        atom, s = from_host(d, self.device), self.values.shape[1]
        total = self._zeros(self._pair_T.shape[1], d.size)
        for lo, hi, U in self._basis_blocks(24 * d.size):
            R = self.E.index_select(0, self._pair_pos[lo:hi] // s).to(torch.float64)
            total += cross(U, R.addcmul_(self._pair_codes(lo, hi)[:, None], atom))
        return (to_host(total)[0],)

    def pair_line(
        self, p: np.ndarray, kappa: float, bend: float, rest: np.ndarray, step: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the sums of the objective at shares of x, the codes as they are, and of y = Y_Ω p: rest·x + step·y.

        They are x·x, x·y, y·y, x·r and y·r with r = R d; and for each pair of shares Σ |·| and Σ hinge. The pair was
        opened with kappa and bend.
        """
        analysis, shares = from_host(p, self.device), from_host(np.stack([rest, step]), self.device)
        curvature, s = self._boundary[2], self.values.shape[1]
        products, sums = self._zeros(5), self._zeros(2, step.size)
        for lo, hi in spans(self._pair_pos.numel(), rows_per_block(self.device, 24 * p.size + 32 * step.size)):
            rows, x = self._pair_pos[lo:hi] // s, self._pair_codes(lo, hi)
            y = self._pair_Y[lo:hi].to(torch.float64) @ analysis
            r = self._pair_c[lo:hi] - self._a.index_select(0, rows) * (float(kappa) - float(bend) * x)
            q, weight = self._without(self._pair_atom, rows, x)
            products += torch.stack([x @ x, x @ y, y @ y, x @ r, y @ r])
            t = x[:, None] * shares[0] + y[:, None] * shares[1]
            sums[0] += t.abs().sum(dim=0)
            sums[1] += slack(t, q[:, None], weight[:, None], curvature).clamp_(min=0.0).sum(dim=0)
        square, (absolute, hinge) = to_host(products, sums)
        return square, absolute, hinge

    def pair_commit(self, old: np.ndarray, new: np.ndarray, p: np.ndarray) -> tuple[float]:
        """Replace the pair's atom `old` by `new` and its codes by x = Y_Ω p, bring E up to date; return ‖x‖²."""
        before, after, analysis = from_host(np.stack([old, new, p]), self.device)
        total, flat, s = self._zeros(), self.values.view(-1), self.values.shape[1]
        for lo, hi in spans(self._pair_pos.numel(), rows_per_block(self.device, 32 * new.size)):
            part = self._pair_pos[lo:hi]
            rows, x = part // s, self._pair_codes(lo, hi)
            t = (self._pair_Y[lo:hi].to(torch.float64) @ analysis).to(flat.dtype)
            flat.index_copy_(0, part, t)
            t = t.to(torch.float64)
            total += t.square().sum()
            if self._hinge is not None:
                q, weight = self._without(self._pair_atom, rows, x)
                self._slack.index_copy_(0, rows, slack(t, q, weight, self._hinge[2]))
            E = self.E.index_select(0, rows).to(torch.float64)
            E.addcmul_(x[:, None], before).addcmul_(t[:, None], after, value=-1)
            self.E.index_copy_(0, rows, E.to(self.E.dtype))
        return (float(to_host(total)[0]),)

    # Linear codes of all rows

    def _analysis_blocks(self, P: np.ndarray) -> Iterator[tuple[int, int, torch.Tensor]]:
        """Yield (lo, hi, P y of these rows)."""
        atoms = from_host(P, self.device)
        for lo, hi, rows in self._source.blocks(8 * P.shape[1] + 16 * P.shape[0]):
            yield lo, hi, rows.to(torch.float64) @ atoms.T

    def analyse(self, P: np.ndarray) -> None:
        """Hand the SVM the codes P y of all rows, dense."""
        codes = torch.empty((self._source.shape[0], P.shape[0]), dtype=self._source.dtype, device=self.device)
        for lo, hi, part in self._analysis_blocks(P):
            codes[lo:hi] = part
        self._set_rows(cast(Slots, DenseSlots(codes)))  # it has the methods that the SVM asks for

    def analysed(self) -> np.ndarray:
        """Return the codes that `analyse` has just made, N×n."""
        return _host(self._rows.values)

    def analysis_squares(self, P: np.ndarray) -> tuple[np.ndarray]:
        """Return ‖Y p_i‖² over all rows, by atom."""
        total = self._zeros(P.shape[0])
        for _, _, part in self._analysis_blocks(P):
            total += part.square_().sum(dim=0)
        return (to_host(total)[0],)


class DenseSlots:
    """Dense rows x as the one-class SVM sees them, `values` (N, n): the methods of `Slots`, sums in float64."""

    def __init__(self, values: torch.Tensor) -> None:
        self.values = values
        self.n_rows, self.n = values.shape
        self.device = values.device

    def _blocks(self, rows: torch.Tensor | None = None) -> Iterator[tuple[int, int, torch.Tensor]]:
        """Yield (lo, hi, block in float64) over all rows or the rows listed; a block of float64 may be our own."""
        n_rows = self.n_rows if rows is None else rows.numel()
        for lo, hi in spans(n_rows, rows_per_block(self.device, 24 * (self.n + 1))):
            part = self.values[lo:hi] if rows is None else self.values.index_select(0, rows[lo:hi])
            yield lo, hi, part.to(torch.float64)

    def norms(self) -> torch.Tensor:
        """Return ‖x‖ of every row, in float64."""
        out = torch.empty(self.n_rows, dtype=torch.float64, device=self.device)
        for lo, hi, X in self._blocks():
            out[lo:hi] = X.square().sum(dim=1).sqrt_()
        return out

    def multiply(self, w: torch.Tensor, out: torch.Tensor) -> None:
        """out = X w, in float64."""
        for lo, hi, X in self._blocks():
            torch.mv(X, w, out=out[lo:hi])

    def weighted_sum(self, v: torch.Tensor | None = None, rows: torch.Tensor | None = None) -> torch.Tensor:
        """Return Σ_j v_j x_j over all rows, or over the rows listed (v belongs to those; all ones if left out)."""
        total = torch.zeros(self.n, dtype=torch.float64, device=self.device)
        for lo, hi, X in self._blocks(rows):
            total += X.sum(dim=0) if v is None else cross(v[lo:hi, None], X)[0]
        return total

    def augmented_gram(self, rows: torch.Tensor, scale: float) -> torch.Tensor:
        """Return Σ [x/scale, −1]ᵀ[x/scale, −1] over the rows listed."""
        total = torch.zeros((self.n + 1, self.n + 1), dtype=torch.float64, device=self.device)
        for lo, hi, X in self._blocks(rows):
            Z = torch.full((hi - lo, self.n + 1), -1.0, dtype=torch.float64, device=self.device)
            torch.div(X, scale, out=Z[:, : self.n])
            total += gram(Z)
        return total

    def take(self, rows: torch.Tensor, scale: float) -> Block:
        """Return the rows listed, divided by `scale`, on the host."""
        return Block.dense(_host(self.values.index_select(0, rows)) / scale)

    def csr_array(self) -> scipy.sparse.csr_array:
        """Return every row as CSR on the host."""
        return scipy.sparse.csr_array(_host(self.values))


def _soft(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """sign(x) (|x| − alpha)₊."""
    return torch.sign(x) * (x.abs() - alpha).clamp_(min=0.0)


def _mirrored(G: np.ndarray) -> np.ndarray:
    """The lower triangle on both sides: a product's two triangles may differ in their last bits."""
    return np.asarray(np.tril(G) + np.tril(G, -1).T)


def _host(tensor: torch.Tensor) -> Any:
    """A float64 array of its own."""
    return tensor.to(torch.float64).cpu().numpy().copy()
