"""`to_onnx`: which models can be exported, and what is written beside their scores."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from oddatom import __version__
from oddatom._atomic import write_atomic
from oddatom._within import detector_within
from oddatom.arrays.namespaces import like
from oddatom.coding import linear_codes
from oddatom.estimators import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, SVDD, LinearOneClassSVM, OddAtomDetector
from oddatom.estimators._validation import takes_missing
from oddatom.exceptions import OddAtomError, ParameterError
from oddatom.onnx.pursuit import pursue
from oddatom.scaling.linear import Scaling
from oddatom.scores import OF_LINEAR_CODES, score
from oddatom.scores.center_distance import row_distances
from oddatom.scores.margin import linear_margin

MOST_NONZERO = 32  # steps of a pursuit that are written out: their number of operations grows with its square
_DTYPES = ("float64", "float32")
_EXPORTED = (DLOCSVM, DPLOCSVM, LinearOneClassSVM, SVDD, OddAtomDetector)


def to_onnx(model: Any, path: str | os.PathLike[str] | None = None, *, dtype: str = "float64") -> Any:
    """Return a fitted detector as an ONNX model, which gives scores, decisions and labels of rows.

    The graph has one input, "X" (N×m, any N, in the units of the training rows), and three outputs of N numbers:

    - "scores", `score_samples`, float64, higher = more normal;
    - "decision", `decision_function`, float64: the score less `offset_`, as the threshold in force has it;
    - "label", `predict`, int64: +1 for inliers, −1 for anomalies.

    It computes in float64 whatever its input is, and gives the detector's scores up to rounding. Rows that tie are the
    exception: where two atoms, or two centroids, fit a row equally well to the last digits, rounding chooses. A row on
    the margin to within 1e-12 of the largest training score is an inlier, as training rows that a share's offset was
    taken from are. A row with a number that the detector refuses (an infinity; a NaN, which is a missing value to
    `OddAtomDetector` alone) scores NaN and has label −1.

    The detectors that can be exported are `DPLOCSVM`, whose margin is linear (representation="analysis"), `DLOCSVM`
    and `DPLOCSVM` with codes by matching pursuit of up to 32 non-zeros, written out step by step, `OddAtomDetector`,
    `LinearOneClassSVM` and `SVDD`; each with any `scoring`, and with any threshold but ("fdr", q), which judges rows
    together. Rows are worked on all at once: an ensemble takes about 8·M·(n_centroids + n_atoms + 4 m) bytes a row,
    so score tables in batches.

    The graph is what `ndonnx` makes of the functions that score arrays: operations of ONNX's opset 21 (IR version 10),
    which onnxruntime knows from 1.18 on. Its metadata are "oddatom_version", "class",
    "score", "threshold", "offset" and, where the model has them, "feature_names", as JSON.

    Parameters
    ----------
    model : DLOCSVM, DPLOCSVM, LinearOneClassSVM, SVDD or OddAtomDetector
        Fitted.
    path : str or path, default=None
        Where to write it, if anywhere; an existing file is replaced in one step.
    dtype : {"float64", "float32"}, default="float64"
        Of the input. Rows in float32 get the scores that the detector gives to them.

    Returns
    -------
    exported : onnx.ModelProto

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from oddatom import OddAtomDetector
    >>> from oddatom.onnx import to_onnx
    >>> X = load_wine().data
    >>> detector = OddAtomDetector(random_state=0).fit(X)
    >>> exported = to_onnx(detector, "wine.onnx")                                 # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession("wine.onnx")                       # doctest: +SKIP
    >>> scores, decision, label = session.run(None, {"X": X})                     # doctest: +SKIP
    """
    _check(model, dtype)
    try:
        import ndonnx
        from onnx import checker, helper
    except ModuleNotFoundError as error:
        raise ImportError(f"to_onnx needs onnx and ndonnx ({error}): pip install 'oddatom[onnx]'.") from None
    X = ndonnx.argument(shape=("N", model.n_features_in_), dtype=getattr(ndonnx, dtype))
    rows = ndonnx.astype(X, ndonnx.float64)
    one_more = ndonnx.concat([rows, ndonnx.asarray(np.zeros((1, model.n_features_in_)))])  # operations need a row
    known = ndonnx.where(ndonnx.isnan(rows), 0.0, rows) if takes_missing(model) else rows
    scores = _scores(one_more, model)[:-1] + ndonnx.sum(known - known, axis=1)  # plus 0, or NaN where a number is none
    decision = scores - float(model.offset_)
    one = ndonnx.asarray(np.array(1))
    label = ndonnx.where(decision >= -_rounding(model), one, -one)
    exported = ndonnx.build({"X": X}, {"scores": scores, "decision": decision, "label": label})
    for output in exported.graph.output:
        output.type.tensor_type.shape.dim[0].dim_param = "N"
    exported.graph.name = type(model).__name__
    exported.producer_name, exported.producer_version = "oddatom", __version__
    helper.set_model_props(exported, _properties(model))
    checker.check_model(exported, full_check=True)
    if path is not None:
        write_atomic(path, exported.SerializeToString())
    return exported


def _scores(X: Any, model: Any) -> Any:
    """Return the scores of rows in float64, by the formulas that score arrays."""
    if isinstance(model, OddAtomDetector):
        return model.ensemble_.score_rows(X, model.scoring_)
    if isinstance(model, LinearOneClassSVM):
        return linear_margin(X, Scaling(None, None, 1.0), model.coef_[0])
    if isinstance(model, SVDD):
        return row_distances(X, like(model.center_, X))
    if _is_linear(model) and model.scoring_ == "margin":
        return linear_margin(X, model.scaling_, model._plane)
    if _is_linear(model):
        P, w = model.analysis_components_, like(model.coef_, X)
        values = like(model.scaling_, X).apply(X) @ like(P.T, X)
        if model.scoring_ == "distance":
            return row_distances(values, w)
        return score(model.scoring_, linear_codes(values, P.shape[0]), w, like(model.code_statistics_, X))
    D = model.components_
    Z, size = like(model.scaling_, X).sized(X)
    codes = pursue(Z, size, D, min(model.n_nonzero_, D.shape[0]))
    return score(model.scoring_, codes, like(model.coef_, X), like(model.code_statistics_, X))


def _rounding(model: Any) -> float:
    """Return what scores may differ by from the detector's: offsets are training scores, and rows with those tie."""
    scores = getattr(model, "train_scores_", np.zeros(0))
    size = float(np.abs(scores[[0, -1]]).max()) if scores.size else 0.0
    unit = 0.0 if getattr(model, "scaling", None) is None else 1e-3  # rows that were scaled have sizes near 1
    return 1e-12 * max(size, abs(float(model.offset_)), unit)


def _is_linear(model: Any) -> bool:
    return isinstance(model, DPLOCSVM) and model.representation_ == "analysis" and model.scoring_ in OF_LINEAR_CODES


def _check(model: Any, dtype: str) -> None:
    """Raise, before any work, where a model cannot be exported."""
    name = type(model).__name__
    if dtype not in _DTYPES:
        raise ParameterError("to_onnx", "dtype", f"must be one of {_DTYPES}. Got {dtype!r} instead.", value=dtype)
    if type(model) not in _EXPORTED:
        known = ", ".join(one.__name__ for one in _EXPORTED)
        problem = f"must be one of {known}. Got {name} instead"
        raise ParameterError("to_onnx", "model", problem, value=model, advice=_advice(model))
    check_is_fitted(model)
    threshold = getattr(model, "threshold_", None)
    if threshold is not None and threshold.kind == "fdr":
        raise OddAtomError(
            f"{{owner}} cannot be exported with threshold=('fdr', {threshold.level}): labels of rows would depend on "
            "the other rows.",
            parameter="threshold",
            value=("fdr", threshold.level),
            advice="Call set_threshold with 'auto', 'svm' or a share first.",
            owner=name,
        )
    if isinstance(model, OddAtomDetector | LinearOneClassSVM | SVDD) or _is_linear(model):
        return
    n_atoms = model.components_.shape[0]
    if n_atoms == 0:
        problem = "{owner} has no atoms left, so there is nothing to export."
        raise OddAtomError(problem, parameter="beta", value=model.beta, advice="Lower beta and fit again.", owner=name)
    s = min(model.n_nonzero_, n_atoms)
    if s > MOST_NONZERO:
        raise OddAtomError(
            f"{{owner}} cannot be exported with {s} non-zeros: the steps of its coding are written out, {MOST_NONZERO} "
            "at most.",
            parameter="n_nonzero",
            value=s,
            advice="Fit with a lower n_nonzero, or use DPLOCSVM with scoring='margin', whose codes are linear.",
            owner=name,
        )


def _advice(model: Any) -> str:
    if isinstance(model, type):
        return "pass a fitted detector, not its class."
    if isinstance(model, Pipeline):
        last = model.steps[-1][0]
        return f"export its last step, pipeline[{last!r}], and take rows through the other steps first."
    if getattr(model, "context_", None) is not None:  # a TableDetector with groups or times
        return "its features are made of groups or times, which the format cannot hold. Keep it with oddatom.save."
    if hasattr(model, "encoder_"):  # a TableDetector
        return "export the detector in it, model.detector_, and take tables through model.encoder_.transform first."
    if inner := detector_within(model):
        return f"pass the detector in it, model{inner}."
    if isinstance(model, KDLOCSVM | KDPLOCSVM):
        return (
            "its scores need the kernel of new rows with the training rows or landmarks. Use the detector without a "
            "kernel, or keep it with oddatom.save."
        )
    return "pass a fitted detector of these classes."


def _properties(model: Any) -> dict[str, str]:
    threshold = getattr(model, "threshold_", None)
    kind, level = ("svm", 0.0) if threshold is None else threshold
    words = {"share": level, "top": f"top={int(level)}", "p": f"p={level}"}
    cut = words.get(kind, kind)
    properties = {
        "oddatom_version": __version__,
        "class": type(model).__name__,
        "score": getattr(model, "scoring_", "margin"),
        "threshold": str(cut),
        "offset": repr(float(model.offset_)),
    }
    names = getattr(model, "feature_names_in_", None)
    return properties if names is None else {**properties, "feature_names": json.dumps([str(one) for one in names])}
