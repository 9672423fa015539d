"""lympho of the ODDS library, one of the paper's small sets."""

from oddatom.paper.base import DataSet
from oddatom.paper.datasets._published import of_small

ORDER = 6

DATA = DataSet(
    name="lympho",
    file="lympho.mat",
    sha256="031b907ecb50347720b08b38f8139d05635adeca9335a064d89d5569c27a5834",
    n_features=18,
    n_rows=148,
    n_outliers=6,
    small=True,
    sparsity=4,
    nu=0.041,
    settings={"kdl": {"beta": 0.3}, "kdpl": {"beta": 0.15, "gamma": 0.05}},
    published=of_small(
        size=(18, 148, 6),
        ba=(0.9225, 0.8309, 0.8192, 0.8873, 0.9964),
    ),
)
