"""wbc of the ODDS library, one of the paper's small sets."""

from oddatom.paper.base import DataSet
from oddatom.paper.datasets._published import of_small

ORDER = 5

DATA = DataSet(
    name="wbc",
    file="wbc.mat",
    sha256="afe6b26953cc196b9a480318c903e0edef22529c2f61bd02082438c6e70630a7",
    n_features=30,
    n_rows=378,  # the paper prints 278
    n_outliers=21,
    small=True,
    sparsity=6,
    nu=0.056,
    settings={"kdl": {"beta": 0.45}, "kdpl": {"beta": 0.25, "gamma": 0.05}},
    published=of_small(
        size=(30, 278, 21),
        ba=(0.8991, 0.7703, 0.8137, 0.8655, 0.7969),
    ),
)
