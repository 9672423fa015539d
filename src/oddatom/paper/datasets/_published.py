"""The paper's figures of a data set, given as its tables print them: a row, one figure a method."""

from __future__ import annotations

from collections.abc import Mapping

LARGE = ("dl", "dpl", "ocsvm", "lof", "iforest", "autoencoder")
SMALL = ("kdl", "ocsvm", "lof", "iforest", "autoencoder")

Row = tuple[float | None, ...]  # None: the paper prints none
Figures = Mapping[tuple[str, str, str], float]


def of_large(
    *, size: tuple[int, int, int], ba: Row, tpr: Row, tnr: Row, train_s: Row, test_s: Row, kfold: Row
) -> Figures:
    """Return the figures of a large set. `size` is (features, samples, outliers); the rows go by `LARGE`."""
    rows = {
        ("max_ba", "ba"): ba,
        ("tpr_tnr", "tpr"): tpr,
        ("tpr_tnr", "tnr"): tnr,
        ("times", "train_s"): train_s,
        ("times", "test_s"): test_s,
        ("kfold", "ba"): kfold,
    }
    return _figures(size, LARGE, rows)


def of_small(*, size: tuple[int, int, int], ba: Row) -> Figures:
    """Return the figures of a small set. `size` is (features, samples, outliers); the row goes by `SMALL`."""
    return _figures(size, SMALL, {("small", "ba"): ba})


def _figures(size: tuple[int, int, int], methods: tuple[str, ...], rows: Mapping[tuple[str, str], Row]) -> Figures:
    sizes = zip(("features", "samples", "outliers"), size, strict=True)
    figures: dict[tuple[str, str, str], float] = {("datasets", "", measure): value for measure, value in sizes}
    for (table, measure), row in rows.items():
        for method, value in zip(methods, row, strict=True):
            if value is not None:
                figures[table, method, measure] = value
    return figures
