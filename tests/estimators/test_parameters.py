"""Parameters of every estimator: how many there are, and those that hold several settings."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import oddatom
from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM
from oddatom.estimators._grouped import (
    Approximation,
    Coupling,
    KernelParams,
    read_approximation,
    read_coupling,
    read_kernel_params,
    read_penalty,
    read_solver,
)
from oddatom.table import TableEncoder

ESTIMATORS = [getattr(oddatom, name) for name in oddatom.__all__ if hasattr(getattr(oddatom, name), "get_params")]
X = np.random.default_rng(0).gamma(2.0, size=(60, 5))
SMALL = {"n_atoms": 6, "n_nonzero": 2, "beta": 0.01, "max_iter": 2, "random_state": 0}


def test_no_estimator_has_more_than_28_parameters():
    assert len(ESTIMATORS) >= 6
    for Class in (*ESTIMATORS, TableEncoder):
        assert len(inspect.signature(Class).parameters) <= 28, Class.__name__


def test_penalties():
    assert read_penalty("D", "l20") == ("l20", 0.1)
    assert read_penalty("D", ("l2eps", 3)) == ("l2eps", 3.0)


@pytest.mark.parametrize("penalty", ["l1", None, ("l21", 0.1), ("l2eps", 0), ("l2eps", True), ("l2eps",), np.ones(2)])
@pytest.mark.parametrize("Class", [DLOCSVM, KDPLOCSVM])
def test_wrong_penalties(Class, penalty):
    message = rf"The 'penalty' parameter of {Class.__name__} must be 'l21' or .* Got .* instead; 'l2eps' alone"
    with pytest.raises(ValueError, match=message):
        Class.paper(penalty=penalty).fit(X)


def test_an_epsilon_matters():
    one, two, three = (
        DLOCSVM.paper(**{**SMALL, "beta": 0.1}, penalty=penalty).fit(X).history_["total"]
        for penalty in ("l2eps", ("l2eps", 0.1), ("l2eps", 0.01))
    )
    assert_array_equal(one, two)
    assert one[-1] != three[-1]


def test_solvers():
    steps = ("atoms", "svm")
    assert read_solver("D", "exact", steps) == {"atoms": "exact", "svm": "exact"}
    assert read_solver("D", "paper", steps) == {"atoms": "power", "svm": "libsvm"}
    assert read_solver("D", "paper", ("pairs", "svm")) == {"pairs": "gradient", "svm": "libsvm"}
    assert read_solver("D", {"atoms": "power"}, steps) == {"atoms": "power", "svm": "exact"}


@pytest.mark.parametrize("solver", [None, "power", {"pairs": "exact"}, {"atoms": "gradient"}, {"svm": None}, ["exact"]])
@pytest.mark.parametrize("Class", [DLOCSVM, KDLOCSVM])
def test_wrong_solvers(Class, solver):
    message = rf"The 'solver' parameter of {Class.__name__} must be 'exact', 'paper' or a dict of \{{'atoms': "
    with pytest.raises(ValueError, match=message):
        Class.paper(solver=solver).fit(X)


@pytest.mark.parametrize(("Class", "step"), [(DLOCSVM, "atoms"), (DPLOCSVM, "pairs")])
def test_the_papers_solvers_are_those_of_the_steps(Class, step):
    paper = Class.paper(**SMALL, solver="paper").fit(X)
    solvers = {step: {"atoms": "power", "pairs": "gradient"}[step], "svm": "libsvm"}
    both = Class.paper(**SMALL, solver=solvers).fit(X)
    assert_array_equal(paper.score_samples(X), both.score_samples(X))
    for one in ("exact", {step: solvers[step]}, {"svm": "libsvm"}):
        assert (Class.paper(**SMALL, solver=one).fit(X).history_["gap"] != paper.history_["gap"]).any()


def test_settings_of_kernels():
    assert read_kernel_params("K", None) == read_kernel_params("K", {}) == KernelParams(3.0, 1.0, None, "gram")
    assert read_kernel_params("K", {"degree": 2, "coding": "correlation"}) == KernelParams(2, 1.0, None, "correlation")


def test_couplings():
    assert read_coupling("D", 0.2) == Coupling("share", 0.2)
    assert read_coupling("D", ("eta", 3)) == Coupling("eta", 3.0)
    assert (Coupling("share", 0.2).eta(0.1, 50), Coupling("eta", 3.0).eta(0.1, 50)) == (1.0, 3.0)


def test_the_papers_settings():
    """Others than the paper's are taken as given; of a dict those that it has."""
    model = KDLOCSVM.paper(nu=0.3, kernel_params={"degree": 2})
    assert (model.nu, model.boundary, model.trim, model.scaling, model.coupling) == (0.3, "plane", 0, None, ("eta", 1))
    assert model.kernel_params == {"coding": "correlation", "degree": 2}
    assert DPLOCSVM.paper(boundary="ball", scaling="robust").get_params()["scaling"] == "robust"


def test_approximations():
    assert read_approximation("K", None) == Approximation(np.inf)
    assert read_approximation("K", "auto") == Approximation(4000, "uniform", 256)
    assert read_approximation("K", np.int64(7)) == Approximation(0, "uniform", 7)
    assert read_approximation("K", ("leverage", 7)) == Approximation(0, "leverage", 7)


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_verbose_2_records_the_lagrangian(verbose, caplog):
    with caplog.at_level("INFO", "oddatom"):
        model = DLOCSVM.paper(**SMALL, verbose=verbose).fit(X)
    assert len(model.history_.lagrangian) == (2 if verbose == 2 else 0)
    assert len([record for record in caplog.records if "iteration" in record.message]) == (2 if verbose else 0)


def test_clones_have_groups_of_their_own():
    model = KDLOCSVM.paper(kernel_params={"degree": 2}, solver={"svm": "libsvm"}, approximation=("leverage", 9))
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert other.kernel_params is not model.kernel_params
