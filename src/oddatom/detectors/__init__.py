"""scikit-learn estimators; no numerics here."""

from oddatom.detectors.dl import DLOCSVM
from oddatom.detectors.dpl import DPLOCSVM
from oddatom.detectors.kernel import KDLOCSVM, KDPLOCSVM
from oddatom.detectors.one_class_svm import LinearOneClassSVM

__all__ = ["DLOCSVM", "DPLOCSVM", "KDLOCSVM", "KDPLOCSVM", "LinearOneClassSVM"]
