"""DPL-OCSVM with the paper's plane and multipliers at fixed settings, in the view "unlabelled" alone."""

from oddatom.paper.methods.dpl import DPL
from oddatom.paper.variants import Multipliers


class DPLMultipliers(Multipliers, DPL):
    """Plane and multipliers."""

    label = f"{DPL.label}, multipliers"
    of = "dpl"


METHOD = DPLMultipliers()
