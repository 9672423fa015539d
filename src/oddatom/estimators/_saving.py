"""The method `save` of detectors."""

from __future__ import annotations

import os


class SaveMixin:
    """`save` of an estimator that `oddatom.save` knows."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `oddatom.load` reads; see `oddatom.save`.

        Parameters
        ----------
        path : str or path
            An existing file is replaced in one step.
        """
        from oddatom import save

        save(self, path)
