"""DPL-OCSVM: a pair of dictionaries fused with a one-class SVM, as a scikit-learn detector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from oddatom.arrays.threads import threads
from oddatom.boundary.plane import OneClassFit
from oddatom.coding import CODINGS, Codes, analysis_codes, linear_codes
from oddatom.estimators._base import CHUNK_ROWS
from oddatom.estimators._fitting import LearnedDetector
from oddatom.estimators._validation import check_rows
from oddatom.exceptions import ParameterError, SolverWarning
from oddatom.explanations import Explanation, by_atom, by_product
from oddatom.learners.alternate import Learner, Model
from oddatom.learners.dpl import DPL, REPRESENTATIONS
from oddatom.learners.trimming import trim_pairs
from oddatom.pairs.theorem2 import KKT_TOL
from oddatom.passes.group import ShardGroup
from oddatom.rows import Source
from oddatom.rows.array import ArraySource, PairShard
from oddatom.rows.row_map import RowMap
from oddatom.scaling.linear import LIMIT
from oddatom.scores import OF_LINEAR_CODES, loda, score
from oddatom.scores.center_distance import row_distances
from oddatom.scores.margin import linear_margin, linear_terms


class DPLOCSVM(LearnedDetector):
    r"""Anomaly detection by linear codes whose pair of dictionaries and one-class SVM are learned together.

    Solves, over synthesis dictionaries D (n_atoms × m, unit rows) and analysis dictionaries P (n_atoms × m), with codes
    x = P y,

    .. math::
        \tfrac12\|Y - YP^TD\|_F^2 + \beta \sum_i \phi(\|Yp_i\|) + \alpha \sum_i u_i \|Yp_i\|_1
        + \eta \, G(X)

    by alternating sweeps over the pairs (Theorem 2 of the paper) with an exact one-class SVM, of which G is the least
    value on the codes; its boundary is a ball (SVDD) or a plane. As in the paper a pair is trained on the rows that use
    its atom in the first sparse coding, u is the unit vector of their numbers, and Y is the data divided by its
    Frobenius norm. Pairs whose row of codes falls to zero are trimmed for good. `DPLOCSVM.paper()` has the settings of
    the paper.

    New rows are coded by one matrix product. With a plane the margin of a row is linear in it and splits exactly over
    its features: see `explain`. A column that is constant among the rows of the fit has no part in linear codes, so set
    trim=0 with scoring "margin" or "loda" where a column may vary in few rows alone.

    Parameters
    ----------
    n_atoms : int or None, default=None
        Number of atoms. None means twice the number of features.
    n_nonzero : int or None, default=None
        Most non-zeros in a row's first code, which says what rows a pair is trained on. None means the square root of
        the number of features, rounded.
    beta : float, default=0.1
        Weight of the row penalty, at least 0. It does not depend on the scale of the data.
    alpha : float or None, default=None
        Weight of the l1 penalty of the codes, at least 0. None means 1 / sqrt(n_samples): an l1 norm over n rows grows
        with the root of n beside the other terms.
    penalty : {"l21", "l20", "l2eps"} or ("l2eps", epsilon), default="l21"
        Row penalty phi: the norm, its support, or the norm clipped at epsilon (0.1 where not given).
    nu : float, default=0.1
        Upper bound on the share of training rows outside the margin, in (0, 1].
    coupling : float or ("eta", float), default=0.1
        Weight of a row outside the boundary, beside half its squared residual: a share of nu N, the paper's
        eta = coupling · nu · N. ("eta", number) gives eta itself, which is 1 in the paper. 0 learns the dictionary
        without the SVM.
    representation : {"analysis", "omp"}, default="analysis"
        Codes of rows after training: P y, or orthogonal matching pursuit with D as in the paper's appendix. The last
        SVM is fitted on codes made in this way.
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
        "exact": exact half-steps for d and p, and the exact SVM. "paper": the paper's projected gradient on the saddle
        form of Theorem 2 (it needs penalty="l21"), and libsvm's steps, which stop early as in the published program and
        depend on the order of rows. A dict mixes them: {"pairs": "exact" or "gradient", "svm": "exact" or "libsvm"}.
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
        standard deviation. Linear codes of columns with mean 0 have no margin: for boundary="plane" take
        another, or representation="omp".
    device : str, default="cpu"
        Where the rows are worked on: "cpu", "cuda", "cuda:1", or "auto" for a GPU where there is one. A GPU needs torch
        (the extra `gpu`), and keeps float32 rows in float32. Fitted attributes are NumPy arrays in any case.
    random_state : int, RandomState instance or None, default=None
        Draws the first dictionary.
    n_jobs : int or None, default=None
        Threads. None means all cores, unless joblib says otherwise. The result does not depend on it.
    verbose : int, default=0
        1 logs a line per sweep to the logger "oddatom"; 2 also records after every half-step, in
        `history_.lagrangian`, what a sweep lowers: the bound of F + eta G, or with "multipliers" the Lagrangian (slow).

    Attributes
    ----------
    components_ : ndarray of shape (n_active_atoms, n_features)
        Atoms in use, unit rows.
    analysis_components_ : ndarray of shape (n_active_atoms, n_features)
        Their analysis atoms: codes are rows times the transpose of this.
    coef_ : ndarray of shape (n_active_atoms,)
        The boundary of the last SVM, plane w or centre c, fitted on the training rows coded again by `representation_`.
    offset_ : float
        `decision_function = score_samples - offset_`, as `threshold_` has it.
    scoring_, threshold_ : str and Threshold
        The score of the last fit, and the threshold in force (see `set_threshold`).
    train_scores_ : ndarray of shape (n_samples,)
        `score_samples` of the training rows, sorted.
    svm_offset_ : float
        Offset of threshold="svm".
    code_statistics_ : CodeStatistics
        How training rows use the atoms and what they leave, for scoring="description_length".
    fold_models_, fold_rows_, conformal_ : list, list and CrossConformal, or None
        With `n_folds`: models fitted without each fold, the rows of the folds, and their held-out scores.
    representation_ : str
        The `representation` that `coef_` belongs to.
    alpha_ : float
        Weight of the l1 penalty that was used.
    nu_ : float
        The nu of `coef_`: `nu`, or larger where the exact SVM has no margin at `nu` (a warning says so).
    dual_coef_ : ndarray of shape (n_samples,)
        Multipliers of the last SVM, between 0 and 1/(`nu_` n_samples), summing to 1. It and the next two by row are
        None where more than 2²⁰ rows are not in memory.
    gap_ : float
        Duality gap of the last SVM, in units of the codes' mean square.
    dictionary_, analysis_dictionary_, active_atoms_ : ndarray of shape (n_atoms, n_features) twice and (n_atoms,)
        Every pair, and which are in use. The analysis atoms of trimmed pairs are zero.
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
        F, G, total, n_active, gap, seconds and kkt (the largest residual of a pair's problem) per outer iteration.
    scaling_ : Scaling
        Center, spread and Frobenius norm, applied to new rows unchanged.
    scale_ : float
        The Frobenius norm the data were divided by.
    n_nonzero_ : int
        Non-zeros used.
    n_iter_ : int
        Sweeps done.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from oddatom import DPLOCSVM
    >>> X = load_wine().data
    >>> model = DPLOCSVM(nu=0.05, random_state=0).fit(X)
    >>> scores = model.score_samples(X)          # low = anomalous
    >>> shares = model.explain(X).contributions  # what each feature adds to the score
    >>> bool(abs(shares.sum(axis=1) - scores).max() < 1e-10)
    True
    """

    _shard_kind = "pairs"
    _steps = ("pairs", "svm")
    _row_weights = ("beta", "alpha")
    _parameter_constraints: ClassVar[dict] = {
        **LearnedDetector._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        "representation": [StrOptions(set(REPRESENTATIONS))],
    }
    _advice: ClassVar[dict[str, str]] = {
        **LearnedDetector._advice,
        "alpha": "It is the weight of the l1 penalty; None suits the number of rows, 0 switches that penalty off.",
    }

    def __init__(
        self,
        n_atoms: int | None = None,
        n_nonzero: int | None = None,
        *,
        beta: float = 0.1,
        alpha: float | None = None,
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
        self.alpha = alpha
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

    def _make_learner(self, **common: Any) -> DPL:
        pairs = self._solvers()["pairs"]
        if pairs == "gradient" and self.penalty != "l21":
            raise ParameterError(
                type(self).__name__,
                "penalty",
                "must be 'l21' where the solver of pairs is 'gradient', which is the paper's scheme for that penalty. "
                f"Got {self.penalty!r} instead",
                value=self.penalty,
                advice="use solver='exact'.",
            )
        common["alpha"] = None if self.alpha is None else float(self.alpha)
        return DPL(pair_solver=pairs, representation=self.representation, **common)

    def _own_attributes(self, model: Model, active: np.ndarray, features: dict[str, Any]) -> dict[str, Any]:
        return {
            **super()._own_attributes(model, active, features),
            "analysis_dictionary_": model.P.copy(),
            "analysis_components_": model.P[active],
            "representation_": self.representation,
            "alpha_": float(np.linalg.norm(model.alpha) if self.alpha is None else self.alpha),
        }

    def _findings(self, svm: OneClassFit, n_active: int) -> Iterator[tuple[str, type[Warning]]]:
        yield from super()._findings(svm, n_active)
        worst = float(self.history_["kkt"].max())
        if self._solvers()["pairs"] == "exact" and not worst <= KKT_TOL:
            yield (
                f"A pair's problem was solved to a residual of {worst:.1e} instead of {KKT_TOL:.0e}. Look for rows or "
                "columns of extreme size, and bring them to the size of the others.",
                SolverWarning,
            )

    @property
    def _other_codes(self) -> str:  # type: ignore[override]
        return 'representation="omp", ' if self.representation == "analysis" else ""

    @property
    def _linear(self) -> bool:
        return self.representation == "analysis"

    def _training_codes(
        self, source: Source, row_map: RowMap, group: ShardGroup[Any], D: np.ndarray, learner: Learner
    ) -> Codes | None:
        if not self._linear or not isinstance(source, ArraySource):
            return super()._training_codes(source, row_map, group, D, learner)
        return CODINGS[learner.coding](source.learner_rows(row_map), D, min(learner.s, D.shape[0]), gram=D @ D.T)

    def _training_scores(self, X: np.ndarray, codes: Codes, margins: np.ndarray | None) -> np.ndarray:
        if self._linear and self.scoring_ in OF_LINEAR_CODES:
            return self._linear_scores(X, self.scoring_)
        return super()._training_scores(X, codes, margins)

    @property
    def _plane(self) -> np.ndarray:
        """Pᵀw: the plane in the space of the scaled rows."""
        return self.analysis_components_.T @ self.coef_

    def _linear_margin(self, X: np.ndarray) -> np.ndarray:
        """Return (Pᵀw)·y for every row, without its code; inside `threads`."""
        return linear_margin(X, self.scaling_, self._plane)

    def _linear_scores(self, X: np.ndarray, name: str) -> np.ndarray:
        """Return one of OF_LINEAR_CODES of every row; inside `threads`."""
        if name == "margin":
            return self._linear_margin(X)
        if name == "distance":
            return row_distances(self._linear_codes(X), self.coef_)
        parts = [score(name, codes, self.coef_, self.code_statistics_) for codes in self._loda_codes(X)]
        return np.concatenate([np.empty(0), *parts])

    def _loda_codes(self, X: np.ndarray) -> Iterator[Codes]:
        """Code new rows chunk by chunk as scoring="loda" takes them, inside `threads`."""
        if self.representation_ == "omp":
            yield from super()._loda_codes(X)
            return
        for start in range(0, X.shape[0], CHUNK_ROWS):
            values = self._linear_codes(X[start : start + CHUNK_ROWS])
            yield linear_codes(values, values.shape[1])

    def _training_loda_codes(self, X: np.ndarray, codes: Codes) -> Codes:
        if self.representation_ == "omp":
            return codes
        return linear_codes(self._linear_codes(X), self.components_.shape[0])

    @property
    def _analysis(self) -> np.ndarray | None:  # type: ignore[override]
        return self.analysis_components_ if self.representation_ == "analysis" else None

    def _scores(self, X: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        linear = [name for name in names if name in OF_LINEAR_CODES and self.representation_ == "analysis"]
        others = [name for name in names if name not in linear]
        with threads(self.n_jobs):
            found = {name: self._linear_scores(X, name) for name in linear}
        if others:
            found |= super()._scores(X, others)
        return {name: found[name] for name in names}

    def explain(self, X: Any) -> Explanation:
        """Return what each feature, and each atom, adds to a row's score, the one that the model was fitted with.

        The margin of linear codes is the sum of (Pᵀw)_f y_f over the features, and of w_i (Py)_i over the atoms; a
        ball's score is that of −((Py − c)P)_f (y_f − z_f), Pz = c, and of −(Py − c)_i².
        Other scores, and representation="omp", are explained as in `DLOCSVM.explain`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_training_rows) where precomputed

        Returns
        -------
        explanation : Explanation
            `contributions`, of shape (n_samples, n_features): rows sum to `score_samples(X)` up to rounding. Negative
            where a feature makes the row more anomalous; a row whose numbers would overflow is shown shorter. None of
            kernels, which do not split over features.
            `by_atom`, of shape (n_samples, n_active_atoms).
            Frames of X's library where X is a pandas or polars frame whose columns have text names.
        """
        check_is_fitted(self)
        if self.representation_ == "omp" or self.scoring_ not in OF_LINEAR_CODES:
            return super().explain(X)
        checked = check_rows(self, X, reset=False)
        if self.scoring_ == "loda":
            return self._explanation(*self._density_terms(checked), X)
        if self.boundary_ == "ball":
            return self._explanation(*self._distance_terms(checked), X)
        contributions = self._feature_margins(checked) if self._splits_over_features else None
        with np.errstate(over="ignore"):
            return self._explanation(contributions, self._linear_codes(checked) * self.coef_, X)

    def _distance_terms(self, X: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        """Split −‖P y − c‖² over features, −((P y − c) P)_f (y_f − z_f) with P z = c, and over atoms."""
        codes, P = self._linear_codes(X), self.analysis_components_
        apart = codes - self.coef_
        with np.errstate(over="ignore"):
            of_atoms = np.maximum(-apart * apart, -LIMIT)
            if not self._splits_over_features:
                return None, of_atoms
            center = np.linalg.lstsq(P, self.coef_, rcond=None)[0]
            return np.clip(-(apart @ P) * (self._scaled(X)[0] - center), -LIMIT, LIMIT), of_atoms

    def _density_terms(self, X: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        """Split the log density over features, by the squares of P_if y_f, and over atoms."""
        P = self.analysis_components_
        of_atoms = np.empty((X.shape[0], P.shape[0]))
        contributions = np.zeros(X.shape) if self._splits_over_features else None
        start = 0
        with threads(self.n_jobs):
            for codes in self._loda_codes(X):
                rows = slice(start, start + codes.values.shape[0])
                start = rows.stop
                of_atoms[rows] = by_atom(loda(codes, self.coef_, self.code_statistics_), codes, P.shape[0])
                if contributions is not None:
                    contributions[rows] = by_product(of_atoms[rows], self._scaled(X[rows])[1], P)
        return contributions, of_atoms

    def _feature_margins(self, X: np.ndarray) -> np.ndarray:
        out, plane = np.empty(X.shape), self._plane
        with threads(self.n_jobs):
            for start in range(0, X.shape[0], CHUNK_ROWS):
                rows = slice(start, start + CHUNK_ROWS)
                out[rows] = linear_terms(X[rows], self.scaling_, plane)
        return out

    def transform(self, X: Any) -> Any:
        """Return the codes of the rows on the active atoms.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_active_atoms); with representation="omp" a CSR array, or dense after
            `set_output` to a frame.
        """
        check_is_fitted(self)
        if self.representation_ == "omp":
            return super().transform(X)
        return self._linear_codes(check_rows(self, X, reset=False))

    def _linear_codes(self, X: np.ndarray) -> np.ndarray:
        codes = np.empty((X.shape[0], self.components_.shape[0]))
        with threads(self.n_jobs):
            for start in range(0, X.shape[0], CHUNK_ROWS):
                rows = slice(start, start + CHUNK_ROWS)
                _, Z, size = self._scaled(X[rows])
                codes[rows] = analysis_codes(Z, self.analysis_components_)
                if size is not None:
                    with np.errstate(over="ignore"):
                        codes[rows] *= size
        return codes

    def detect_batch(self, X: Any, *, tol: float = 1e-8) -> np.ndarray:
        """Return +1 / −1 by the appendix's algorithm for pairs, which trims atoms over the batch as a whole.

        The rows are coded by matching pursuit with the whole dictionary; an atom with ‖p_i Y‖ < tol over the batch,
        Y in units of the training rows' Frobenius norm, loses its codes; anomalies are rows with w·x − rho ≤ 0 under
        the SVM of the last sweep (of a ball, rows on or outside it). Labels depend on the batch; use `predict` for
        labels that do not. Where that SVM has no margin (w = 0) the rule makes every row an anomaly: a warning says so.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        tol : float, default=1e-8
            Below this a row of codes counts as null; at least 0.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if isinstance(tol, bool) or not (isinstance(tol, Real) and tol >= 0):
            raise ParameterError(
                "detect_batch", "tol", f"must be a number ≥ 0. Got {tol!r} instead", value=tol, advice="try 1e-8."
            )
        X = check_rows(self, X, reset=False)
        with threads(self.n_jobs):
            group = ShardGroup([PairShard(self._batch_rows(X))])
            codes = trim_pairs(
                group, self.dictionary_, self.analysis_dictionary_, self.n_nonzero_, float(tol), self._coding
            )
        return self._batch_labels(codes, "the appendix's algorithm")
