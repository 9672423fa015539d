"""KDPL-OCSVM: DPL-OCSVM in the feature space of a kernel, as a scikit-learn detector."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from oddatom.boundary.plane import OneClassFit
from oddatom.coding import Codes
from oddatom.decisions import Threshold
from oddatom.estimators._base import CHUNK_ROWS
from oddatom.estimators._kernel import KernelDetector
from oddatom.estimators.dpl_ocsvm import DPLOCSVM
from oddatom.passes import PairPasses, ShardGroup
from oddatom.rows import Source
from oddatom.rows.array import ArraySource
from oddatom.scaling.linear import Scaling
from oddatom.scores import OF_BOUNDARY
from oddatom.scores.center_distance import row_distances
from oddatom.scores.margin import linear_margin

ROUNDING = 1e-6  # of the largest margin: what a margin from codes and one from the kernel may differ by


class KDPLOCSVM(KernelDetector, DPLOCSVM):
    r"""Anomaly detection by a pair of dictionaries in a kernel's feature space, learned with a one-class SVM.

    Solves, over dictionaries D = φ(Y)A (unit atoms: AᵀKA has a unit diagonal), analysis dictionaries P (codes of a row
    y are x = P φ(y), in the paper b K̃),

    .. math::
        \tfrac12\|\varphi(Y) - \varphi(Y)P^TD\|^2 + \beta \sum_i \phi(\|\varphi(Y)p_i\|)
        + \alpha \sum_i u_i \|\varphi(Y)p_i\|_1
        + \eta \, G(X)

    by what `DPLOCSVM` does, on the rows' coordinates in the feature space. Y is the data divided by its Frobenius norm;
    the kernel matrix is not scaled, so `beta` is to be seen beside the root of the kernel's trace.

    Parameters
    ----------
    n_atoms : int or None, default=None
        Number of atoms. None means twice the number of features, or of the root of the rows where precomputed.
    n_nonzero : int or None, default=None
        Most non-zeros in a row's code. None means the square root of the number of features (or of the root of the rows
        where precomputed), rounded.
    beta : float, default=0.1
        Weight of the row penalty, at least 0.
    alpha : float or None, default=None
        Weight of the l1 penalty of the codes, at least 0. None means 1 / sqrt(n_samples).
    kernel : {"rbf", "laplacian", "polynomial", "sigmoid", "linear", "cosine", "precomputed"} or callable, default="rbf"
        "poly" is short for "polynomial". A function is called with two read-only arrays of scaled rows, N × m and
        M × m, and returns their N × M matrix; a score is then as independent of other rows, and a model as easily
        pickled, as the function is. With "precomputed" `fit` takes the training rows' square matrix, and the other
        methods K(new rows, training rows).
    gamma : float or {"scale", "auto", "median"}, default="scale"
        Width of the kernel, on rows divided by their Frobenius norm: 1 / (m var(Y)), 1 / m, or one over the median of
        what gamma multiplies (its absolute value, where not zero) over pairs of at most 1,000 random rows.
    kernel_params : dict or None, default=None
        `degree` (3) and `coef0` (1) of the polynomial kernel (gamma y·z + coef0)^degree and of sigmoid,
        tanh(gamma y·z + coef0). `rank_tol` (None): directions of the feature space are left out where what they add to
        k(y, y) is below this share of its largest value, for every row; None means 1e-8, and 1e-14 for "linear" and
        "cosine", whose rank is low. `coding` ("gram"): matching pursuit in the feature space, or "correlation", the
        paper's coding, matching pursuit on correlations.
    approximation : "auto", None, int or (choice, int), default="auto"
        None is exact: coordinates of the feature space on as many rows as span it. A number takes that many rows as
        landmarks of Nyström's method; those that repeat others are dropped, and memory grows with n_samples times the
        number. The choice is "uniform" (all rows alike), "kmeans++" (far from each other in feature space) or
        "leverage" (by ridge leverage scores). "auto" is exact up to 4,000 rows and takes 256 uniform ones above.
    penalty : {"l21", "l20", "l2eps"} or ("l2eps", epsilon), default="l21"
        Row penalty phi: the norm, its support, or the norm clipped at epsilon (0.1 where not given).
    nu : float, default=0.1
        Upper bound on the share of training rows outside the margin, in (0, 1].
    coupling : float or ("eta", float), default=0.1
        Weight of a row outside the boundary, beside half its squared residual: a share of nu N, the paper's
        eta = coupling · nu · N. ("eta", number) gives eta itself, which is 1 in the paper. 0 learns the dictionary
        without the SVM.
    representation : {"analysis", "omp"}, default="analysis"
        Codes of rows after training: P φ(y), or matching pursuit with D as in the paper's appendix. The last SVM is
        fitted on codes made in this way.
    coupling_form : {"hinge", "multipliers"}, default="hinge"
        What a sweep holds fixed of the SVM: its boundary, so that with the exact SVM the objective F + eta G never
        rises, or its multipliers, as in the paper, where it may.
    boundary : {"ball", "plane"}, default="ball"
        What the SVM puts around the codes of most rows: the smallest ball (SVDD), or the side of a plane away from the
        origin, as in the paper. A ball needs coupling_form="hinge". A plane needs an origin that means something: on
        centred columns usual rows lie around it.
    max_iter : int, default=6
        Number of sweeps.
    tol : float, default=0.0
        Stop when a sweep changes the objective by less than this share; 0 does every sweep.
    init : {"random", "data"} or array of shape (n_atoms, n_samples), default="random"
        First dictionary: uniform random combinations of all rows as in the paper, single rows, or as given.
    n_init : int, default=1
        Number of first dictionaries to try; the fit with the lowest objective is kept. An `init` array is one start.
    trim : float, default=0.3
        Share of the rows, below 1, that take no part in the fit: those whose values are rarest, column by column, by
        histograms. Center and spread of the columns, scores and thresholds are of all rows. A group of rows that is
        smaller than this share may be left out whole; where all training rows are normal, set 0. Of a precomputed
        kernel all rows take part.
    solver : {"exact", "paper"} or dict, default="exact"
        "exact": exact half-steps for d and p, and the exact SVM. "paper": the paper's projected gradient on the saddle
        form of Theorem 2 (it needs penalty="l21"), and libsvm's steps, which stop early as in the published program and
        depend on the order of rows. A dict mixes them: {"pairs": "exact" or "gradient", "svm": "exact" or "libsvm"}.
    scoring : {"description_length", "residual", "loda", "margin"}, default="residual"
        What `score_samples` returns, higher = more normal: minus the description length of a row, minus its squared
        residual, the log density of its code by histograms of every atom's coefficients (LODA), or the boundary's own:
        the margin w·x of a plane, minus the squared distance from the centre of a ball, −‖x − c‖².
    threshold : str, float or tuple, default="svm"
        Where `predict` cuts. "svm": the SVM's offset; for other scores, and where `trim` leaves rows out, the
        nu-quantile of all rows' scores; "auto": found from the
        training scores alone; a float in (0, 0.5], or text such as "2%": the share of training rows flagged, at most;
        "top=50": so many of them; "fdr=0.1", or ("fdr", 0.1): at most that share of false alarms among the rows
        flagged, by p-values of the rows passed.
    n_folds : int or None, default=None
        Number of folds, at least 2, of the cross-conformal `p_values`: as many more fits. None does without.
    scaling : {"robust", "standard", None}, default="robust"
        Scaling of the columns before the division by the Frobenius norm: by median and quartiles, or by mean and
        standard deviation. A precomputed kernel is not scaled.
    device : str, default="cpu"
        Where the rows are worked on: "cpu", "cuda", "cuda:1", or "auto" for a GPU where there is one. A GPU needs torch
        (the extra `gpu`), and keeps float32 rows in float32. Fitted attributes are NumPy arrays in any case.
    random_state : int, RandomState instance or None, default=None
        Draws landmarks and the first dictionary.
    n_jobs : int or None, default=None
        Threads. None means all cores, unless joblib says otherwise. The result does not depend on it.
    verbose : int, default=0
        1 logs a line per sweep to the logger "oddatom"; 2 also records after every half-step, in
        `history_.lagrangian`, what a sweep lowers: the bound of F + eta G, or with "multipliers" the Lagrangian (slow).

    Attributes
    ----------
    dictionary_coefficients_ : ndarray of shape (n_samples, n_atoms)
        A with D = φ(Y)A, zero but on the landmarks, None of more than 2²⁰ rows; AᵀKA has a unit diagonal.
    components_ : ndarray of shape (n_active_atoms, n_coordinates)
        Atoms in use, unit rows, in the coordinates of the feature space.
    analysis_components_, analysis_dictionary_ : ndarray of shape (n_active_atoms or n_atoms, n_coordinates)
        Analysis atoms: codes are coordinates times the transpose of this.
    alpha_ : float
        Weight of the l1 penalty that was used.
    coef_, offset_, nu_, dual_coef_, gap_, boundary_, kept_rows_, history_, n_iter_ : as in `DPLOCSVM`
    scoring_, threshold_, train_scores_, svm_offset_, code_statistics_, fold_models_, fold_rows_, conformal_ : as there
        (training margins of linear codes only up to rounding)
    dictionary_, active_atoms_, train_codes_, train_decision_, train_coef_, train_offset_ : as there
    kernel_map_ : KernelMap
        Takes scaled rows to their coordinates.
    landmark_indices_ : ndarray
        Rows that the coordinates are made of, by their place among the rows of the fit: X, or `X[kept_rows_]`.
    gamma_ : float or None
        The kernel's width as a number; None where precomputed.
    kernel_coding_ : str
        The coding of the last fit.
    scaling_, scale_, n_nonzero_, n_features_in_, feature_names_in_ : as there

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from oddatom import KDPLOCSVM
    >>> X = load_wine().data
    >>> model = KDPLOCSVM(nu=0.05, scaling="robust", random_state=0).fit(X)
    >>> model.predict(X).shape
    (178,)
    """

    _parameter_constraints: ClassVar[dict] = {
        **DPLOCSVM._parameter_constraints,
        **KernelDetector._parameter_constraints,
    }
    _advice: ClassVar[dict[str, str]] = {**DPLOCSVM._advice, **KernelDetector._advice}

    def __init__(
        self,
        n_atoms: int | None = None,
        n_nonzero: int | None = None,
        *,
        beta: float = 0.1,
        alpha: float | None = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        kernel_params: dict[str, Any] | None = None,
        approximation: Any = "auto",
        penalty: Any = "l21",
        nu: float = 0.1,
        coupling: Any = 0.1,
        coupling_form: str = "hinge",
        boundary: str = "ball",
        representation: str = "analysis",
        max_iter: int = 6,
        tol: float = 0.0,
        init: Any = "random",
        n_init: int = 1,
        trim: float = 0.3,
        solver: Any = "exact",
        scoring: str = "residual",
        threshold: Any = "svm",
        n_folds: int | None = None,
        scaling: str | None = "robust",
        device: str = "cpu",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_atoms = n_atoms
        self.n_nonzero = n_nonzero
        self.beta = beta
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.approximation = approximation
        self.penalty = penalty
        self.nu = nu
        self.coupling = coupling
        self.coupling_form = coupling_form
        self.boundary = boundary
        self.representation = representation
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.trim = trim
        self.solver = solver
        self.scoring = scoring
        self.threshold = threshold
        self.n_folds = n_folds
        self.scaling = scaling
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _linear_margin(self, X: np.ndarray) -> np.ndarray:
        margins = np.empty(X.shape[0])
        plane = self.kernel_map_.T @ self._plane  # over the landmarks
        for start in range(0, X.shape[0], CHUNK_ROWS):
            chunk = slice(start, start + CHUNK_ROWS)
            for rows, K in self.kernel_map_.blocks(self._kernel_rows(X[chunk])):
                margins[chunk][rows] = linear_margin(K, Scaling(None, None, 1.0), plane)
        return margins

    def _training_margins(self, source: Source, group: ShardGroup[Any], svm: OneClassFit) -> np.ndarray | None:
        if not (self._linear and isinstance(source, ArraySource)):
            return None
        codes = group.map(PairPasses.analysed)[0]
        return codes @ svm.w if svm.curvature == 0.0 else row_distances(codes, svm.w)

    def _training_scores(self, X: np.ndarray, codes: Codes, margins: np.ndarray | None) -> np.ndarray:
        if self.scoring_ in OF_BOUNDARY.values() and margins is not None:
            return margins  # not from the kernel once more, which takes a tenth of a fit
        return super()._training_scores(X, codes, margins)

    def _offset(self, threshold: Threshold) -> float:
        """Training margins are rounded otherwise than those of new rows: rows at the cut stay on its upper side."""
        offset = super()._offset(threshold)
        if offset > self.train_scores_[-1]:  # all rows are below it
            return offset + ROUNDING * float(np.abs(self.train_scores_[[0, -1]]).max())
        if threshold.kind == "svm" or self.scoring_ not in OF_BOUNDARY.values() or self.representation_ == "omp":
            return offset
        return offset - ROUNDING * float(np.abs(self.train_scores_[[0, -1]]).max())
