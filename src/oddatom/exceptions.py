"""Warnings and errors of this package, one class each, so that callers can tell them apart."""

from sklearn.exceptions import ConvergenceWarning


class OddAtomWarning(UserWarning):
    """Base class of this package's warnings."""


class DegenerateMarginWarning(OddAtomWarning):
    """The origin lies in the reduced hull of the codes: the exact one-class SVM has no margin and w = 0."""


class AllAtomsTrimmedWarning(OddAtomWarning):
    """The row penalty removed every atom: nothing is left to describe a row with."""


class IndefiniteKernelWarning(OddAtomWarning):
    """The kernel matrix has negative eigenvalues; its positive part is used."""


class SolverWarning(OddAtomWarning, ConvergenceWarning):
    """A solver ended above its tolerance; the residual it reached is in the message."""


class ModelFileError(ValueError):
    """A file cannot be loaded as a model: it is something else, damaged, or newer than this package."""


class TableWarning(OddAtomWarning):
    """A table lacks columns of the training table, or holds values that cannot be read; they count as missing."""


class TableError(ValueError):
    """A file cannot be read or written as a table; the message says why in one line, and what to do."""


class DataSetUnavailable(ValueError):
    """A data set of the paper cannot be had, or is not the one the paper used; the message says why and what to do."""
