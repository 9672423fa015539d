"""pendigits of the ODDS library, one of the paper's large sets."""

from oddatom.paper.base import DataSet
from oddatom.paper.datasets._published import of_large

ORDER = 3

DATA = DataSet(
    name="pendigits",
    file="pendigits.mat",
    sha256="7bc32ac83b3d583443acea8b1342a54aaa59eaedb9996af405322f473f3c22bc",
    n_features=16,
    n_rows=6870,
    n_outliers=156,
    small=False,
    sparsity=5,
    nu=0.023,
    settings={"dl": {"beta": 0.115}, "dpl": {"beta": 0.14, "gamma": 0.04}},
    published=of_large(
        size=(16, 6870, 156),
        ba=(0.8163, 0.8724, 0.8023, 0.5895, 0.8725, 0.7669),
        tpr=(0.949, 0.968, 0.987, 0.263, 1.0, 0.545),
        tnr=(0.684, 0.777, 0.618, 0.916, 0.745, 0.989),
        train_s=(1.16, 7.3, 1.56, 1.09, 0.9, 23.77),
        test_s=(0.84, 0.8, 0.77, None, 0.11, 0.4),
        kfold=(0.8041, None, 0.6629, 0.5533, 0.5585, 0.7436),
    ),
)
