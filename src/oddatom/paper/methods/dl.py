"""DL-OCSVM (`learners/dl.py`) in the evaluation: beta on 50 points; as published, power steps and libsvm cut short."""

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
