"""How the dictionary detectors are fitted: Algorithm 1 from every start, the best kept, then the SVM for new rows."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from oddatom.arrays.quantiles import repeated
from oddatom.arrays.threads import threads
from oddatom.boundary.plane import OneClassFit
from oddatom.coding import Codes, without_atoms
from oddatom.coding.histograms import CodeHistograms, code_histograms
from oddatom.decisions import quantile_offset
from oddatom.estimators._base import DictionaryDetector
from oddatom.estimators._bounded import bound_findings
from oddatom.estimators._callbacks import DEPTH, FitProgress, with_callbacks
from oddatom.estimators._grouped import read_coupling, read_penalty, read_solver
from oddatom.estimators._ranking import ranking_findings
from oddatom.estimators._routing import opened
from oddatom.estimators._trimming import fit_trimmed
from oddatom.estimators._validation import DEVICE, N_JOBS, check_parameters, old_model_on_error
from oddatom.exceptions import DegenerateMarginWarning, OddAtomError, ParameterError, WorkerLostError
from oddatom.learners.alternate import Learner, Model, fit_last_svm, learn
from oddatom.learners.initial import INITS, initial_dictionary
from oddatom.passes import ShardGroup, SweepPasses
from oddatom.penalties import Penalty, make_penalty
from oddatom.rows import Source
from oddatom.rows.array import ArraySource
from oddatom.rows.row_map import RowMap
from oddatom.scaling.column_statistics import SCALINGS
from oddatom.scaling.linear import HUGE, Scaling
from oddatom.scores import OF_BOUNDARY, SCORES, code_statistics, score


class LearnedDetector(DictionaryDetector):
    """Fit of a detector whose `_make_learner` says which of the paper's learners it is."""

    _column_scaling: Scaling | None = None  # where center and spread are not those of the rows of the fit

    _paper: ClassVar[dict[str, Any]] = {
        "coupling": ("eta", 1.0),
        "coupling_form": "multipliers",
        "boundary": "plane",
        "trim": 0.0,
        "scoring": "margin",
        "scaling": None,
    }  # where the paper's settings are not the defaults

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Return a detector with the settings of the paper: a plane, its multipliers, no trimming, the margin.

        Parameters
        ----------
        **parameters : any of the detector's, in the place of the paper's
        """
        given = {**cls._paper, **parameters}
        for name, value in cls._paper.items():
            if isinstance(value, dict) and isinstance(given[name], dict):
                given[name] = {**value, **given[name]}
        return cls(**given)

    _shard_kind: ClassVar[str] = "sparse"  # what a `Source` makes its shards by
    _init_columns: ClassVar[str] = "n_features"
    _steps: ClassVar[tuple[str, ...]] = ("atoms", "svm")  # that `solver` names solvers of

    _parameter_constraints: ClassVar[dict] = {
        "n_atoms": [Interval(Integral, 1, None, closed="left"), None],
        "n_nonzero": [Interval(Integral, 1, None, closed="left"), None],
        "beta": [Interval(Real, 0, None, closed="left")],
        "penalty": "no_validation",
        "nu": [Interval(Real, 0, 1, closed="right")],
        "coupling": "no_validation",  # it, `penalty` and `solver`: see `_validate_params`
        "coupling_form": [StrOptions({"multipliers", "hinge"})],
        "boundary": [StrOptions(set(OF_BOUNDARY))],
        "trim": [Interval(Real, 0, 1, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions(set(INITS)), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "solver": "no_validation",
        "scoring": [StrOptions(SCORES.keys())],
        "threshold": "no_validation",  # see `_check_threshold`
        "n_folds": [Interval(Integral, 2, None, closed="left"), None],
        "scaling": [StrOptions(SCALINGS.keys()), None],
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
        "scoring": "The paper's is 'margin'.",
        "n_folds": "It is the number of folds that p-values are made of; 5 is a usual choice, None does without.",
        "init": "Pass a name, or one row per atom.",
    }

    def _validate_params(self) -> None:
        super()._validate_params()
        self._make_penalty()
        read_coupling(type(self).__name__, self.coupling)
        solvers = self._solvers()
        if self.boundary == "plane":
            return
        name = type(self).__name__
        if self.coupling_form != "hinge":
            problem = f'must be "hinge" where boundary="ball". Got {self.coupling_form!r} instead'
            raise ParameterError(name, "coupling_form", problem, value=self.coupling_form, advice="pass 'hinge'.")
        if solvers["svm"] != "exact":
            problem = (
                f'must have an exact SVM where boundary="ball": libsvm has planes alone. Got {self.solver!r} instead'
            )
            raise ParameterError(name, "solver", problem, value=self.solver, advice="pass 'exact'.")

    def _solvers(self) -> dict[str, str]:
        """Return the solver of each step."""
        return read_solver(type(self).__name__, self.solver, self._steps)

    def _make_penalty(self) -> Penalty:
        name, epsilon = read_penalty(type(self).__name__, self.penalty)
        return make_penalty(name, float(self.beta), epsilon)

    @abstractmethod
    def _make_learner(self, **common: Any) -> Learner:
        """Return the learner with the settings that all have in common, and its own."""

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn dictionary and boundary from unlabelled rows.

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
        """Check what was passed, fit, and warn of what was found; called by `fit`."""
        check_parameters(self, self._advice)
        self._check_threshold(self.threshold, fitted=False)
        with old_model_on_error(self), threads(self.n_jobs), opened(self, X, y, sample_weight) as (source, given):
            if source.weights is not None:
                self._check_weighted()
            self._check_folds(source.shape[0])
            svm = self._fit_rows(source, given)
            findings = [
                *self._findings(svm, self.components_.shape[0]),
                *bound_findings(self, source),
                *ranking_findings(self, source, svm.flat or svm.degenerate),
            ]
            self._calibrate(source)
            self.__dict__.pop("memory_", None)  # of `partial_fit`
        for finding, category in findings:
            warnings.warn(finding, category, stacklevel=3 + DEPTH)
        return self

    def _fit_rows(self, source: Source, given: tuple[Any, Any]) -> OneClassFit:
        """Fit to all rows, or to those that `trim` leaves."""
        return fit_trimmed(self, source, given)

    def _check_weighted(self) -> None:
        """Refuse what weights do not go with."""
        name = type(self).__name__
        if self._solvers()["svm"] != "exact":
            raise ParameterError(
                name,
                "solver",
                f"must have an exact SVM for rows with weights. Got {self.solver!r} instead",
                value=self.solver,
                advice="leave sample_weight out, or repeat rows.",
            )
        if self.n_folds is not None:
            raise ParameterError(
                name,
                "n_folds",
                f"must be None for rows with weights. Got {self.n_folds} instead",
                value=self.n_folds,
                advice="leave sample_weight out, or repeat rows.",
            )

    def _fit(self, source: Source, given: tuple[Any, Any]) -> OneClassFit:
        """Run Algorithm 1 from every start, keep the best, and fit the SVM that scores rows.

        `given` is X and y as callbacks see them.
        """
        learner, n_atoms = self._learner(*self._sizes(source))
        N = float(source.shape[0] if source.weights is None else source.weights.sum())
        eta = read_coupling(type(self).__name__, self.coupling).eta(float(self.nu), N)
        learner = replace(learner, weighted=source.weights is not None, eta=eta)
        rng = check_random_state(self.random_state)
        row_map, features = self._fit_features(source, rng)
        starts = self.n_init if isinstance(self.init, str) else 1
        progress = FitProgress(self, *given, starts, learner.max_iter)
        best: Model | None = None
        try:
            with progress.logging():
                for number in range(starts):
                    group = source.group(row_map, self._shard_kind)
                    try:
                        D = self._first_dictionary(source, row_map, n_atoms, rng)
                        observer = progress.start(
                            number, lambda model: self._attributes(source, row_map, model, features, learner)[0]
                        )
                        model = learn(group, D, learner, observer)
                        observer.close()
                        if best is None or model.history["total"][-1] < best.history["total"][-1]:
                            best = model
                            self._keep_training_state(source, group, model)
                    finally:
                        group.close()  # the next group of the same rows needs the room
            assert best is not None
            attributes, svm = self._attributes(source, row_map, best, features, learner)
        except WorkerLostError as error:
            error.model = best or error.model
            raise
        for name, value in attributes.items():
            setattr(self, name, value)
        progress.finish()
        return svm

    def _sizes(self, source: Source) -> tuple[int, int]:
        """The number that defaults go by, and of columns of an `init` array."""
        return source.n_features, source.n_features

    def _fit_features(self, source: Source, rng: np.random.RandomState) -> tuple[RowMap, dict[str, Any]]:
        """Return what makes raw rows the learner's, and the fitted attributes of it."""
        scaling = source.fit_scaling(self._column_scaling or self.scaling)
        if scaling.scale == 1.0 and not source.nonzero(RowMap(scaling)).any():
            kind = "nothing but zeros" if self.scaling is None else f"only constant columns (scaling={self.scaling!r})"
            raise OddAtomError(
                f"X holds {kind}: there is nothing to learn.", parameter="X", advice="Pass data that vary."
            )
        return RowMap(scaling), {"scaling_": scaling, "scale_": scaling.scale}

    def _first_dictionary(
        self, source: Source, row_map: RowMap, n_atoms: int, rng: np.random.RandomState
    ) -> np.ndarray:
        return initial_dictionary(
            self.init,
            row_map.width(source.n_features),
            n_atoms,
            rng,
            nonzero=lambda: source.nonzero(row_map),
            take=lambda chosen: row_map(source.take(chosen)),
        )

    def _learner(self, m: int, n_columns: int) -> tuple[Learner, int]:
        """Fill in what was left to the data, and check what depends on them; return the learner and n_atoms."""
        n_atoms, name = self.n_atoms, type(self).__name__
        if not isinstance(self.init, str):
            try:
                shape = np.asarray(self.init, dtype=np.float64).shape
            except (ValueError, TypeError) as error:
                problem = f"must be an array of numbers. {error}"
                raise ParameterError(name, "init", problem, value=self.init, advice="pass one row per atom.") from None
            wanted = (n_atoms if n_atoms is not None else shape[0] if shape else 0, n_columns)
            if shape != wanted or wanted[0] == 0:
                wanted = (max(wanted[0], 1), n_columns)
                problem = (
                    f"must be an array of shape (n_atoms, {self._init_columns}) = {wanted}. Got shape {shape} instead"
                )
                raise ParameterError(name, "init", problem, value=self.init, advice="pass one row per atom.")
            n_atoms = wanted[0]
        n_atoms = 2 * m if n_atoms is None else int(n_atoms)
        s = max(1, round(m**0.5)) if self.n_nonzero is None else int(self.n_nonzero)
        if self.n_nonzero is None:
            s = min(s, n_atoms)
        if s > n_atoms:
            problem = f"must be at most n_atoms = {n_atoms}. Got {s} instead"
            raise ParameterError(name, "n_nonzero", problem, value=s, advice="lower n_nonzero or raise n_atoms.")
        learner = self._make_learner(
            s=s,
            penalty=self._make_penalty(),
            nu=float(self.nu),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
            svm_solver=self._solvers()["svm"],
            track_atoms=self.verbose >= 2,
            coupling_form=self.coupling_form,
            curvature=float(self.boundary == "ball"),
        )
        return learner, n_atoms

    def _attributes(
        self, source: Source, row_map: RowMap, model: Model, features: dict[str, Any], learner: Learner
    ) -> tuple[dict[str, Any], OneClassFit]:
        """Fitted attributes of a model as a sweep left it, and the SVM that scores rows, fitted on codes made again."""
        active = model.active.copy()
        D, N = model.D[active], source.shape[0]
        svm, nu = model.svm._replace(w=model.svm.w[active]), learner.nu
        dual_coef: np.ndarray | None = None
        codes: Codes | None = None
        margins: np.ndarray | None = None
        if D.shape[0]:
            group = source.group(row_map, self._shard_kind)  # not that of the sweeps: a callback may ask between two
            try:
                svm, nu = fit_last_svm(group, model, learner)
                if source.keeps_rows:
                    total = group.sum(SweepPasses.svm_summary)[0]
                    pieces = group.map(SweepPasses.svm_dual_coef, nu * total)
                    dual_coef = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
                codes = self._training_codes(source, row_map, group, D, learner)
                margins = self._training_margins(source, group, svm)
            finally:
                group.close()
        elif source.keeps_rows:
            dual_coef = np.full(N, 1.0 / N) if source.weights is None else source.weights / source.weights.sum()
        attributes = {
            **features,
            "n_nonzero_": learner.s,
            "dictionary_": model.D.copy(),
            "active_atoms_": active,
            "components_": D,
            "coef_": svm.w,
            "boundary_": self.boundary,
            "nu_": nu,
            "dual_coef_": dual_coef,
            "gap_": svm.gap,
            "n_iter_": model.n_iter,
            "history_": model.history.copy(),
            **self._own_attributes(model, active, features),
        }
        attributes.update(self._decision(source, row_map, codes, margins, attributes, svm.score_offset))
        return attributes, svm

    def _decision(
        self,
        source: Source,
        row_map: RowMap,
        codes: Codes | None,
        margins: np.ndarray | None,
        attributes: dict[str, Any],
        offset: float,
    ) -> dict[str, Any]:
        """Fitted attributes that scores and labels need.

        `codes` and `margins` are those of the training rows where they are in this process; else the source works them
        out block by block. `offset` is the SVM's own.
        """
        (n, m), nu = attributes["components_"].shape, float(self.nu)
        twin = copy.copy(self)
        for name, value in attributes.items():
            setattr(twin, name, value)
        twin.scoring_ = OF_BOUNDARY[self.boundary] if self.scoring == "margin" else self.scoring
        if isinstance(source, ArraySource):
            Y = source.learner_rows(row_map)
            codes = twin._with_outside(source.X, Y, codes or without_atoms(Y))
            twin.code_statistics_ = code_statistics(codes, n, m, source.weights)
            if self.scoring == "loda":
                twin._add_histograms(code_histograms(twin._training_loda_codes(source.X, codes), n, source.weights))
            scores = twin._training_scores(source.X, codes, margins)
            twin.train_scores_ = np.sort(scores) if source.weights is None else repeated(scores, source.weights)
        else:
            twin.code_statistics_ = source.code_statistics(twin)
            if self.scoring == "loda":
                twin._add_histograms(source.code_histograms(twin))
            twin.train_scores_ = source.sorted_scores(twin)
        twin.svm_offset_ = offset if self.scoring == "margin" else quantile_offset(twin.train_scores_, nu)
        twin._apply_threshold(self._check_threshold(self.threshold, fitted=False))
        names = ("scoring_", "code_statistics_", "train_scores_", "svm_offset_", "threshold_", "offset_")
        return {name: getattr(twin, name) for name in names}

    def _training_codes(
        self, source: Source, row_map: RowMap, group: ShardGroup[Any], D: np.ndarray, learner: Learner
    ) -> Codes | None:
        """Return the sparse codes of the rows, which the last SVM was fitted on, where they are in this process."""
        return source.held_codes(group)

    def _training_margins(self, source: Source, group: ShardGroup[Any], svm: OneClassFit) -> np.ndarray | None:
        """Return the boundary's scores of the rows where they are at hand and do not come from `_training_codes`."""
        return None

    def _training_loda_codes(self, X: np.ndarray, codes: Codes) -> Codes:
        """Return the codes of the training rows that scoring="loda" takes."""
        return codes

    def _add_histograms(self, histograms: CodeHistograms) -> None:
        self.code_statistics_ = self.code_statistics_._replace(histograms=histograms)

    def _training_scores(self, X: np.ndarray, codes: Codes, margins: np.ndarray | None) -> np.ndarray:
        """Return what `score_samples` gives for the training rows."""
        return score(self.scoring_, codes, self.coef_, self.code_statistics_)

    def _own_attributes(self, model: Model, active: np.ndarray, features: dict[str, Any]) -> dict[str, Any]:
        """Fitted attributes that only this detector has."""
        return {}

    def _keep_training_state(self, source: Source, group: ShardGroup[Any], model: Model) -> None:
        self.boundary_ = self.boundary
        self.train_coef_ = model.svm.w.copy()
        self.train_offset_ = model.svm.rho
        self.train_codes_ = self.train_decision_ = None
        if source.keeps_rows:
            codes = group.map(SweepPasses.codes)
            self.train_codes_ = codes[0] if len(codes) == 1 else scipy.sparse.vstack(codes, format="csr")
            self.train_decision_ = self._decision_values(self.train_codes_)

    def _decision_values(self, codes: Any) -> np.ndarray:
        """Return w·x − rho of codes under the SVM of the last sweep; of a ball R² − ‖x − c‖²."""
        margins = codes @ self.train_coef_ - self.train_offset_
        if self.boundary_ == "plane":
            return margins
        return 2.0 * margins - np.asarray(codes.multiply(codes).sum(axis=1)).ravel()

    def _batch_rows(self, X: np.ndarray) -> np.ndarray:
        """Scaled rows for a batch algorithm; larger ones have size HUGE, which leaves the sign of w·x − rho alone."""
        _, Z, size = self._scaled(X)
        return Z if size is None else Z * np.minimum(size, HUGE)

    def _batch_labels(self, codes: Any, algorithm: str) -> np.ndarray:
        """Labels of a batch's codes under the SVM of the last sweep, as the paper's batch algorithms give them."""
        if self.boundary_ == "plane" and not self.train_coef_.any():
            warnings.warn(
                f"The SVM of {type(self).__name__}'s last sweep has no margin (w = 0), so {algorithm} calls every row "
                "an anomaly. Use predict, or fit with a larger nu or data that are not centred.",
                DegenerateMarginWarning,
                stacklevel=3,
            )
        return np.where(self._decision_values(codes) <= 0, -1, 1)
