"""Saving: in one step or not at all, only what is fitted and can be held, the same bytes for the same model."""

import errno
import os
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oddatom
from model_files import DETECTORS, KINDS, SMALL, TRAIN, fitted, quietly
from oddatom import DLOCSVM, KDLOCSVM, LinearOneClassSVM, _atomic
from oddatom.model_io import jsontext


@pytest.fixture
def model():
    return LinearOneClassSVM(nu=0.1).fit(TRAIN)


@pytest.mark.parametrize("kind", DETECTORS)
def test_detectors_have_the_method(kind, tmp_path):
    one = fitted(kind)
    one.save(tmp_path / "method")
    oddatom.save(one, str(tmp_path / "function"))
    assert (tmp_path / "method").read_bytes() == (tmp_path / "function").read_bytes()


def test_any_reader_of_safetensors_sees_the_arrays(model, tmp_path):
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load_file(tmp_path / "model")["coef_"], model.coef_)


def test_the_same_bytes_in_another_process(tmp_path):
    code = (
        "import sys; sys.path[:0] = sys.argv[2:]; from model_files import fitted; "
        "fitted('OddAtomDetector').save(sys.argv[1])"
    )
    folders = [os.path.dirname(os.path.dirname(__file__))]
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there"), *folders], check=True, env=environment)
    fitted("OddAtomDetector").save(tmp_path / "here")
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


def test_the_same_bytes_in_whatever_order_attributes_were_set(tmp_path):
    model = fitted("KDLOCSVM")
    model.save(tmp_path / "first")
    values = list(vars(model).items())
    vars(model).clear()
    vars(model).update(reversed(values))
    model.save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_nothing_is_left_where_saving_fails(model, step, error, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(b"old")

    def fail(*args):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(_atomic.os, step, fail)
        with pytest.raises(type(error)):
            model.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert path.read_bytes() == b"old"


def test_nothing_is_left_where_writing_is_interrupted(model, tmp_path, monkeypatch):
    def interrupted(*args, **options):
        file = open(*args, **options)  # noqa: SIM115

        class Half:
            close = file.close

            def write(self, content):
                file.write(content[: len(content) // 2])
                raise KeyboardInterrupt

        return Half()

    with monkeypatch.context() as patch:
        patch.setattr(_atomic, "open", interrupted, raising=False)
        with pytest.raises(KeyboardInterrupt):
            model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_links_are_followed_and_permissions_kept(model, tmp_path):
    path, link = tmp_path / "model", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o600)
    link.symlink_to(path)
    model.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert oddatom.load(path).offset_ == model.offset_
    mask = os.umask(0o027)
    try:
        model.save(tmp_path / "new")
    finally:
        os.umask(mask)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_what_would_not_be_read_is_not_written(tmp_path, monkeypatch):
    model = LinearOneClassSVM(nu=0.1).fit(TRAIN.rename(columns={"alcohol": '"' * 200}))
    model.save(tmp_path / "model")
    header = int.from_bytes((tmp_path / "model").read_bytes()[:8], "little")
    (tmp_path / "model").unlink()
    monkeypatch.setattr(jsontext, "MAX_BYTES", header - 1)  # the description within, where quotes are shorter, has room
    with pytest.raises(ValueError, match=rf"Cannot save this LinearOneClassSVM: its description has {header:,} bytes"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(jsontext, "MAX_BYTES", header)
    model.save(tmp_path / "model")
    oddatom.load(tmp_path / "model")


def test_wrong_places(model, tmp_path):
    with pytest.raises(IsADirectoryError, match=r"it is a folder. Name a file in it"):
        model.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing.*Make it first"):
        model.save(tmp_path / "missing" / "model")


@pytest.mark.parametrize("kind", KINDS)
def test_not_fitted(kind, tmp_path):
    with pytest.raises(NotFittedError, match=r"not fitted yet"):
        oddatom.save(KINDS[kind](), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_functions_are_refused(tmp_path):
    model = quietly(KDLOCSVM.paper(**SMALL, kernel=lambda A, B: A @ B.T).fit, TRAIN)
    with pytest.raises(ValueError, match=r"Cannot save this KDLOCSVM: .* is a function.*named kernel.*precomputed"):
        model.save(tmp_path / "model")
    model.set_params(kernel="rbf")  # that of the fit is still a function
    with pytest.raises(ValueError, match=r"Cannot save this KDLOCSVM: kernel_map_.kernel.function"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_what_holds_a_detector_is_refused_for_it(tmp_path):
    X, y = np.asarray(TRAIN), np.where(np.arange(len(TRAIN)) % 2, 1, -1)
    fitted = quietly(LinearOneClassSVM(nu=0.1).fit, X)
    search = GridSearchCV(LinearOneClassSVM(), {"nu": [0.1]}, scoring="accuracy", cv=2)
    wrapped = {".estimator": FrozenEstimator(fitted), ".best_estimator_": quietly(search.fit, X, y)}
    for attribute, model in wrapped.items():
        with pytest.raises(ValueError, match=rf"and Pipelines of them. Save the detector in it, model\{attribute}\.$"):
            oddatom.save(model, tmp_path / "model")
        oddatom.save(getattr(model, attribute[1:]), tmp_path / "model")


def test_other_classes_are_refused(tmp_path):
    class Mine(LinearOneClassSVM):
        pass

    for model in (IsolationForest(), Mine(nu=0.1), make_pipeline(StandardScaler(), LinearOneClassSVM()), 7):
        if hasattr(model, "fit"):
            quietly(model.fit, np.asarray(TRAIN))
        with pytest.raises(ValueError, match=r"model files hold DLOCSVM.* and Pipelines of them. Use pickle"):
            oddatom.save(model, tmp_path / "model")


def test_models_that_could_not_be_loaded_are_refused(model, tmp_path):
    model.note_ = 3
    with pytest.raises(ValueError, match=r"note_ must be a fitted attribute of the class. Got 3 instead. Fit the"):
        model.save(tmp_path / "model")
    del model.note_
    model.set_params(nu=7)
    with pytest.raises(ValueError, match=r"parameters are not valid: The 'nu' parameter"):
        model.save(tmp_path / "model")
    model.set_params(nu=0.1).coef_[0, 1] = np.nan
    with pytest.raises(ValueError, match=r"coef_ must be free of NaN"):
        model.save(tmp_path / "model")
    fold = fitted("DLOCSVM").fold_models_[0]
    with pytest.raises(ValueError, match=r"must be there"):
        fold.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_failed_fits_leave_the_old_model_to_save(tmp_path):
    model = fitted("DLOCSVM")
    model.save(tmp_path / "before")
    with pytest.raises(ValueError, match=r"NaN"):
        model.fit(np.full((5, 4), np.nan))
    model.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    with pytest.raises(ValueError, match=r"NaN"):
        quietly(DLOCSVM.paper().fit, np.full((5, 4), np.nan))
