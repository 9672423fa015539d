"""DL-OCSVM with a plane that sweeps hold fixed (coupling_form="hinge"), beside the paper's multipliers."""

from oddatom.paper.methods.dl import DL
from oddatom.paper.variants import Hinge


class DLHinge(Hinge, DL):
    """Plane and hinge."""

    label = f"{DL.label}, hinge"
    of = "dl"


METHOD = DLHinge()
