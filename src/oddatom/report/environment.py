"""The jinja2 environment of pages: every text is escaped, and a line break beside a tag is no text."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from oddatom.report.numbers import ago, p_text, percent, whole
from oddatom.report.text import cut

_LAYOUT = re.compile(r"(?<=>)\s*\n\s*|(?<=%})\s*\n\s*|\s*\n\s*(?=<|{%)")


@cache
def environment(package: str) -> Any:
    """Return the environment of the folder `templates` of a package.

    Parameters
    ----------
    package : str
        For instance "oddatom.report".
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from jinja2.ext import Extension
    except ImportError:
        raise ImportError("A report needs jinja2: pip install 'oddatom[report]'.") from None

    class DropLayout(Extension):
        """Leave out a template's line breaks and indents: white space beside a tag may show, and takes room."""

        def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
            return _LAYOUT.sub("", source)

    made = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, extensions=[DropLayout]
    )
    made.filters.update(cut=cut, whole=whole, percent=percent, p_text=p_text, ago=ago)
    # Strict JSON without spaces; `tojson` writes <, >, & and ' as \u escapes.
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return made
