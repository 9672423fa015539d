"""Planted errors, figures and pages of the everyday benchmark and of the pool; neither data nor PyOD is needed."""

import json

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from benchmarks import _cases, _common, everyday, synthetic_cases, untuned_pool  # noqa: E402
from benchmarks._everyday_peers import one_hot  # noqa: E402
from benchmarks._everyday_tables import render  # noqa: E402
from benchmarks._peers import OURS  # noqa: E402
from benchmarks._planting import FACTORS, KINDS, error_columns, find_tables, plant, read_table  # noqa: E402


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(50.0, 5.0, 1200),
            "weight": rng.integers(1, 90, 1200),
            "few": rng.integers(0, 3, 1200),
            "colour": rng.choice(["red", "green", "blue"], 1200),
            "used": rng.random(1200) < 0.4,
            "name": [f"n{i}" for i in range(1200)],
        }
    )


def changed(table, planted):
    """Cells that differ from the table, by row and column; two empty cells are equal."""
    before = table.astype(object).to_numpy()
    after = planted.frame.astype(object).to_numpy()
    return (before != after) & ~(pd.isna(before) & pd.isna(after))


def test_columns_of_errors(table):
    assert error_columns(table) == (["size", "weight"], ["colour"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_errors(table, kind):
    one, two = (plant(table, kind, 3, 0.1) for _ in range(2))
    pd.testing.assert_frame_equal(one.frame, two.frame)
    assert one.wrong == two.wrong
    np.testing.assert_array_equal(np.flatnonzero(one.y), sorted(one.wrong))
    assert plant(table, kind, 4, 0.1).wrong != one.wrong


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_planted_cells_change(table, kind):
    planted = plant(table, kind, 0, 0.0)
    cells = changed(table, planted)
    assert planted.y.sum() == 12
    assert not cells[planted.y == 0].any()
    for row, columns in planted.wrong.items():
        assert list(table.columns[cells[row]]) == sorted(columns, key=list(table.columns).index)
        assert len(columns) == (2 if kind == "swap" else 1)


@pytest.mark.parametrize("kind", FACTORS)
def test_numbers_are_multiplied(table, kind):
    planted = plant(table, kind, 1, 0.0)
    for row, (column,) in planted.wrong.items():
        assert planted.frame.at[row, column] == pytest.approx(FACTORS[kind] * table.at[row, column])


def test_zeros_and_empty_cells_become_wrong_too(table):
    zeros = table.assign(size=np.where(np.arange(1200) < 1190, 0.0, np.arange(1200.0)))
    zeros["weight"] = zeros["few"]
    zeros.loc[zeros.index[1180:], "size"] = np.arange(20.0)
    planted = plant(zeros, "x10", 0, 0.3)
    assert all(planted.frame.at[row, "size"] != 0 for row in planted.wrong)
    assert not any(pd.isna(planted.frame.at[row, "size"]) for row in planted.wrong)


def test_the_share_of_empty_cells(table):
    empty = plant(table, "sign", 0, 0.3).frame.isna().to_numpy()
    assert empty.mean() == pytest.approx(0.3, abs=0.02)
    assert not plant(table, "sign", 0, 0.0).frame.isna().any(axis=None)


def test_kinds_that_a_table_has_no_columns_for(table):
    assert plant(table[["size", "few"]], "category", 0, 0.02) is None
    assert plant(table[["size", "few"]], "swap", 0, 0.02) is None
    assert plant(table[["colour"]], "x10", 0, 0.02) is None


def test_a_folder_without_tables_is_refused(tmp_path, table):
    with pytest.raises(SystemExit, match=r"No tables in .*: pass a folder with \.csv"):
        find_tables(tmp_path)
    table.assign(constant=1).to_csv(tmp_path / "things.csv.gz", index=False)
    found = find_tables(tmp_path)
    assert list(found) == ["things"]
    assert read_table(found["things"], 500).shape == (500, 6)


def test_numbers_for_the_other_detectors(table):
    X = one_hot(plant(table, "x10", 0, 0.1).frame)
    assert X.shape == (1200, 3 + 3 + 2)  # numbers, colours, used; the name is left out
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_figures_of_our_detector(table):
    run = everyday.one_run(table.iloc[:400], "x100", 0, 0.02, [OURS])[OURS]
    assert (run["rows"], run["planted"]) == (400, 10)
    assert run["auroc"] > 0.9
    assert 0 < run["named"] <= run["found"] <= 10
    assert run["right"] <= run["flagged"]


def test_failures_are_chance_and_are_named():
    def fails():
        raise ValueError("no clusters\nat all")

    y = np.array([0, 0, 0, 1])
    assert everyday._or_chance(y, fails) == {"auroc": 0.5, "ap": 0.25, "error": "ValueError: no clusters"}


def test_figures_are_averaged_and_counts_summed():
    runs = [{OURS: {"auroc": 0.5, "ap": 0.1, "rows": 10}}, {OURS: {"auroc": 1.0, "ap": 0.3, "rows": 10}}]
    assert everyday.merge(runs) == {OURS: {"auroc": 0.75, "ap": 0.2, "rows": 20}}
    assert everyday.merge([{}, {}]) == {}


def test_other_settings_than_those_of_the_file_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(everyday, "FILE", tmp_path / "everyday.json")
    settings = {"rows": 3000, "seeds": 1}
    assert everyday.load(settings, False) == {"settings": settings}
    everyday.FILE.write_text(json.dumps({"settings": settings, "figures": {}}))
    assert "figures" in everyday.load(settings, False)
    with pytest.raises(SystemExit, match="made with --rows 3000 --seeds 1"):
        everyday.load({"rows": 100, "seeds": 1}, False)
    assert everyday.load({"rows": 100, "seeds": 1}, True) == {"settings": {"rows": 100, "seeds": 1}}


def test_page_of_everyday_tables():
    ours = {"auroc": 0.75, "ap": 0.5, "rows": 100, "planted": 10, "flagged": 20, "right": 5, "found": 4, "named": 3}
    place = {"date": "2026-01-02", "cpu": "x", "python": "3.11", "versions": {"numpy": "2", "isotree": None}}
    cells = {OURS: ours, "k-NN": {"auroc": 0.5, "ap": 0.25, "error": "ValueError: no"}}
    results = {
        "settings": {"rows": 3000, "seeds": 1},
        "figures": {"0.02": {"cars": {"x10": cells, "swap": {"k-NN": cells["k-NN"]}}}},
        "machines": {OURS: place, "k-NN": place},
    }
    text = render(results)
    assert "1 table (cars), at most 3,000 rows each, 1 seed" in text
    assert "| 2 % | 1 | AP | **0.500** | 0.250 |" in text
    assert "| x10 | 20.0 % | 25 % (5 of 20) | 50 % (5 of 10) | 75 % (3 of 4) |" in text
    assert "swap" not in text  # not all detectors have it
    assert "- k-NN, cars, x10: ValueError: no" in text
    assert "fills this section" in render({"settings": {}})


def test_an_absent_pool_is_refused(tmp_path, monkeypatch):
    (tmp_path / "odds").mkdir()
    monkeypatch.setenv("ODDATOM_DATA", str(tmp_path / "odds"))
    with pytest.raises(SystemExit, match=r"No pool: put a folder `pool` of \.npz files"):
        untuned_pool.pool_files()
    monkeypatch.setenv("ODDATOM_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(SystemExit, match="set ODDATOM_DATA"):
        untuned_pool.pool_files()


def test_figures_of_the_pool_follow_its_sets(tmp_path, monkeypatch):
    (tmp_path / "odds").mkdir()
    (tmp_path / "pool").mkdir()
    monkeypatch.setenv("ODDATOM_DATA", str(tmp_path / "odds"))
    for name, odd in (("a", 1), ("b", 2), ("c", 5)):
        np.savez(tmp_path / "pool" / f"{name}.npz", X=np.zeros((10, 3)), y=np.arange(10) < odd)

    class Named:
        def __init__(self, name):
            self.name = name

    def one_run(detector, protocol, X, y, seed):
        error = "ValueError: no" if y.sum() == 5 else None
        return {"detector": detector.name, "auroc": y.mean() + 1 / 3, "ap": 0.5, "error": error}

    results = {}
    for _ in untuned_pool.run(results, [Named("LOF")], 1, 2, one_run):
        pass
    for _ in untuned_pool.run(results, [Named(OURS)], 1, None, one_run):
        pass
    pool = results["pool"]
    assert pool["sets"] == {"a": [10, 3, 1], "b": [10, 3, 2], "c": [10, 3, 5]}
    assert pool["figures"]["LOF"]["auroc"] == [0.4333, 0.5333]
    assert pool["figures"][OURS]["auroc"] == [0.4333, 0.5333, 0.8333]
    text = "\n".join(untuned_pool.tables(pool))
    assert "2 labelled tables" in text
    assert "| LOF | 0.483 | 1.50 | 0.500 | 1.50 | 0/2/0 | 1 | 0/2/0 | 1 | 0.433 | 0.533 |" in text
    assert f"- {OURS}, 1 sets: ValueError: no" in text


def test_json_keeps_inner_values_on_a_line(tmp_path):
    value = {"a": {"b": {"c": 1, "d": []}, "e": [1, None, 2.5]}, "f": {}, "g": "x"}
    text = _common.to_json(value)
    assert json.loads(text) == value
    assert '"e": [1, null, 2.5]' in text.splitlines()[3]
    _common.write_json(tmp_path / "x.json", value)
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize("make", [_cases.category, _cases.empty_cells, _cases.machines, _cases.sine, _cases.amounts])
def test_simulated_tables_are_the_same_for_a_seed(make):
    (frame, y), (again, y_again) = make(1), make(1)
    pd.testing.assert_frame_equal(frame, again)
    np.testing.assert_array_equal(y, y_again)
    assert 0 < y.sum() <= 0.02 * len(y)


def test_lines_of_a_simulated_case(monkeypatch):
    def norm(frame, seed):
        return frame.abs().max(axis=1).to_numpy(), None

    monkeypatch.setattr(synthetic_cases, "DETECTORS", {"make_detector": norm, "k-NN": lambda frame, seed: None})
    case = synthetic_cases.first_rows("errors", _cases.gross_errors)
    assert synthetic_cases.rows_of(case, 2) == [["errors", "last rank of 30", "≤ 32", "yes", "30 / 30", ""]]
