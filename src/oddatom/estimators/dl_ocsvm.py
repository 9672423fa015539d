"""DL-OCSVM: dictionary learning fused with a one-class SVM, as a scikit-learn detector."""

from __future__ import annotations

import copy
import warnings
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from oddatom.arrays.threads import threads
from oddatom.estimators._bounded import bound_findings
from oddatom.estimators._callbacks import with_callbacks
from oddatom.estimators._fitting import LearnedDetector
from oddatom.estimators._partial import DECAY, batch
from oddatom.estimators._ranking import ranking_findings
from oddatom.estimators._validation import check_parameters, check_rows, fitted_attributes, old_model_on_error
from oddatom.estimators._weights import offer_weights
from oddatom.exceptions import ParameterError
from oddatom.learners.dl import DL
from oddatom.learners.trimming import OVER, trim_batch
from oddatom.passes.group import ShardGroup
from oddatom.rows.array import ArraySource, LocalShard
from oddatom.rows.remembered import Memory


def _learns_on(detector: Any) -> bool:
    """Whether a detector has `partial_fit`; a kernel's atoms are made of the training rows."""
    if hasattr(detector, "kernel"):
        raise AttributeError(
            f"{type(detector).__name__} has no partial_fit: its atoms are made of the training rows. Fit it anew, or "
            "use DLOCSVM."
        )
    return True


class DLOCSVM(LearnedDetector):
    r"""Anomaly detection by sparse codes whose dictionary and one-class SVM are learned together.

    Solves, over dictionaries D (n_atoms × m, unit rows), codes X (N × n_atoms, at most n_nonzero a row, support
    fixed by orthogonal matching pursuit),

    .. math::
        \tfrac12\|Y - XD\|_F^2 + \beta \sum_i \phi(\|x^i\|)
        + \eta \, G(X)

    by alternating sweeps over the atoms (Theorem 1 of the paper) with an exact one-class SVM. G is the least value of
    the SVM on the codes; its boundary is a ball (SVDD) or a plane. Y is the data divided by its Frobenius norm. Atoms
    whose row of codes falls to zero are trimmed for good. `DLOCSVM.paper()` has the settings of the paper.

    Parameters
    ----------
    n_atoms : int or None, default=None
        Number of atoms. None means twice the number of features.
    n_nonzero : int or None, default=None
        Most non-zeros in a row's code. None means the square root of the number of features, rounded.
    beta : float, default=0.1
        Weight of the row penalty, at least 0. It does not depend on the scale of the data.
    penalty : {"l21", "l20", "l2eps"} or ("l2eps", epsilon), default="l21"
        Row penalty phi: the norm, its support, or the norm clipped at epsilon (0.1 where not given).
    nu : float, default=0.1
        Upper bound on the share of training rows outside the margin, in (0, 1].
    coupling : float or ("eta", float), default=0.1
        Weight of a row outside the boundary, beside half its squared residual: a share of nu N, the paper's
        eta = coupling · nu · N. ("eta", number) gives eta itself, which is 1 in the paper. 0 learns the dictionary
        without the SVM.
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
    init : {"random", "data"} or array of shape (n_atoms, n_features), default="random"
        First dictionary: uniform random atoms as in the paper, random rows of the data, or the rows given.
    n_init : int, default=1
        Number of first dictionaries to try; the fit with the lowest objective is kept. An `init` array is one start.
    trim : float, default=0.3
        Share of the rows, below 1, that take no part in the fit: those whose values are rarest, column by column, by
        histograms. Center and spread of the columns, scores and thresholds are of all rows. A group of rows that is
        smaller than this share may be left out whole; where all training rows are normal, set 0.
    solver : {"exact", "paper"} or dict, default="exact"
        "exact": the global maximiser of every atom's problem, with a certificate, and the exact SVM. "paper": the
        paper's power method, and libsvm's steps, which stop early as in the published program and depend on the order
        of rows. A dict mixes them: {"atoms": "exact" or "power", "svm": "exact" or "libsvm"}.
    scoring : {"description_length", "residual", "loda", "margin"}, default="description_length"
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
        standard deviation.
    device : str, default="cpu"
        Where the rows are worked on: "cpu", "cuda", "cuda:1", or "auto" for a GPU where there is one. A GPU needs torch
        (the extra `gpu`), and keeps float32 rows in float32. Fitted attributes are NumPy arrays in any case.
    random_state : int, RandomState instance or None, default=None
        Draws the first dictionary.
    n_jobs : int or None, default=None
        Threads. None means all cores, unless joblib says otherwise. The result does not depend on it.
    verbose : int, default=0
        1 logs a line per sweep to the logger "oddatom"; 2 also records after every atom, in
        `history_.lagrangian`, what a sweep lowers: the bound of F + eta G, or with "multipliers" the Lagrangian (slow).

    Attributes
    ----------
    components_ : ndarray of shape (n_active_atoms, n_features)
        Atoms in use, unit rows.
    coef_ : ndarray of shape (n_active_atoms,)
        The boundary of the last SVM, plane w or centre c, fitted on the training rows coded again with `components_`.
    offset_ : float
        `decision_function = score_samples - offset_`, as `threshold_` has it.
    scoring_, threshold_ : str and Threshold
        The score of the last fit, and the threshold in force (see `set_threshold`).
    train_scores_ : ndarray of shape (n_samples,)
        `score_samples` of the training rows, sorted; each as often as its whole weight says.
    svm_offset_ : float
        Offset of threshold="svm".
    code_statistics_ : CodeStatistics
        How training rows use the atoms and what they leave, for scoring="description_length".
    fold_models_, fold_rows_, conformal_ : list, list and CrossConformal, or None
        With `n_folds`: models fitted without each fold, the rows of the folds, and their held-out scores.
    nu_ : float
        The nu of `coef_`: `nu`, or larger where the exact SVM has no margin at `nu` (a warning says so).
    dual_coef_ : ndarray of shape (n_samples,)
        Multipliers of the last SVM, between 0 and 1/(`nu_` n_samples), summing to 1. It and the next two by row are
        None where more than 2²⁰ rows are not in memory.
    gap_ : float
        Duality gap of the last SVM, in units of the codes' mean square.
    dictionary_, active_atoms_ : ndarray of shape (n_atoms, n_features) and (n_atoms,)
        Every atom, trimmed ones as they were left, and which are in use.
    train_codes_, train_decision_ : CSR array (n_samples, n_atoms) and ndarray (n_samples,)
        Codes as the last sweep left them and their decision values: what the paper's first experiment reports.
    train_coef_, train_offset_ : ndarray (n_atoms,) and float
        The SVM on `train_codes_`.
    boundary_ : {"plane", "ball"}
        What `coef_` is: the plane w, or the centre of the ball.
    kept_rows_ : ndarray of shape (n_samples,)
        Where `trim` left rows out: which took part, of the rows with a weight above zero. Other attributes with an
        entry for each row are of those.
    history_ : History
        F, G, total, n_active, gap and seconds per outer iteration.
    scaling_ : Scaling
        Center, spread and Frobenius norm, applied to new rows unchanged.
    scale_ : float
        The Frobenius norm the data were divided by.
    n_nonzero_ : int
        Non-zeros used.
    n_iter_ : int
        Sweeps done.
    memory_ : Memory
        After `partial_fit`: the rows that the next batch is joined to, at most 20,000.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from oddatom import DLOCSVM
    >>> X = load_wine().data
    >>> model = DLOCSVM(nu=0.05, beta=0.02, random_state=0).fit(X)
    >>> scores = model.score_samples(X)          # low = anomalous
    >>> model.predict(X[:3]).tolist()
    [1, 1, 1]
    """

    dictionary_: np.ndarray
    memory_: Memory

    def __init__(
        self,
        n_atoms: int | None = None,
        n_nonzero: int | None = None,
        *,
        beta: float = 0.1,
        penalty: Any = "l21",
        nu: float = 0.1,
        coupling: Any = 0.1,
        coupling_form: str = "hinge",
        boundary: str = "ball",
        max_iter: int = 6,
        tol: float = 0.0,
        init: Any = "random",
        n_init: int = 1,
        trim: float = 0.3,
        solver: Any = "exact",
        scoring: str = "description_length",
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
        self.penalty = penalty
        self.nu = nu
        self.coupling = coupling
        self.coupling_form = coupling_form
        self.boundary = boundary
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

    @offer_weights
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn dictionary and boundary from unlabelled rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Or a Dask array or frame, the path of a Parquet file or a list of them, or a torch tensor.
        y : ignored, but shown to callbacks (a `ScoringMonitor` needs labels)
        sample_weight : array-like of shape (n_samples,), optional
            How often a row counts, at least 0: a row of weight 3 is as good as three that are the same, in scaling,
            dictionary, SVM, statistics and threshold; their sum is in the place of the number of rows. Only the rows
            that init="data" begins with are drawn without them. Rows of weight 0 are left out, of attributes by row
            too. Of weights that are not whole, or sum to more than 2²⁴, `train_scores_` holds as many scores as there
            are rows, spread by weight: thresholds made of it hold to about one part in so many. For rows in memory,
            without `n_folds`.

        Returns
        -------
        self
        """
        return self._fit_anew(X, y, sample_weight)

    @available_if(_learns_on)
    def partial_fit(self, X: Any, y: Any = None, *, decay: float = DECAY) -> Self:
        """Learn from a further batch of rows, and forget some of the earlier ones.

        The first batch of an unfitted model gives what `fit` gives, bit for bit. With a later one the model is fitted
        anew to the rows that are still remembered and to X, beginning with the old `dictionary_`, trimmed atoms
        included, where `fit` takes `init`. A row that came a batches ago is still there with probability decayᵃ; at
        most 20,000 rows are remembered, beyond which old and new rows are thinned alike: after a first batch of a
        million rows, of which a fiftieth is remembered, a fiftieth of the next batch enters, and 1/decay times as much
        of each one after it (`memory_.limit` is that share). Begin with a sample of so many rows. Scaling, SVM,
        statistics and threshold are those of the rows learned from, and attributes by row have an entry for each of
        them. The models of `n_folds` begin as `fit` does: no held-out row has shaped them.

        Other parameters than before are those of the coming fit; `init` and `n_init` are of the first batch alone, and
        `n_atoms` must stay. `fit` begins anew and remembers no rows: X after it is learned from alone, with a warning.
        Pickled and saved models remember their rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            In memory, with device="cpu".
        y : ignored, but shown to callbacks with the first batch
        decay : float, default=0.9
            Share of the earlier rows that stay, in [0, 1]: batches of n rows make n/(1 − decay) in the long run. 0
            learns from X alone, beginning with the old dictionary; 1 forgets nothing before there are 20,000.

        Returns
        -------
        self
        """
        check_parameters(self, self._advice)
        self._check_threshold(self.threshold, fitted=False)
        with old_model_on_error(self), threads(self.n_jobs), batch(self, X, decay) as rows:
            self._check_folds(rows.shape[0])
            twin = copy.copy(self)
            if hasattr(self, "dictionary_"):
                twin.init, twin.n_atoms, y = self.dictionary_, self._same_n_atoms(), None
            source = ArraySource(rows)
            svm = with_callbacks(LearnedDetector._fit_rows)(twin, source, (rows, y))
            self.__dict__.pop("kept_rows_", None)
            self.__dict__.update(fitted_attributes(twin))
            findings = [
                *self._findings(svm, self.components_.shape[0]),
                *bound_findings(self, source),
                *ranking_findings(self, source, svm.flat or svm.degenerate),
            ]
            self._calibrate(source)
        for finding, category in findings:
            warnings.warn(finding, category, stacklevel=2)
        return self

    def _same_n_atoms(self) -> int:
        n_atoms = self.dictionary_.shape[0]
        if self.n_atoms not in (None, n_atoms):
            raise ParameterError(
                type(self).__name__,
                "n_atoms",
                f"must be None or {n_atoms}, as before, in a later partial_fit. Got {self.n_atoms!r} instead",
                value=self.n_atoms,
                advice="fit anew for another number of atoms.",
            )
        return n_atoms

    def _make_learner(self, **common: Any) -> DL:
        return DL(atom_solver=self._solvers()["atoms"], **common)

    def detect_batch(self, X: Any, *, over: str = "atom") -> np.ndarray:
        """Return +1 / −1 by the paper's Algorithm 3, which trims atoms over the batch as a whole.

        The rows are coded with the whole dictionary; an atom whose residual has a largest singular value that the
        penalty shrinks to zero (sigma_1 ≤ beta for "l21") loses its codes; anomalies are rows with w·x − rho ≤ 0 under
        the SVM of the last sweep (of a ball, rows on or outside it). Labels depend on the batch; use `predict` for
        labels that do not. Where that SVM has no margin (w = 0) the rule makes every row an anomaly: a warning says so.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        over : {"atom", "batch"}, default="atom"
            Which rows the residual E + x d is of: those that use the atom, as in training, or all of the batch, as the
            text of Algorithm 3 has it; that trims less.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if over not in OVER:
            problem = f"must be one of {OVER}. Got {over!r} instead"
            raise ParameterError(f"{type(self).__name__}.detect_batch", "over", problem, value=over)
        X = check_rows(self, X, reset=False)
        with threads(self.n_jobs):
            Y = self._batch_rows(X)
            group, rows = ShardGroup([LocalShard(Y)]), Y if over == "batch" else None
            codes = trim_batch(group, self.dictionary_, self.n_nonzero_, self._make_penalty(), self._coding, rows)
        return self._batch_labels(codes, "Algorithm 3")
