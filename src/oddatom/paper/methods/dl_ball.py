"""DL-OCSVM with a ball that sweeps hold fixed (boundary="ball"), beside the paper's plane."""

from oddatom.paper.methods.dl import DL
from oddatom.paper.variants import Ball


class DLBall(Ball, DL):
    """Ball and hinge."""

    label = f"{DL.label}, ball"
    of = "dl"


METHOD = DLBall()
