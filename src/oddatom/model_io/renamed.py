"""Names in files of formats 1.0 and 1.1 that are others today: such a file is read as if it had been written now."""

from __future__ import annotations

from typing import Any

OLD_MINOR = 1  # the last minor format with the old names

PARAMETERS = {"score": "scoring", "calibration": "n_folds", "agreement": "weight_power"}
ATTRIBUTES = {"score_": "scoring_"}
OF_PAIRS = {"gamma": "alpha", "gamma_": "alpha_"}  # of DPLOCSVM, which has no kernel
VALUES = {"largest": "max_residual", "magnitude": "norm"}  # of scoring


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
            trees[name] = VALUES.get(trees[name], trees[name])
    return {**tree, "parameters": parameters, "attributes": attributes}


def _with_names(trees: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {name if names.get(name, name) in trees else names.get(name, name): tree for name, tree in trees.items()}
