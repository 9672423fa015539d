"""scikit-learn estimators; no numerics here."""

from oddatom.detectors.dl import DLOCSVM
from oddatom.detectors.dpl import DPLOCSVM
from oddatom.detectors.kdl import KDLOCSVM
from oddatom.detectors.kdpl import KDPLOCSVM
from oddatom.detectors.one_class_svm import LinearOneClassSVM
from oddatom.detectors.untuned import OddAtomDetector

__all__ = ["DLOCSVM", "DPLOCSVM", "KDLOCSVM", "KDPLOCSVM", "LinearOneClassSVM", "OddAtomDetector"]
