"""The fitted attributes of an estimator: which there are, and what each must look like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from oddatom.estimators._validation import fitted_attributes
from oddatom.model_io.rules import Rule, Rules, Sizes, demand, integer, names


def _nothing_more(model: Any, path: str, sizes: Sizes) -> None:
    """The rules of the attributes say it all."""


class Schema(NamedTuple):
    """Rules of fitted attributes, in the order in which they are checked, and what holds between them.

    Attributes
    ----------
    attributes : dict of str to Rule
    optional : set of str
        Those that a model may lack.
    together : set of str
        Those that a model has all of, or none.
    finish : function of (model, path, sizes)
        Checks what one attribute cannot tell.
    """

    attributes: Rules
    optional: frozenset[str] = frozenset({"feature_names_in_"})
    together: frozenset[str] = frozenset()
    finish: Callable[[Any, str, Sizes], None] = _nothing_more


# What scikit-learn gives to every estimator.
FEATURES: dict[str, Rule] = {
    "n_features_in_": integer(least=1, name="features"),
    "feature_names_in_": names("features"),
}


def check_attributes(model: Any, schema: Schema, path: str) -> None:
    """Raise `Mismatch` unless the fitted attributes of a model are those of its schema, and fit each other."""
    found = fitted_attributes(model)
    for name in found:
        demand(name in schema.attributes, f"{path}{name}", "a fitted attribute of the class", found[name])
    together = schema.together & set(found)
    for name in schema.attributes:
        missing = name not in found and name not in schema.optional and not (name in schema.together and not together)
        demand(not missing, f"{path}{name}", "there", None)
    sizes: Sizes = {}
    for name, rule in schema.attributes.items():
        if name in found:
            rule(found[name], f"{path}{name}", sizes)
    schema.finish(model, path, sizes)
