"""What the dictionary detectors share: scikit-learn's contract on top of a fitted dictionary and plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OutlierMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array, check_is_fitted

from oddatom._documented import DocumentedMixin
from oddatom.arrays.threads import threads
from oddatom.boundary.plane import GAP_TOL, OneClassFit
from oddatom.coding import CODINGS, Codes, resize, to_csr, without_atoms
from oddatom.decisions import ThresholdMixin
from oddatom.estimators._calibrated import CalibratedMixin
from oddatom.estimators._callbacks import CallbackSupportMixin
from oddatom.estimators._routing import score_elsewhere
from oddatom.estimators._saving import SaveMixin
from oddatom.estimators._validation import check_rows
from oddatom.exceptions import (
    AllAtomsTrimmedWarning,
    DegenerateMarginWarning,
    OddAtomError,
    SolverWarning,
)
from oddatom.explanations import Explanation, as_frame_like, by_atom, by_feature
from oddatom.scaling.linear import Scaling
from oddatom.scores import OF_BOUNDARY, SCORES, CodeStatistics, formula_of, score

# Rows coded at a time: enough to keep every thread busy, small enough to keep scoring's memory flat.
CHUNK_ROWS = 16_384


class DictionaryDetector(
    DocumentedMixin,
    CallbackSupportMixin,
    CalibratedMixin,
    ThresholdMixin,
    SaveMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    OutlierMixin,
    BaseEstimator,
):
    """Detector with `components_` (active atoms as unit rows), `coef_`, `offset_` and `scaling_`."""

    _row_weights: ClassVar[tuple[str, ...]] = ("beta",)  # parameters that can trim an atom
    _other_codes: str = ""  # advice where other codes of the same detector may have a margin

    components_: np.ndarray
    coef_: np.ndarray
    boundary_: str = "plane"
    scaling_: Scaling
    scoring_: str
    svm_offset_: float
    code_statistics_: CodeStatistics
    _solvers: Callable[[], dict[str, str]]  # by step

    def _scaled(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Scale new rows: Y, and Z = Y / size for work on squares, see `Scaling.sized`."""
        Z, size = self.scaling_.sized(X)
        return (Z if size is None else Z * size), Z, size

    def _chunks(self, X: np.ndarray) -> Iterator[tuple[slice, np.ndarray, Codes]]:
        """Scale and code new rows chunk by chunk, inside `threads`: which they are, the scaled rows, their codes.

        A row's code does not depend on the rows around it.
        """
        D = self.components_
        gram = D @ D.T
        for start in range(0, X.shape[0], CHUNK_ROWS):
            rows = slice(start, min(start + CHUNK_ROWS, X.shape[0]))
            Y, Z, size = self._scaled(X[rows])
            codes = self._code(Z, D, gram) if D.shape[0] else without_atoms(Z)
            yield rows, Y, self._with_outside(X[rows], Y, resize(codes, size))

    def _with_outside(self, X: np.ndarray, Y: np.ndarray, codes: Codes) -> Codes:
        """Add to the residuals what the coordinates Y of the rows X do not see of them."""
        return codes

    def _loda_codes(self, X: np.ndarray) -> Iterator[Codes]:
        """Code new rows chunk by chunk as scoring="loda" takes them, inside `threads`."""
        return (codes for _, _, codes in self._chunks(X))

    _coding: str = "omp"  # which of CODINGS
    _analysis: np.ndarray | None = None  # P, where codes are linear

    def _code(self, Z: np.ndarray, D: np.ndarray, gram: np.ndarray) -> Codes:
        return CODINGS[self._coding](Z, D, min(self.n_nonzero_, D.shape[0]), gram=gram)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the score of each row, the one that `scoring` names: higher = more normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_training_rows) where precomputed

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        elsewhere = score_elsewhere(self, X)
        return self._checked_scores(X) if elsewhere is None else elsewhere

    def _checked_scores(self, X: Any) -> np.ndarray:
        """Return the scores of rows in memory, checked first."""
        return self._block_scores(check_rows(self, X, reset=False))

    def _block_scores(self, X: np.ndarray) -> np.ndarray:
        return self._scores(X, [self.scoring_])[self.scoring_]

    def score_parts(self, X: Any) -> dict[str, np.ndarray]:
        """Return every score of each row's code: w·x or −‖x − c‖², −‖y − x D‖² and minus the description length.

        Each is what `score_samples` returns where the model is fitted with that `scoring`: higher = more normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_training_rows) where precomputed

        Returns
        -------
        parts : dict of ndarray of shape (n_samples,)
            "margin", of a ball "distance"; "residual" and "description_length"; "loda" where the model was fitted with
            that score.
        """
        check_is_fitted(self)
        known = [name for name in SCORES if name != "loda" or self.code_statistics_.histograms is not None]
        names = [OF_BOUNDARY[self.boundary_] if name == "margin" else name for name in known]
        return self._scores(check_rows(self, X, reset=False), names)

    def _scores(self, X: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Return scores of checked rows, by name."""
        out = {name: np.empty(X.shape[0]) for name in names}
        with threads(self.n_jobs):
            for rows, _, codes in self._chunks(X):
                for name in names:
                    out[name][rows] = score(name, codes, self.coef_, self.code_statistics_)
        return out

    def _device_scores(self, rows: Any, device: Any) -> Any:
        """Return the scores of finite rows as a tensor on a torch device; rows elsewhere are copied there in blocks."""
        from oddatom.scores.torch_scores import score_rows

        return score_rows(
            rows, self.scaling_, self.components_, self.coef_, self.n_nonzero_, self.code_statistics_, [self.scoring_],
            self._coding, kernel_map=getattr(self, "kernel_map_", None), analysis=self._analysis, device=device,
        )[self.scoring_]  # fmt: skip

    def _svm_offset(self) -> float:
        return self.svm_offset_

    def explain(self, X: Any) -> Explanation:
        """Return what each feature, and each atom, adds to a row's score, the one that the model was fitted with.

        What an atom adds, w_i x_i to the margin or −(x_i − c_i)² to a ball's score, is shared out over its features
        by the squares of their entries. What the code leaves of a feature, e_f², counts where the score counts the
        residual. A very large entry draws the code towards itself, so what it disturbs may show in the features that
        its atoms have in common with it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_training_rows) where precomputed

        Returns
        -------
        explanation : Explanation
            `contributions`, of shape (n_samples, n_features): rows sum to `score_samples(X)` up to rounding. None of
            kernels, which do not split over features.
            `by_atom`, of shape (n_samples, n_active_atoms): what each atom adds.
            Arrays; frames of X's library where X is a pandas or polars frame whose columns have text names, with
            the atoms named by `get_feature_names_out` and the features as in X. Both are dense.
        """
        check_is_fitted(self)
        checked = check_rows(self, X, reset=False)
        contributions = np.empty(checked.shape) if self._splits_over_features else None
        of_atoms = np.empty((checked.shape[0], self.components_.shape[0]))
        with threads(self.n_jobs), np.errstate(over="ignore"):
            for rows, Y, codes in self._chunks(checked):
                terms = formula_of(self.scoring_)(codes, self.coef_, self.code_statistics_)
                of_atoms[rows] = by_atom(terms, codes, of_atoms.shape[1])
                if contributions is not None:
                    contributions[rows] = by_feature(terms, codes, Y, self.components_)
        return self._explanation(contributions, of_atoms, X)

    _splits_over_features: ClassVar[bool] = True

    def _explanation(self, contributions: np.ndarray | None, of_atoms: np.ndarray, X: Any) -> Explanation:
        by_columns = None if contributions is None else as_frame_like(contributions, X)
        return Explanation(by_columns, as_frame_like(of_atoms, X, self.get_feature_names_out()))

    def transform(self, X: Any) -> Any:
        """Return the codes of the rows on the active atoms.

        Returns
        -------
        codes : CSR array of shape (n_samples, n_active_atoms); dense after `set_output` to a frame.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        n = self.components_.shape[0]
        with threads(self.n_jobs):
            pieces = [to_csr(codes, n) for _, _, codes in self._chunks(X)]
        out = scipy.sparse.vstack(pieces, format="csr") if len(pieces) > 1 else pieces[0]
        if _get_output_config("transform", self)["dense"] != "default":
            return out.toarray()
        return out

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows that codes stand for, in the units of the input.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_active_atoms)
        """
        check_is_fitted(self)
        X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_min_features=0)
        n = self.components_.shape[0]
        if X.shape[1] != n:
            raise OddAtomError(
                f"Codes must have one column per active atom, {n}. Got {X.shape[1]} instead",
                parameter="X",
                advice="pass what transform returned.",
            )
        return self.scaling_.undo(np.asarray(X @ self.components_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")  # a fit that failed has left n_features_in_ behind

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _findings(self, svm: OneClassFit, n_active: int) -> Iterator[tuple[str, type[Warning]]]:
        """Say what is wrong with the last fit, if anything; `fit` makes warnings of it."""
        name = type(self).__name__
        if n_active == 0:
            weights = " and ".join(f"{weight}={getattr(self, weight)}" for weight in self._row_weights)
            outweigh = "outweigh" if len(self._row_weights) > 1 else "outweighs"
            left = "every score is 0" if self.scoring in ("margin", "loda") else "only the size of a row counts"
            yield (
                f"{name} trimmed every atom: {weights} {outweigh} all rows of codes, and {left}. "
                f"Lower {' or '.join(self._row_weights)}.",
                AllAtomsTrimmedWarning,
            )
        elif self.boundary_ == "ball":
            if svm.flat and self.scoring == "margin":
                yield (
                    f"{name} gives every row of the fit the same score: their codes are equally far from the centre of "
                    "the ball. Take another scoring.",
                    DegenerateMarginWarning,
                )
        elif svm.degenerate or self.nu_ > self.nu:
            found, larger_nu = "every score is 0", ""
            if not svm.degenerate:
                larger_nu = "a larger nu, "
                found = (
                    f"the plane of nu={self.nu_:.3g} is used instead, its offset set so that at most a share "
                    f"{self.nu} of the training rows lies outside"
                )
            if self.scoring != "margin":
                plane = "zero" if svm.degenerate else f"the plane of nu={self.nu_:.3g}"
                batch = ", but detect_batch may call every row an anomaly" if hasattr(self, "detect_batch") else ""
                found = f"coef_ is {plane}. Scores, by scoring={self.scoring!r}, do without it{batch}"
            yield (
                f"{name} found no margin at nu={self.nu}: the origin lies in the reduced hull of the codes and the "
                f"exact one-class SVM is w = 0; {found}. It happens when columns are centred around zero. Try "
                f"{larger_nu}{self._other_codes}another scaling (None keeps the columns' means), or data whose origin "
                "means something.",
                DegenerateMarginWarning,
            )
        elif svm.flat and self.scoring == "margin":
            yield (
                f"{name} gives every row of the fit the same score: their codes lie in a plane whose point nearest the "
                "origin is among them. It happens when columns are centred beside a constant one. Leave constant "
                f"columns out, {self._other_codes}or try another scaling.",
                DegenerateMarginWarning,
            )
        if n_active and not svm.degenerate and self._solvers()["svm"] == "exact" and svm.gap > GAP_TOL:
            yield (
                f"The one-class SVM ended with a duality gap of {svm.gap:.1e} instead of {GAP_TOL:.0e}. Look for "
                "rows or columns of extreme size, and bring them to the size of the others.",
                SolverWarning,
            )
