"""Batches over time: the first is a fit, later ones move the model, and what is remembered is known and bounded."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import oddatom
from learned import make_detector
from oddatom import DLOCSVM, OddAtomDetector, load
from oddatom.decisions import CrossConformal
from oddatom.estimators._validation import fitted_attributes as fitted
from oddatom.history import COLUMNS, History
from oddatom.rows import remembered
from oddatom.rows.remembered import Memory


def rows(N=60, t=0.0, seed=0):
    """Positive rows near a plane in six dimensions, which turns into another as t goes from 0 to 1."""
    rng, (old, new) = np.random.default_rng(seed), np.random.default_rng(5).uniform(0, 1, (2, 2, 6))
    return rng.uniform(0.2, 1, (N, 2)) @ ((1 - t) * old + t * new) + 0.1 * rng.uniform(size=(N, 6))


def odd_rows(N=50, t=0.0, seed=78):
    """The same with the numbers of each row in another order: usual sizes in the wrong columns."""
    return np.random.default_rng(seed).permuted(rows(N, t, seed), axis=1)


def auroc(model, t):
    return roc_auc_score(np.repeat([1, 0], 50), model.score_samples(np.r_[rows(50, t, 77), odd_rows(50, t)]))


dl = partial(
    DLOCSVM.paper,
    n_atoms=8,
    n_nonzero=3,
    beta=0.005,
    scoring="description_length",
    max_iter=3,
    random_state=0,
    n_jobs=1,
)
odd = partial(OddAtomDetector, n_groups=2, random_state=0, n_jobs=1)
each = pytest.mark.parametrize("make", [dl, odd], ids=["DLOCSVM", "OddAtomDetector"])


def run(make, batches, decay=0.9):
    model = make()
    for X in batches:
        model.partial_fit(X, decay=decay)
    return model


def assert_same(a, b):
    """Equal to the last bit: arrays, and whatever holds arrays."""
    assert type(a) is type(b)
    if isinstance(a, History):
        a, b = ({name: model[name] for name in COLUMNS if name != "seconds"} for model in (a, b))
    if isinstance(a, DLOCSVM | OddAtomDetector):
        a, b = ({k: v for k, v in fitted(model).items() if k != "memory_"} for model in (a, b))
    if isinstance(a, CrossConformal):
        a, b = a.held_out, b.held_out
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        a, b = list(a.values()), [b[k] for k in a]
    if isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    elif scipy.sparse.issparse(a):
        assert_array_equal(a.toarray(), b.toarray())
    else:
        assert_array_equal(a, b)


FIRST = {
    "default": partial(DLOCSVM.paper, random_state=0, beta=0.02),
    "n_folds": partial(dl, n_folds=2, threshold="fdr"),
    "rows": partial(dl, init="data", n_init=2, scaling="standard", scoring="margin"),
    "untuned": odd,
    "by margin": partial(odd, scoring="margin", threshold=0.1),
}


@pytest.mark.parametrize("make", FIRST.values(), ids=FIRST)
@pytest.mark.filterwarnings("ignore::oddatom.DegenerateMarginWarning")
def test_the_first_batch_is_a_fit(make):
    X = np.asfortranarray(rows())
    one, other = np.random.RandomState(3), np.random.RandomState(3)
    for a, b in ((make(), make()), (make(random_state=one), make(random_state=other))):
        assert_same(a.partial_fit(X), b.fit(X))
    assert one.randint(2**31) == other.randint(2**31)


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9])
def test_a_later_batch_is_a_fit_from_the_old_dictionary(decay):
    first = rows(seed=0)
    model = dl().partial_fit(first)
    old = model.dictionary_
    model.partial_fit(rows(t=1.0, seed=1), decay=decay)
    seen = model.memory_.rows
    assert_array_equal(seen[-60:], rows(t=1.0, seed=1))
    earlier = [row.tolist() for row in seen[:-60]]
    assert [row for row in first.tolist() if row in earlier] == earlier  # in the order in which they came
    assert_same(model, dl(init=old).fit(seen))
    assert model.train_scores_.size == model.dual_coef_.size == len(seen)
    assert np.abs(model.dictionary_ - dl().fit(seen).dictionary_).max() > 0.01  # a start of its own is another


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_a_later_batch_of_the_untuned_detector_is_a_fit_on_what_is_remembered(decay):
    model = odd().partial_fit(rows(seed=0)).partial_fit(rows(t=1.0, seed=1), decay=decay)
    assert_same(model, odd().fit(model.memory_.rows))
    assert len(model.memory_.rows) == 60 if decay == 0.0 else 75 < len(model.memory_.rows) < 105


def test_nothing_forgotten_is_a_fit_on_all_rows():
    batches = [rows(seed=k) for k in range(3)]
    assert_same(run(odd, batches, decay=1.0), odd().fit(np.concatenate(batches)))


@each
def test_the_model_follows_a_drift(make):
    """Rows of the new regime are told from odd ones; the model of the first batch cannot."""
    batches = [rows(t=min(1.0, k / 4), seed=k) for k in range(8)]
    assert auroc(make().fit(batches[0]), 0.0) > 0.95
    assert auroc(make().fit(batches[0]), 1.0) < 0.6
    assert auroc(run(make, batches), 1.0) > 0.95
    assert auroc(run(make, batches, decay=0.0), 1.0) > 0.95
    assert auroc(run(make, batches, decay=0.0), 0.0) < 0.6  # and what is forgotten is


@each
def test_a_stationary_stream_ends_where_a_fit_does(make):
    batches = [rows(seed=k) for k in range(6)]
    model, whole = run(make, batches), make().fit(np.concatenate(batches))
    assert abs(auroc(model, 0.0) - auroc(whole, 0.0)) < 0.02
    some = np.r_[rows(100, seed=77), odd_rows(100)]
    assert spearmanr(model.score_samples(some), whole.score_samples(some))[0] > 0.8


def test_trimmed_atoms_come_back():
    first = np.random.default_rng(0).uniform(0.5, 1, (40, 3)) * [1, 1, 0]
    model = DLOCSVM.paper(n_nonzero=1, init=np.eye(3), beta=0.001, nu=0.5).partial_fit(first)
    assert model.active_atoms_.tolist() == [True, True, False]
    model.partial_fit(first[:, ::-1])
    assert model.active_atoms_.all()


@each
def test_memory_is_bounded(make, monkeypatch):
    monkeypatch.setattr(remembered, "MEMORY_ROWS", 70)
    model = make(**({"max_iter": 1} if make is dl else {"rows_per_member": 40}))
    for k in range(6):
        model.partial_fit(rows(30, seed=k), decay=1.0)
        assert len(model.memory_.rows) == len(model.memory_.clocks) == min(70, 30 * (k + 1))
        assert model.train_scores_.size <= 100
    first = [np.any(np.all(model.memory_.rows == row, axis=1)) for row in rows(30, seed=0)]
    assert 4 <= sum(first) <= 20  # of 180 rows 70 are kept, whatever their age
    assert len(make().partial_fit(rows(200)).memory_.rows) == 70


def counts(memory):
    """How many rows there are of each batch; the first column of a row says which it came in."""
    return np.bincount(memory.rows[:, 0].astype(int), minlength=memory.n_batches)


def stream(sizes, decay, most, seed=0, alike=False):
    memory = None
    for k, size in enumerate(sizes):
        X = np.column_stack([np.full(size, float(k)), np.zeros(size) if alike else np.arange(size)])
        memory = Memory.begun(X, seed, most) if memory is None else memory.joined(X, decay).bounded(most)
    return memory


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("most", [20_000, 1000])
def test_rows_are_kept_by_their_age(most, alike):
    """The number of rows a batches old is as decayᵃ, also where all are thinned, also of rows that are all alike."""
    found = counts(stream([2000] * 5, 0.6, most, alike=alike))
    expected = 2000 * 0.6 ** np.arange(4.0, -1.0, -1.0)
    expected *= min(1.0, most / expected.sum())
    assert np.all(np.abs(found - expected) < 5 * np.sqrt(expected))
    if most == 1000:
        assert found.sum() == 1000
    else:
        assert found[-1] == 2000


def test_a_large_batch_is_not_outweighed_by_small_ones_after_it():
    memory = stream([20_000, 100, 100, 100], 0.9, 1000)
    total = 20_000 * 0.9**3 + 271  # rows so far, each by its age
    assert counts(memory).sum() == 1000
    assert counts(memory)[0] == pytest.approx(1000 * 20_000 * 0.9**3 / total, abs=12)
    assert memory.limit == pytest.approx(1000 / total, rel=0.1)
    learned_from = memory.joined(np.full((1000, 2), 4.0), 0.9)
    assert 40 < counts(learned_from)[4] < 120  # a row of the new batch is there as often as another that is new
    assert counts(stream([20_000, *[100] * 60], 0.9, 1000))[0] < 60


def test_seeds_and_batches_draw_other_rows():
    X = np.arange(400.0)[:, None]
    drawn = [Memory.begun(X, seed, 100).rows[:, 0].tolist() for seed in range(3)]
    memory = Memory.begun(X, 0, 100).joined(X, 0.0).bounded(100)
    assert memory.limit < 0.5
    drawn.append(memory.rows[:, 0].tolist())
    assert len({tuple(one) for one in drawn}) == 4
    assert max(len(set(a) & set(b)) for a in drawn for b in drawn if a is not b) < 50


def test_order_in_a_batch_does_not_matter():
    batches = [rows(seed=k) for k in range(3)]
    other = [np.random.default_rng(k).permutation(X) for k, X in enumerate(batches)]
    assert_same(run(odd, batches, decay=0.6), run(odd, other, decay=0.6))


@each
@pytest.mark.contract
def test_pickled_and_saved_models_follow(make, tmp_path):
    model = run(make, [rows(seed=0), rows(seed=1)], decay=0.6)
    model.save(tmp_path / "model")
    others = [pickle.loads(pickle.dumps(model)), oddatom.load(tmp_path / "model")]
    model.partial_fit(rows(t=0.5, seed=2), decay=0.6)
    for other in others:
        assert_same(other.partial_fit(rows(t=0.5, seed=2), decay=0.6), model)
        assert_same(tuple(other.memory_), tuple(model.memory_))


def test_every_field_of_the_memory_is_checked(tmp_path):
    model = odd().partial_fit(rows())
    memory = model.memory_
    for name, bad in {
        "rows": memory.rows[:, :3],
        "clocks": memory.clocks[1:],
        "limit": 2.0,
        "n_batches": 0,
        "seed": -1,
    }.items():
        model.memory_ = memory._replace(**{name: bad})
        with pytest.raises(ValueError, match=rf"memory_\.{name}"):
            model.save(tmp_path / "model")
    assert set(Memory._fields) == {"rows", "clocks", "limit", "n_batches", "seed"}


@each
def test_fit_begins_anew(make):
    model = run(make, [rows(seed=0), rows(t=1.0, seed=1)])
    assert_same(model.fit(rows(seed=2)), make().fit(rows(seed=2)))
    assert not hasattr(model, "memory_")
    assert not hasattr(clone(run(make, [rows()])), "memory_")


@each
def test_after_a_fit_a_batch_is_learned_from_alone(make):
    alone = make().fit(rows(seed=0))
    with pytest.warns(oddatom.OddAtomWarning, match="remembers no rows, as fit keeps none") as found:
        alone.partial_fit(rows(seed=1))
    assert [w.filename for w in found] == [__file__]
    quiet = make().fit(rows(seed=0)).partial_fit(rows(seed=1), decay=0)
    assert_same(alone, quiet)
    assert_same(alone, run(make, [rows(seed=0), rows(seed=1)], decay=0))
    assert len(alone.partial_fit(rows(seed=2)).memory_.rows) > 60


@each
def test_what_is_remembered_is_not_the_callers(make):
    X = rows()
    model = make().partial_fit(X)
    X[:] = 0.0
    assert_array_equal(model.memory_.rows, rows())


@each
@pytest.mark.contract
def test_frames_and_sparse_rows(make):
    frames = [pd.DataFrame(rows(seed=k), columns=list("abcdef")) for k in range(2)]
    model = run(make, frames)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert_same({**fitted(run(make, [scipy.sparse.csr_array(X) for X in frames])), "memory_": 0},
                {k: v for k, v in {**fitted(model), "memory_": 0}.items() if k != "feature_names_in_"})  # fmt: skip
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frames[0].rename(columns={"a": "z"}))


def with_infinity():
    X = rows()
    X[3, 2] = np.inf
    return X


@each
@pytest.mark.parametrize(
    ("X", "options", "match"),
    [
        (rows()[:, :5], {}, "X has 5 features, but .* is expecting 6 features"),
        (with_infinity(), {}, "infinity in column 2"),
        (np.full((3, 6), "a"), {}, "could not convert string"),
        ("rows.parquet", {}, "Of files .* has fit"),
        (rows(1), {"decay": 0}, "1 row, with decay=0, .* has 1 to learn from where it needs at least 2|minimum of 2"),
        (rows(), {"decay": 1.5}, r"'decay' parameter of \w+.partial_fit must be .* Got 1.5"),
        (rows(), {"decay": True}, "Got True"),
    ],
)
def test_errors_leave_the_model(make, X, options, match):
    models = [make().partial_fit(rows())]
    if "features" not in match:
        models.append(make())
    for model in models:
        before = dict(vars(model))
        with pytest.raises(ValueError, match=match):
            model.partial_fit(X, **options)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())


@each
def test_rows_elsewhere_are_refused(make):
    array = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=r"partial_fit takes rows in memory. Got a Array instead"):
        make().partial_fit(array.from_array(rows()))
    with pytest.raises(ValueError, match=r"'device' parameter of .* must be 'cpu' for partial_fit. Got 'auto'"):
        make(device="auto").partial_fit(rows())


def test_a_fit_that_fails_leaves_the_memory():
    model = run(partial(dl, n_folds=2), [rows(4)])
    before = dict(vars(model))
    model.n_folds = 50
    with pytest.raises(ValueError, match="'n_folds' parameter"):
        model.partial_fit(rows(5, seed=1))
    model.n_folds = 2
    model.n_atoms = 9
    with pytest.raises(ValueError, match="'n_atoms' parameter of DLOCSVM must be None or 8"):
        model.partial_fit(rows(5, seed=1))
    model.n_atoms = 8
    assert all(vars(model)[name] is value for name, value in before.items())


def test_folds_of_later_batches_begin_as_fit_does():
    """A fold's model that began with the old dictionary would have seen the fold."""
    model = run(partial(dl, n_folds=2), [rows(seed=0), rows(seed=1)])
    alone = dl(n_folds=2).fit(model.memory_.rows)
    assert_same(model.conformal_, alone.conformal_)
    assert not np.array_equal(model.coef_, alone.coef_)


def test_parameters_changed_between_batches_hold_from_then_on():
    model = dl().partial_fit(rows(seed=0)).set_params(scoring="margin", nu=0.3, n_nonzero=2)
    old = model.dictionary_
    model.partial_fit(rows(seed=1))
    assert (model.scoring_, model.n_nonzero_) == ("margin", 2)
    assert_same(model, dl(init=old, scoring="margin", nu=0.3, n_nonzero=2).fit(model.memory_.rows))


def test_warnings_point_at_the_caller():
    model = DLOCSVM.paper(beta=100.0, random_state=0)
    for k in range(2):
        with pytest.warns(oddatom.AllAtomsTrimmedWarning) as found:
            model.partial_fit(rows(seed=k))
        assert [w.filename for w in found] == [__file__]


@pytest.mark.parametrize("kind", ["DPL", "KDL", "KDPL"])
def test_the_other_detectors_have_none(kind):
    model = make_detector(kind)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError):
        model.partial_fit(rows())


@pytest.mark.contract
def test_callbacks_are_told_and_left():
    pytest.importorskip("sklearn.callback")
    told = []

    class Tell:
        def setup(self, estimator, context):
            told.append("setup")

        def teardown(self, estimator, context):
            told.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            told.append(context.task_name)

        def on_fit_task_end(self, estimator, context):
            pass

    model = dl(max_iter=1).set_callbacks(Tell())
    for k in range(2):
        told.clear()
        model.partial_fit(rows(seed=k))
        assert told == ["setup", "fit", "start 1", "iteration 1", "teardown"]
        assert not hasattr(model, "_callback_fit_ctx")


@pytest.mark.filterwarnings("error")
def test_fit_forgets_batches_even_where_its_warning_is_an_error():
    rng = np.random.default_rng(0)
    model = DLOCSVM.paper(random_state=0).partial_fit(rng.uniform(1, 2, (40, 5)))
    with pytest.raises(oddatom.DegenerateMarginWarning):
        model.fit(rng.normal(size=(40, 6)))
    assert model.n_features_in_ == 6
    assert not hasattr(model, "memory_")


def test_wide_rows_are_remembered_up_to_so_many_numbers(monkeypatch):
    monkeypatch.setattr(remembered, "MEMORY_NUMBERS", 90)
    model = OddAtomDetector(random_state=0).partial_fit(np.random.default_rng(0).normal(size=(50, 3)))
    assert model.memory_.rows.shape == (30, 3)


@pytest.mark.parametrize("change", ["trim", "rows"])
def test_rows_left_out_of_an_earlier_batch_are_forgotten(change, tmp_path):
    """`kept_rows_` is of the last fit, so that the model can be saved."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 5))
    model = DLOCSVM(random_state=0).partial_fit(X)
    assert model.kept_rows_.size == 200
    if change == "trim":
        model.set_params(trim=0.0).partial_fit(X[:50])
    else:
        model.partial_fit(np.tile(np.eye(5)[:2], (40, 1)), decay=0)  # of which all are kept
    assert not hasattr(model, "kept_rows_")
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").score_samples(X), model.score_samples(X))
