"""A report of a detection: one HTML file that needs nothing else, not even a network."""

from oddatom.report.content import gather_content
from oddatom.report.records import (
    AtomUse,
    ColumnDecision,
    Curve,
    DataFacts,
    GroupRow,
    GroupTable,
    HowTo,
    OddMoment,
    OverTime,
    ReportContent,
    RowGroups,
    RowMap,
    RowsAround,
    RowTimes,
    TimeBins,
    TopRow,
)
from oddatom.report.render import render_report, write_report

__all__ = [
    "AtomUse",
    "ColumnDecision",
    "Curve",
    "DataFacts",
    "GroupRow",
    "GroupTable",
    "HowTo",
    "OddMoment",
    "OverTime",
    "ReportContent",
    "RowGroups",
    "RowMap",
    "RowTimes",
    "RowsAround",
    "TimeBins",
    "TopRow",
    "gather_content",
    "render_report",
    "write_report",
]
