"""Every learned detector while it fits: log lines, scikit-learn's callbacks, Ctrl-C."""

import logging
import signal
import threading

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info, threadpool_limits

from learned import rows, same_model
from oddatom.estimators import dpl_ocsvm as dpl_detector
from oddatom.estimators import kdpl_ocsvm as kdpl_detector
from oddatom.learners import dl, dpl
from oddatom.scores import SCORES

try:
    import sklearn.callback as callback
except ImportError:
    callback = None

needs_callbacks = pytest.mark.skipif(callback is None, reason="this scikit-learn has no callbacks")


def assert_untouched(model):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.predict(rows())
    assert {name for name in vars(model) if name.endswith("_")} <= {"n_features_in_", "feature_names_in_"}


# Log lines


@pytest.fixture
def logger():
    logger = logging.getLogger("oddatom")
    level, handlers = logger.level, list(logger.handlers)
    yield logger
    logger.setLevel(level)
    logger.handlers[:] = handlers


@pytest.mark.usefixtures("logger")
def test_verbose_logs_a_line_an_iteration(make, name, X, caplog):
    model = make(verbose=1, max_iter=3).fit(X)
    lines = [record.getMessage() for record in caplog.records if record.name == "oddatom"]
    assert len(lines) == 3
    for k, line in enumerate(lines, start=1):
        assert line.startswith(f"{name}: iteration {k}/3: objective {model.history_['total'][k]:.6g}, ")
    caplog.clear()
    make(verbose=1, max_iter=1, n_init=2).fit(X)
    starts = [record.getMessage().split("/1:")[0] for record in caplog.records]
    assert starts == [f"{name}: start {i}/2, iteration 1" for i in (1, 2)]
    caplog.clear()
    make().fit(X)
    assert not caplog.records


def test_verbose_leaves_logging_as_it_was(make, X, capsys):
    logger = logging.getLogger("oddatom")
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        make(verbose=1, max_iter=2).fit(X)
        assert logger.handlers == []
        assert logger.level == logging.NOTSET
        assert capsys.readouterr().err.count("iteration") == 2
        logger.setLevel(logging.WARNING)
        make(verbose=1, max_iter=2).fit(X)
        assert logger.level == logging.WARNING
        assert capsys.readouterr().err == ""
    finally:
        root.handlers = handlers
        logger.setLevel(logging.NOTSET)


# Callbacks


class Recorder:
    """Notes every task; asks for what is given to it; stops or raises where told to."""

    def __init__(self, stop_at=None, error_at=None):
        self.stop_at, self.error_at = stop_at, error_at
        self.begun, self.ended, self.models, self.set_up = [], [], {}, 0

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.set_up -= 1

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        name = context.task_name
        self.ended.append(name)
        if fitted_estimator is not None:
            self.models[name] = fitted_estimator
            fitted_estimator.score_samples(X)
        if name == self.error_at:
            raise KeyboardInterrupt
        return name == self.stop_at


@needs_callbacks
@pytest.mark.contract
def test_callbacks_see_every_task(make, X):
    recorder = Recorder()
    model = make(max_iter=3, n_init=2).set_callbacks(recorder).fit(X)
    iterations = [f"iteration {k}" for k in (1, 2, 3)]
    assert recorder.begun == ["fit", "start 1", *iterations, "start 2", *iterations]
    assert recorder.ended == [*iterations, "start 1", *iterations, "start 2", "fit"]
    assert recorder.set_up == 0
    same_model(model, make(max_iter=3, n_init=2).fit(X))


@needs_callbacks
@pytest.mark.contract
def test_callbacks_are_given_models_that_score(make, X):
    recorder = Recorder()
    final = make(max_iter=3).set_callbacks(recorder).fit(X)
    for k in (1, 2, 3):
        model = recorder.models[f"iteration {k}"]
        wanted = make(max_iter=k).fit(X)
        assert model.n_iter_ == k
        assert_array_equal(model.dictionary_, wanted.dictionary_)
        assert_array_equal(model.decision_function(X), wanted.decision_function(X))
        assert_array_equal(model.history_["total"], wanted.history_["total"])
    same_model(recorder.models["fit"], final)


@needs_callbacks
@pytest.mark.contract
def test_a_callback_can_stop_the_fit(make, X):
    recorder = Recorder(stop_at="iteration 2")
    model = make(max_iter=6).set_callbacks(recorder).fit(X)
    assert model.n_iter_ == 2
    same_model(model, make(max_iter=2).fit(X))


@needs_callbacks
def test_scoring_monitor(make, X):
    y = np.where(np.arange(len(X)) < 10, -1, 1)
    mixed = X.copy()
    mixed[:10] = mixed[:10, ::-1]
    monitor = callback.ScoringMonitor(scoring="roc_auc")
    make(max_iter=3).set_callbacks(monitor).fit(mixed, y)
    scores = [row["roc_auc"] for row in monitor.get_logs().data if "iteration" in row["task_name"]]
    assert len(scores) == 3
    assert all(0 <= score <= 1 for score in scores)


# Ctrl-C


@pytest.fixture
def _threads_set():
    """Numbers of threads that are not those a fit sets."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    with threadpool_limits(2, user_api="blas"):
        yield
    numba.set_num_threads(before)


def thread_counts():
    return numba.get_num_threads(), [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@needs_callbacks
@pytest.mark.usefixtures("_threads_set")
@pytest.mark.contract
def test_interrupted_by_a_callback(make, fitted, X):
    before = thread_counts()
    recorder = Recorder(error_at="iteration 2")
    model = make().set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert thread_counts() == before
    assert recorder.set_up == 0
    assert_untouched(model)
    same_model(model.set_callbacks().fit(X), fitted)


@needs_callbacks
def test_an_interrupted_refit_leaves_the_old_model(make, fitted, X):
    model = make().fit(X).set_callbacks(Recorder(error_at="iteration 2"))
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows(80, seed=1))
    same_model(model, fitted)
    assert_array_equal(model.score_samples(X), fitted.score_samples(X))


class _At(logging.Handler):
    """Sets an event when the fit logs its third iteration."""

    def __init__(self):
        super().__init__()
        self.event, self.lines = threading.Event(), 0

    def emit(self, record):
        self.lines += 1
        if self.lines == 3:
            self.event.set()


@pytest.mark.usefixtures("_threads_set")
def test_interrupted_by_the_keyboard(make, fitted, X, logger, request):
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits one that ignores it
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, usual))
    handler = _At()
    logger.addHandler(handler)

    def press():
        if handler.event.wait(60):
            signal.raise_signal(signal.SIGINT)

    before = thread_counts()
    presser = threading.Thread(target=press)
    presser.start()
    model = make(max_iter=20_000, verbose=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    presser.join()
    assert 3 <= handler.lines < 20_000
    assert thread_counts() == before
    assert_untouched(model)
    same_model(model.set_params(max_iter=6, verbose=0).fit(X), fitted)


def test_interrupted_while_numba_returns_an_array(make, X, monkeypatch):
    """Numba runs Python code then; what a signal's handler raises there becomes the cause of a SystemError."""

    def interrupted(*args):
        raise SystemError("climb returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setitem(dl.ATOM_SOLVERS, "exact", interrupted)
    monkeypatch.setitem(dpl.PAIR_SOLVERS, "exact", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make().fit(X)


@pytest.mark.usefixtures("_threads_set")
def test_interrupted_scoring_gives_the_threads_back(fitted, X, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    before, scores = thread_counts(), fitted.score_samples(X)
    with monkeypatch.context() as patch:
        patch.setitem(SCORES, "margin", interrupt)
        for module in (dpl_detector, kdpl_detector):
            patch.setattr(module, "linear_margin", interrupt)
        # The traceback, and all it holds on to, is alive while the threads are counted.
        with pytest.raises(KeyboardInterrupt) as caught:
            fitted.score_samples(X)
    assert thread_counts() == before
    assert caught.tb is not None
    assert_array_equal(fitted.score_samples(X), scores)
