"""cardio of the ODDS library, one of the paper's small sets."""

from oddatom.paper.base import DataSet
from oddatom.paper.datasets._published import of_small

ORDER = 1

DATA = DataSet(
    name="cardio",
    file="cardio.mat",
    sha256="5e568b6a73711012c481fa6cc984ab9c68e9a4fa44d6aeb3b43efa381c3f695b",
    n_features=21,
    n_rows=1831,
    n_outliers=176,
    small=True,
    sparsity=5,
    nu=0.096,
    settings={"kdl": {"beta": 0.15}, "kdpl": {"beta": 0.05, "gamma": 0.05}},
    published=of_small(
        size=(21, 1831, 176),
        ba=(0.7874, 0.7896, 0.5564, 0.862, 0.8617),
    ),
)
