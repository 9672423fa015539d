"""Tables as they are: from files and frames to finite numbers, and back to files.

Needs pyarrow; names are imported when first used, and without pyarrow say what to install.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "ColumnDecision": "oddatom.table.decision",
    "TableDetector": "oddatom.table.table_detector",
    "TableEncoder": "oddatom.table.encoder",
    "TableSource": "oddatom.table.reading",
    "TableWriter": "oddatom.table.writing",
    "make_detector": "oddatom.table.table_detector",
    "open_table": "oddatom.table.reading",
}

if TYPE_CHECKING:
    from oddatom.table.decision import ColumnDecision
    from oddatom.table.encoder import TableEncoder
    from oddatom.table.reading import TableSource, open_table
    from oddatom.table.table_detector import TableDetector, make_detector
    from oddatom.table.writing import TableWriter

__all__ = [
    "ColumnDecision",
    "TableDetector",
    "TableEncoder",
    "TableSource",
    "TableWriter",
    "make_detector",
    "open_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'oddatom.table' has no attribute {name!r}; it has {', '.join(sorted(_HOMES))}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
