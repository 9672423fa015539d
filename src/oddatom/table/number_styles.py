"""Numbers such as 1,234 may be thousands or decimals: what other columns, and the file, say decides."""

from __future__ import annotations

from oddatom.table.columns import Columns
from oddatom.table.deciding import Rules, decide
from oddatom.table.decision import ColumnDecision
from oddatom.table.words import COMMAS, DECIMAL_COMMA, has_decimal_points


def settle_styles(table: Columns, decisions: list[ColumnDecision], rules: Rules) -> list[ColumnDecision]:
    """Return the decisions, those on numbers taken again where the table writes 1.234,5.

    A comma in doubt marks decimals where another column has a decimal comma, or where the file has semicolons between
    its cells and no decimal point. Then a point in doubt marks thousands, unless another column has a decimal point.

    Parameters
    ----------
    table : Columns
    decisions : list of ColumnDecision
        One for each column, taken alone.
    rules : Rules
    """
    found = {i for i, decision in enumerate(decisions) if decision.kind == "number"}
    styles = {decisions[i].style for i in found}
    if not (DECIMAL_COMMA in styles or (table.delimiter == ";" and COMMAS in styles)):
        return decisions
    pointed = any(values.form == "text" and has_decimal_points(values.data) for values in map(table.get, found))
    if pointed and DECIMAL_COMMA not in styles:
        return decisions
    rules = rules._replace(commas=True, points=not pointed)
    return [decide(d.name, table.get(i), rules) if i in found else d for i, d in enumerate(decisions)]
