"""The fit of a dictionary detector to rows that are not one array here: the steps of `LearnedDetector._fit`.

Everything that has an entry for every row stays with the shards, but for `train_scores_`; up to `KEPT_ROWS` rows it is
brought here too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils import check_random_state

from oddatom.boundary.plane import OneClassFit
from oddatom.decisions import quantile_offset
from oddatom.estimators._callbacks import FitProgress
from oddatom.exceptions import WorkerLostError
from oddatom.learners.alternate import Learner, Model, fit_last_svm, learn
from oddatom.learners.initial import initial_dictionary, unit_rows
from oddatom.passes.group import ShardGroup
from oddatom.rows import Source
from oddatom.rows import blocks as passes
from oddatom.rows.row_map import RowMap

KEPT_ROWS = 2**20
HELD = 2**27


def fit_source(detector: Any, source: Source, X: Any, y: Any) -> OneClassFit:
    """Run Algorithm 1 from every start, keep the best, and fit the SVM that scores rows."""
    learner, n_atoms = detector._learner(*detector._sizes(source))
    rng = check_random_state(detector.random_state)
    row_map, width, features = detector._source_features(source, rng)
    starts = detector.n_init if isinstance(detector.init, str) else 1
    progress = FitProgress(detector, X, y, starts, learner.max_iter)
    best: Model | None = None
    try:
        with progress.logging():
            for number in range(starts):
                group = source.group(row_map, detector._shard_kind)
                try:
                    D = detector._source_dictionary(source, row_map, width, n_atoms, rng)
                    observer = progress.start(
                        number, lambda model: _attributes(detector, source, row_map, model, features, learner)[0]
                    )
                    model = learn(group, D, learner, observer)
                    observer.close()
                    if best is None or model.history["total"][-1] < best.history["total"][-1]:
                        best = model
                        _keep_training_state(detector, source, group, model)
                finally:
                    group.close()
        assert best is not None
        attributes, svm = _attributes(detector, source, row_map, best, features, learner)
    except WorkerLostError as error:
        error.model = best or error.model
        raise
    for name, value in attributes.items():
        setattr(detector, name, value)
    detector.conformal_ = detector.fold_models_ = detector.fold_rows_ = None
    progress.finish()
    return svm


def linear_features(detector: Any, source: Source) -> tuple[RowMap, int, dict[str, Any]]:
    """Return what makes rows the learner's, how many columns those have, and the fitted attributes of it."""
    scaling = source.fit_scaling(detector.scaling)
    if scaling.scale == 1.0 and not any(found.any() for found in source.map(passes.nonzero, RowMap(scaling))):
        detector._check_varied(np.zeros((1, 1)))
    return RowMap(scaling), source.n_features, {"scaling_": scaling, "scale_": scaling.scale}


def linear_dictionary(
    init: Any, source: Source, row_map: RowMap, width: int, n_atoms: int, rng: np.random.RandomState
) -> np.ndarray:
    """Return the first dictionary of `oddatom.learners.initial`."""
    if not (isinstance(init, str) and init == "data"):
        return initial_dictionary(init, np.empty((0, width)), n_atoms, rng)
    candidates = np.flatnonzero(np.concatenate(source.map(passes.nonzero, row_map)))
    chosen = rng.choice(candidates, size=n_atoms, replace=candidates.size < n_atoms)
    return unit_rows(row_map(source.take(chosen)))


def combined_rows(source: Source, row_map: RowMap, n_atoms: int, draw: Callable[[int], np.ndarray]) -> np.ndarray:
    """Return A Φ, coefficients of atoms over all rows times the learner's rows.

    `draw(k)` gives the coefficients of the next k atoms; so many are held at a time as HELD numbers are.
    """
    step, D = max(1, HELD // source.shape[0]), []
    for start in range(0, n_atoms, step):
        pieces = np.split(draw(min(step, n_atoms - start)), np.cumsum(source.sizes)[:-1], axis=1)
        D.append(sum(source.map(passes.weighted, row_map, pieces=pieces)))
    return np.concatenate(D)


def _attributes(
    detector: Any, source: Source, row_map: RowMap, model: Model, features: dict[str, Any], learner: Learner
) -> tuple[dict[str, Any], OneClassFit]:
    """Fitted attributes of a model as a sweep left it, and the SVM, fitted on codes made anew, that scores rows."""
    active = model.active.copy()
    D, N = model.D[active], source.shape[0]
    svm, nu, multipliers = model.svm._replace(w=model.svm.w[active]), learner.nu, None
    if D.shape[0]:
        group = source.group(row_map, detector._shard_kind)  # not the one of the sweeps: a callback may ask between two
        try:
            svm, nu = fit_last_svm(group, model, learner)
            if N <= KEPT_ROWS:
                multipliers = np.concatenate(group.map("svm_multipliers"))
        finally:
            group.close()
    elif N <= KEPT_ROWS:
        multipliers = np.full(N, nu)
    attributes = {
        **features,
        "n_nonzero_": learner.s,
        "dictionary_": model.D.copy(),
        "active_atoms_": active,
        "components_": D,
        "coef_": svm.w,
        "nu_": nu,
        "dual_coef_": None if multipliers is None else multipliers / (nu * N),
        "gap_": svm.gap,
        "n_iter_": model.n_iter,
        "history_": model.history.copy(),
        **detector._own_attributes(model, active, features),
    }
    attributes.update(_decision(detector, source, attributes, svm.rho - svm.tolerance))
    return attributes, svm


def _decision(detector: Any, source: Source, attributes: dict[str, Any], offset: float) -> dict[str, Any]:
    """Fitted attributes that scores and labels need; `offset` is the SVM's own."""
    twin = copy.copy(detector)
    for name, value in attributes.items():
        setattr(twin, name, value)
    twin.scoring_ = detector.scoring
    twin.code_statistics_ = source.code_statistics(twin)
    twin.train_scores_ = source.sorted_scores(twin)
    nu = float(detector.nu)
    twin.svm_offset_ = offset if twin.scoring_ == "margin" else quantile_offset(twin.train_scores_, nu)
    twin._apply_threshold(detector._check_threshold(detector.threshold, fitted=False))
    names = ("scoring_", "code_statistics_", "train_scores_", "svm_offset_", "threshold_", "offset_")
    return {name: getattr(twin, name) for name in names}


def _keep_training_state(detector: Any, source: Source, group: ShardGroup[Any], model: Model) -> None:
    detector.train_coef_ = model.svm.w.copy()
    detector.train_offset_ = model.svm.rho
    detector.train_codes_ = detector.train_decision_ = None
    if source.shape[0] <= KEPT_ROWS:
        detector.train_codes_ = scipy.sparse.vstack(group.map("codes"), format="csr")
        detector.train_decision_ = detector.train_codes_ @ detector.train_coef_ - detector.train_offset_
