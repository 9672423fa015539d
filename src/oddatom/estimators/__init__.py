"""scikit-learn estimators; no numerics here."""

from oddatom.estimators.dl_ocsvm import DLOCSVM
from oddatom.estimators.dpl_ocsvm import DPLOCSVM
from oddatom.estimators.kdl_ocsvm import KDLOCSVM
from oddatom.estimators.kdpl_ocsvm import KDPLOCSVM
from oddatom.estimators.linear_one_class_svm import LinearOneClassSVM
from oddatom.estimators.odd_atom import OddAtomDetector
from oddatom.estimators.svdd import SVDD

__all__ = ["DLOCSVM", "DPLOCSVM", "KDLOCSVM", "KDPLOCSVM", "SVDD", "LinearOneClassSVM", "OddAtomDetector"]
