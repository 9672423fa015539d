"""speech of the ODDS library, one of the paper's large sets."""

from oddatom.paper.base import DataSet
from oddatom.paper.datasets._published import of_large

ORDER = 4

DATA = DataSet(
    name="speech",
    file="speech.mat",
    sha256="",  # not known: the numbers below are what is checked
    n_features=400,
    n_rows=3686,
    n_outliers=61,
    small=False,
    sparsity=10,
    nu=0.017,
    settings={"dl": {"beta": 0.05}, "dpl": {"beta": 0.3, "gamma": 0.14}},
    published=of_large(
        size=(400, 3686, 61),
        ba=(0.5283, 0.5915, 0.683, 0.5, 0.5232, 0.5246),
        tpr=(0.984, 0.443, 0.934, 0, 0.049, 0.066),
        tnr=(0.073, 0.74, 0.432, 1.0, 0.997, 0.984),
        train_s=(21.3, 129.8, 18.49, 1.4, 0.45, 3.39),
        test_s=(7.97, 3.61, 9.98, None, 0.18, 0.21),
        kfold=(0.6196, None, 0.4094, 0.5452, 0.4924, 0.4917),
    ),
)
