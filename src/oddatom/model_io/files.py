"""Save a fitted model to one file, and load it: no code in the file, none run."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline

import oddatom
from oddatom._atomic import write_atomic
from oddatom.exceptions import ModelFileError, OddAtomError
from oddatom.model_io import container, jsontext
from oddatom.model_io.models import decode_model, decode_top, encode_model, encode_top
from oddatom.model_io.renamed import OLD_MINOR, OLDER_MINOR, PAPER_MINOR, renamed, with_paper_settings, without_gone
from oddatom.model_io.rules import Mismatch, shown
from oddatom.model_io.tree import Decoder, Encoder

FORMAT = (1, 7)
_FORMAT = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}")
_SAVE_AGAIN = "Save the model again."


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted detector, or a Pipeline of estimators of this package, to one file that is safe to load.

    The model that `load` returns scores rows as this one does, bit for bit. The same model gives the same bytes.

    Parameters
    ----------
    model : estimator
        Fitted. A `random_state` that is not an integer is stored as None, as fitting is over; an `init` array as
        float64; callbacks and the cache of a Pipeline are not stored. A kernel that is a function cannot be.
    path : str or path
        An existing file is replaced in one step: nobody sees half a file, and nothing is left if saving fails.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        The model is not fitted.
    ValueError
        The model holds what a file cannot; the message says where.
    """
    write_atomic(path, content_of(model))


def content_of(model: Any) -> bytes:
    """Return what `save` writes, or raise as it does: whether part of a model can be saved shows before all is fitted.

    Parameters
    ----------
    model : estimator
    """
    encoder = Encoder(encode_model)
    try:
        tree = encode_top(model, encoder)
    except Mismatch as error:
        advice = error.advice or "Fit the model again, and leave what fit has set as it is."
        owner = type(model).__name__
        raise OddAtomError(f"Cannot save {{this owner}}: {error}.", advice=advice, owner=owner) from None
    document = {"format": ".".join(map(str, FORMAT)), "model": tree, "versions": _versions()}
    try:
        return container.to_bytes(document, encoder.arrays)
    except jsontext.TooLarge as error:
        raise _too_large(model, error) from None


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model that `save` wrote.

    No code is run, whoever wrote the file: classes are looked up in a fixed list, and every value is checked.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : estimator

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ModelFileError
        It is no model file, is damaged, or was written in a newer format; the message says which.
    """
    name = shown(os.fspath(path))
    try:
        document, arrays = container.read(path)
        return _model(document, arrays)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {name}. Check the path, or save a model there first.") from None
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load {name}: {error.problem}", value=path, advice=error.advice) from None


def _model(document: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    text, versions = document.get("format"), document.get("versions")
    if type(text) is not str or not _FORMAT.fullmatch(text):
        raise ModelFileError(f"its format must be two numbers. Got {shown(text)} instead.", advice=_SAVE_AGAIN)
    major, minor = map(int, text.split("."))
    writer = versions.get("oddatom") if type(versions) is dict else None
    update = f"This is oddatom {oddatom.__version__}: update it."
    if major > FORMAT[0]:
        raise ModelFileError(f"it was written by a newer oddatom, {shown(writer)}, in format {text}.", advice=update)
    if major < FORMAT[0]:
        raise ModelFileError(f"its format {text} was never one of oddatom's.", advice=_SAVE_AGAIN)
    newer = minor > FORMAT[1]
    decoder = Decoder(arrays, _decoder(minor))
    try:
        model = decode_top(document.get("model"), decoder)
        if decoder.unused:
            raise Mismatch(sorted(decoder.unused)[0], "belongs to no part of the model")
    except Mismatch as error:
        advice = f"It was written by oddatom {shown(writer)}, a newer one. {update}" if newer else _SAVE_AGAIN
        raise ModelFileError(f"{error}.", advice=advice) from None
    return model


def _decoder(minor: int) -> Callable[[Any, Decoder, str], Any]:
    """Return what decodes models of a minor format."""
    changes: list[Callable[[Any], Any]] = []
    if minor <= OLD_MINOR:
        changes.append(renamed)
    if minor <= OLDER_MINOR:
        changes.append(without_gone)
    if minor <= PAPER_MINOR:
        changes.append(with_paper_settings)

    def decode(tree: Any, decoder: Decoder, path: str) -> Any:
        for change in changes:
            tree = change(tree)
        return decode_model(tree, decoder, path)

    return decode


def _too_large(model: Any, error: Exception) -> OddAtomError:
    """Return the error that a model's description is too large, with the columns that make it so."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    columns = [column for step in steps for column in getattr(step, "columns_", ()) if column.levels]
    most = sorted(columns, key=lambda column: -len(column.levels))[:3]
    named = ", ".join(f"{shown(column.name)} ({len(column.levels):,})" for column in most)
    advice = f"The text columns with most values are {named}: leave them out with {{ignore}}." if named else ""
    owner = type(model).__name__
    return OddAtomError(
        f"Cannot save {{this owner}}: its description has {error}.",
        advice=advice,
        options={"ignore": None},
        owner=owner,
    )


def _versions() -> dict[str, str]:
    return {"numpy": np.__version__, "oddatom": oddatom.__version__, "scikit-learn": sklearn.__version__}
