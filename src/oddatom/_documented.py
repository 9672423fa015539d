"""Where the documentation's page of a detector or encoder is, for what notebooks show."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path


class DocumentedMixin:
    """The link that scikit-learn puts on an estimator's name in a notebook."""

    _documented_in = "oddatom"  # the module that users import it from

    def _get_doc_link(self) -> str:
        kind = type(self)
        root = documentation_root() if kind.__module__.split(".")[0] == "oddatom" else ""
        return f"{root}/generated/{self._documented_in}.{kind.__name__}.html" if root else ""


def documentation_root() -> str:
    """Return the address of the documentation; "" where none is known.

    It is ODDATOM_DOCS, an address or the folder that `make docs` builds, else the one that the installed package names
    as its documentation.
    """
    root = os.environ.get("ODDATOM_DOCS", "") or _published()
    if root and not root.startswith(("https://", "http://", "file://")):
        root = Path(root).expanduser().absolute().as_uri()
    return root.rstrip("/")


def _published() -> str:
    try:
        addresses = metadata("oddatom").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named = (address.partition(",") for address in addresses)
    return next((url.strip() for name, _, url in named if name.strip().lower() == "documentation"), "")
