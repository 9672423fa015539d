"""Of the members that a class inherits the pages show this package's: scikit-learn and PyOD document their own."""

from typing import Any

from sphinx.application import Sphinx

OTHERS = ("sklearn", "pyod", "builtins")


def setup(app: Sphinx) -> dict[str, bool]:
    """Ask to be told of every member."""
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}


def _skip(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    module = getattr(getattr(member, "fget", member), "__module__", None) or "builtins"
    return True if module.split(".")[0] in OTHERS else None
