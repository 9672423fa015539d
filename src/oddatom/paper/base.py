"""What a data set, a method, an experiment and a run are. The runner, the tables and the figures know no more."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

Setting = Mapping[str, Any]  # of a method; plain JSON values
Effort = Literal["quick", "full"]
View = Literal["published", "converged", "unlabelled"]
SEEDS = 5  # of methods that draw no dictionary, without labels
VIEWS: tuple[View, ...] = ("published", "converged", "unlabelled")


@dataclass(frozen=True)
class DataSet:
    """One of the paper's sets: where it is, what the paper does with it, and what the paper reports of it.

    Attributes
    ----------
    name, file, sha256 : str
        `file` is its name in the authors' folder and in a local one.
    n_features, n_rows, n_outliers : int
        Of the file; a file that has other numbers is refused.
    small : bool
        Whether the paper gives it to the kernel methods.
    sparsity, nu : int, float
        Non-zeros in a code and the SVM's nu.
    settings : dict
        The paper's best ones by method ("dl", "dpl", "kdl", "kdpl"): beta, and gamma of the pair methods.
    published : dict
        The paper's figures by (table, method's name, measure), as in ("max_ba", "dl", "ba"). Tables: "datasets" (with
        method ""), "max_ba", "tpr_tnr", "times", "small" and "kfold"; measures: "ba", "tpr", "tnr", "train_s",
        "test_s", and in "datasets" "features", "samples", "outliers".
    """

    name: str
    file: str
    sha256: str
    n_features: int
    n_rows: int
    n_outliers: int
    small: bool
    sparsity: int
    nu: float
    settings: Mapping[str, Mapping[str, float]] = field(hash=False)
    published: Mapping[tuple[str, str, str], float] = field(hash=False)


class Rows(NamedTuple):
    """The rows of a data set as its file has them, and which of them are outliers."""

    X: np.ndarray  # (N, m) float64
    y: np.ndarray  # (N,) bool


class Fitted(Protocol):
    """What a method's fit gives. Scores are higher for odder rows; labels are True for anomalies."""

    train_labels: np.ndarray
    train_scores: np.ndarray
    extra: dict[str, Any]  # what else is to be recorded: plain JSON values

    def labels(self, X: np.ndarray) -> np.ndarray:
        """Return the labels of new rows."""

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of new rows."""


class Method(ABC):
    """A method of the comparison. One file each in `methods/`; the file's name is the method's.

    Attributes
    ----------
    label : str
        What tables call it.
    views : tuple of View
        "published": as the paper ran it, settings picked by labels; "converged": the same with exact solvers, of
        methods where that is another thing; "unlabelled": at fixed settings.
    random : bool
        Whether fits differ by draw (the number of the first dictionary, or the seed).
    dictionaries : bool
        Whether a draw is a first dictionary, of which the paper tries twenty.
    testable : bool
        Whether it can judge rows that it was not fitted on without being fitted again.
    slow : bool
        Whether "quick" should try less of it: one setting in the K-fold experiment, one seed without labels.
    shared : tuple of str
        Settings by which runs share work, which a process keeps: runs alike in them come one after the other.
    scaling : {"standard", "frobenius"}
        What it does to rows first: the K-fold experiment does the same to each part by itself, as published.
    parts_apart : bool
        Whether the published K-fold experiment scales training and test rows each by themselves.
    order : int
        Its place among the columns of tables.
    of : str
        Of a variant: the name of the method that it is one of, whose settings in the paper it takes, too.
    form : str
        What tells a method from its variants, where it has any.
    """

    label: ClassVar[str]
    views: ClassVar[tuple[View, ...]] = ("published", "unlabelled")
    random: ClassVar[bool] = True
    dictionaries: ClassVar[bool] = False
    testable: ClassVar[bool] = True
    slow: ClassVar[bool] = False
    shared: ClassVar[tuple[str, ...]] = ()
    scaling: ClassVar[Literal["standard", "frobenius"]] = "standard"
    parts_apart: ClassVar[bool] = False
    order: ClassVar[int] = 99  # of columns in tables
    of: ClassVar[str] = ""
    form: ClassVar[str] = ""

    @property
    def name(self) -> str:
        """The name of its file."""
        return type(self).__module__.rpartition(".")[2]

    def takes(self, data: DataSet) -> bool:
        """Whether the paper, or this evaluation, gives it this data set."""
        return True

    def best(self, data: DataSet) -> Mapping[str, float]:
        """Return the settings that the paper calls best; none where it gives none."""
        return data.settings.get(self.of or self.name, {})

    def draws(self, wanted: int, view: View) -> int:
        """Return how many draws to run where so many dictionaries are wanted."""
        if self.dictionaries:
            return wanted
        return min(wanted, 1 if self.slow else SEEDS) if self.random and view == "unlabelled" else 1

    @abstractmethod
    def grid(self, data: DataSet, effort: Effort) -> Sequence[Setting]:
        """Return the settings that labels choose from: the paper's grid, or a smaller one for effort "quick"."""

    @abstractmethod
    def fixed(self, data: DataSet) -> Setting:
        """Return settings that no label has touched: the same rule for every data set."""

    @abstractmethod
    def fit(self, X: np.ndarray, data: DataSet, setting: Setting, draw: int, view: View, nu: float) -> Fitted:
        """Fit to rows. `nu` is the share of outliers the paper hands to methods that ask for it."""


@dataclass(frozen=True)
class Task:
    """One run: what, of what, how."""

    experiment: str
    view: View
    dataset: str
    method: str
    setting: str  # JSON
    draw: int = 0
    part: str = ""  # what else tells runs of an experiment apart

    @property
    def options(self) -> dict[str, Any]:
        """Its setting."""
        return dict(json.loads(self.setting))

    @property
    def place(self) -> tuple[Any, ...]:
        """What puts tasks in order."""
        return astuple(self)


@dataclass
class Run:
    """What came of a task. Measures are NaN where there is none."""

    task: Task
    ba: float = np.nan
    tpr: float = np.nan
    tnr: float = np.nan
    auroc: float = np.nan
    ap: float = np.nan
    train_s: float = np.nan
    test_s: float = np.nan
    seconds: float = np.nan  # of the whole task
    error: str = ""  # what went wrong, where something did
    extra: dict[str, Any] = field(default_factory=dict)


COLUMNS = (
    *("experiment", "view", "dataset", "method", "setting", "draw", "part"),
    *("ba", "tpr", "tnr", "auroc", "ap", "train_s", "test_s", "seconds", "error", "extra"),
)


def setting_text(setting: Setting) -> str:
    """Return settings as JSON, the same for the same settings."""
    return json.dumps(dict(setting), sort_keys=True)
