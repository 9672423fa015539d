"""Files with a right checksum and wrong types, names or parts: refused, and nothing in them is looked up or run."""

import copy

import numpy as np
import pytest

import oddatom
from forgeries import attribute, both, field, narrower, parameter, shorter, tensor, without_folds
from oddatom import ModelFileError


def column(k, **fields):
    def change(tree, arrays):
        tree["steps"][0][1]["attributes"]["columns_"][k]["record"][1].update(fields)

    return change


def context(path, **fields):
    def change(tree, arrays):
        at = tree["attributes"]["context_"]["record"][1]["context"]
        for name in path:
            at = at["record"][1][name]
        at["record"][1].update(fields)

    return change


CASES = {
    # types
    "numbers for text": ("DLOCSVM", attribute("scoring_", 3), "scoring_ must be one of margin"),
    "an unknown score": ("DLOCSVM", attribute("scoring_", "__class__"), "scoring_ must be one of margin"),
    "no kernel": ("KDLOCSVM", field("kernel_map_", "kernel", None), r"landmarks must be of shape \(0, 0\)"),
    "a kernel beside a precomputed one": ("KDLOCSVM", parameter("kernel", "precomputed"), "None where, and only where"),
    "an unknown kernel": (
        "KDLOCSVM",
        lambda tree, arrays: tree["attributes"]["kernel_map_"]["record"][1]["kernel"]["record"][1].update(
            function="eval"
        ),
        "kernel.function must be one of rbf",
    ),
    "an unknown threshold": (
        "DLOCSVM",
        attribute("threshold_", {"record": ["Threshold", {"kind": "os.system", "level": 0.0}]}),
        "threshold_ must be a threshold that the model has",
    ),
    "a level that is text": (
        "DLOCSVM",
        attribute("threshold_", {"record": ["Threshold", {"kind": "share", "level": "0.1"}]}),
        "threshold_.level must be a number",
    ),
    "held-out scores that are none": (
        "DLOCSVM",
        field("conformal_", "held_out", {"tuple": [["a"]]}),
        "held_out.0 must",
    ),
    "a history without columns": ("DLOCSVM", field("history_", "columns", [1]), "history_ must have columns"),
    "a history of other columns": (
        "DLOCSVM",
        field("history_", "columns", {"dict": []}),
        "history_ must be of columns",
    ),
    "a column twice": (
        "DLOCSVM",
        field("history_", "columns", {"dict": [["F", 1], ["F", 2]]}),
        "must hold pairs of a text, each another one, and a value",
    ),
    "a tuple for a threshold": ("DLOCSVM", attribute("threshold_", {"tuple": ["svm", 0.0]}), "must be a Threshold"),
    "text for an array": ("DLOCSVM", attribute("coef_", "abc"), "coef_ must be an array of float64"),
    "whole numbers for reals": (
        "DLOCSVM",
        tensor("coef_", lambda a: a.astype(np.int64)),
        "coef_ must be an array of f",
    ),
    "short reals for reals": (
        "DLOCSVM",
        tensor("coef_", lambda a: a.astype(np.float32)),
        "coef_ must be an array of f",
    ),
    "short places for places": (
        "KDLOCSVM",
        tensor("kernel_map_.indices", lambda a: a.astype(np.int32)),
        "indices must be an array of int64",
    ),
    "a record of another class": (
        "DLOCSVM",
        attribute("scaling_", {"record": ["Threshold", {"kind": "svm", "level": 0.0}]}),
        "scaling_ must be a Scaling",
    ),
    "a record of an unknown class": (
        "DLOCSVM",
        attribute("scaling_", {"record": ["Popen", {}]}),
        "does not know, 'Pop",
    ),
    "a record that lacks a field": (
        "DLOCSVM",
        attribute("scaling_", {"record": ["Scaling", {"scale": 1.0}]}),
        "must have the fields center, spread, scale",
    ),
    "arrays stored column by column": (
        "OddAtomDetector",
        lambda tree, arrays: (
            tree["attributes"]["ensemble_"]["record"][1]["packed"]["record"][1].update(
                atoms={"fortran": "ensemble_.packed.atoms"}
            ),
            arrays.update({"ensemble_.packed.atoms": arrays["ensemble_.packed.atoms"].T.copy()}),
        ),
        "atoms must be stored row by row",
    ),
    "an unknown type": (
        "DLOCSVM",
        attribute("gap_", {"eval": "1+1"}),
        "of a type that this version does not know, 'ev",
    ),
    "a model where none belongs": ("DLOCSVM", attribute("gap_", {"model": {}}), "gap_ must be a class with its values"),
    # names
    "an attribute that is missing": ("DLOCSVM", lambda t, a: t["attributes"].pop("nu_"), "nu_ must be there"),
    "an attribute that is unknown": ("DLOCSVM", attribute("evil_", 1), "evil_ is nothing that this version knows"),
    "an attribute of Python": ("DLOCSVM", attribute("__class__", 1), "__class__ is nothing that this version knows"),
    "an attribute of Python that ends well": ("DLOCSVM", attribute("__reduce_", 1), "__reduce_ is nothing"),
    "a method": ("DLOCSVM", attribute("score_samples", 1), "score_samples is nothing that this version knows"),
    "a parameter that is unknown": ("DLOCSVM", parameter("memory", 1), "parameters.memory is nothing"),
    "a parameter out of range": ("DLOCSVM", parameter("nu", 7.0), "parameters are not valid: The 'nu' parameter"),
    "a parameter of another type": ("DLOCSVM", parameter("n_jobs", "all"), "The 'n_jobs' parameter"),
    "a threshold that is none": ("DLOCSVM", parameter("threshold", "os.system"), "The 'threshold' parameter"),
    "a trim that is none": ("OddAtomDetector", parameter("trim", ["a"]), "The 'trim' parameter"),
    "an unknown class": ("DLOCSVM", lambda t, a: t.update({"class": "os.system"}), "does not know, 'os.system'"),
    "a class of another": (
        "DLOCSVM",
        lambda t, a: t.update({"class": "LinearOneClassSVM"}),
        "is nothing that this ver",
    ),
    "no class": ("DLOCSVM", lambda t, a: t.pop("class"), "must be a class with its values"),
    "a folder of Python": ("DLOCSVM", lambda t, a: t.update({"module": "os"}), "must be a class with its values"),
    "an array that nobody asks for": ("DLOCSVM", lambda t, a: a.update(more=np.zeros(2)), "more belongs to no part"),
    # folds
    "folds without rows": ("DLOCSVM", attribute("fold_rows_", None), "fold_models_ must be there with its rows"),
    "a fold that has folds": (
        "DLOCSVM",
        lambda t, a: t["attributes"]["fold_models_"].__setitem__(0, {"model": copy.deepcopy(t)}),
        "fold_models_.0 must be a DLOCSVM without folds",
    ),
    "a fold of other features": (
        "KDLOCSVM",
        lambda t, a: (
            t["attributes"]["fold_models_"][0]["model"]["attributes"].update(n_features_in_=3),
            tensor("fold_models_.0.kernel_map_.landmarks", narrower)(t, a),
        ),
        "fold_models_.0.n_features_in_ must be 4. Got 3",
    ),
    "a fold that is a number": ("DLOCSVM", attribute("fold_models_", [1, 2]), "fold_models_.0 must be a DLOCSVM"),
    "a fold of fewer scores": ("DLOCSVM", tensor("conformal_.held_out.0", shorter), "fold_rows_ must be of the sizes"),
    "fewer folds": (
        "DLOCSVM",
        lambda t, a: t["attributes"]["fold_models_"].pop(),
        "a model for each of 2 folds. Got 1",
    ),
    "a fold of another score": (
        "DLOCSVM",
        lambda t, a: t["attributes"]["fold_models_"][0]["model"]["attributes"].update(scoring_="residual"),
        "fold_models_.0 must be a model of the same score and kernel",
    ),
    "a model like a fold": (
        "DLOCSVM",
        both(
            without_folds,
            lambda t, a: [
                t["attributes"].pop(name) for name in ("train_codes_", "train_decision_", "train_scores_", "dual_coef_")
            ],
        ),
        "dual_coef_ must be there",
    ),
    # tables
    "a column of an unknown kind": ("Table", column(0, kind="eval"), "columns_.0.kind must be one of number"),
    "a column of an unknown style": ("Table", column(0, style="%d"), "columns_.0.style must be one of 1234.5"),
    "a date of an unknown style": ("Table", column(2, style=".*"), "columns_.2.style must be one of year-month-day"),
    "a column of fewer outputs": ("Table", column(0, outputs=[]), "columns_.0.outputs must be 2 names"),
    "outputs without a column": ("Table", column(5, outputs=["a"]), "columns_.5.outputs must be 0 names"),
    "a kind without an action": ("Table", column(0, action="one-hot"), "columns_.0.outputs must be -1 names"),
    "levels without outputs": ("Table", column(1, levels=["red"]), "columns_.1.outputs must be 3 names"),
    "levels without shares": ("Table", column(3, levels=["red"]), "columns_.3.shares must be as many as levels"),
    "levels that are no text": ("Table", column(3, levels=[1]), "columns_.3.levels.0 must be text"),
    "text that is no UTF-8": ("Table", column(3, levels=["\ud800"]), "columns_.3.levels.0 must be text that can be wr"),
    "a fill that is no number": ("Table", column(0, fill={"float": "inf"}), "columns_.0.fill must be a number"),
    "truth that is a number": ("Table", column(0, indicator=1), "columns_.0.indicator must be true or false"),
    "fewer columns": ("Table", lambda t, a: t["steps"][0][1]["attributes"]["columns_"].pop(), "each of 6 columns"),
    "a table of nothing": (
        "Table",
        lambda t, a: [column(k, action="left out", outputs=[])(t, a) for k in range(6)],
        "of one column to use at least",
    ),
    # pipelines
    "a step of an unknown class": (
        "Pipeline",
        lambda t, a: t["steps"][0][1].update({"class": "FunctionTransformer"}),
        "detector is of a class that this version does not know, 'FunctionTransformer'",
    ),
    "a Pipeline within": (
        "Pipeline",
        lambda t, a: t["steps"].append(["more", copy.deepcopy(t)]),
        "must be a class with its",
    ),
    "a Pipeline without steps": ("Pipeline", lambda t, a: t.update(steps=[]), "steps must be a list"),
    "a step by another name": ("Pipeline", lambda t, a: t["steps"][0].__setitem__(0, "a__b"), "names and estimators"),
    "a step twice": ("Pipeline", lambda t, a: t["steps"].append(t["steps"][0]), "of names that differ"),
    "steps of other sizes": (
        "Table",
        column(1, outputs=["a"] * 6, levels=["b"] * 4),
        "table must be followed by a step that takes its 11 columns. Got 10",
    ),
    # detectors of tables
    "a detector that is none": ("TableDetector", attribute("detector_", 3), "detector_ must be a detector. Got 3"),
    "an encoder for a detector": (
        "TableDetector",
        lambda t, a: t["attributes"].update(detector_=t["attributes"]["encoder_"]),
        "encoder_ must be followed by a step that takes its 5 columns. Got 6",
    ),
    "a detector for an encoder": (
        "TableDetector",
        lambda t, a: t["attributes"].update(encoder_=t["attributes"]["detector_"]),
        "encoder_ must be a TableEncoder",
    ),
    "no encoder": ("TableDetector", lambda t, a: t["attributes"].pop("encoder_"), "encoder_ must be there"),
    "an unfitted detector": (
        "TableDetector",
        lambda t, a: t["attributes"].update(detector_=t["parameters"]["detector"]),
        "detector_ must be a class with its values",
    ),
    "a fitted detector as a parameter": (
        "TableDetector",
        lambda t, a: t["parameters"].update(detector=t["attributes"]["detector_"]),
        "parameters.detector must be a class with its values",
    ),
    "a parameter that is no detector": (
        "TableDetector",
        parameter("detector", "os.system"),
        "parameters are not valid: The 'detector' parameter of TableDetector must be an object implementing 'fit'",
    ),
    "a parameter of a detector": (
        "TableDetector",
        lambda t, a: t["parameters"]["detector"]["model"]["parameters"].update(nu=7),
        "parameters.detector.parameters are not valid: The 'nu' parameter of OddAtomDetector",
    ),
    "a detector of other rows": (
        "TableDetector",
        lambda t, a: t["attributes"]["encoder_"]["model"]["attributes"]["columns_"][1]["record"][1].update(
            action="one-hot", outputs=["a"] * 6, levels=["b"] * 5
        ),
        "must be (of 10 encoded columns|followed by a step that takes its 10 columns). Got 5",
    ),
    # rows in time and in groups
    "no last rows": ("Timed", lambda t, a: t["attributes"].pop("followed_"), "followed_ must be there with a time"),
    "last rows without a time": (
        "Timed",
        lambda t, a: t["attributes"]["context_"]["record"][1].update(time=None),
        "context_ must be of a time and groups",
    ),
    "a window of text": ("Timed", context(("time",), window="7"), "time.window must be an integer of at least 2"),
    "a step back": ("Timed", context(("time",), step=-1.0), "time.step must be a number above 0"),
    "numbers that are not there": (
        "Timed",
        lambda t, a: a["context_.context.numbers"].__setitem__(0, 99),
        "context_.context.numbers must be different places below 4",
    ),
    "a group twice": ("Timed", context(("groups",), keys=["yes", "yes"]), "groups.keys must be all different"),
    "a group more": ("Timed", context(("groups",), keys=["a", "b", "c"]), "groups.centers must be of 4 rows"),
    "a scale of nothing": (
        "Timed",
        lambda t, a: a["context_.context.groups.scales"].__setitem__((0, 0), 0.0),
        "groups.scales must be above 0.0",
    ),
    "a series that is not there": (
        "Timed",
        lambda t, a: a["followed_.trained.series"].__setitem__(-1, 9),
        "followed_.(trained|last).series must be below 2",
    ),
    "a time that is none": (
        "Timed",
        lambda t, a: a["followed_.trained.times"].__setitem__(0, np.nan),
        "followed_.(trained|last).times must be free of NaN",
    ),
    "series in no order": (
        "Timed",
        lambda t, a: a["followed_.trained.series"].__setitem__(0, 1),
        "followed_.(trained|last).series must be sorted",
    ),
    "a time column of another table": (
        "Timed",
        lambda t, a: t["attributes"]["context_"]["record"][1]["time"]["record"][1].update(name="when"),
        "context_ must be of columns of the table",
    ),
    "times that are written as nothing is": (
        "Timed",
        lambda t, a: t["attributes"]["context_"]["record"][1]["time"]["record"][1].update(style="os"),
        "context_.time.style must be one of",
    ),
    "steps that do not fit": ("Pipeline", lambda t, a: t["steps"].append(["b", t["steps"][0][1]]), "to do its part"),
}


@pytest.mark.parametrize("case", CASES)
def test_refused(case, forged):
    kind, change, match = CASES[case]
    with pytest.raises(ModelFileError, match=match) as caught:
        oddatom.load(forged(kind, change))
    assert "\n" not in str(caught.value)
    assert "Save the model again" in str(caught.value)
