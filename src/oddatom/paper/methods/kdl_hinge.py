"""KDL-OCSVM with a plane that sweeps hold fixed (coupling_form="hinge"), beside the paper's multipliers."""

from oddatom.paper.methods.kdl import KDL
from oddatom.paper.variants import Hinge


class KDLHinge(Hinge, KDL):
    """Plane and hinge."""

    label = f"{KDL.label}, hinge"
    of = "kdl"


METHOD = KDLHinge()
