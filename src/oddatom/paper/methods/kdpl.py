"""KDPL-OCSVM: beta, gamma and the width of the kernel. The paper names its best beta and gamma, and no result.

In the view "published" its saddle steps are taken as the paper writes them, and libsvm is stopped early.
"""

from oddatom import KDPLOCSVM
from oddatom.paper.learners import COARSE, KERNEL_WIDTHS, Learner


class KDPL(Learner):
    """Kernel dictionary pair learning and one-class SVM."""

    label = "KDPL-OCSVM"
    order = 11
    detector = KDPLOCSVM
    early = {"solver": "paper"}
    grids = {"beta": COARSE, "gamma": COARSE, "kernel_gamma": KERNEL_WIDTHS}
    quick = {"kernel_gamma": (1 / 12, 8.0)}
    names = {"gamma": "alpha", "kernel_gamma": "gamma"}
    small = True


METHOD = KDPL()
