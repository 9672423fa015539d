"""What files of older formats have otherwise: names, and settings; such a file is read as if written now."""

from __future__ import annotations

from typing import Any

OLD_MINOR = 1  # the last minor format with the old names
OLDER_MINOR = 2  # the last one with parameters that are gone
PAPER_MINOR = 6  # the last one whose learners had the paper's settings where they name none

PARAMETERS = {"score": "scoring", "calibration": "n_folds"}
GONE = ("agreement", "weight_power")  # of OddAtomDetector: weights are constants, and an old model keeps its own
ATTRIBUTES = {"score_": "scoring_"}
OF_PAIRS = {"gamma": "alpha", "gamma_": "alpha_"}  # of DPLOCSVM, which has no kernel
SCORINGS = {"largest": "max_residual", "magnitude": "norm"}

# Parameters that are now keys of a dict: the old name, the key, and the default.
KERNEL_PARAMS = (
    ("degree", "degree", 3.0),
    ("coef0", "coef0", 1.0),
    ("rank_tol", "rank_tol", None),
    ("kernel_coding", "coding", "correlation"),
)
SOLVERS = (("atom_solver", "atoms", "exact"), ("pair_solver", "pairs", "exact"), ("svm_solver", "svm", "exact"))


def renamed(tree: Any) -> Any:
    """Return the tree of a model with today's names. One that is no model's comes back as it is, to be refused later.

    A name that is there in both forms is left alone: the old one is then unknown.
    """
    groups = ("parameters", "attributes")
    if type(tree) is not dict or not all(type(tree.get(group)) is dict for group in groups):
        return tree
    own = OF_PAIRS if tree.get("class") == "DPLOCSVM" else {}
    parameters = _with_names(tree["parameters"], {**PARAMETERS, **own})
    attributes = _with_names(tree["attributes"], {**ATTRIBUTES, **own})
    for trees, name in ((parameters, "scoring"), (attributes, "scoring_")):
        if type(trees.get(name)) is str:
            trees[name] = SCORINGS.get(trees[name], trees[name])
    _group(parameters)
    return {**tree, "parameters": parameters, "attributes": attributes}


def without_gone(tree: Any) -> Any:
    """Return the tree of an OddAtomDetector without the parameters that are gone; any other comes back as it is."""
    if type(tree) is not dict or tree.get("class") != "OddAtomDetector" or type(tree.get("parameters")) is not dict:
        return tree
    return {**tree, "parameters": {name: value for name, value in tree["parameters"].items() if name not in GONE}}


LEARNERS = ("DLOCSVM", "DPLOCSVM", "KDLOCSVM", "KDPLOCSVM")
PAPER = {"coupling_form": "multipliers", "boundary": "plane", "trim": 0.0}


def with_paper_settings(tree: Any) -> Any:
    """Return the tree of one of the four learners with the settings that it was fitted with; any other as it is."""
    if type(tree) is not dict or tree.get("class") not in LEARNERS or type(tree.get("parameters")) is not dict:
        return tree
    parameters = {**PAPER, **tree["parameters"]}
    eta = parameters.get("coupling", 1.0)
    if type(eta) in (int, float):
        parameters["coupling"] = {"tuple": ["eta", eta]}
    if tree["class"].startswith("K"):
        given = parameters.get("kernel_params")
        entries = given.get("dict") if type(given) is dict else [] if given is None else None
        if type(entries) is list and not any(type(entry) is list and entry[:1] == ["coding"] for entry in entries):
            parameters["kernel_params"] = {"dict": [*entries, ["coding", "correlation"]]}
    return {**tree, "parameters": parameters}


def _with_names(trees: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {name if names.get(name, name) in trees else names.get(name, name): tree for name, tree in trees.items()}


def _group(parameters: dict[str, Any]) -> None:
    """Put parameters together that are one today; values that they cannot have are refused with the new one."""
    for name, keys in (("kernel_params", KERNEL_PARAMS), ("solver", SOLVERS)):
        if name not in parameters:
            found = [[key, parameters.pop(old)] for old, key, _ in keys if old in parameters]
            defaults = {key: default for _, key, default in keys}
            others = [[key, tree] for key, tree in found if tree != defaults[key]]
            if others:
                parameters[name] = {"dict": others}
    if "epsilon" in parameters:
        epsilon = parameters.pop("epsilon")
        if parameters.get("penalty") == "l2eps":
            parameters["penalty"] = {"tuple": ["l2eps", epsilon]}
    n, choice = parameters.pop("n_landmarks", 256), parameters.pop("landmarks", "uniform")
    if parameters.get("approximation") == "nystroem":
        parameters["approximation"] = n if choice == "uniform" else {"tuple": [choice, n]}
    if "track" in parameters:  # which `verbose` now says
        tracked, verbose = parameters.pop("track") == "atoms", parameters.get("verbose", 0)
        parameters["verbose"] = 2 if tracked else 1 if type(verbose) is int and verbose > 1 else verbose
