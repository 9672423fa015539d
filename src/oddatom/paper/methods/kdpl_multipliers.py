"""KDPL-OCSVM with the paper's plane and multipliers at fixed settings, in the view "unlabelled" alone."""

from oddatom.paper.methods.kdpl import KDPL
from oddatom.paper.variants import Multipliers


class KDPLMultipliers(Multipliers, KDPL):
    """Plane and multipliers."""

    label = f"{KDPL.label}, multipliers"
    of = "kdpl"


METHOD = KDPLMultipliers()
