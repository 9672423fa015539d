"""KDPL-OCSVM with a plane that sweeps hold fixed (coupling_form="hinge"), beside the paper's multipliers."""

from oddatom.paper.methods.kdpl import KDPL
from oddatom.paper.variants import Hinge


class KDPLHinge(Hinge, KDPL):
    """Plane and hinge."""

    label = f"{KDPL.label}, hinge"
    of = "kdpl"


METHOD = KDPLHinge()
