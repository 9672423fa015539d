"""Changes to the tree and the arrays of a saved model, for files that should be refused."""

import numpy as np


def attribute(name, value):
    def change(tree, arrays):
        tree["attributes"][name] = value
        named = {f"{name}.{end}" for end in ("data", "indices", "indptr")} | {name}
        for lost in named & set(arrays):
            if lost not in str(value):
                del arrays[lost]

    return change


def field(name, key, value):
    def change(tree, arrays):
        tree["attributes"][name]["record"][1][key] = value

    return change


def parameter(name, value):
    def change(tree, arrays):
        tree["parameters"][name] = value

    return change


def tensor(name, alter):
    def change(tree, arrays):
        arrays[name] = alter(arrays[name].copy())

    return change


def entry(value, *place):
    def alter(array):
        array[place] = value
        return array

    return alter


def both(*changes):
    def change(tree, arrays):
        for one in changes:
            one(tree, arrays)

    return change


def without_folds(tree, arrays):
    for name in ("fold_models_", "fold_rows_", "conformal_"):
        tree["attributes"][name] = None
    for name in [name for name in arrays if name.startswith(("fold_", "conformal_"))]:
        del arrays[name]


def shorter(array):
    return array[:-1].copy()


def narrower(array):
    return np.ascontiguousarray(array[..., :-1])
