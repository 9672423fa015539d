"""shuttle of the ODDS library, one of the paper's large sets."""

from oddatom.paper.base import DataSet
from oddatom.paper.datasets._published import of_large

ORDER = 2

DATA = DataSet(
    name="shuttle",
    file="shuttle.mat",
    sha256="b6e396c92354d5dcf5036901e36dc58e2913f2d1a5e138c35a2bedf9c69db899",
    n_features=9,
    n_rows=49097,
    n_outliers=3511,
    small=False,
    sparsity=4,
    nu=0.072,
    settings={"dl": {"beta": 0.32}, "dpl": {"beta": 0.14, "gamma": 0.03}},
    published=of_large(
        size=(9, 49097, 3511),
        ba=(0.94, 0.9481, 0.9512, 0.5316, 0.9768, 0.9782),
        tpr=(0.886, 0.904, 0.964, 0.13, 0.983, 0.96),
        tnr=(0.995, 0.993, 0.938, 0.933, 0.971, 0.996),
        train_s=(100.1, 126.3, 101.06, 449.43, 0.64, 36.17),
        test_s=(7.1, 7.1, 46.47, None, 0.3, 2.59),
        kfold=(0.5164, None, 0.7878, 0.5174, 0.9769, 0.885),
    ),
)
