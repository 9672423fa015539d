"""What the library advises, in words that the command line understands."""

from __future__ import annotations

import re

_OPTIONS = {"random_state": "seed", "n_jobs": "threads", "max_levels": "max-levels"}
_NAMES = "format|delimiter|encoding|columns|ignore"
_SENTENCES = {
    "header=False": "--no-header",
    "fit with n_folds=5": "fit on at least ten rows, or with --detector oddatom",
    "a file that oddatom.save wrote": "a file that `oddatom fit` wrote",
    "this TableEncoder": "this model",
    "TableEncoder": "the model",
}


def as_options(text: str) -> str:
    """Return words of the library with options in place of parameters: --encoding latin-1, --seed."""
    text = re.sub(r"^The '(\w+)' parameter of \w+", lambda found: f"--{_OPTIONS.get(found[1], found[1])}", text)
    text = re.sub(r"\b(encoding|format|missing|dates)='([\w-]+)'", r"--\1 \2", text)
    for said, meant in _SENTENCES.items():
        text = text.replace(said, meant)
    return re.sub(rf"\b(pass |pass its |or |in |with )'({_NAMES})'", r"\1--\2", text)
