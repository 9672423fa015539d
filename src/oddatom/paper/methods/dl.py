"""DL-OCSVM: beta on 50 points; the published program updates atoms by power steps and stops libsvm early."""

from oddatom import DLOCSVM
from oddatom.paper.learners import FINE, Learner
from oddatom.paper.program import PublishedDL


class DL(Learner):
    """Dictionary learning and one-class SVM."""

    label = "DL-OCSVM"
    order = 0
    detector = DLOCSVM
    program = PublishedDL
    grids = {"beta": FINE}


METHOD = DL()
