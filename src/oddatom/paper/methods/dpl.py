"""DPL-OCSVM: beta and gamma; the published program updates pairs by subgradient steps and stops libsvm early."""

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
