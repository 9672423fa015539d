"""DPL-OCSVM with a plane that sweeps hold fixed (coupling_form="hinge"), beside the paper's multipliers."""

from oddatom.paper.methods.dpl import DPL
from oddatom.paper.variants import Hinge


class DPLHinge(Hinge, DPL):
    """Plane and hinge."""

    label = f"{DPL.label}, hinge"
    of = "dpl"


METHOD = DPLHinge()
