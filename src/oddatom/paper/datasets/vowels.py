"""vowels of the ODDS library, one of the paper's small sets."""

from oddatom.paper.base import DataSet
from oddatom.paper.datasets._published import of_small

ORDER = 4

DATA = DataSet(
    name="vowels",
    file="vowels.mat",
    sha256="51d5397bad1ceeda22b7cd44fd58125c5d603c9c2edb53aa59933330e259ac7b",
    n_features=12,
    n_rows=1456,
    n_outliers=50,
    small=True,
    sparsity=4,
    nu=0.034,
    settings={"kdl": {"beta": 0.5}, "kdpl": {"beta": 0.05, "gamma": 0.35}},
    published=of_small(
        size=(12, 1456, 50),
        ba=(0.7869, 0.7588, 0.7419, 0.6663, 0.6582),
    ),
)
