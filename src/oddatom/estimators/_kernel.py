"""What the kernel detectors share: rows are taken to the coordinates of a kernel's feature space, and learned there."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from oddatom.arrays.memory import usable_memory
from oddatom.boundary.plane import OneClassFit
from oddatom.coding import Codes
from oddatom.estimators._callbacks import with_callbacks
from oddatom.estimators._elsewhere import KEPT_ROWS, combined_rows, linear_features
from oddatom.estimators._fitting import LearnedDetector
from oddatom.exceptions import IndefiniteKernelWarning
from oddatom.kernels.coordinates import KernelMap, fit_kernel_map
from oddatom.kernels.functions import GAMMAS, KERNELS, Kernel, find_gamma, shorten
from oddatom.kernels.landmarks import LANDMARKS
from oddatom.learners.alternate import Model
from oddatom.learners.initial import unit_rows
from oddatom.rows import Source
from oddatom.rows import blocks as passes
from oddatom.rows.row_map import RowMap
from oddatom.scaling.array_columns import fit_scaling
from oddatom.scaling.linear import Scaling

EXACT_ROWS = 4000  # approximation="auto" is exact up to here
HERE = 2**27  # numbers that rows are brought here by to choose landmarks among: 1 GB
KERNEL_CODINGS = {"correlation": "correlation", "gram": "omp"}


class KernelDetector(LearnedDetector):
    """A learned detector in the feature space of `kernel`; the dictionary's rows are coordinates there."""

    kernel_map_: KernelMap
    kernel_coding_: str

    _init_columns = "n_samples"
    _splits_over_features = False

    _parameter_constraints: ClassVar[dict] = {
        **LearnedDetector._parameter_constraints,
        "kernel": [StrOptions({*KERNELS, "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions(set(GAMMAS))],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "approximation": [StrOptions({"nystroem", "auto"}), None],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "landmarks": [StrOptions(set(LANDMARKS))],
        "rank_tol": [Interval(Real, 0, 1, closed="neither"), None],
        "kernel_coding": [StrOptions(set(KERNEL_CODINGS))],
    }
    _advice: ClassVar[dict[str, str]] = {
        **LearnedDetector._advice,
        "gamma": "It is the kernel's width: 'scale' suits most data.",
        "kernel": "A function is called with two arrays of rows and returns their matrix.",
        "init": "Pass a name, or for each atom its coefficients over the training rows.",
        "n_atoms": "None takes twice the number of features, or of the root of the rows where precomputed.",
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _sizes(self, X: np.ndarray) -> tuple[int, int]:
        """The number that defaults go by, and of columns of an `init` array."""
        precomputed = self.kernel == "precomputed"
        return (max(1, round(X.shape[0] ** 0.5)) if precomputed else X.shape[1]), X.shape[0]

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn dictionary and plane from unlabelled rows.

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

    def _fit_features(
        self, X: np.ndarray, rng: np.random.RandomState, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        scaling, Y = Scaling(None, None, 1.0), X
        if self.kernel == "precomputed":
            self._check_gram(X)
        else:
            scaling, Y = fit_scaling(X, self.scaling)
            self._check_varied(Y)
        kernel_map = self._fit_kernel_map(Y, X.shape[0], rng)
        Phi = kernel_map.apply(Y)
        self._check_coordinates(bool(Phi.any()), X.shape[0])
        return Phi, _kernel_attributes(scaling, kernel_map)

    def _source_features(self, source: Source, rng: np.random.RandomState) -> tuple[RowMap, int, dict[str, Any]]:
        N, m = source.shape
        row_map = linear_features(self, source)[0]
        # The map of rows that fit here; the exact one needs them all.
        most = min(HERE, usable_memory() // 64) // m
        here = np.arange(N) if most >= N else np.sort(rng.choice(N, max(most, 1), replace=False))
        if here.size < N and self._exact(N):
            raise ValueError(
                f"The 'approximation' parameter of {type(self).__name__} must be 'nystroem' or 'auto' for {N} rows of "
                f"{m} features that are not here. Got {self.approximation!r} instead."
            )
        kernel_map = self._fit_kernel_map(row_map(source.take(here)), N, rng)
        kernel_map = kernel_map._replace(indices=here[kernel_map.indices], n_samples=N)
        row_map = RowMap(row_map.scaling, kernel_map)
        self._check_coordinates(any(found.any() for found in source.map(passes.nonzero, row_map)), N)
        return row_map, kernel_map.T.shape[1], _kernel_attributes(row_map.scaling, kernel_map)

    def _exact(self, N: int) -> bool:
        return self.approximation is None or (self.approximation == "auto" and N <= EXACT_ROWS)

    def _fit_kernel_map(self, Y: np.ndarray, N: int, rng: np.random.RandomState) -> KernelMap:
        """Fit the coordinates to scaled rows, some or all of N; for precomputed to their matrix."""
        kernel: Kernel | None = None
        if self.kernel != "precomputed":
            width = find_gamma(self.gamma, self.kernel, Y, rng)
            kernel = Kernel(self.kernel, width, float(self.degree), float(self.coef0))
        rank_tol = self.rank_tol
        if rank_tol is None:  # kernels of low rank are taken as they are
            rank_tol = 1e-14 if self.kernel in ("linear", "cosine") else 1e-8
        landmarks = None if self._exact(N) else int(self.n_landmarks)
        return fit_kernel_map(kernel, Y, float(rank_tol), landmarks, self.landmarks, rng)

    def _check_coordinates(self, varied: bool, N: int) -> None:
        if not varied:
            raise ValueError(
                "The positive part of the kernel of all training rows is zero: there is nothing to learn. Try another "
                "kernel."
                if self._exact(N)
                else f"The {int(self.n_landmarks)} landmarks see nothing of the other rows. Raise n_landmarks, or take "
                "landmarks='leverage'."
            )

    def _check_gram(self, K: np.ndarray) -> None:
        name = type(self).__name__
        if self.scaling is not None:
            raise ValueError(
                f"The 'scaling' parameter of {name} must be None where kernel='precomputed'. Got {self.scaling!r} "
                "instead; scale the data before you compute their kernel."
            )
        if K.shape[0] != K.shape[1]:
            raise ValueError(
                f"With kernel='precomputed' {name} is fitted on the square matrix of the training rows' kernel. Got "
                f"shape {K.shape} instead; pass K(X, X)."
            )
        apart, size = float(np.abs(K - K.T).max()), float(np.abs(K).max())
        if apart > 1e-8 * size:
            raise ValueError(
                f"A precomputed kernel must be symmetric. Entries differ from their mirror image by up to {apart:.3g}; "
                "pass (K + K.T) / 2 if that is rounding."
            )

    def _first_dictionary(self, Phi: np.ndarray, n_atoms: int, rng: np.random.RandomState) -> np.ndarray:
        """D = φ(Y)A: A uniform as in the paper, one training row per atom, or as given."""
        if isinstance(self.init, str) and self.init == "data":
            return super()._first_dictionary(Phi, n_atoms, rng)
        if isinstance(self.init, str):
            A = rng.uniform(size=(n_atoms, Phi.shape[0]))
        else:
            A = np.array(self.init, dtype=np.float64)
        return _unit_atoms(A @ Phi)

    def _source_dictionary(
        self, source: Source, row_map: RowMap, width: int, n_atoms: int, rng: np.random.RandomState
    ) -> np.ndarray:
        if isinstance(self.init, str) and self.init == "data":
            return super()._source_dictionary(source, row_map, width, n_atoms, rng)
        if isinstance(self.init, str):
            return _unit_atoms(
                combined_rows(source, row_map, n_atoms, lambda k: rng.uniform(size=(k, source.shape[0])))
            )
        A = iter(np.array(self.init, dtype=np.float64))
        return _unit_atoms(combined_rows(source, row_map, n_atoms, lambda k: np.stack([next(A) for _ in range(k)])))

    def _own_attributes(self, model: Model, active: np.ndarray, features: dict[str, Any]) -> dict[str, Any]:
        own = super()._own_attributes(model, active, features)
        kernel_map = features["kernel_map_"]
        A = kernel_map.coefficients(model.D) if kernel_map.n_samples <= KEPT_ROWS else None
        return {**own, "dictionary_coefficients_": A, "kernel_coding_": self.kernel_coding}

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
        """Leave rows out of the training rows: of a precomputed matrix columns too, of an `init` array the columns."""
        kept, parameters = super()._without(X, rows)
        if self.kernel == "precomputed":
            kept = np.delete(kept, rows, axis=1)
        if not isinstance(self.init, str):
            A = np.delete(np.asarray(self.init, dtype=np.float64), rows, axis=1)
            given = A.any(axis=1).all()  # an atom made of the rows left out is gone
            parameters["init"], parameters["n_atoms"] = (A if given else "random"), A.shape[0]
        return kept, parameters

    def _fold_view(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.delete(X, rows, axis=1) if self.kernel == "precomputed" else X

    def _make_learner(self, **common: Any) -> Any:
        return super()._make_learner(coding=KERNEL_CODINGS[self.kernel_coding], **common)  # type: ignore[safe-super]

    def _scaled(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Coordinates of new rows in the feature space, which have no size to speak of but their own."""
        Phi = self.kernel_map_.apply(self._kernel_rows(X))
        return Phi, Phi, None

    def _with_outside(self, X: np.ndarray, Y: np.ndarray, codes: Codes) -> Codes:
        """Add k(y, y) − ‖Φ‖²: of a row far from all landmarks the coordinates see next to nothing."""
        outside = self.kernel_map_.outside(self._kernel_rows(X), Y)
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


def _unit_atoms(D: np.ndarray) -> np.ndarray:
    bad = np.flatnonzero(~(np.isfinite(D).all(axis=1) & D.any(axis=1)))
    if bad.size:
        raise ValueError(
            f"The 'init' coefficients must make finite, non-zero atoms. Atom {bad[0]} is not; replace its row."
        )
    return unit_rows(D)


def _kernel_attributes(scaling: Scaling, kernel_map: KernelMap) -> dict[str, Any]:
    return {
        "scaling_": scaling,
        "scale_": scaling.scale,
        "kernel_map_": kernel_map,
        "gamma_": None if kernel_map.kernel is None else kernel_map.kernel.gamma,
        "landmark_indices_": kernel_map.indices,
    }
