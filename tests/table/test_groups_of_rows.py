"""`by`: every group by its own level, and groups that training did not have."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score

import oddatom
from oddatom import TableDetector
from oddatom.exceptions import OddAtomError, TableWarning


def machines(n_machines=20, n_rows=200, seed=0, shift=8.0):
    """Machines with levels and scales of their own; one row in a hundred is shifted in one column."""
    rng = np.random.RandomState(seed)
    machine = np.repeat(np.arange(n_machines), n_rows)
    level, scale = 100.0 * rng.randn(n_machines, 4), np.exp(0.5 * rng.randn(n_machines, 4))
    z = rng.randn(machine.size, 4)
    odd = rng.permutation(machine.size)[: machine.size // 100]
    z[odd, rng.randint(0, 4, odd.size)] += shift * rng.choice([-1.0, 1.0], odd.size)
    table = pd.DataFrame(level[machine] + scale[machine] * z, columns=["heat", "flow", "load", "noise"])
    table["machine"] = [f"m{k:02d}" for k in machine]
    return table, np.isin(np.arange(machine.size), odd)


def test_rows_are_compared_within_their_machine():
    table, odd = machines()
    model = TableDetector(by="machine", random_state=0).fit(table)
    assert average_precision_score(odd, -model.score_samples(table)) >= 0.98
    flagged = model.predict(table) == -1
    assert flagged.any()
    assert odd[flagged].mean() > 0.9
    plain = TableDetector(ignore=["machine"], random_state=0).fit(table)
    assert average_precision_score(odd, -plain.score_samples(table)) < 0.5


@pytest.mark.parametrize("seed", range(3))
def test_slips_within_a_machine_come_first(seed):
    rng = np.random.RandomState(seed)
    machine = np.repeat(np.arange(20), 200)
    columns = 10.0 * rng.randn(20, 2)[machine] + rng.randn(4000, 2)  # levels of their own, the same scale
    rows = rng.permutation(4000)[:40]
    columns[rows, rng.randint(0, 2, 40)] += 8.0 * rng.choice([-1.0, 1.0], 40)
    table = pd.DataFrame(columns, columns=["pressure", "speed"]).assign(machine=[f"M{m:02d}" for m in machine])
    model = TableDetector(by="machine", random_state=0).fit(table)
    assert average_precision_score(np.isin(np.arange(4000), rows), -model.score_samples(table)) >= 0.98


def test_the_group_is_no_feature():
    table, _ = machines(5)
    model = TableDetector(by="machine", random_state=0).fit(table)
    assert "machine" not in model.explain(table).contributions.columns
    assert "machine: left out, it groups the rows" in model.encoder_.describe()
    assert "by machine: 5 groups, each with a level of its own" in model.context_.lines()


def test_the_units_of_a_machine_do_not_matter():
    table, _ = machines(6)
    other = table.copy()
    rows = table["machine"] == "m03"
    other.loc[rows, "heat"] = 32.0 + 1.8 * table.loc[rows, "heat"]  # in Fahrenheit
    one, two = (TableDetector(by="machine", random_state=0).fit(t).score_samples(t) for t in (table, other))
    assert np.corrcoef(one, two)[0, 1] > 0.95  # another sample is drawn


def test_new_groups_are_scored_by_all_rows_and_said_to_be_new():
    table, _ = machines(20, seed=1)
    model = TableDetector(by="machine", random_state=0).fit(table)
    new = table[:50].assign(machine="m99")
    with pytest.warns(TableWarning, match="1 group is new since training .'m99'., and scored by all rows"):
        scores = model.score_samples(new)
    assert (scores > model.offset_).all()  # within the range of all machines
    with pytest.warns(TableWarning):
        assert model.predict(new.assign(heat=1e5)).max() == -1


def test_two_columns_may_name_a_group():
    table, odd = machines()
    table["site"] = np.where(table["machine"] < "m10", "north", "south")
    table["machine"] = table["machine"].str[-1]  # the same ten names at both sites
    model = TableDetector(by=["site", "machine"], random_state=0).fit(table)
    assert average_precision_score(odd, -model.score_samples(table)) >= 0.98
    one = TableDetector(by="machine", random_state=0).fit(table)
    assert average_precision_score(odd, -one.score_samples(table)) < 0.9


@pytest.mark.parametrize("numbers", [np.int64, np.float64])
def test_numbers_may_name_a_group(numbers):
    table, odd = machines(8)
    table["machine"] = table["machine"].str[1:].astype(numbers)
    model = TableDetector(by="machine", random_state=0).fit(table)
    assert average_precision_score(odd, -model.score_samples(table)) >= 0.98
    text = table.assign(machine=table["machine"].astype(int).astype(str))
    assert np.array_equal(model.score_samples(text), model.score_samples(table))


def test_rows_without_a_group_are_a_group():
    table, _ = machines(4)
    table.loc[table["machine"] == "m02", "machine"] = None
    model = TableDetector(by="machine", random_state=0).fit(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(model.score_samples(table)).all()
    assert model.context_.context.groups.keys == ["(missing)", "m00", "m01", "m03"]


def test_ten_thousand_groups_of_twenty_rows():
    table, odd = machines(10_000, 20, shift=12.0)
    model = TableDetector(by="machine", random_state=0).fit(table)
    assert average_precision_score(odd, -model.score_samples(table)) > 0.9


def test_batches_and_saved_models_give_the_same_scores(tmp_path):
    table, _ = machines(6)
    model = TableDetector(by="machine", random_state=0).fit(table)
    scores = model.score_samples(table)
    assert np.array_equal(
        np.concatenate([model.score_samples(table[i : i + 100]) for i in range(0, 1200, 100)]), scores
    )
    oddatom.save(model, tmp_path / "model.oddatom")
    assert np.array_equal(oddatom.load(tmp_path / "model.oddatom").score_samples(table), scores)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).score_samples(table), scores)


def test_groups_may_be_learned_in_batches_and_judged():
    table, odd = machines(6)
    model = TableDetector(by="machine", random_state=0).partial_fit(table)
    model.partial_fit(table)
    assert average_precision_score(odd, -model.score_samples(table)) > 0.95
    row = int(np.flatnonzero(odd)[0])
    model.feedback(table[row : row + 1], ["normal"])
    assert model.predict(table[row : row + 1])[0] == 1


def test_a_missing_number_is_usual_for_its_group():
    table, _ = machines(10, 60, shift=0.0)
    table.loc[5, "heat"] = np.nan
    model = TableDetector(IsolationForest(random_state=0), by="machine").fit(table)
    features = model._place(table).features
    assert 0.5 < features[:, 0].std() < 2.0
    assert abs(features[5, 0]) < 0.2  # in deviations; the median of all rows is a hundred away


def test_names_of_two_columns_stay_apart():
    table, _ = machines(2, 60)
    table["site"] = np.where(table["machine"] == "m00", "x / y", "x")
    table["machine"] = np.where(table["machine"] == "m00", "z", "y / z")
    model = TableDetector(by=["site", "machine"], random_state=0).fit(table)
    assert len(model.context_.context.groups.keys) == 2


def test_a_group_of_each_row_is_refused():
    table, _ = machines(2, 30)
    with pytest.raises(OddAtomError, match="every row has a group of its own in 'name'"):
        TableDetector(by="name").fit(table.assign(name=[f"r{i}" for i in range(60)]))


@pytest.mark.parametrize(("alone", "size"), [(0.55, 10), (0.9, 10), (0.99, 10), (0.2, 2), (0.5, 3)])
def test_gross_errors_come_first_where_most_groups_have_one_row(alone, size):
    rng = np.random.RandomState(0)
    n, n_alone = 2000, int(alone * 2000)
    customer = [f"s{i}" for i in range(n_alone)] + [f"b{i // size}" for i in range(n - n_alone)]
    table = pd.DataFrame({"customer": customer, "amount": 100 + 10 * rng.randn(n), "items": rng.poisson(5, n) + 0.0})
    table.loc[[0, n - 1], "amount"] = 100_000.0  # of a lone row, and in a group
    model = TableDetector(by="customer", random_state=0).fit(table)
    assert set(model.score_samples(table).argsort()[:2]) == {0, n - 1}
    assert (model.predict(table)[[0, n - 1]] == -1).all()
