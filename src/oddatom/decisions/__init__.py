"""From scores to labels: where to cut, p-values, and which of many rows to report. Plain functions of scores."""

from oddatom.decisions.auto import AnomalyCount, AutoDecision, auto_offset, decide, tail_offset
from oddatom.decisions.conformal import CrossConformal, fold_rows
from oddatom.decisions.fdr import benjamini_hochberg
from oddatom.decisions.share import quantile_offset, share_offset, top_offset
from oddatom.decisions.threshold import Threshold, ThresholdMixin, check_threshold, flag

__all__ = [
    "AnomalyCount",
    "AutoDecision",
    "CrossConformal",
    "Threshold",
    "ThresholdMixin",
    "auto_offset",
    "benjamini_hochberg",
    "check_threshold",
    "decide",
    "flag",
    "fold_rows",
    "quantile_offset",
    "share_offset",
    "tail_offset",
    "top_offset",
]
