"""DL-OCSVM with the paper's plane and multipliers at fixed settings, in the view "unlabelled" alone."""

from oddatom.paper.methods.dl import DL
from oddatom.paper.variants import Multipliers


class DLMultipliers(Multipliers, DL):
    """Plane and multipliers."""

    label = f"{DL.label}, multipliers"
    of = "dl"


METHOD = DLMultipliers()
