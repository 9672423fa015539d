"""What the four learners answer at their defaults, on tables people have; and what they warn of."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.metrics import roc_auc_score

import reference
from oddatom import (
    DLOCSVM,
    DPLOCSVM,
    KDLOCSVM,
    KDPLOCSVM,
    DegenerateMarginWarning,
    OddAtomWarning,
    RankingWarning,
    UnboundedObjectiveWarning,
)
from oddatom.coding import batch_omp, to_csr
from oddatom.estimators._bounded import plane_pull

CLASSES = [DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM]
PAPER = {
    "boundary": "plane",
    "coupling": ("eta", 1.0),
    "coupling_form": "multipliers",
    "trim": 0.0,
    "scoring": "margin",
    "scaling": None,
}


def slipped(X, n=6, seed=0):
    """The rows with n gross cells, ten interquartile ranges off, and which rows those are."""
    rng = np.random.default_rng(seed)
    X, rows, columns = X.copy(), rng.choice(len(X), n, replace=False), rng.integers(0, X.shape[1], n)
    low, high = np.quantile(X, (0.25, 0.75), axis=0)
    X[rows, columns] = high[columns] + 10 * np.maximum(high - low, X.std(axis=0))[columns]
    return X, np.isin(np.arange(len(X)), rows), columns, rows


@pytest.mark.parametrize("data", [load_wine, load_diabetes, load_iris])
@pytest.mark.parametrize("Class", CLASSES)
def test_gross_cells_come_first(Class, data):
    X, odd, _, _ = slipped(data().data)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OddAtomWarning)  # nothing to warn of
        model = Class(random_state=0).fit(X)
    scores = model.score_samples(X)
    assert roc_auc_score(odd, -scores) > 0.97
    assert odd[np.argsort(scores)[:3]].all()
    assert (model.predict(X[odd]) == -1).all()
    assert np.mean(model.predict(X) == -1) <= 0.1


@pytest.mark.parametrize("data", [load_wine, load_diabetes])
@pytest.mark.parametrize(
    ("Class", "scoring", "most", "share"),
    [(DPLOCSVM, "loda", 1, 1.0), (DLOCSVM, "description_length", 2, 0.7), (DPLOCSVM, "description_length", 2, 0.7)],
)
def test_explanations_name_the_cell(Class, scoring, most, share, data):
    """Among the first `most` features, against the median of all rows; a gross cell draws sparse codes towards it."""
    named = []
    for seed in range(3):
        X, _, columns, rows = slipped(data().data, seed=seed)
        contributions = Class(scoring=scoring, random_state=seed).fit(X).explain(X).contributions
        order = (contributions[rows] - np.median(contributions, axis=0)).argsort(axis=1)
        named += [column in order[k, :most] for k, column in enumerate(columns)]
    assert np.mean(named) >= share


@pytest.mark.parametrize("Class", CLASSES)
def test_defaults_rank_where_the_papers_settings_do_not(Class):
    """Malignant cases among benign ones."""
    data = load_breast_cancer()
    rng = np.random.default_rng(0)
    rows = np.r_[np.flatnonzero(data.target == 1), rng.permutation(np.flatnonzero(data.target == 0))[:25]]
    X, odd = data.data[rows], data.target[rows] == 0
    assert roc_auc_score(odd, -Class(random_state=0).fit(X).score_samples(X)) > 0.85
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddAtomWarning)
        paper = Class.paper(scaling="robust", random_state=0).fit(X)
    assert roc_auc_score(odd, -paper.score_samples(X)) < 0.7


@pytest.mark.parametrize("Class", CLASSES)
def test_paper_is_the_papers_settings(Class):
    X = load_wine().data
    kernel = {"kernel_params": {"coding": "correlation"}} if Class in CLASSES[2:] else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddAtomWarning)
        one = Class.paper(nu=0.2, random_state=0).fit(X)
        two = Class(nu=0.2, random_state=0, **PAPER, **kernel).fit(X)
    assert one.get_params() == two.get_params()
    assert_array_equal(one.score_samples(X), two.score_samples(X))


def test_a_score_that_is_upside_down():
    X, odd, _, _ = slipped(load_wine().data)
    with pytest.warns(RankingWarning, match=r"The margin of DLOCSVM is upside down: .* Set boundary='ball', another"):
        model = DLOCSVM.paper(random_state=0).fit(X)
    assert roc_auc_score(odd, -model.score_samples(X)) < 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error", RankingWarning)
        DLOCSVM(boundary="ball", scoring="margin", random_state=0).fit(X)
    with pytest.warns(RankingWarning, match=r"The distance of KDLOCSVM is .* Set scoring='description_length'\.$"):
        KDLOCSVM(scoring="margin", random_state=0).fit(X)


@pytest.mark.parametrize(
    ("scoring", "rows"),
    [
        ("residual", np.random.default_rng(0).normal(size=(50, 1))),  # one atom describes all of a row
        *((scoring, np.ones((60, 2)) * [1.0, 2.0]) for scoring in ("residual", "description_length", "loda")),
    ],
)
@pytest.mark.parametrize("Class", CLASSES[:2])
def test_a_score_that_is_the_same_for_all_rows(Class, scoring, rows):
    settings = {"trim": 0, "scaling": None, "beta": 1e-3, "random_state": 0}
    settings |= {"alpha": 0.0} if Class is DPLOCSVM else {}
    with pytest.warns(RankingWarning, match=rf"The {scoring} of {Class.__name__} is the same for every row .* Set"):
        model = Class(scoring=scoring, **settings).fit(rows)
    assert np.ptp(model.score_samples(rows)) < 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("error", RankingWarning)
        Class(scoring=scoring, **settings).fit(np.random.default_rng(0).normal(size=(60, 3)))


@pytest.mark.parametrize("scoring", ["loda", "residual", "description_length"])
def test_a_plane_without_margin_says_what_is_true_of_other_scores(scoring):
    """The scores are not of the plane; they vary."""
    X = np.random.default_rng(0).normal(size=(200, 4))
    X = np.concatenate([X, -X])
    message = rf"coef_ is .*\. Scores, by scoring='{scoring}', do without it, but detect_batch may call"
    with pytest.warns(DegenerateMarginWarning, match=message) as caught:
        model = DLOCSVM(boundary="plane", scoring=scoring, trim=0, random_state=0).fit(X)
    assert not any("every score is 0" in str(warning.message) for warning in caught)
    assert np.ptp(model.score_samples(X)) > 0


def test_codes_that_outgrow_the_rows():
    X = np.random.default_rng(0).normal(size=(3, 3)) + 2
    with pytest.warns(
        UnboundedObjectiveWarning, match=r"in 40 sweeps the norm of the codes went from .* Lower coupling"
    ):
        model = DLOCSVM.paper(nu=0.3, max_iter=40, coupling=3.0, beta=0.01, random_state=0).fit(X)
    norms = model.history_["code_norm"]
    assert norms[-1] > 1e3 * norms[0]
    assert norms[-1] == pytest.approx(np.sqrt((model.train_codes_.data**2).sum()))
    with pytest.warns(UnboundedObjectiveWarning, match="may have no least value: rows share atoms"):  # it has stopped
        DLOCSVM.paper(coupling_form="hinge", nu=0.3, max_iter=40, coupling=3.0, beta=0.01, random_state=0).fit(X)
    for others in ({"coupling_form": "hinge", "boundary": "ball"}, {"coupling": 0.1}):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnboundedObjectiveWarning)
            settings = {"nu": 0.3, "max_iter": 40, "coupling": 3.0, "beta": 0.01, "random_state": 0, **others}
            assert DLOCSVM.paper(**settings).fit(X).history_["total"].min() > -1
    # A fixed boundary makes every sweep descend; it does not make a plane's objective bounded.
    Z = np.random.default_rng(1).normal(size=(5, 3)) + 1
    settings = {"scaling": None, "trim": 0, "nu": 1.0, "max_iter": 30, "coupling": 3.0, "beta": 0.01, "random_state": 0}
    with pytest.warns(UnboundedObjectiveWarning, match="outweighs the rows"):
        total = DLOCSVM(boundary="plane", **settings).fit(Z).history_["total"]
    assert total[-1] < -1e9
    assert np.diff(total).max() <= 0.0
    assert DLOCSVM(boundary="ball", **settings).fit(Z).history_["total"].min() >= 0.0


def test_an_objective_without_bound_is_seen_early():
    """Few rows: of the fits that run away in 40 sweeps most warn after 6, and few of the others."""
    away, early, others = 0, 0, 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(int(rng.integers(3, 8)), int(rng.integers(2, 5)))) + rng.choice([0, 2])
        settings = {"nu": 0.3, "coupling": ("eta", float(rng.choice([0.5, 1, 3]))), "beta": 0.01, "random_state": seed}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            DLOCSVM.paper(max_iter=6, **settings).fit(X)
        warned = any(issubclass(warning.category, UnboundedObjectiveWarning) for warning in caught)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runs = DLOCSVM.paper(max_iter=40, **settings).fit(X).history_["total"][-1] < -10
        away, early, others = away + runs, early + (runs and warned), others + (warned and not runs)
    assert away > 8
    assert early > 0.8 * away
    assert others < 0.3 * (30 - away)


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_diabetes, load_iris])
@pytest.mark.parametrize("Class", CLASSES)
def test_ordinary_fits_have_no_warning_of_an_objective_without_bound(Class, load):
    X = load().data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddAtomWarning)
        warnings.simplefilter("error", UnboundedObjectiveWarning)
        for settings in (Class(), Class(boundary="plane"), Class.paper(), Class.paper(scaling="standard")):
            settings.set_params(random_state=0).fit(X)


@pytest.mark.parametrize("shared", [True, False])
def test_the_bound_of_a_plane(shared):
    """Against codes made by hand: for those that reach it the quotient is as said, and for others it is smaller."""
    rng = np.random.default_rng(0)
    D, N = rng.normal(size=(6, 5)), 40
    D /= np.linalg.norm(D, axis=1)[:, None]
    supports = [np.arange(3) if shared else rng.choice(6, 3, replace=False) for _ in range(N)]
    codes = scipy.sparse.lil_array((N, 6))
    for j, S in enumerate(supports):
        codes[j, S] = 1.0
    pull = plane_pull(D, codes.tocsr(), 2.0, N)
    if shared:
        assert pull == pytest.approx(2.0 / (N * np.linalg.eigvalsh(D[:3] @ D[:3].T)[0]))
    best = 0.0
    u = rng.normal(size=6)
    for _ in range(500):
        V = np.zeros((N, 6))
        for j, S in enumerate(supports):
            V[j, S] = np.linalg.solve(D[S] @ D[S].T, u[S])
        best = 2.0 * np.sum(V.mean(axis=0) ** 2) / np.sum((V @ D) ** 2)
        assert best <= pull * (1 + 1e-9)
        u = V.mean(axis=0) / np.linalg.norm(V.mean(axis=0))
    assert best == pytest.approx(pull)


@pytest.mark.parametrize("Class", [DLOCSVM, DPLOCSVM])
def test_learning_alone_is_no_sign_of_an_objective_without_bound(Class):
    """One atom a row, of rows that three atoms span: the codes grow as the atoms are learned, not for the SVM."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)) @ rng.normal(size=(3, 200))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddAtomWarning)
        warnings.simplefilter("error", UnboundedObjectiveWarning)
        model = Class.paper(n_nonzero=1, beta=0.001, coupling=0.0, random_state=0).fit(X)
        Class.paper(n_nonzero=1, beta=0.001, random_state=0).fit(X)
    assert model.history_["code_norm"][-1] > 2 * model.history_["code_norm"][0]


@pytest.mark.parametrize("Class", [KDLOCSVM, KDPLOCSVM])
def test_landmarks_are_rows_of_the_fit(Class):
    X = load_wine().data
    model = Class(approximation=20, random_state=0).fit(X)
    rows = model.scaling_.apply(X[model.kept_rows_][model.landmark_indices_])
    assert_allclose(model.kernel_map_.landmarks, rows, rtol=1e-12)


@pytest.mark.parametrize("over", ["atom", "batch"])
def test_batches_are_trimmed_over_the_rows_asked_for(over):
    """sigma_1 of E + x d over the rows that use the atom, or over all of them, from their definitions."""
    X = load_wine().data
    model = DLOCSVM.paper(beta=0.02, n_nonzero=3, random_state=0).fit(X[:120])
    beta = 0.02 if over == "atom" else 0.105
    model.set_params(beta=beta)
    new = X[120:]
    Y, D = new / model.scale_, model.dictionary_
    codes = to_csr(batch_omp(Y, D, 3), len(D)).toarray()
    E = Y - codes @ D
    kept, sigmas = codes.copy(), []
    for i in range(len(D)):
        rows = codes[:, i] != 0 if over == "atom" else np.ones(len(Y), bool)
        sigmas.append(np.linalg.norm(E[rows] + np.outer(codes[rows, i], D[i]), 2) if rows.any() else 0.0)
        kept[:, i] *= sigmas[-1] > beta
    wanted = np.where(kept @ model.train_coef_ - model.train_offset_ <= 0, -1, 1)
    assert_array_equal(model.detect_batch(new, over=over), wanted)
    assert 0 < np.sum(np.array(sigmas) <= beta) < len(D)


def test_another_word_for_the_rows_of_a_batch_is_refused():
    model = DLOCSVM.paper(random_state=0).fit(load_wine().data)
    with pytest.raises(ValueError, match=r"'over' parameter of DLOCSVM.detect_batch must be one of .* Got 'rows' inst"):
        model.detect_batch(load_wine().data, over="rows")


def test_the_plane_as_printed_is_half_of_the_svm():
    """The paper's ‖w‖² without the half: with 2w and 2rho it is half of G, so that its eta is ½."""
    X = np.random.default_rng(0).normal(size=(40, 3)) + 1
    w, rho, _ = reference.one_class_svm(X, 0.2)
    printed = (w / 2) @ (w / 2) - rho / 2 + np.maximum(rho / 2 - X @ w / 2, 0).sum() / (0.2 * 40)
    assert printed == pytest.approx(reference.one_class_objective(X, w, rho, 0.2) / 2)


@pytest.mark.parametrize("Class", [DPLOCSVM, KDPLOCSVM])
@pytest.mark.parametrize("others", [{}, {"coupling_form": "hinge"}, {"coupling_form": "hinge", "boundary": "ball"}])
def test_a_coupling_that_overflows_is_refused_without_warnings(Class, others):
    X = np.random.default_rng(0).uniform(size=(60, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(ValueError, match=r"codes overflowed .* Lower the 'coupling' parameter"):
            Class.paper(coupling=("eta", 1e300), beta=0.01, random_state=0, **others).fit(X)


def test_kept_rows_are_of_rows_that_count():
    X = np.random.default_rng(0).uniform(size=(60, 6))
    weights = np.ones(60)
    weights[:7] = 0.0
    model = DLOCSVM(random_state=0).fit(X, sample_weight=weights)
    assert_array_equal(model.kept_rows_, DLOCSVM(random_state=0).fit(X[7:]).kept_rows_)
