"""KDL-OCSVM with the paper's plane and multipliers at fixed settings, in the view "unlabelled" alone."""

from oddatom.paper.methods.kdl import KDL
from oddatom.paper.variants import Multipliers


class KDLMultipliers(Multipliers, KDL):
    """Plane and multipliers."""

    label = f"{KDL.label}, multipliers"
    of = "kdl"


METHOD = KDLMultipliers()
