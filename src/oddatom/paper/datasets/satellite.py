"""satellite of the ODDS library, one of the paper's large sets."""

from oddatom.paper.base import DataSet
from oddatom.paper.datasets._published import of_large

ORDER = 1

DATA = DataSet(
    name="satellite",
    file="satellite.mat",
    sha256="6feac3112b9c14e1c3e60afc437f2f3d29dc1000119c9f950c628078778d6aa0",
    n_features=36,
    n_rows=6435,
    n_outliers=2036,
    small=False,
    sparsity=6,
    nu=0.317,
    settings={"dl": {"beta": 0.5}, "dpl": {"beta": 0.02, "gamma": 0.07}},
    published=of_large(
        size=(36, 6435, 2036),
        ba=(0.7319, 0.776, 0.6388, 0.5677, 0.7105, 0.6543),
        tpr=(0.634, 0.694, 0.69, 0.326, 0.454, 0.528),
        tnr=(0.83, 0.858, 0.588, 0.81, 0.967, 0.781),
        train_s=(5.7, 16.9, 7.93, 2.49, 0.73, 25.69),
        test_s=(1.34, 1.2, 2.66, None, 0.11, 0.31),
        kfold=(0.6354, None, 0.6465, 0.5764, 0.6979, 0.6272),
    ),
)
