"""KDL-OCSVM: beta and the width of the kernel. The paper names its best beta, not the width."""

from oddatom import KDLOCSVM
from oddatom.paper.learners import COARSE, KERNEL_WIDTHS, QUICK_WIDTHS, Learner
from oddatom.paper.program_kernel import PublishedKDL


class KDL(Learner):
    """Kernel dictionary learning and one-class SVM."""

    label = "KDL-OCSVM"
    order = 10
    detector = KDLOCSVM
    program = PublishedKDL
    grids = {"beta": COARSE, "kernel_gamma": KERNEL_WIDTHS}
    quick = {"kernel_gamma": QUICK_WIDTHS}
    names = {"kernel_gamma": "gamma"}
    shared = ("kernel_gamma",)  # the eigenvectors of K
    small = True


METHOD = KDL()
