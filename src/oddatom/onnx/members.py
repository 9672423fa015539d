"""`OddAtomDetector` in ONNX: scaling, histogram, members and the joined score, as `oddatom.ensemble` computes them.

Rows are (N, m); what members say of them is (M, N, ·).
"""

from __future__ import annotations

import numpy as np

from oddatom.ensemble.histogram import Histogram
from oddatom.ensemble.joining import JOINED, PARTS
from oddatom.ensemble.model import Ensemble
from oddatom.ensemble.parts import MEMBER_PARTS, Packed
from oddatom.ensemble.trimmed import ROUNDING
from oddatom.onnx.graph import Graph
from oddatom.scaling.asinh import BEND, FARTHEST, TOP


def ensemble_score(graph: Graph, X: str, ensemble: Ensemble, name: str) -> str:
    """Return one of `oddatom.ensemble.model.SCORES` of rows in the units of the training rows."""
    Z = _z_scores(graph, X, ensemble)
    if name == "joined":
        return _joined(graph, Z, ensemble.weights)
    if name == "margin":
        odd = graph("Concat", *(_as_column(graph, Z[part]) for part in JOINED), axis=1)
        grown = graph("Add", graph("Exp", graph("Min", odd, 700.0)), 1.0)
        return graph.dot(graph("Reciprocal", grown), ensemble.plane)
    return graph("Neg", Z[name])


def _joined(graph: Graph, Z: dict[str, str], weights: np.ndarray) -> str:
    """−log Σ_p weight_p exp(z_p), from the largest z_p on."""
    weighted = [part for part, weight in zip(PARTS, weights, strict=True) if weight > 0.0]
    odd = graph("Concat", *(_as_column(graph, Z[part]) for part in weighted), axis=1)
    top = graph("ReduceMax", odd, axes=[1], keepdims=1)
    total = graph.dot(graph("Exp", graph("Sub", odd, top)), weights[weights > 0.0])
    return graph("Neg", graph("Add", graph("Squeeze", top, np.array([1])), graph("Log", total)))


def _z_scores(graph: Graph, X: str, ensemble: Ensemble) -> dict[str, str]:
    """Calibrated parts by name, each (N,), members averaged."""
    U = graph("Mul", X, ensemble.scaling.unit)
    z = graph("Div", graph("Sub", U, ensemble.scaling.center), ensemble.scaling.spread)
    size = graph("Abs", z)
    a = graph("Mul", graph("Min", size, TOP), BEND)
    root = graph("Sqrt", graph("Add", graph("Mul", a, a), 1.0))
    bent = graph("Div", graph("Log", graph("Add", a, root)), BEND)  # asinh, as the kernel of `row_parts` takes it
    Y = graph("Mul", graph("Sign", z), bent)
    apart = graph("Greater", bent, 0.0)
    stretched = graph("Div", graph("Min", size, FARTHEST), graph("Where", apart, bent, 1.0))
    squares = graph("Where", apart, stretched, 1.0)  # s², what residuals are stretched by
    members = _members(graph, Y, squares, ensemble.packed)
    M = ensemble.packed.centroids.shape[0]
    by_member = [t[: M * len(MEMBER_PARTS)].reshape(M, -1) for t in ensemble.calibration]
    out = {}
    for p, (part, values) in enumerate(members.items()):
        calibrated = _calibrated(graph, values, *(t[:, p, None] for t in by_member))
        out[part] = graph("ReduceMean", calibrated, axes=[0], keepdims=0)
    others = {"histogram": _rarity(graph, U, ensemble.histogram), "norm": graph.sum(graph("Mul", Y, Y), 1)}
    for k, (part, values) in enumerate(others.items(), M * len(MEMBER_PARTS)):
        out[part] = _calibrated(graph, values, *(t[k] for t in ensemble.calibration))
    return out


def _calibrated(graph: Graph, values: str, lift: np.ndarray, center: np.ndarray, spread: np.ndarray) -> str:
    return graph("Div", graph("Sub", graph("Log", graph("Add", values, lift)), center), spread)


def _rarity(graph: Graph, U: str, histogram: Histogram) -> str:
    """Σ_f −log p_f(u_f) of rows in the scaling's units."""
    low, high, steps, cost, _ = histogram
    m, n_costs = cost.shape
    inside = graph("Sub", graph("Max", graph("Min", U, high), low), low)
    bins = graph("Add", graph.cast(graph("Mul", inside, steps), "int64"), 1)
    bins = graph("Max", graph("Min", bins, n_costs - 2), 1)  # also where the cast found no number
    bins = graph("Where", graph("Less", U, low), 0, graph("Where", graph("Greater", U, high), n_costs - 1, bins))
    place = graph("Add", bins, np.arange(m) * n_costs)
    return graph.sum(graph("Gather", cost.ravel(), place), 1)


def _members(graph: Graph, Y: str, squares: str, packed: Packed) -> dict[str, str]:
    """What each of M members says of scaled rows, by MEMBER_PARTS, (M, N)."""
    Y = graph("Unsqueeze", Y, np.array([0]))
    near = graph("Sub", packed.half_norms[:, None], graph("MatMul", Y, _turned(packed.centroids)))
    k = graph("ArgMin", near, axis=2, keepdims=0)
    W = graph("Sub", Y, _chosen(graph, packed.centroids, k))
    rounding = graph("LessOrEqual", graph("Abs", W), graph("Mul", graph("Add", graph("Abs", Y), 1.0), ROUNDING))
    W = graph("Where", rounding, 0.0, W)
    along = graph("MatMul", W, _turned(packed.directions))
    distance = graph("Mul", graph.sum(graph("Mul", W, W), 2), packed.rest_precision[:, None])
    gained = graph.sum(graph("Mul", graph("Mul", along, along), packed.direction_gain[:, None]), 2)
    distance = graph("Max", graph("Add", distance, gained), 0.0)
    G = graph("MatMul", W, _turned(packed.atoms))
    i = graph("ArgMax", graph("Abs", G), axis=2, keepdims=0)
    c = graph("GatherElements", G, graph("Unsqueeze", i, np.array([2])), axis=2)
    left = graph("Sub", W, graph("Mul", c, _chosen(graph, packed.atoms, i)))
    E = graph("Mul", left, left)
    residual = graph.sum(E, 2)
    stretched = graph("Mul", graph("Mul", E, squares), packed.feature_precision[:, None])
    c = graph("Squeeze", c, np.array([2]))
    gain = graph("Mul", graph("Mul", c, c), _chosen(graph, packed.gain_precision, i))
    length = graph(
        "Add", graph("Add", _chosen(graph, packed.cost, i), gain), graph("Mul", residual, packed.precision[:, None])
    )
    largest = graph("ReduceMax", stretched, axes=[2], keepdims=0)
    return dict(zip(MEMBER_PARTS, (length, distance, largest, residual), strict=True))


def _chosen(graph: Graph, vectors: np.ndarray, i: str) -> str:
    """Vector i_bj of member b for every row j: (M, K, …), (M, N) to (M, N, …)."""
    M, K = vectors.shape[:2]
    return graph("Gather", vectors.reshape(M * K, *vectors.shape[2:]), graph("Add", i, np.arange(M)[:, None] * K))


def _turned(vectors: np.ndarray) -> np.ndarray:
    return vectors.transpose(0, 2, 1)


def _as_column(graph: Graph, value: str) -> str:
    return graph("Unsqueeze", value, np.array([1]))
