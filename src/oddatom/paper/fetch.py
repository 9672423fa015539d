"""The rows of a data set: from a local folder, or fetched once from the authors' repository and kept."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from oddatom.exceptions import DataSetUnavailable
from oddatom.paper.base import DataSet, Rows

REPOSITORY = "https://raw.githubusercontent.com/iulianhiji/AD-DL-OCSVM/1273cc0820a8d749be87fdc34590a9089e0b14b9/data/"
FOLDER = "ODDATOM_DATA"  # the environment variable that names a local folder

ATTEMPTS = 2
PAUSE_S = 1.0  # before another attempt
TIMEOUT_S = (10.0, 30.0)  # to connect, and between two pieces of the answer

_HDF5 = b"\x89HDF\r\n\x1a\n"


def rows(data: DataSet, folder: str | os.PathLike[str] | None = None, *, base_url: str = REPOSITORY) -> Rows:
    """Return the rows of a data set and its labels, checked to be those the paper used.

    Parameters
    ----------
    data : DataSet
        Its checksum, where it has one, and its numbers of rows, features and outliers must be those of the file.
    folder : path-like, default=None
        Where the file is. None means the folder that the environment variable ODDATOM_DATA names, or, where that is not
        set, the user's cache, to which the file is fetched the first time.
    base_url : str, default=REPOSITORY
        What it is fetched from: the address less the file's name.

    Returns
    -------
    Rows
        X (N, m) float64 and y (N,) bool, True for outliers.

    Raises
    ------
    DataSetUnavailable
        The file is missing, out of reach, or another one. Nothing of it stays in the cache.
    """
    folder = folder or os.environ.get(FOLDER)
    if folder:
        return _read(_local(data, Path(folder).expanduser()), data)
    path = _fetched(data, base_url)
    try:
        return _read(path, data)
    except DataSetUnavailable:
        path.unlink(missing_ok=True)  # else it would be found, and refused, for ever
        raise


def _local(data: DataSet, folder: Path) -> Path:
    """Return the path of the file in a local folder, its checksum checked."""
    path = folder / data.file
    try:
        with path.open("rb") as file:
            got = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise _unavailable(data, f"there is no file {path}") from None
    except OSError as error:
        raise _unavailable(data, f"{path} cannot be read ({error.strerror})") from error
    if data.sha256 and got != data.sha256:
        raise _unavailable(data, f"{path} is another file: its SHA-256 should be {data.sha256} and is {got}")
    return path


def _fetched(data: DataSet, base_url: str) -> Path:
    """Return the path of the file in the cache, fetched where it is not there, its checksum checked."""
    pooch, requests = _needed("pooch"), _needed("requests")
    url = base_url + data.file
    failure = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE_S)
        try:
            with _quiet(pooch.get_logger()):
                path = pooch.retrieve(
                    url,
                    known_hash=data.sha256 or None,
                    fname=data.file,
                    path=Path(pooch.os_cache("oddatom")) / "odds",
                    downloader=pooch.HTTPDownloader(progressbar=False, timeout=TIMEOUT_S),
                )
            return Path(path)
        except requests.RequestException as error:
            status = error.response.status_code if error.response is not None else 0
            why = f"the server answered {status}" if status else f"no whole answer, {type(error).__name__}"
            failure = f"{url} cannot be fetched ({why})"
            if 400 <= status < 500:
                break
        except (OSError, ValueError) as error:  # the cache cannot be written; another checksum
            failure = f"{url} cannot be kept: {error}"
            break
    raise _unavailable(data, failure)


def _read(path: Path, data: DataSet) -> Rows:
    """Return what a .mat file holds, its numbers checked."""
    try:
        X, y = _arrays(path)
    except ImportError:
        raise
    except Exception as error:  # SciPy has a dozen kinds for a damaged file
        raise _unavailable(data, f"{path} cannot be read as a .mat file with X and y ({error})") from error
    expected = (data.n_rows, data.n_features, data.n_outliers, data.n_rows)
    got = (*X.shape, int(y.sum()), len(y))
    if got != expected:
        names = "(rows, features, outliers, labels)"
        raise _unavailable(data, f"{path} is another file: {names} should be {expected} and are {got}")
    return Rows(X, y)


def _arrays(path: Path) -> Rows:
    with path.open("rb") as file:
        head = file.read(520)
    if _HDF5 in (head[:8], head[512:]):  # version 7.3: HDF5, as a rule after 512 bytes of MATLAB's own
        with _needed("h5py").File(path, "r") as file:
            X, y = file["X"][()].T, file["y"][()]  # MATLAB writes columns first
    else:
        arrays = scipy.io.loadmat(path, variable_names=["X", "y"])
        X, y = arrays["X"], arrays["y"]
    return Rows(np.ascontiguousarray(X, dtype=np.float64), np.ravel(y) == 1)


def _unavailable(data: DataSet, reason: str) -> DataSetUnavailable:
    advice = f"Name a folder that has {data.file} of the ODDS library by --data FOLDER or {FOLDER}."
    problem = f"No data set {data.name}: {' '.join(reason.split()).rstrip('.')}."
    return DataSetUnavailable(problem, parameter="data", value=data.name, advice=advice)


def _needed(name: str) -> Any:
    """Import a package that is not always there."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"The paper's data sets need {name}: pip install 'oddatom[paper]'.") from error


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Hold back what is no warning: pooch tells of every file, and asks for checksums."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
