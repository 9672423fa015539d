"""glass of the ODDS library, one of the paper's small sets."""

from oddatom.paper.base import DataSet
from oddatom.paper.datasets._published import of_small

ORDER = 2

DATA = DataSet(
    name="glass",
    file="glass.mat",
    sha256="2c506e6e1e2ca1e82a905d10a90773151ff812c4bd969c71a12db5b2bb6e7921",
    n_features=9,
    n_rows=214,
    n_outliers=9,
    small=True,
    sparsity=3,
    nu=0.042,
    settings={"kdl": {"beta": 0.05}, "kdpl": {"beta": 0.35, "gamma": 0.45}},
    published=of_small(
        size=(9, 214, 9),
        ba=(0.8951, 0.7731, 0.8566, 0.7132, 0.536),
    ),
)
