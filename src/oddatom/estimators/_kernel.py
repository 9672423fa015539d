"""What the kernel detectors share: rows are taken to the coordinates of a kernel's feature space, and learned there."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, StrOptions

from oddatom.arrays.memory import usable_memory
from oddatom.boundary.plane import OneClassFit
from oddatom.coding import Codes
from oddatom.estimators._base import CHUNK_ROWS
from oddatom.estimators._callbacks import with_callbacks
from oddatom.estimators._fitting import LearnedDetector
from oddatom.estimators._grouped import (
    KERNEL_CODINGS,
    Approximation,
    KernelParams,
    read_approximation,
    read_kernel_params,
)
from oddatom.exceptions import IndefiniteKernelWarning, OddAtomError, ParameterError
from oddatom.kernels.coordinates import KernelMap, fit_kernel_map
from oddatom.kernels.formulas import KERNELS, RANK_TOL
from oddatom.kernels.functions import GAMMAS, Kernel, find_gamma, shorten
from oddatom.learners.alternate import Model
from oddatom.learners.initial import combined_rows
from oddatom.rows import Source
from oddatom.rows.array import ArraySource
from oddatom.rows.row_map import RowMap
from oddatom.rows.source import KEPT_ROWS
from oddatom.scaling.linear import Scaling

HERE = 2**27  # numbers that rows are brought here by to choose landmarks among: 1 GB


class KernelDetector(LearnedDetector):
    """A learned detector in the feature space of `kernel`; the dictionary's rows are coordinates there."""

    kernel_map_: KernelMap
    kernel_coding_: str

    _paper: ClassVar[dict[str, Any]] = {**LearnedDetector._paper, "kernel_params": {"coding": "correlation"}}
    _init_columns = "n_samples"
    _splits_over_features = False

    _parameter_constraints: ClassVar[dict] = {
        **LearnedDetector._parameter_constraints,
        "kernel": [StrOptions(ChainMap[str, Any]({"precomputed": None}, KERNELS).keys()), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions(set(GAMMAS))],
        "kernel_params": "no_validation",  # it and `approximation`: see `_validate_params`
        "approximation": "no_validation",
    }
    _advice: ClassVar[dict[str, str]] = {
        **LearnedDetector._advice,
        "gamma": "It is the kernel's width: 'scale' suits most data.",
        "kernel": "A function is called with two arrays of rows and returns their matrix.",
        "init": "Pass a name, or for each atom its coefficients over the training rows.",
        "n_atoms": "None takes twice the number of features, or of the root of the rows where precomputed.",
    }

    def _validate_params(self) -> None:
        super()._validate_params()
        self._read_kernel_params()
        self._read_approximation()

    def _read_kernel_params(self) -> KernelParams:
        return read_kernel_params(type(self).__name__, self.kernel_params)

    def _read_approximation(self) -> Approximation:
        return read_approximation(type(self).__name__, self.approximation)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _sizes(self, source: Source) -> tuple[int, int]:
        """The number that defaults go by, and of columns of an `init` array."""
        N, m = source.shape
        return (max(1, round(N**0.5)) if self.kernel == "precomputed" else m), N

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn dictionary and boundary from unlabelled rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Or a Dask array or frame, the path of a Parquet file or a list of them, or a torch tensor; the square matrix
            of the rows' kernel where precomputed.
        y : ignored, but shown to callbacks (a `ScoringMonitor` needs labels)

        Returns
        -------
        self
        """
        return self._fit_anew(X, y)

    def _fit_features(self, source: Source, rng: np.random.RandomState) -> tuple[RowMap, dict[str, Any]]:
        if self.kernel == "precomputed":
            assert isinstance(source, ArraySource)  # others are refused where they are opened
            self._check_gram(source.X)
            scaled = RowMap(Scaling(None, None, 1.0))
        else:
            scaled = super()._fit_features(source, rng)[0]
        kernel_map = self._fit_coordinates(source, scaled, rng)
        row_map = RowMap(scaled.scaling, kernel_map)
        self._check_coordinates(bool(source.nonzero(row_map).any()), source.shape[0])
        return row_map, {
            "scaling_": scaled.scaling,
            "scale_": scaled.scaling.scale,
            "kernel_map_": kernel_map,
            "gamma_": None if kernel_map.kernel is None else kernel_map.kernel.gamma,
            "landmark_indices_": kernel_map.indices,
        }

    def _fit_coordinates(self, source: Source, scaled: RowMap, rng: np.random.RandomState) -> KernelMap:
        """Fit the coordinates to all rows, or to as many of those that are not here as fit in memory."""
        N, m = source.shape
        if isinstance(source, ArraySource):
            return self._fit_kernel_map(source.learner_rows(scaled), N, rng)
        most = min(HERE, usable_memory() // 64) // m
        here = np.arange(N) if most >= N else np.sort(rng.choice(N, max(most, 1), replace=False))
        if here.size < N and self._exact(N):
            raise ParameterError(
                type(self).__name__,
                "approximation",
                f"must be 'auto' or a number of landmarks for {N} rows of {m} features that are not here. Got "
                f"{self.approximation!r} instead.",
                value=self.approximation,
            )
        kernel_map = self._fit_kernel_map(scaled(source.take(here)), N, rng)
        return kernel_map._replace(indices=here[kernel_map.indices], n_samples=N)

    def _exact(self, N: int) -> bool:
        return self._read_approximation().exact_rows >= N

    def _fit_kernel_map(self, Y: np.ndarray, N: int, rng: np.random.RandomState) -> KernelMap:
        """Fit the coordinates to scaled rows, some or all of N; for precomputed to their matrix."""
        kernel: Kernel | None = None
        settings, approximation = self._read_kernel_params(), self._read_approximation()
        if self.kernel != "precomputed":
            width = find_gamma(self.gamma, self.kernel, Y, rng)
            kernel = Kernel(self.kernel, width, float(settings.degree), float(settings.coef0))
        rank_tol = settings.rank_tol
        if rank_tol is None:
            rank_tol = RANK_TOL if kernel is None else kernel.rank_tol
        n = None if self._exact(N) else approximation.n
        return fit_kernel_map(kernel, Y, float(rank_tol), n, approximation.choice, rng)

    def _check_coordinates(self, varied: bool, N: int) -> None:
        if not varied:
            problem = "The positive part of the kernel of all training rows is zero: there is nothing to learn."
            advice, parameter = "Try another kernel.", "kernel"
            if not self._exact(N):
                problem = f"The {self._read_approximation().n} landmarks see nothing of the other rows."
                advice = "Pass a larger number as 'approximation', or ('leverage', number)."
                parameter = "approximation"
            raise OddAtomError(problem, parameter=parameter, value=getattr(self, parameter), advice=advice)

    def _check_gram(self, K: np.ndarray) -> None:
        name = type(self).__name__
        if K.shape[0] != K.shape[1]:
            raise OddAtomError(
                f"With kernel='precomputed' {{owner}} is fitted on the square matrix of the training rows' kernel. Got "
                f"shape {K.shape} instead",
                parameter="X",
                advice="pass K(X, X).",
                owner=name,
            )
        apart, size = float(np.abs(K - K.T).max()), float(np.abs(K).max())
        if apart > 1e-8 * size:
            raise OddAtomError(
                f"A precomputed kernel must be symmetric. Entries differ from their mirror image by up to {apart:.3g}",
                parameter="X",
                advice="pass (K + K.T) / 2 if that is rounding.",
            )

    def _first_dictionary(
        self, source: Source, row_map: RowMap, n_atoms: int, rng: np.random.RandomState
    ) -> np.ndarray:
        """D = φ(Y)A: A uniform as in the paper, one training row per atom, or as given."""
        if isinstance(self.init, str) and self.init == "data":
            return super()._first_dictionary(source, row_map, n_atoms, rng)
        return combined_rows(self.init, source.shape[0], n_atoms, rng, lambda A: source.weighted(row_map, A))

    def _own_attributes(self, model: Model, active: np.ndarray, features: dict[str, Any]) -> dict[str, Any]:
        own = super()._own_attributes(model, active, features)
        kernel_map = features["kernel_map_"]
        A = kernel_map.coefficients(model.D) if kernel_map.n_samples <= KEPT_ROWS else None
        return {**own, "dictionary_coefficients_": A, "kernel_coding_": self._read_kernel_params().coding}

    def _findings(self, svm: OneClassFit, n_active: int) -> Iterator[tuple[str, type[Warning]]]:
        yield from super()._findings(svm, n_active)
        if self.kernel_map_.negative > 0.0:
            yield (
                f"The kernel matrix is not positive semi-definite: its negative eigenvalues add up to "
                f"{100 * self.kernel_map_.negative:.2g} % of the positive ones. Its positive part is used. Look at the "
                "kernel's parameters, or take another kernel, if that is much.",
                IndefiniteKernelWarning,
            )

    def _without(self, X: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """Leave rows out of the training rows: of a precomputed matrix columns too."""
        kept, parameters = super()._without(X, rows)
        return (np.delete(kept, rows, axis=1) if self.kernel == "precomputed" else kept), parameters

    def _without_parameters(self, rows: np.ndarray) -> dict[str, Any]:
        """Leave the columns of rows out of an `init` array."""
        if isinstance(self.init, str):
            return {}
        A = np.delete(np.asarray(self.init, dtype=np.float64), rows, axis=1)
        given = A.any(axis=1).all()  # an atom made of the rows left out is gone
        return {"init": A if given else "random", "n_atoms": A.shape[0]}

    def _fold_view(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.delete(X, rows, axis=1) if self.kernel == "precomputed" else X

    def _make_learner(self, **common: Any) -> Any:
        return super()._make_learner(coding=KERNEL_CODINGS[self._read_kernel_params().coding], **common)  # type: ignore[safe-super]

    def _scaled(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Coordinates of new rows in the feature space, which have no size to speak of but their own."""
        Phi = self.kernel_map_.apply(self._kernel_rows(X))
        return Phi, Phi, None

    def _with_outside(self, X: np.ndarray, Y: np.ndarray, codes: Codes) -> Codes:
        """Add k(y, y) − ‖Φ‖²: of a row far from all landmarks the coordinates see next to nothing."""
        outside = np.empty(X.shape[0])
        for rows in gen_batches(X.shape[0], CHUNK_ROWS):
            outside[rows] = self.kernel_map_.outside(self._kernel_rows(X[rows]), Y[rows])
        return codes._replace(sq_residual=codes.sq_residual + outside)

    def _kernel_rows(self, X: np.ndarray) -> np.ndarray:
        """Rows as the kernel takes them; those that are too large for it are shortened."""
        kernel = self.kernel_map_.kernel
        if kernel is None:
            return X
        return shorten(super()._scaled(X)[0], kernel.reach(X.shape[1]))

    @property
    def inverse_transform(self) -> Any:
        """There is none: a point of the feature space need not belong to a row."""
        raise AttributeError(
            f"{type(self).__name__} has no inverse_transform: codes live in the kernel's feature space."
        )

    @property
    def _coding(self) -> str:  # type: ignore[override]
        return KERNEL_CODINGS[self.kernel_coding_]
