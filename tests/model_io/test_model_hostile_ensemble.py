"""Ensembles with categories, forged where their kernels look numbers up: no such model is written or read."""

import copy

import numpy as np
import pytest

import oddatom
from ensembles import CATEGORICAL, mixed
from oddatom import OddAtomDetector


@pytest.fixture(scope="module")
def model():
    return OddAtomDetector(categorical_features=CATEGORICAL, n_groups=2, trim=(0.3,), random_state=0).fit(mixed())


def context(**changed):
    def forge(ensemble):
        made = {name: value(getattr(ensemble.histogram.context, name)) for name, value in changed.items()}
        forged = ensemble.histogram.context._replace(**made)
        return ensemble._replace(histogram=ensemble.histogram._replace(context=forged))

    return forge


def levels(**changed):
    def forge(ensemble):
        made = {name: value(getattr(ensemble.levels, name)) for name, value in changed.items()}
        return ensemble._replace(levels=ensemble.levels._replace(**made))

    return forge


def packed(value):
    return lambda ensemble: ensemble._replace(packed=ensemble.packed._replace(group_terms=value(ensemble.packed)))


def first(value):
    return lambda found: (value, *found[1:])


FORGED = {
    "a target beyond the columns": (context(targets=first(8)), "below features = 8"),
    "a target below 0": (context(targets=first(-1)), "targets.0 must be an integer of at least 0"),
    "fewer targets": (context(targets=lambda t: t[1:]), "targets must be of 2 targets"),
    "a predictor beyond the columns": (context(predictors=lambda p: ((99,), *p[1:])), "below features = 8"),
    "more predictors": (context(predictors=lambda p: ((0, 1, 2, 3), *p[1:])), "3 at most each"),
    "levels beyond the tables": (context(n_levels=first(2**40)), "at most the levels of the tables"),
    "edges that fall": (context(edges=lambda e: e[:, ::-1].copy()), "edges must be"),
    "fewer edges": (context(edges=lambda e: e[:, 1:].copy()), "of two bins more than edges"),
    "edges of other columns": (context(edges=lambda e: e[1:].copy()), "edges must be of shape"),
    "ratios of other bins": (context(ratio=lambda r: r[:, :, 1:].copy()), "must be of"),
    "huge ratios": (context(ratio=lambda r: r + 1e9), "ratio must be 100.0 or less"),
    "columns first": (context(ratio=np.asfortranarray), "ratio must be stored row by row"),
    "shares above one": (context(share=np.zeros_like, held_out_share=lambda s: s + 1e10), "held_out_share must be"),
    "no targets": (
        context(
            targets=lambda t: (), predictors=lambda p: (), n_levels=lambda n: (), share=lambda s: s[:0],
            held_out_share=lambda s: s[:0], ratio=lambda r: r[:0], held_out=lambda r: r[:0],
        ),
        "of one target at least",
    ),
    "a shifted column beyond": (levels(columns=first(8)), "columns below features = 8"),
    "a category beyond": (levels(categories=first(8)), "columns below features = 8"),
    "fewer shifts": (levels(shifts=lambda s: s[:, :0].copy()), "of one level at least"),
    "infinite shifts": (levels(shifts=lambda s: s + np.inf), "shifts must be free of infinity"),
    "shifts of fewer columns": (levels(shifts=lambda s: s[1:].copy()), "shifts must be of shape"),
    "categories of other columns": (levels(categorical=lambda c: c[1:].copy()), "categorical must be of shape"),
    "no groups": (packed(lambda p: None), "there, because the part 'group' is"),
    "groups of fewer centroids": (packed(lambda p: p.group_terms[:, 1:].copy()), "group_terms must be of shape"),
    "huge groups": (packed(lambda p: p.group_terms + 1e200), "group_terms must be 1e"),
}  # fmt: skip


@pytest.mark.parametrize("case", FORGED)
def test_refused(case, model, tmp_path, monkeypatch):
    forge, message = FORGED[case]
    forged = copy.copy(model)
    forged.ensemble_ = forge(model.ensemble_)
    with pytest.raises(ValueError, match=message):
        oddatom.save(forged, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_the_model_itself_is_written(model, tmp_path):
    oddatom.save(model, tmp_path / "model")
    X = mixed(50, seed=1)
    np.testing.assert_array_equal(oddatom.load(tmp_path / "model").score_samples(X), model.score_samples(X))
