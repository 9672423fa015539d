"""How the dictionary detectors are fitted: Algorithm 1 from every start, the best kept, then the SVM for new rows."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from oddatom.arrays.quantiles import repeated
from oddatom.arrays.threads import threads
from oddatom.boundary.plane import OneClassFit
from oddatom.coding import Codes
from oddatom.decisions import quantile_offset
from oddatom.estimators._base import DictionaryDetector, without_atoms
from oddatom.estimators._callbacks import DEPTH, FitProgress, with_callbacks
from oddatom.estimators._elsewhere import fit_source, linear_dictionary, linear_features
from oddatom.estimators._routing import opened
from oddatom.estimators._validation import DEVICE, N_JOBS, check_parameters, check_rows, old_model_on_error
from oddatom.estimators._weights import check_weights, refuse_weights
from oddatom.exceptions import DegenerateMarginWarning
from oddatom.learners.alternate import SVM_SOLVERS, Learner, Model, fit_last_svm, learn
from oddatom.learners.initial import INITS, initial_dictionary
from oddatom.passes.group import ShardGroup
from oddatom.penalties import PENALTIES, make_penalty
from oddatom.rows import Source
from oddatom.rows.array import LocalShard, WeightedShard
from oddatom.rows.row_map import RowMap
from oddatom.scaling.array_columns import fit_scaling
from oddatom.scaling.columns import SCALINGS
from oddatom.scaling.linear import HUGE
from oddatom.scores import SCORES, code_statistics, score


class LearnedDetector(DictionaryDetector):
    """Fit of a detector whose `_make_learner` says which of the paper's learners it is."""

    _Shard: ClassVar[type] = LocalShard
    _shard_kind: ClassVar[str] = "sparse"  # what a `Source` makes its shards by
    _init_columns: ClassVar[str] = "n_features"

    _parameter_constraints: ClassVar[dict] = {
        "n_atoms": [Interval(Integral, 1, None, closed="left"), None],
        "n_nonzero": [Interval(Integral, 1, None, closed="left"), None],
        "beta": [Interval(Real, 0, None, closed="left")],
        "penalty": [StrOptions(set(PENALTIES))],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "coupling": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions(set(INITS)), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "svm_solver": [StrOptions(set(SVM_SOLVERS))],
        "score": [StrOptions(SCORES.keys())],
        "threshold": "no_validation",  # see `_check_threshold`
        "calibration": [Interval(Integral, 2, None, closed="left"), None],
        "scaling": [StrOptions(SCALINGS.keys()), None],
        "track": [StrOptions({"atoms"}), None],
        "device": DEVICE,
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
    }
    _advice: ClassVar[dict[str, str]] = {
        "nu": "It is the share of rows allowed outside the margin; 0.1 is a usual choice.",
        "beta": "It is the weight of the row penalty; 0 switches the penalty off.",
        "n_atoms": "None takes twice the number of features.",
        "n_nonzero": "None takes the square root of the number of features.",
        "coupling": "0 learns the dictionary without the SVM.",
        "score": "The paper's is 'margin'.",
        "calibration": "It is the number of folds that p-values are made of; 5 is a usual choice, None does without.",
        "init": "Pass a name, or one row per atom.",
    }

    @abstractmethod
    def _make_learner(self, **common: Any) -> Learner:
        """Return the learner with the settings that all have in common, and its own."""

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn dictionary and plane from unlabelled rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Or a Dask array or frame, the path of a Parquet file or a list of them, or a torch tensor.
        y : ignored, but shown to callbacks (a `ScoringMonitor` needs labels)

        Returns
        -------
        self
        """
        return self._fit_anew(X, y)

    def _fit_anew(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Check what was passed, fit, and say what was found; called by `fit`."""
        check_parameters(self, self._advice)
        self._check_threshold(self.threshold, fitted=False)
        with old_model_on_error(self), threads(self.n_jobs), opened(self, X) as source:
            if source is not None:
                refuse_weights(self, sample_weight, f"rows elsewhere ({type(X).__name__}, device={self.device!r})")
                svm = fit_source(self, source, X, y)
            else:
                X = check_rows(self, X, reset=True)
                X, y, weights = check_weights(self, sample_weight, X, y)
                if weights is not None:
                    self._check_weighted()
                self._check_folds(X.shape[0])
                svm = self._fit(X, y, weights)
                self._calibrate(X)
            self.__dict__.pop("memory_", None)  # of `partial_fit`
        for finding, category in self._findings(svm, self.components_.shape[0]):
            warnings.warn(finding, category, stacklevel=3 + DEPTH)
        return self

    def _check_weighted(self) -> None:
        """Refuse what weights do not go with."""
        name = type(self).__name__
        if self.svm_solver != "exact":
            raise ValueError(
                f"The 'svm_solver' parameter of {name} must be 'exact' for rows with weights. Got {self.svm_solver!r} "
                "instead; leave sample_weight out, or repeat rows."
            )
        if self.calibration is not None:
            raise ValueError(
                f"The 'calibration' parameter of {name} must be None for rows with weights. Got {self.calibration} "
                "instead; leave sample_weight out, or repeat rows."
            )

    def _fit(self, X: np.ndarray, y: Any, weights: np.ndarray | None = None) -> OneClassFit:
        """Run Algorithm 1 from every start, keep the best, and fit the SVM that scores rows."""
        learner, n_atoms = self._learner(*self._sizes(X))
        learner = replace(learner, weighted=weights is not None)
        rng = check_random_state(self.random_state)
        Y, features = self._fit_features(X, rng, weights)
        starts = self.n_init if isinstance(self.init, str) else 1
        progress = FitProgress(self, X, y, starts, learner.max_iter)
        best: Model | None = None
        with progress.logging():
            for number in range(starts):
                group = ShardGroup([self._shard(Y, weights)])
                D = self._first_dictionary(Y, n_atoms, rng)
                observer = progress.start(
                    number, lambda model: self._attributes(X, Y, model, features, learner, weights)[0]
                )
                model = learn(group, D, learner, observer)
                observer.close()
                if best is None or model.history["total"][-1] < best.history["total"][-1]:
                    best = model
                    self._keep_training_state(group, model)
                del group  # the next shard of the same rows needs the room
        assert best is not None
        attributes, svm = self._attributes(X, Y, best, features, learner, weights)
        for name, value in attributes.items():
            setattr(self, name, value)
        progress.finish()
        return svm

    def _sizes(self, X: np.ndarray) -> tuple[int, int]:
        """The number that defaults go by, and of columns of an `init` array."""
        return X.shape[1], X.shape[1]

    def _shard(self, Y: np.ndarray, weights: np.ndarray | None) -> Any:
        return self._Shard(Y) if weights is None else WeightedShard(Y, weights)

    def _fit_features(
        self, X: np.ndarray, rng: np.random.RandomState, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Return the rows as the learner takes them, and the fitted attributes that make new rows like them."""
        scaling, Y = fit_scaling(X, self.scaling, weights)
        self._check_varied(Y)
        return Y, {"scaling_": scaling, "scale_": scaling.scale}

    def _source_features(self, source: Source, rng: np.random.RandomState) -> tuple[RowMap, int, dict[str, Any]]:
        """Return what makes raw rows the learner's, how many columns those have, and the fitted attributes of it."""
        return linear_features(self, source)

    def _source_dictionary(
        self, source: Source, row_map: RowMap, width: int, n_atoms: int, rng: np.random.RandomState
    ) -> np.ndarray:
        return linear_dictionary(self.init, source, row_map, width, n_atoms, rng)

    def _check_varied(self, Y: np.ndarray) -> None:
        if not Y.any():
            kind = "nothing but zeros" if self.scaling is None else f"only constant columns (scaling={self.scaling!r})"
            raise ValueError(f"X holds {kind}: there is nothing to learn. Pass data that vary.")

    def _first_dictionary(self, Y: np.ndarray, n_atoms: int, rng: np.random.RandomState) -> np.ndarray:
        return initial_dictionary(self.init, Y, n_atoms, rng)

    def _learner(self, m: int, n_columns: int) -> tuple[Learner, int]:
        """Fill in what was left to the data, and check what depends on them; return the learner and n_atoms."""
        n_atoms = self.n_atoms
        if not isinstance(self.init, str):
            try:
                shape = np.asarray(self.init, dtype=np.float64).shape
            except (ValueError, TypeError) as error:
                raise ValueError(
                    f"The 'init' parameter of {type(self).__name__} must be an array of numbers. {error}; "
                    "pass one row per atom."
                ) from None
            wanted = (n_atoms if n_atoms is not None else shape[0] if shape else 0, n_columns)
            if shape != wanted or wanted[0] == 0:
                wanted = (max(wanted[0], 1), n_columns)
                raise ValueError(
                    f"The 'init' parameter of {type(self).__name__} must be an array of shape "
                    f"(n_atoms, {self._init_columns}) = {wanted}. Got shape {shape} instead; pass one row per atom."
                )
            n_atoms = wanted[0]
        n_atoms = 2 * m if n_atoms is None else int(n_atoms)
        s = max(1, round(m**0.5)) if self.n_nonzero is None else int(self.n_nonzero)
        if self.n_nonzero is None:
            s = min(s, n_atoms)
        if s > n_atoms:
            raise ValueError(
                f"The 'n_nonzero' parameter of {type(self).__name__} must be at most n_atoms = {n_atoms}. "
                f"Got {s} instead; lower n_nonzero or raise n_atoms."
            )
        learner = self._make_learner(
            s=s,
            penalty=make_penalty(self.penalty, float(self.beta), float(self.epsilon)),
            nu=float(self.nu),
            eta=float(self.coupling),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
            svm_solver=self.svm_solver,
            track_atoms=self.track == "atoms",
        )
        return learner, n_atoms

    def _attributes(
        self,
        X: np.ndarray,
        Y: np.ndarray,
        model: Model,
        features: dict[str, Any],
        learner: Learner,
        weights: np.ndarray | None = None,
    ) -> tuple[dict[str, Any], OneClassFit]:
        """Fitted attributes of a model as a sweep left it, and the SVM, fitted on codes made anew, that scores rows."""
        active = model.active.copy()
        D = model.D[active]
        svm, nu = model.svm._replace(w=model.svm.w[active]), learner.nu
        dual_coef = np.full(Y.shape[0], 1.0 / Y.shape[0]) if weights is None else weights / weights.sum()
        codes: Codes | None = None
        margins: np.ndarray | None = None
        if D.shape[0]:
            # Not the group of the sweeps: a callback may ask between two of them.
            group = ShardGroup([self._shard(Y, weights)])
            svm, nu = fit_last_svm(group, model, learner)
            shard = group.shards[0]
            dual_coef = shard.multipliers / (nu * Y.shape[0]) if weights is None else shard.dual_coef(nu)
            codes, margins = self._last_codes(shard, D, learner), self._last_margins(shard, svm.w)
        attributes = {
            **features,
            "n_nonzero_": learner.s,
            "dictionary_": model.D.copy(),
            "active_atoms_": active,
            "components_": D,
            "coef_": svm.w,
            "nu_": nu,
            "dual_coef_": dual_coef,
            "gap_": svm.gap,
            "n_iter_": model.n_iter,
            "history_": model.history.copy(),
            **self._own_attributes(model, active, features),
        }
        codes = codes or without_atoms(Y)
        attributes.update(self._decision(X, Y, codes, margins, attributes, svm.rho - svm.tolerance, weights))
        return attributes, svm

    def _decision(
        self,
        X: np.ndarray,
        Y: np.ndarray,
        codes: Codes,
        margins: np.ndarray | None,
        attributes: dict[str, Any],
        offset: float,
        weights: np.ndarray | None,
    ) -> dict[str, Any]:
        """Fitted attributes that scores and labels need: `offset` is the SVM's own, `margins` those of its rows."""
        (n, m), nu = attributes["components_"].shape, float(self.nu)
        twin = copy.copy(self)
        for name, value in attributes.items():
            setattr(twin, name, value)
        codes = twin._with_outside(X, Y, codes)
        twin.score_ = self._score_by
        twin.code_statistics_ = code_statistics(codes, n, m, weights)
        scores = twin._training_scores(X, codes, margins)
        twin.train_scores_ = np.sort(scores) if weights is None else repeated(scores, weights)
        twin.svm_offset_ = offset if self._score_by == "margin" else quantile_offset(twin.train_scores_, nu)
        twin._apply_threshold(self._check_threshold(self.threshold, fitted=False))
        names = ("score_", "code_statistics_", "train_scores_", "svm_offset_", "threshold_", "offset_")
        return {name: getattr(twin, name) for name in names}

    def _last_codes(self, shard: Any, D: np.ndarray, learner: Learner) -> Codes:
        """Return the sparse codes of the rows, which the last SVM was fitted on."""
        return shard.last_codes()

    def _last_margins(self, shard: Any, w: np.ndarray) -> np.ndarray | None:
        """Return the margins of the rows where they do not come from `_last_codes`."""
        return None

    def _training_scores(self, X: np.ndarray, codes: Codes, margins: np.ndarray | None) -> np.ndarray:
        """Return what `score_samples` gives for the training rows."""
        return score(self.score_, codes, self.coef_, self.code_statistics_)

    def _own_attributes(self, model: Model, active: np.ndarray, features: dict[str, Any]) -> dict[str, Any]:
        """Fitted attributes that only this detector has."""
        return {}

    def _keep_training_state(self, group: ShardGroup[Any], model: Model) -> None:
        self.train_codes_ = group.map("codes")[0]
        self.train_coef_ = model.svm.w.copy()
        self.train_offset_ = model.svm.rho
        self.train_decision_ = self.train_codes_ @ self.train_coef_ - self.train_offset_

    def _batch_rows(self, X: np.ndarray) -> np.ndarray:
        """Scaled rows for a batch algorithm; larger ones have size HUGE, which leaves the sign of w·x − rho alone."""
        _, Z, size = self._scaled(X)
        return Z if size is None else Z * np.minimum(size, HUGE)

    def _batch_labels(self, codes: Any, algorithm: str) -> np.ndarray:
        """Labels of a batch's codes under the SVM of the last sweep, as the paper's batch algorithms give them."""
        if not self.train_coef_.any():
            warnings.warn(
                f"The SVM of {type(self).__name__}'s last sweep has no margin (w = 0), so {algorithm} calls every row "
                "an anomaly. Use predict, or fit with a larger nu or data that are not centred.",
                DegenerateMarginWarning,
                stacklevel=3,
            )
        return np.where(codes @ self.train_coef_ - self.train_offset_ <= 0, -1, 1)
