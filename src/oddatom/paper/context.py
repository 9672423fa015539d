"""What tables and figures are told besides the runs: what is in use, what could not be had, and how runs were made."""

from __future__ import annotations

from dataclasses import dataclass, field

from oddatom.paper.base import DataSet, Method
from oddatom.paper.methods import METHODS


@dataclass
class Context:
    """What the runs are of.

    Attributes
    ----------
    datasets : list of DataSet
        Those in use, in the paper's order.
    missing : dict of str
        Why a data set could not be had, by its name.
    methods : list of Method
        In the order of columns.
    machine, command, effort : str
        What it ran on, the command that made it, and "quick" or "full".
    seed : int
    """

    datasets: list[DataSet] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    methods: list[Method] = field(default_factory=list)
    machine: str = ""
    command: str = ""
    effort: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        self.datasets = [data for data in self.datasets if data.name not in self.missing]

    def label(self, method: str) -> str:
        """Return what tables call a method."""
        labels = {one.name: one.label for one in (*METHODS.values(), *self.methods)}
        return labels.get(method, method)
