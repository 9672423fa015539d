"""The dictionary detectors in ONNX: scaled rows, the margin of linear codes, and matching pursuit step by step.

With G = D Dᵀ, α = D r and the k-th chosen atom i, a step of the pursuit is, as in `oddatom.coding.batch_omp`,

    c_l = u_l[i] / δ_l  (l < k),    u_k = G_i − Σ_l c_l u_l,    δ_k = G_ii − Σ_l c_l u_l[i],
    z_k = α_i / δ_k,    α ← α − z_k u_k,    ‖r‖² ← ‖r‖² − z_k α_i.

A row that has stopped goes on with z = 0, which changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oddatom.estimators._base import HUGE
from oddatom.onnx.graph import Graph
from oddatom.scaling.linear import Scaling
from oddatom.scores import CodeStatistics

_EPS = float(np.finfo(np.float64).eps)
_NEGLIGIBLE, _DEPENDENT = 64 * _EPS, _EPS**0.6  # as in `batch_omp`
_LOWEST = -float(np.finfo(np.float64).max)


class Codes(NamedTuple):
    """Sparse codes of N rows by the names of values of shape (N, 1): a list with one for every step, and the rest."""

    atoms: list[str]  # int64, also where not used
    used: list[str]  # bool
    values: list[str]  # 0 where not used
    sq_residual: str


def scaled_rows(graph: Graph, X: str, scaling: Scaling, n_columns: int) -> str:
    """Return y = ((x − center) / spread) / scale.

    The scale is a vector: onnxruntime makes a float32 of a scalar that it finds before a product, and fuses the two.
    """
    if scaling.center is not None and scaling.spread is not None:
        X = graph("Div", graph("Sub", X, scaling.center), scaling.spread)
    return graph("Div", X, np.full(n_columns, scaling.scale))


def pursue(graph: Graph, Y: str, D: np.ndarray, s: int) -> Codes:
    """Return the codes of scaled rows, at most s atoms each; rows with entries above HUGE in units of the largest."""
    largest = graph("ReduceMax", graph("Abs", Y), axes=[1], keepdims=1)
    size = graph("Where", graph("Greater", largest, HUGE), largest, 1.0)
    codes = _steps(graph, graph("Div", Y, size), D, s)
    values = [graph("Mul", value, size) for value in codes.values]
    square = graph("Mul", graph("Mul", codes.sq_residual, size), size)  # not by size²: 0 · inf is no number
    return Codes(codes.atoms, codes.used, values, square)


def _steps(graph: Graph, Y: str, D: np.ndarray, s: int) -> Codes:
    G = D @ D.T
    diagonal = G.diagonal()
    alpha = graph("MatMul", Y, D.T)
    left = graph.sum(graph("Mul", Y, Y), 1, keep=True)
    negligible = graph("Mul", graph("Sqrt", left), _NEGLIGIBLE)
    U: list[str] = []
    factor: list[list[str]] = []  # factor[k][l] = c_l of step k
    atoms: list[str] = []
    used: list[str] = []
    inverse: list[str] = []  # 1/δ_k
    z: list[str] = []
    for k in range(s):
        i = graph("ArgMax", graph("Abs", alpha), axis=1, keepdims=1)
        a = graph("GatherElements", alpha, i, axis=1)
        g = graph("Gather", diagonal, i)
        c, delta = [], g
        for l in range(k):
            u = graph("GatherElements", U[l], i, axis=1)
            c.append(graph("Mul", u, inverse[l]))
            delta = graph("Sub", delta, graph("Mul", c[l], u))
        enough = graph("Greater", graph("Abs", a), graph("Mul", negligible, graph("Sqrt", g)))
        alive = graph("And", enough, graph("Greater", delta, graph("Mul", g, _DEPENDENT)))
        alive = graph("And", alive, used[-1]) if used else alive
        inverse.append(graph("Where", alive, graph("Reciprocal", delta), 0.0))
        z.append(graph("Mul", a, inverse[k]))
        left = graph("Sub", left, graph("Mul", z[k], a))
        atoms.append(i)
        used.append(alive)
        factor.append(c)
        if k + 1 < s:
            u = graph("Gather", G, graph("Squeeze", i, np.array([1])))
            for l in range(k):
                u = graph("Sub", u, graph("Mul", c[l], U[l]))
            U.append(u)
            alpha = graph("Sub", alpha, graph("Mul", z[k], u))
    x = list(z)  # the unit triangular system Tᵀ x = z, from its end
    for k in range(s - 1, -1, -1):
        for l in range(k + 1, s):
            x[k] = graph("Sub", x[k], graph("Mul", factor[l][k], x[l]))
        x[k] = graph("Where", used[k], x[k], 0.0)
    return Codes(atoms, used, x, graph("Max", left, 0.0))


def margin(graph: Graph, codes: Codes, w: np.ndarray, statistics: CodeStatistics) -> str:
    """Return w·x of every row."""
    terms = [graph("Mul", value, graph("Gather", w, i)) for i, value in zip(codes.atoms, codes.values, strict=True)]
    return _column(graph, graph("Sum", *terms))


def residual(graph: Graph, codes: Codes, w: np.ndarray, statistics: CodeStatistics) -> str:
    """Return −‖y − x D‖² of every row."""
    return _column(graph, graph("Max", graph("Neg", codes.sq_residual), _LOWEST))


def description_length(graph: Graph, codes: Codes, w: np.ndarray, statistics: CodeStatistics) -> str:
    """Return minus the description length of every row, see `oddatom.scores.description_length`."""
    usage, variance, noise = statistics
    cost = np.log1p(-usage) - np.log(usage) + 0.5 * np.maximum(np.log(variance) - np.log(noise), 0.0)
    deviation = np.sqrt(variance)
    total = graph("Div", graph("Mul", codes.sq_residual, 0.5), float(noise))
    total = graph("Add", total, -float(np.log1p(-usage).sum()))
    for i, alive, value in zip(codes.atoms, codes.used, codes.values, strict=True):
        c = graph("Div", value, graph("Gather", deviation, i))
        term = graph("Add", graph("Mul", graph("Mul", c, c), 0.5), graph("Gather", cost, i))
        total = graph("Add", total, graph("Where", alive, term, 0.0))
    return _column(graph, graph("Max", graph("Neg", total), _LOWEST))


CODE_SCORES = {"margin": margin, "residual": residual, "description_length": description_length}


def _column(graph: Graph, value: str) -> str:
    return graph("Squeeze", value, np.array([1]))
