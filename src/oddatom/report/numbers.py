"""How numbers are written: the same decimals down a column, a true minus sign, commas between thousands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def whole(value: int) -> str:
    """Return an integer with commas between thousands."""
    return f"{value:,}"


def percent(share: float) -> str:
    """Return a share as percent, three digits at most."""
    points = 100.0 * share
    if 0.0 < points < 0.1:
        return "<\u00a00.1\u00a0%"
    return f"{points:.0f}\u00a0%" if points >= 10.0 or points == 0.0 else f"{points:.1f}\u00a0%"


def ago(n_rows: int) -> str:
    """Return how many rows ago, in words."""
    return f"{n_rows:,}\u00a0row{'s' if n_rows != 1 else ''} ago"


def p_text(p: float) -> str:
    """Return a p-value to four decimals."""
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def score_writer(scores: np.ndarray) -> Callable[[float], str]:
    """Return a function that writes scores, with as many decimals for all as their spread asks for."""
    finite = scores[np.isfinite(scores)]
    low, high = np.quantile(finite, [0.1, 0.9]) if finite.size else (0.0, 1.0)
    spread = high - low if high > low else max(abs(float(high)), 1e-300)
    digits = 2 - int(np.floor(np.log10(spread)))
    form = f".{max(digits, 0)}f" if -3 <= digits <= 6 else ".3e"

    def write(score: float) -> str:
        if not np.isfinite(score):
            return "∞" if score > 0 else "−∞"
        return format(score, form).replace("-", "−")

    return write
