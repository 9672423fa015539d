"""Statistics, choice of rows and page of the ranking benchmark; neither data nor PyOD is needed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import untuned
from benchmarks._compare import compare, holm, mean_ranks, signed_rank, win_tie_loss
from benchmarks._peers import DETECTORS, OURS, Sklearn
from benchmarks._sets import MOST_ROWS, SETS, choose_rows, halves
from benchmarks._untuned_tables import END, START, between_markers, render, write

ROOT = Path(__file__).parents[1]


def test_no_peer_is_needed_for_the_import():
    assert len(SETS) == 19
    assert len(DETECTORS) == 13
    assert DETECTORS[0].name == OURS
    code = "import sys; sys.modules |= dict.fromkeys(['pyod', 'h5py']); import benchmarks.untuned"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0


def test_mean_ranks_share_ties():
    values = np.array([[0.9, 0.9, 0.5, 0.1], [0.2, 0.4, 0.4, 0.4]])
    # Ranks by hand: 1.5, 1.5, 3, 4 and 4, 2, 2, 2.
    np.testing.assert_array_equal(mean_ranks(values), [2.75, 1.75, 2.5, 3.0])


def test_win_tie_loss():
    ours = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    theirs = np.array([0.8, 0.801, 0.699, 0.6011, 0.5])
    assert win_tie_loss(ours, theirs) == (1, 3, 1)


def test_holm():
    # Sorted .005, .01, .03, .04 times 4, 3, 2, 1 is .02, .03, .06, .04; the last must not fall below the third.
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_array_equal(holm(np.array([0.9, 0.6])), [1.0, 1.0])


def test_holm_rejects_what_the_stepwise_rule_rejects():
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.uniform(size=12) ** 3
        rejected = np.zeros(12, dtype=bool)
        for i, j in enumerate(np.argsort(p)):
            if p[j] > 0.05 / (12 - i):
                break
            rejected[j] = True
        np.testing.assert_array_equal(holm(p) <= 0.05, rejected)


def test_signed_rank():
    # Five differences of one sign: 2 of 2⁵ sign patterns are as extreme.
    assert signed_rank(np.arange(1.0, 6.0), np.zeros(5)) == pytest.approx(2 / 32)
    assert signed_rank(np.ones(5), np.ones(5)) == 1.0


def test_compare():
    values = {OURS: [0.9, 0.8, 0.7], "a": [0.5, 0.9, 0.6], "b": [0.9, 0.8, 0.7]}
    out = compare(values, OURS)
    assert out[OURS] == {"mean": pytest.approx(0.8), "rank": pytest.approx((1.5 + 2.5 + 1.5) / 3)}
    assert out["a"]["win_tie_loss"] == (2, 0, 1)
    assert out["b"]["win_tie_loss"] == (0, 3, 0)
    assert out["b"]["p_holm"] == 1.0
    assert "p" not in compare({"a": [0.5], "b": [0.4]}, OURS)["a"]


def test_choice_of_rows():
    np.testing.assert_array_equal(choose_rows(MOST_ROWS, 3), np.arange(MOST_ROWS))
    rows = choose_rows(12_345, 3)
    assert rows.size == np.unique(rows).size == MOST_ROWS
    assert np.all(np.diff(rows) > 0)
    assert rows[-1] < 12_345
    np.testing.assert_array_equal(rows, choose_rows(12_345, 3))
    assert np.any(rows != choose_rows(12_345, 4))


def test_halves_share_the_anomalies():
    y = np.zeros(101, dtype=int)
    y[:6] = 1
    fit, other = halves(y, 0)
    np.testing.assert_array_equal(np.sort(np.concatenate([fit, other])), np.arange(101))
    assert y[fit].sum() == y[other].sum() == 3


class _Refuses:
    def fit(self, X):
        raise ValueError("no clusters")


class _Infinite:
    def fit(self, X):
        return self

    def score_samples(self, X):
        return np.full(len(X), -np.inf)


class _Norm(_Infinite):
    def __init__(self, random_state=None):
        self.random_state = random_state

    def score_samples(self, X):
        return -np.abs(X).sum(axis=1)


@pytest.fixture
def rows():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[:4] += 50.0
    return X, (np.arange(40) < 4).astype(int)


@pytest.mark.parametrize(
    ("kind", "error"),
    [("_Refuses", "ValueError: no clusters"), ("_Infinite", "FloatingPointError: 40 of 40 scores are not finite")],
)
def test_failures_are_chance_and_are_named(rows, kind, error):
    run = untuned.one_run(Sklearn(kind, __name__, stochastic=False), "same", *rows, seed=0)
    assert (run["auroc"], run["ap"], run["error"]) == (0.5, 0.1, error)
    assert untuned._cell([run], jobs=1)["failures"] == {"0": error}


@pytest.mark.parametrize("protocol", ["same", "held-out"])
def test_runs_give_figures(rows, protocol):
    runs = [untuned.one_run(Sklearn("_Norm", __name__), protocol, *rows, seed=seed) for seed in (0, 1)]
    assert all((run["auroc"], run["ap"], run["error"]) == (1.0, 1.0, None) for run in runs)
    cell = untuned._cell(runs, jobs=2)
    assert (cell["runs"], cell["auroc"], cell["auroc_sd"], cell["seconds"]) == (2, 1.0, 0.0, None)


def test_only_the_text_between_the_markers_changes():
    page = f"# Title\n\nprose | {START} old\ntables{END} more\nprose\n"
    new = between_markers(page, "| a |\n")
    assert new == f"# Title\n\nprose | {START}\n\n| a |\n\n{END} more\nprose\n"
    assert between_markers(new, "| a |\n") == new


@pytest.mark.parametrize("page", ["", START, f"{END}{START}", f"{START}{END}{START}{END}"])
def test_a_page_without_its_markers_is_refused(page):
    with pytest.raises(ValueError, match="must have <!-- results --> once"):
        between_markers(page, "")


def test_page_from_figures(tmp_path):
    cell = {"runs": 1, "measured": "2026-01-02T03:04", "seconds": 0.5, "failures": {}}
    ours = cell | {"auroc": 0.75, "ap": 0.25}
    theirs = cell | {"auroc": 0.5, "ap": 0.125, "failures": {"0": "ValueError: no clusters"}}
    place = {"cpu": "x", "python": "3.11", "versions": {"numpy": "2"}}
    results = {
        "sets": {"glass": {"rows": 214, "features": 9, "anomalies": 9}},
        "figures": {"same": {"glass": {OURS: ours, "LOF": theirs}, "wbc": {"LOF": theirs}}},
        "machines": {OURS: place, "LOF": place},
    }
    write(tmp_path / "page.md", render(results))
    text = (tmp_path / "page.md").read_text()
    assert text.startswith("# Ranking without labels\n")
    assert "1 of 19 sets, 2 detectors" in text
    assert f"| **{OURS}** | 0.750 | 1.00 | 0.250 | 1.00 |" in text
    assert "| LOF | 0.500 | 2.00 | 0.125 | 2.00 | 1/0/0 | 1 | 1/0/0 | 1 | 0.50 |" in text
    assert "- LOF, glass, 1 of 1 runs: ValueError: no clusters" in text
