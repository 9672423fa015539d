"""Files with a right checksum and wrong sizes, places or values: refused wherever a kernel would trust them."""

import numpy as np
import pytest

import oddatom
from forgeries import attribute, both, entry, field, narrower, parameter, shorter, tensor, without_folds
from model_files import KINDS, answers, rows_of
from oddatom import ModelFileError

SIDES = ("edge", "next_edge", "reach", "edge_cost")


def without_tails(tree, arrays):
    tree["attributes"]["ensemble_"]["record"][1]["histogram"]["record"][1]["tails"] = None
    for name in [name for name in arrays if ".tails." in name]:
        del arrays[name]


CASES = {
    # sizes
    "components of other columns": ("DLOCSVM", tensor("components_", narrower), "components_ must be of shape"),
    "components fewer than coefficients": ("DLOCSVM", tensor("components_", shorter), "coef_ must be of shape"),
    "plane of another size": (
        "LinearOneClassSVM",
        tensor("coef_", narrower),
        r"coef_ must be of shape \(1, features\)",
    ),
    "plane of two rows": ("LinearOneClassSVM", tensor("coef_", lambda a: np.vstack([a, a])), "coef_ must be of shape"),
    "another number of features": ("DLOCSVM", attribute("n_features_in_", 400), "features = 400"),
    "no features": ("DLOCSVM", attribute("n_features_in_", 0), "n_features_in_ must be an integer of at least 1"),
    "features that are true": ("DLOCSVM", attribute("n_features_in_", True), "n_features_in_ must be an integer"),
    "more non-zeros than atoms": ("DLOCSVM", attribute("n_nonzero_", 2**40), "n_nonzero_ must be at most atoms = 6"),
    "no non-zeros": ("DLOCSVM", attribute("n_nonzero_", 0), "n_nonzero_ must be an integer of at least 1"),
    "active atoms of another number": ("DLOCSVM", tensor("active_atoms_", np.zeros_like), "active_atoms_ must be true"),
    "statistics of fewer atoms": ("DLOCSVM", tensor("code_statistics_.variance", shorter), "variance must be of shape"),
    "statistics without usage": (
        "DLOCSVM",
        field("code_statistics_", "usage", None),
        "usage must be an array of float",
    ),
    "atoms that all rows use": ("DLOCSVM", tensor("code_statistics_.usage", entry(1.0, 0)), "or less in every entry"),
    "analysis atoms of other columns": ("DPLOCSVM", tensor("analysis_components_", narrower), "analysis_components_"),
    "fewer analysis atoms": ("DPLOCSVM", tensor("analysis_components_", shorter), "analysis_components_ must be of sh"),
    "coordinates of another size": ("KDLOCSVM", tensor("kernel_map_.T", narrower), "dictionary_ must be of shape"),
    "landmarks of other columns": ("KDLOCSVM", tensor("kernel_map_.landmarks", narrower), "landmarks must be of shape"),
    "centroids of other columns": ("OddAtomDetector", tensor("ensemble_.packed.centroids", narrower), "must be of sha"),
    "atoms of other columns": ("OddAtomDetector", tensor("ensemble_.packed.atoms", narrower), "atoms must be of shape"),
    "atoms fewer than costs": (
        "OddAtomDetector",
        tensor("ensemble_.packed.atoms", lambda a: np.ascontiguousarray(a[:, 1:])),
        "cost must be of shape",
    ),
    "no atoms": (
        "OddAtomDetector",
        lambda tree, arrays: arrays.update(
            {
                f"ensemble_.packed.{k}": arrays[f"ensemble_.packed.{k}"][:, :0]
                for k in ("atoms", "cost", "gain_precision")
            }
        ),
        "of one of atoms at least",
    ),
    "calibration of fewer parts": (
        "OddAtomDetector",
        lambda tree, arrays: arrays.update(
            {f"ensemble_.calibration.{k}": np.ones(3) for k in ("lift", "center", "spread", "fill")}
        ),
        "calibration must be of 14 parts",
    ),
    "weights of fewer parts": ("OddAtomDetector", tensor("ensemble_.weights", shorter), "weights must be of 9 parts"),
    "trims that do not divide": ("OddAtomDetector", field("ensemble_", "n_trims", 2**40), "a divisor of the 2 members"),
    "trims that are none": (
        "OddAtomDetector",
        field("ensemble_", "n_trims", 0),
        "n_trims must be an integer of at lea",
    ),
    "folds that lack": (
        "OddAtomDetector",
        both(field("conformal_", "held_out", {"tuple": []}), field("conformal_", "keys", None)),
        "must be of 2 folds",
    ),
    "keys that lack": ("OddAtomDetector", field("conformal_", "keys", {"tuple": []}), "as many as held-out scores"),
    "an offset that is text": ("OddAtomDetector", field("auto_", "offset", "low"), "offset must be a number"),
    "no coordinates": (
        "KDLOCSVM",
        both(*(tensor(name, lambda a: a[:, :0]) for name in ("kernel_map_.T", "dictionary_", "components_"))),
        "T must be of one landmark and one coordinate at least",
    ),
    "no training rows": (
        "DLOCSVM",
        both(
            without_folds,
            *(tensor(name, lambda a: a[:0]) for name in ("dual_coef_", "train_decision_", "train_scores_")),
            *(tensor(f"train_codes_.{name}", lambda a: a[:0]) for name in ("data", "indices")),
            tensor("train_codes_.indptr", lambda a: a[:1]),
            lambda tree, arrays: tree["attributes"]["train_codes_"]["csr"].update(shape=[0, 6]),
        ),
        "train_scores_ must be of one row at least",
    ),
    "fewer names than features": ("DLOCSVM", attribute("feature_names_in_", {"names": ["a"]}), "as many names as feat"),
    "a precomputed kernel of other rows": (
        "KDLOCSVM",
        both(
            without_folds,
            parameter("kernel", "precomputed"),
            field("kernel_map_", "kernel", None),
            tensor("kernel_map_.landmarks", lambda a: np.empty((0, 0))),
        ),
        "n_samples must be the number of columns of a precomputed kernel, 4",
    ),
    "two bins": (
        "OddAtomDetector",
        both(*(tensor(f"ensemble_.histogram.{name}", lambda a: a[:, :2]) for name in ("cost", "held_out"))),
        "cost must be of three bins at least",
    ),
    "falling knots": (
        "OddAtomDetector",
        tensor("ensemble_.histogram.tails.knots", lambda a: a[:, ::-1].copy()),
        "knots must be in rising order",
    ),
    "one side": (
        "OddAtomDetector",
        both(*(tensor(f"ensemble_.histogram.tails.{name}", lambda a: a[:, :1]) for name in SIDES)),
        "tails must be of two sides",
    ),
    "cells without tails": ("OddAtomDetector", without_tails, "tails must be there"),
    # places
    "landmark beyond the last": ("KDLOCSVM", tensor("kernel_map_.indices", entry(40, 0)), "below rows = 40"),
    "landmark below the first": ("KDLOCSVM", tensor("kernel_map_.indices", entry(-1, 0)), "indices must be 0 or more"),
    "codes beyond the last atom": ("DLOCSVM", tensor("train_codes_.indices", entry(6, 0)), "columns from 0 to 5"),
    "codes below the first atom": ("DLOCSVM", tensor("train_codes_.indices", entry(-1, 0)), "columns from 0 to 5"),
    "codes that do not begin": ("DLOCSVM", tensor("train_codes_.indptr", entry(1, 0)), "each follows the last"),
    "codes that do not end": ("DLOCSVM", tensor("train_codes_.indptr", entry(10**6, -1)), "each follows the last"),
    "codes of fewer rows": ("DLOCSVM", tensor("train_codes_.indptr", lambda a: a[[0, -1]]), "each follows the last"),
    "short codes": ("DLOCSVM", tensor("train_codes_.data", lambda a: a.astype("f4")), "must have data of float64"),
    "other landmarks": (
        "KDLOCSVM",
        both(
            attribute("landmark_indices_", {"array": "others"}),
            lambda tree, arrays: arrays.update(others=arrays["kernel_map_.indices"][::-1].copy()),
        ),
        "landmark_indices_ must be those of kernel_map_",
    ),
    "rows of a fold that fall": (
        "DLOCSVM",
        tensor("fold_rows_.0", lambda a: a[::-1].copy()),
        "fold_rows_.0 must be ri",
    ),
    "rows of codes that fall": ("DLOCSVM", tensor("train_codes_.indptr", entry(10**6, 3)), "each follows the last"),
    "row of a fold beyond the last": ("DLOCSVM", tensor("fold_rows_.0", entry(2**40, -1)), "below rows = 40"),
    # values
    "infinite bins": ("OddAtomDetector", tensor("ensemble_.histogram.steps", entry(1e300, 0)), "bins span the range"),
    "bins of negative length": (
        "OddAtomDetector",
        tensor("ensemble_.histogram.steps", entry(-1, 0)),
        "steps must be 0",
    ),
    "ends that change places": ("OddAtomDetector", tensor("ensemble_.histogram.high", entry(-1e9, 0)), "at least low"),
    "a range that overflows": (
        "OddAtomDetector",
        lambda tree, arrays: (
            tensor("ensemble_.histogram.high", entry(1.7e308, 0))(tree, arrays),
            tensor("ensemble_.histogram.low", entry(-1.7e308, 0))(tree, arrays),
        ),
        "not infinitely more",
    ),
    "half norms of others": ("OddAtomDetector", tensor("ensemble_.packed.half_norms", entry(7, 0, 0)), "half the squa"),
    "half norms below zero": ("OddAtomDetector", tensor("ensemble_.packed.half_norms", entry(-np.inf, 0, 0)), "half_n"),
    "weights that do not sum to 1": (
        "OddAtomDetector",
        tensor("ensemble_.weights", lambda a: 2 * a),
        "weights that sum to 1",
    ),
    "centers alone": (
        "DLOCSVM",
        both(
            field("scaling_", "center", {"array": "center"}),
            lambda tree, arrays: arrays.update(center=np.zeros(4)),
        ),
        "scaling_ must be of both a center and a spread, or neither",
    ),
    "a spread of zero": ("OddAtomDetector", tensor("ensemble_.scaling.spread", entry(0, 0)), "spread must be above 0"),
    "a scale of zero": ("DLOCSVM", field("scaling_", "scale", 0.0), "scaling_.scale must be a number above 0"),
    "NaN in a component": ("DLOCSVM", tensor("components_", entry(np.nan, 0, 0)), "components_ must be free of NaN"),
    "infinity in a component": ("DLOCSVM", tensor("components_", entry(np.inf, 0, 0)), "components_ must be free of N"),
    "NaN in training scores": ("DLOCSVM", tensor("train_scores_", entry(np.nan, -1)), "train_scores_ must be free of"),
    "training scores in disorder": ("DLOCSVM", tensor("train_scores_", lambda a: a[::-1].copy()), "must be sorted"),
    "an offset that is no number": ("DLOCSVM", attribute("offset_", {"float": "nan"}), "offset_ must be a number"),
    "a noise that is none": ("DLOCSVM", field("code_statistics_", "noise", -1.0), "noise must be a number above 0"),
    "centers without spreads": ("DLOCSVM", field("scaling_", "center", {"array": "scaling_.center"}), "names an array"),
}


@pytest.mark.parametrize("case", CASES)
def test_refused(case, forged):
    kind, change, match = CASES[case]
    with pytest.raises(ModelFileError, match=match) as caught:
        oddatom.load(forged(kind, change))
    assert "\n" not in str(caught.value)
    assert "Save the model again" in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_changed_is_loaded(kind, forged):
    answers(oddatom.load(forged(kind, lambda tree, arrays: None)), rows_of(kind))


def test_truth_is_zero_or_one(forged):
    twos = tensor("active_atoms_", lambda a: np.full(a.shape, 2, np.uint8).view(bool))
    with pytest.raises(ModelFileError, match="'active_atoms_' has truth values other than 0 and 1"):
        oddatom.load(forged("DLOCSVM", twos))


def test_parameters_that_lack_have_their_defaults(forged):
    assert oddatom.load(forged("DLOCSVM", lambda t, a: t["parameters"].pop("coupling"))).coupling == 0.1
