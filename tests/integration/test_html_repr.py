"""What a notebook shows of a detector: its parameters, and whether it is fitted."""

import re

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import estimator_html_repr

import oddatom
from oddatom.table import TableEncoder

DETECTORS = ["OddAtomDetector", "DLOCSVM", "DPLOCSVM", "KDLOCSVM", "KDPLOCSVM"]
each = pytest.mark.parametrize("name", DETECTORS)
LISTS_PARAMETERS = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 7)


def other_scoring(name):
    """A score that is not the default."""
    return "description_length" if name.startswith("K") else "residual"


def make(name, **others):
    return getattr(oddatom, name)(random_state=0, n_jobs=1, **others)


def rows():
    return np.random.default_rng(0).uniform(0.1, 1, (40, 3))


@each
def test_parameters(name):
    detector = make(name, scoring=other_scoring(name), nu=0.375)
    for page in (detector._repr_html_(), detector._repr_mimebundle_()["text/html"], estimator_html_repr(detector)):
        assert f"<div>{name}</div>" in page
        assert "nu=0.375" in page
        assert f"scoring=&#x27;{other_scoring(name)}&#x27;" in page
    if LISTS_PARAMETERS:
        for parameter in detector.get_params():
            assert re.search(rf'class="param">\s*{parameter}\b', page), parameter


@each
@pytest.mark.filterwarnings("ignore::oddatom.DegenerateMarginWarning")
def test_fitted_or_not(name):
    detector = make(name)
    assert "<span>Not fitted</span>" in detector._repr_html_()
    detector.fit(rows())
    assert "<span>Fitted</span>" in detector._repr_html_()
    assert "<span>Not fitted</span>" not in detector._repr_html_()


@each
def test_fitted_attributes(name):
    pytest.importorskip("sklearn.utils._repr_html.fitted_attributes")  # since 1.9
    detector = make(name, nu=0.5)
    before, after = detector._repr_html_(), detector.fit(rows())._repr_html_()
    for attribute in ("offset_", "threshold_", "n_features_in_", "train_scores_"):
        entry = rf">\s*{attribute}\s*<"
        assert not re.search(entry, before)
        assert re.search(entry, after), attribute


@each
def test_a_failed_fit_is_none(name):
    detector = make(name)
    with pytest.raises(ValueError, match="infinity"):
        detector.fit(np.full((5, 3), np.inf))
    assert "<span>Not fitted</span>" in detector._repr_html_()


@each
def test_in_a_pipeline(name):
    page = estimator_html_repr(make_pipeline(MinMaxScaler(), make(name)))
    assert page.count("MinMaxScaler") >= 1
    assert name in page


@each
def test_no_link_to_pages_that_are_not_there(name, monkeypatch):
    monkeypatch.delenv("ODDATOM_DOCS", raising=False)
    assert make(name)._get_doc_link() == ""
    assert f"{name}.html" not in make(name)._repr_html_()


@each
def test_a_link_to_the_pages_that_are_named(name, monkeypatch, tmp_path):
    monkeypatch.setenv("ODDATOM_DOCS", "https://docs.example/oddatom/")
    link = f"https://docs.example/oddatom/generated/oddatom.{name}.html"
    assert make(name)._get_doc_link() == link
    assert f'href="{link}"' in make(name)._repr_html_()
    monkeypatch.setenv("ODDATOM_DOCS", str(tmp_path))
    assert make(name)._get_doc_link() == f"{tmp_path.as_uri()}/generated/oddatom.{name}.html"


def test_a_link_to_the_page_of_the_encoder(monkeypatch):
    monkeypatch.setenv("ODDATOM_DOCS", "https://docs.example")
    link = "https://docs.example/generated/oddatom.table.TableEncoder.html"
    assert TableEncoder()._get_doc_link() == link
    assert f'href="{link}"' in estimator_html_repr(TableEncoder())
    page = estimator_html_repr(oddatom.make_detector(oddatom.OddAtomDetector()))
    assert 'href="https://docs.example/generated/oddatom.TableDetector.html"' in page
    assert 'href="https://docs.example/generated/oddatom.OddAtomDetector.html"' in page


def test_the_page_of_a_class_that_is_not_ours_is_not_ours(monkeypatch):
    monkeypatch.setenv("ODDATOM_DOCS", "https://docs.example")
    mine = type("Mine", (oddatom.DLOCSVM,), {"__module__": "elsewhere"})
    assert mine()._get_doc_link() == ""


@each
def test_text_shows_what_was_changed(name):
    assert repr(getattr(oddatom, name)(scoring=other_scoring(name), nu=0.3)) in (
        f"{name}(nu=0.3, scoring='{other_scoring(name)}')",
        f"{name}(scoring='{other_scoring(name)}', nu=0.3)",
    )
