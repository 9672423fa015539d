"""Types of the adapters' parameters, for editors and type checkers; names and defaults are the detectors' own."""

from __future__ import annotations

from typing import Any, TypedDict


class Shared(TypedDict, total=False):
    """Of every detector."""

    scoring: str
    nu: float
    device: str
    random_state: Any
    n_jobs: int | None


class Untuned(Shared, total=False):
    """Of `OddAtom`."""

    categorical_features: Any
    trim: tuple[float, ...]
    n_groups: int
    n_centroids: int
    n_atoms: int
    n_directions: int
    rows_per_member: int


class Learned(Shared, total=False):
    """Of the paper's four."""

    n_atoms: int | None
    n_nonzero: int | None
    beta: float
    penalty: Any
    coupling: float
    coupling_form: str
    boundary: str
    max_iter: int
    tol: float
    init: Any
    n_init: int
    trim: float
    solver: Any
    scaling: str | None
    verbose: int


class Sparse(Learned, total=False):
    """Of `DLOCSVM`, and of `KDLOCSVM` beside the kernel's."""


class Pairs(Learned, total=False):
    """Of `DPLOCSVM`, and of `KDPLOCSVM` beside the kernel's."""

    alpha: float | None
    representation: str


class Kernel(Learned, total=False):
    """Of a kernel."""

    kernel: Any
    gamma: float | str
    kernel_params: dict[str, Any] | None
    approximation: Any


class KernelSparse(Sparse, Kernel, total=False):
    """Of `KDLOCSVM`."""


class KernelPairs(Pairs, Kernel, total=False):
    """Of `KDPLOCSVM`."""
