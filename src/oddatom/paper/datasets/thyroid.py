"""thyroid of the ODDS library, one of the paper's small sets."""

from oddatom.paper.base import DataSet
from oddatom.paper.datasets._published import of_small

ORDER = 3

DATA = DataSet(
    name="thyroid",
    file="thyroid.mat",
    sha256="49155d7861b977e90808faf68343ff67a67f63090c2744d514dbb67ac68e7e33",
    n_features=6,
    n_rows=3772,
    n_outliers=93,
    small=True,
    sparsity=3,
    nu=0.025,
    settings={"kdl": {"beta": 0.05}, "kdpl": {"beta": 0.05, "gamma": 0.05}},
    published=of_small(
        size=(6, 3772, 93),
        ba=(0.7331, 0.7565, 0.5648, 0.9506, 0.7627),
    ),
)
