"""DPL-OCSVM (`learners/dpl.py`) in the evaluation: beta and gamma; as published, subgradients, libsvm cut short."""

from oddatom import DPLOCSVM
from oddatom.paper.learners import FINE, Learner
from oddatom.paper.program import PublishedDPL


class DPL(Learner):
    """Dictionary pair learning and one-class SVM."""

    label = "DPL-OCSVM"
    order = 1
    detector = DPLOCSVM
    program = PublishedDPL
    grids = {"beta": FINE, "gamma": FINE}
    names = {"gamma": "alpha"}


METHOD = DPL()
