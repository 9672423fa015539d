"""DPL-OCSVM with a ball that sweeps hold fixed (boundary="ball"), beside the paper's plane."""

from oddatom.paper.methods.dpl import DPL
from oddatom.paper.variants import Ball


class DPLBall(Ball, DPL):
    """Ball and hinge."""

    label = f"{DPL.label}, ball"
    of = "dpl"


METHOD = DPLBall()
