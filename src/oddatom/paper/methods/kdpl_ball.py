"""KDPL-OCSVM with a ball that sweeps hold fixed (boundary="ball"), beside the paper's plane."""

from oddatom.paper.methods.kdpl import KDPL
from oddatom.paper.variants import Ball


class KDPLBall(Ball, KDPL):
    """Ball and hinge."""

    label = f"{KDPL.label}, ball"
    of = "kdpl"


METHOD = KDPLBall()
