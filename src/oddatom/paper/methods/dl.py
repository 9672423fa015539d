"""DL-OCSVM: beta on 50 points; the published program updates atoms by power steps and stops libsvm early."""

from oddatom import DLOCSVM
from oddatom.paper.learners import FINE, Learner


class DL(Learner):
    """Dictionary learning and one-class SVM."""

    label = "DL-OCSVM"
    order = 0
    detector = DLOCSVM
    early = {"atom_solver": "power", "svm_solver": "libsvm"}
    grids = {"beta": FINE}


METHOD = DL()
