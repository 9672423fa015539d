import dataclasses
import warnings

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ensembles import factors, mixture
from learned import KINDS, make_detector, rows
from oddatom import DLOCSVM, OddAtomDetector
from oddatom.ensemble.coded import row_codes
from oddatom.estimators import odd_atom
from oddatom.report import RowGroups, RowTimes, gather_content, render_report
from oddatom.report.atoms import odd_atoms
from oddatom.report.contributions import by_source, oddity_shares
from oddatom.report.projection import map_points
from report_contents import Outline

NAMES = [f"f{k}" for k in range(12)]


@pytest.fixture(scope="module")
def table():
    """Rows of three factors, ten of which break the pattern in features 2 and 7."""
    X = factors(600)
    X[:10, [2, 7]] += [[9.0, -9.0]]
    return X


@pytest.fixture(scope="module")
def detector(table):
    return OddAtomDetector(random_state=0, threshold=0.02).fit(table)


@pytest.fixture(scope="module")
def content(detector, table):
    return gather_content(detector, table, NAMES, when="now")


def test_scores_labels_and_p_values_are_the_detectors(content, detector, table):
    assert_array_equal(content.scores, detector.score_samples(table))
    assert_array_equal(content.p_values, detector.p_values(table))
    labels = detector.predict(table)
    assert content.n_anomalies == (labels == -1).sum()
    assert 6 <= content.n_anomalies <= 12
    assert content.offset == detector.offset_
    order = np.argsort(content.scores, kind="stable")[:50]
    for row, j in zip(content.top, order, strict=True):
        assert (row.row, row.score, row.p_value) == (j, content.scores[j], content.p_values[j])
        assert row.is_anomaly == (labels[j] == -1)
        assert row.cells == tuple(f"{value:.6g}" for value in table[j])
    assert [row.rank for row in content.top] == list(range(1, 51))
    assert {row.row for row in content.top[:10]} == set(range(10))


def test_contributions_are_the_explanation_as_shares(content, detector, table):
    top = [row.row for row in content.top]
    explained, scores = detector.explain(table[top]).contributions, content.scores[top]
    odd = scores < 0
    assert odd[:10].all()
    assert_allclose(content.contributions[odd], explained[odd] / scores[odd, None], atol=1e-12)
    assert_allclose(content.contributions.sum(axis=1), 1.0)
    for shares in content.contributions[:10]:
        assert set(np.argsort(-shares)[:2]) == {2, 7}


def test_contributions_of_encoded_features_are_summed_over_their_column(content, detector, table):
    sources = ["a", "b", "c", "a", "a", "b", *"defghi"]
    summed = gather_content(detector, table, NAMES, sources, when="now")
    assert summed.contribution_columns == tuple("abcdefghi")
    whole = content.contributions
    assert_allclose(summed.contributions[:, 0], whole[:, [0, 3, 4]].sum(axis=1))
    assert_allclose(summed.contributions[:, 1], whole[:, [1, 5]].sum(axis=1))
    assert_allclose(summed.contributions[:, 3], whole[:, 6])
    assert summed.data.n_columns == 9


def test_infinite_shares():
    columns, shares = by_source(np.array([[np.inf, 1.0, np.inf], [1e308, 1e308, 1e308], [0.0, 0.0, 0.0]]), "aab")
    assert columns == ("a", "b")
    assert_allclose(shares, [[0.5, 0.5], [2 / 3, 1 / 3], [0, 0]])


def test_atoms_tell_odd_rows_from_normal_ones(table):
    detector = OddAtomDetector(random_state=1).fit(table)
    atoms, _ = odd_atoms(detector, table[:10], table[10:], NAMES)
    codes = row_codes(table, detector.ensemble_.scaling, detector.ensemble_.packed)
    assert any("atom" in atom.name for atom in atoms)
    for atom in atoms:
        assert atom.of_odd >= 3 * atom.of_normal
        member, kind, number, *sign = atom.name.removeprefix("member ").replace(",", "").split()
        used = getattr(codes, kind)[int(member) - 1] == int(number) - 1
        if sign:
            used &= np.sign(codes.gain[int(member) - 1]) == {"+": 1, "−": -1}[sign[0]]
        assert (atom.of_odd, atom.of_normal) == (used[:10].mean(), used[10:].mean())
        assert not {"low f2", "high f7"} & set(atom.features)


@pytest.mark.parametrize("n_odd", [10, 100, 290])
def test_rows_drawn_at_random_have_no_atoms_in_common(detector, table, n_odd):
    atoms, note = odd_atoms(detector, table[10 : 10 + n_odd], table[10 + n_odd :], NAMES)
    assert not atoms
    assert "no atom stands out" in note


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.filterwarnings("ignore::oddatom.DegenerateMarginWarning")
def test_atoms_are_counted_by_sign_and_named_by_their_features(sign):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 1.5, (300, 4)) * [1, 100, 1, 1]
    detector = DLOCSVM.paper(n_atoms=6, n_nonzero=1, beta=0.0, random_state=0, scaling="standard").fit(X)
    detector.components_ = np.eye(6, 4)[:4]
    detector.coef_ = np.ones(4)
    normal = np.tile(detector.scaling_.center, (100, 1)) + detector.scaling_.spread * rng.normal(0, 1, (100, 4)) * [
        1,
        0,
        1,
        1,
    ]
    odd = np.tile(detector.scaling_.center, (20, 1))
    odd[:, 1] += sign * 5 * detector.scaling_.spread[1]
    (atom,), _ = odd_atoms(detector, odd, normal + np.array([0, 1e-3, 0, 0]), ["w", "x", "y", "z"])
    assert atom.name == f"atom 2 {'+' if sign > 0 else '−'}"
    assert (atom.of_odd, atom.of_normal) == (1.0, 0.0)
    assert atom.features == (f"{'high' if sign > 0 else 'low'} x",)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::oddatom.OddAtomWarning")
def test_every_detector_has_a_report(kind):
    X, names = rows(), list("abcdef")
    X[3] *= [1, 1, 9, 1, 1, 1]
    detector = make_detector(kind).fit(X)
    content = gather_content(detector, X, names)
    assert content.detector == type(detector).__name__
    assert content.n_anomalies == (detector.predict(X) == -1).sum()
    assert [curve.name[0] for curve in content.curves] == ["t", "F", "G"]
    assert_array_equal(content.curves[0].values, detector.history_["total"])
    assert (content.contributions is None) == kind.startswith("K")
    assert content.p_values is None
    assert "fitted without folds" in content.notes["p_values"]
    text = render_report(content)
    assert not Outline(text).crossed
    if kind.startswith("K"):
        assert "A kernel does not split over columns" in text
        assert all(not atom.features for atom in content.atoms)
    else:
        assert_allclose(content.contributions.sum(axis=1), 1.0)


def test_margin_contributions_are_against_the_usual_row():
    X = rows()
    detector = make_detector("DPL").fit(X)
    content = gather_content(detector, X, list("abcdef"), n_top=1)
    shares = detector.explain(X).contributions
    pull = np.maximum(np.median(shares, axis=0) - shares[content.top[0].row], 0)
    assert_allclose(content.contributions[0], pull / pull.sum())


@pytest.mark.parametrize("score", ["margin", "residual", "description_length"])
def test_contributions_of_sparse_codes_are_against_the_usual_row(score):
    X = rows()
    detector = make_detector("DL", scoring=score).fit(X)
    content = gather_content(detector, X, list("abcdef"), n_top=1)
    shares = detector.explain(X).contributions
    pull = np.maximum(np.median(shares, axis=0) - shares[content.top[0].row], 0)
    assert_allclose(content.contributions[0], pull / pull.sum())


@pytest.mark.parametrize("threshold", ["auto", "svm", 0.1, ("fdr", 0.2)])
def test_flagged_rows_are_those_that_predict_flags(table, threshold):
    detector = OddAtomDetector(random_state=0, threshold=threshold).fit(table[10:])
    content = gather_content(detector, table, NAMES)
    labels = detector.predict(table)
    assert content.n_anomalies == (labels == -1).sum() > 0
    assert [row.is_anomaly for row in content.top] == [labels[row.row] == -1 for row in content.top]
    assert (content.offset is None) == (threshold == ("fdr", 0.2))
    words = {"auto": "odder than a table without anomalies", "svm": "10 %", 0.1: "10 %", ("fdr", 0.2): "20 %"}
    assert words[threshold] in content.threshold


def test_p_values_of_calibrated_detectors():
    X = rows()
    detector = DLOCSVM.paper(random_state=0, n_folds=2).fit(X)
    assert_array_equal(gather_content(detector, X, list("abcdef")).p_values, detector.p_values(X))


def test_scores_that_are_known_are_not_computed_again(detector, table, content, monkeypatch):
    def refuse(*_):
        raise AssertionError("computed again")

    monkeypatch.setattr(type(detector), "score_samples", refuse)
    monkeypatch.setattr(type(detector), "p_values", refuse)
    again = gather_content(detector, table, NAMES, scores=content.scores, p_values=content.p_values, when="now")
    assert render_report(again) == render_report(content)


def test_same_rows_same_report(detector, table, content):
    assert render_report(gather_content(detector, table, NAMES, when="now")) == render_report(content)


def arrow_columns(values):
    table = pyarrow.table(values)
    return {name: table.column(name) for name in table.column_names}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, polars.DataFrame, arrow_columns])
def test_displayed_values(detector, table, make):
    values = {"city": [f"city {k}" for k in range(600)], "amount": [float(k) if k % 2 else None for k in range(600)]}
    content = gather_content(detector, table, NAMES, display=make(values), row_numbers=np.arange(600) + 2)
    assert content.columns == ("city", "amount")
    for row in content.top:
        k = row.row - 2
        assert row.cells == (f"city {k}", str(k) if k % 2 else "")


def test_a_frame_with_another_index_is_read_by_position(detector, table):
    display = pd.DataFrame({"v": np.arange(600)}, index=np.arange(600)[::-1])
    display["v"] = display["v"].astype("Int64").where(display["v"] != 3)
    content = gather_content(detector, table, NAMES, display=display)
    assert [row.cells[0] for row in content.top[:10]] == [str(r.row) if r.row != 3 else "" for r in content.top[:10]]


def test_nothing_but_displayed_columns_is_in_the_content(detector, table):
    content = gather_content(detector, table, NAMES, display={"shown": ["value"] * 600})
    assert {row.cells for row in content.top} == {("value",)}
    assert content.columns == ("shown",)


def test_a_model_fitted_on_a_frame_does_not_warn(table):
    detector = OddAtomDetector(random_state=0).fit(pd.DataFrame(table, columns=NAMES))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gather_content(detector, table, NAMES)


def test_the_map_has_all_top_rows_and_a_draw_of_the_others():
    X = mixture(3000)
    detector = OddAtomDetector(random_state=0).fit(X)
    content = gather_content(detector, X, list("abcdefgh"))
    rows_, ranks = content.row_map.rows, content.row_map.ranks
    assert rows_.size == 2000 == np.unique(rows_).size
    ranked = {int(rank): int(row) for rank, row in zip(ranks, rows_, strict=True) if rank}
    assert ranked == {row.rank: row.row for row in content.top}
    assert_array_equal(content.row_map.scores, content.scores[rows_])


@pytest.mark.parametrize("X", [np.zeros((5, 3)), np.ones((1, 1)), np.arange(6.0)[:, None], np.eye(2) * 1e300])
def test_any_rows_have_a_map(X):
    points = map_points(X, np.random.RandomState(0))
    assert points.shape == (X.shape[0], 2)
    assert np.isfinite(points).all()


def test_map_is_the_principal_plane():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 1)) * [1.0, 1.0, 1.0, 0.0] + 0.01 * rng.normal(size=(500, 4))
    points = map_points(X, np.random.RandomState(0))
    assert abs(np.corrcoef(points[:, 0], X[:, 0])[0, 1]) > 0.98
    skewed = map_points(np.exp(2 * X), np.random.RandomState(0))
    assert_allclose(skewed.mean(axis=0), 0, atol=1e-9)
    assert_allclose(np.corrcoef(skewed.T)[0, 1], 0, atol=1e-6)


def test_convergence_is_the_ensembles(content, detector):
    assert_array_equal([curve.values for curve in content.curves], detector.ensemble_.history)


def test_few_flagged_rows_give_way_to_the_top_rows(table):
    detector = OddAtomDetector(random_state=0, threshold=0.001).fit(table)
    content = gather_content(detector, table, NAMES)
    assert content.n_anomalies == 0
    assert "the top rows count as odd" in content.notes["atoms"]
    assert "No row is flagged, of 600." in render_report(content)


def test_a_million_rows_cost_little_more_than_their_scores(detector, table, monkeypatch):
    seen = []
    explain = detector.ensemble_.__class__.parts

    def count(ensemble, X):
        seen.append(X.shape[0])
        return explain(ensemble, X)

    N = 1_000_000
    X = np.broadcast_to(table[:1], (N, 12)).copy()
    X[:600] = table
    scores = np.full(N, 1.0)
    scores[:600] = detector.score_samples(table)
    monkeypatch.setattr(detector.ensemble_.__class__, "parts", count)
    content = gather_content(detector, X, NAMES, scores=scores, p_values=np.ones(N))
    assert sum(seen) <= 50
    assert content.row_map.rows.size == 2000
    assert len(render_report(content).encode()) < 2_000_000


def test_top_rows_are_capped(detector, table):
    assert len(gather_content(detector, table, NAMES, n_top=10**6).top) == 200
    assert len(gather_content(detector, table[:3], NAMES).top) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"feature_names": NAMES[:3]}, r"'feature_names' .* must have a name for every column .*Got 3 instead"),
        ({"source_columns": ["a"]}, r"'source_columns' .*Got 1 instead"),
        ({"n_top": 0}, r"'n_top' .* at least 1. Got 0"),
        ({"scores": np.zeros(3)}, r"'scores' .* each of the 600 rows of X. Got 3"),
        ({"row_numbers": [1]}, r"'row_numbers' .* Got 1"),
        ({"p_values": [1.0]}, r"'p_values' .* Got 1"),
        ({"display": {"v": [1, 2]}}, r"'display' .* 600 values .*Got 2 in 'v'"),
        ({"table_columns": ["a"]}, r"'table_columns' .*Got 1 instead"),
        ({"listed": [1, 2], "since": [0]}, r"'since' .* each of the 2 rows listed. Got 1"),
        ({"listed": [1, 2], "explained": np.zeros((3, 12))}, r"'explained' .* each of the 2 rows listed. Got 3"),
        ({"times": RowTimes(np.zeros(3), True, 24)}, r"'times' .* each of the 600 rows of X. Got 3"),
        ({"groups": RowGroups(np.zeros(4, int), ["a"])}, r"'groups' .* each of the 600 rows of X. Got 4"),
    ],
)
def test_mistakes_are_named(detector, table, arguments, message):
    with pytest.raises(ValueError, match=message):
        gather_content(detector, table, **{"feature_names": NAMES, **arguments})


def test_listed_rows_are_explained_by_what_their_scores_are_due_to(detector, table, content):
    """Rows in time may be odd because of rows before them."""
    listed, due = np.array([5, 300, 9]), np.array([5, 7, 9])
    found = gather_content(detector, table, NAMES, listed=listed, explained=table[due], since=[0, 3, 0])
    assert [row.row for row in found.top] == [5, 300, 9]
    assert [row.rank for row in found.top] == [1, 2, 3]
    assert [row.since for row in found.top] == [0, 3, 0]
    assert [row.score for row in found.top] == list(content.scores[listed])
    assert_allclose(found.contributions, by_source(oddity_shares(detector, table[due], table)[0], NAMES)[1])
    assert set(np.argsort(-found.contributions[1])[:2]) == {2, 7}
    assert "One row of each episode" in found.notes["top"]
    few = gather_content(detector, table, NAMES, listed=listed, explained=table[due], since=[0, 3, 0], n_top=2)
    assert_array_equal(few.contributions, found.contributions[:2])
    assert few.top == found.top[:2]


def test_times_and_groups_reach_the_content(detector, table):
    times = RowTimes(1e6 * np.arange(600), True, 24, name="when")
    groups = RowGroups(np.arange(600) % 3, ["a", "b", "c"], by="shop")
    views = [*NAMES[:6], *(f"{name}: jump" for name in NAMES[:6])]
    about = [*NAMES[:6], *NAMES[:6]]
    found = gather_content(
        detector, table, NAMES, views, table_columns=about, times=times, groups=groups, drawn={"f1": table[:, 7]}
    )
    assert found.contribution_columns == tuple(views)
    assert found.contribution_sources == tuple(about)
    assert found.data.n_columns == 6
    assert (found.over_time.name, found.over_time.n_series, found.over_time.n_rows) == ("when", 3, 600)
    for moment, row in zip(found.over_time.moments, found.top, strict=False):
        shares = found.contributions[row.rank - 1]
        assert moment.row == row
        assert (moment.time, moment.group) == (1e6 * row.row, "abc"[row.row % 3])
        assert (moment.reason, moment.share) == (views[shares.argmax()], shares.max())
        assert (moment.around is None) == (about[shares.argmax()] != "f1")
        assert moment.around is None or moment.around.value == table[row.row, 7]
    assert any(moment.around for moment in found.over_time.moments)
    assert len(found.over_time.moments) == 12
    assert found.groups.n_groups == 3
    assert sum(row.n_flagged for row in found.groups.rows) == found.n_anomalies


def test_without_times_and_groups_the_content_has_none(content):
    assert content.over_time is None
    assert content.groups is None
    assert content.contribution_sources == ()
    assert "top" not in content.notes
    assert {row.since for row in content.top} == {0}


def test_the_content_is_plain(content):
    assert dataclasses.is_dataclass(content)
    assert content.data.seed == "0"
    assert content.data.versions["oddatom"]
    assert " at 0x" not in str(content.parameters)


def test_rows_are_explained_a_few_at_a_time(monkeypatch):
    """Terms are held for every member: what is explained at once must not grow with the rows."""
    X = np.random.default_rng(0).normal(size=(300, 5))
    X[7, 3] = 40.0
    detector = OddAtomDetector(random_state=0).fit(X)
    whole = oddity_shares(detector, X, X)[0]
    held, inner = [], odd_atom.feature_shares
    monkeypatch.setattr(odd_atom, "feature_shares", lambda rows, *rest: held.append(len(rows)) or inner(rows, *rest))
    monkeypatch.setattr(odd_atom, "EXPLAIN_NUMBERS", 8 * 5 * 64)
    np.testing.assert_array_equal(oddity_shares(detector, X, X)[0], whole)
    assert max(held) <= 64
    assert sum(held) == 300
    assert whole[7].argmax() == 3
    assert whole[7, 3] > 0.5
