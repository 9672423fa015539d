"""KDL-OCSVM with a ball that sweeps hold fixed (boundary="ball"), beside the paper's plane."""

from oddatom.paper.methods.kdl import KDL
from oddatom.paper.variants import Ball


class KDLBall(Ball, KDL):
    """Ball and hinge."""

    label = f"{KDL.label}, ball"
    of = "kdl"


METHOD = KDLBall()
