"""mnist of the ODDS library, one of the paper's large sets."""

from oddatom.paper.base import DataSet
from oddatom.paper.datasets._published import of_large

ORDER = 5

DATA = DataSet(
    name="mnist",
    file="mnist.mat",
    sha256="9479e221f236684c09f3e11c7ad124725d34ecd301b9450425e8b113368413a6",
    n_features=100,
    n_rows=7603,
    n_outliers=700,
    small=False,
    sparsity=8,
    nu=0.093,
    settings={"dl": {"beta": 0.01}, "dpl": {"beta": 0.02, "gamma": 0.16}},
    published=of_large(
        size=(100, 7603, 700),
        ba=(0.8402, 0.8528, 0.7389, 0.5736, 0.7441, 0.732),
        tpr=(0.917, 0.869, 0.934, 0.216, 0.649, 0.514),
        tnr=(0.763, 0.837, 0.544, 0.932, 0.84, 0.95),
        train_s=(31.1, 52.3, 21.78, 7.45, 0.53, 31.21),
        test_s=(3.78, 2.88, 6.97, None, 0.18, 0.39),
        kfold=(0.7879, None, 0.7182, 0.6204, 0.6186, 0.685),
    ),
)
