"""The paper's figures of its own learners, against the distribution of the maximum of twenty dictionaries."""

from __future__ import annotations

from collections import Counter
from math import comb

import numpy as np
import pandas as pd

from oddatom.paper.base import DataSet, setting_text
from oddatom.paper.context import Context
from oddatom.paper.tables._select import ALL_ROWS, DRAWS, at_setting, first_draws, number, pairs, select
from oddatom.paper.tables._table import NONE, Table

ORDER = 8
CENTRAL = (0.025, 0.5, 0.975)
SLACK = 0.02  # above our maximum, within which a figure counts as reached
ROUNDING = 5e-5  # of the paper's four digits


def build(runs: pd.DataFrame, context: Context) -> Table | None:
    """Return a line for every data set and learner that has a figure in the paper, and a last one that counts."""
    chosen, notes = select(runs, context, ALL_ROWS)
    rows, verdicts, held = [], Counter[str](), set()
    for data, method, group in pairs(chosen, context):
        paper = published_ba(data, method.name)
        here = group[(group["view"] == "published") & np.isfinite(group["ba"])]
        if paper is None or here.empty:
            continue
        exact = group.loc[group["view"] == "converged", "ba"].max()
        values = dictionaries(here, data, method.name)
        first = float(first_draws(at_setting(here, data.settings[method.name]))["ba"].max())
        many = len(values) >= DRAWS
        quantiles = [max_quantile(values, p) for p in CENTRAL] if many else [None] * 3
        top = float(here["ba"].max())
        verdict = judge(paper, quantiles, top)
        grid = {setting_text(setting) for setting in method.grid(data, "full")}
        verdicts[verdict] += 1
        held.add((data.name, method.name))
        rows.append(
            [
                *(data.name, method.label, f"{len(values)}", number(first)),
                *(*(number(q) for q in quantiles), number(paper)),
                number(max_cdf(values, paper), 3) if many else NONE,
                f"{len(grid & set(here['setting']))} of {len(grid)}",
                *(number(top), number(exact), verdict),
            ]
        )
    if not rows:
        return None
    count = ", ".join(f"{verdicts[name]} {name}" for name in ("inside", "reached", "missed"))
    rows.append([f"{len(rows)} cells", *[""] * 11, count])
    wanted = [(d.name, m) for d in context.datasets for m in d.settings if published_ba(d, m) is not None]
    unrun = [f"{name} {context.label(method)}" for name, method in wanted if (name, method) not in held]
    notes += [f"Not run: {', '.join(unrun)}."] if unrun else []
    columns = ["Data set", "Method", "Dictionaries", "First 20", "2.5%", "50%", "97.5%", "Paper", "Paper's place in it"]
    columns += ["Settings run", "Largest, as published", "Largest, converged", "Verdict"]
    title = f"The maximum of {DRAWS} dictionaries at the paper's settings"
    return Table("cells", title, columns, rows, [*_about(), *notes], align="ll" + "r" * 10 + "l", n_heads=2)


def published_ba(data: DataSet, method: str) -> float | None:
    """Return the paper's largest BA of one of its own learners: those that it gives settings of."""
    if method not in data.settings:
        return None
    return data.published.get(("small" if data.small else "max_ba", method, "ba"))


def dictionaries(runs: pd.DataFrame, data: DataSet, method: str) -> np.ndarray:
    """Return the BA of every dictionary at the paper's setting, sorted; the largest over what else the setting has.

    So a kernel method's dictionary has the best of the kernel widths, which the paper does not give.
    """
    held = at_setting(runs, data.settings[method])
    shared = held.groupby("setting")["draw"].nunique()
    held = held[held["setting"].isin(shared.index[shared == shared.max()])]  # what the most draws have
    values = held.groupby("draw")["ba"].max()
    return np.sort(values.to_numpy(dtype=float))


def max_cdf(values: np.ndarray, x: float) -> float:
    """Return P(max ≤ x) for DRAWS of the values without replacement: C(k, DRAWS) / C(n, DRAWS), k of them ≤ x."""
    k = int(np.count_nonzero(values <= x + ROUNDING))
    return comb(k, DRAWS) / comb(len(values), DRAWS)


def max_quantile(values: np.ndarray, p: float) -> float:
    """Return the least of the sorted values that the maximum of DRAWS of them is below with probability ≥ p."""
    n = len(values)
    total = comb(n, DRAWS)
    k = next(k for k in range(DRAWS, n + 1) if comb(k, DRAWS) >= p * total)
    return float(values[k - 1])


def judge(paper: float, quantiles: list[float] | list[None], top: float) -> str:
    """Return "inside" the central 95 %, "reached" by our maximum with a little slack, or "missed"."""
    low, _, high = quantiles
    if low is not None and high is not None and low - ROUNDING <= paper <= high + ROUNDING:
        return "inside"
    return "reached" if paper <= top + SLACK else "missed"


def _about() -> list[str]:
    return [
        f"“First {DRAWS}”: the largest BA of the first {DRAWS} dictionaries at the paper's β (and γ), of a kernel "
        "method with any of the kernel widths run.",
        f"Quantiles of the largest BA of {DRAWS} dictionaries drawn without replacement from those run at the paper's "
        "β (and γ), exactly; a kernel method's dictionary counts with the best of the kernel widths run. "
        "“Paper's place in it” is the probability that the maximum is at most the paper's figure. With exactly "
        f"{DRAWS} dictionaries there is one maximum only; with fewer there is no distribution.",
        "“Settings run” are those of the paper's grid that at least one dictionary was run with, as published. "
        "“Largest” is over every setting and draw run, more than the other tables take, and more of "
        "them as published than converged.",
        f"inside: the paper's figure is within the central 95 %; reached: it is at most {SLACK:g} above our largest as "
        "published; missed: neither.",
    ]
