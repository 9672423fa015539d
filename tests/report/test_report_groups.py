"""The section "Groups": which groups it lists, and in which order."""

import dataclasses
import html
import re

import numpy as np
import pytest
from time_contents import section, sensors

from oddatom.cli import main
from oddatom.report import GroupTable, RowGroups, render_report
from oddatom.report.group_table import gather_groups
from report_contents import HOSTILE, Outline, plain_content


def rows_of(text):
    """The cells of every row of the table of groups."""
    body = re.search(r"<tbody>(.*?)</tbody>", section(text, "groups"), re.DOTALL).group(1)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in re.findall(r"<tr>(.*?)</tr>", body)]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)).replace("\xa0", " ") for cell in row] for row in cells]


def report_of(groups):
    return render_report(dataclasses.replace(plain_content(), groups=groups))


def test_groups_are_sorted_by_share_then_by_lowest_score():
    names = ["many rows", "calm", "small", "calmer", "nobody"]
    members = np.repeat([0, 1, 2, 3], [10, 4, 2, 5])
    scores = np.linspace(0.0, 2.0, members.size)
    scores[[0, 1, 2, 14]] = [-3.0, -2.0, -9.0, -5.0]
    scores[[16, 10]] = [-1.0, -0.5]
    flagged = scores < -1.5
    table = gather_groups(RowGroups(members, names, by="shop", new=["calmer"]), scores, flagged)
    found = [(row.name, row.n_rows, row.n_flagged, row.lowest, row.new) for row in table.rows]
    assert found == [
        ("small", 2, 1, -5.0, False),
        ("many rows", 10, 3, -9.0, False),
        ("calmer", 5, 0, -1.0, True),
        ("calm", 4, 0, -0.5, False),
    ]
    assert (table.by, table.n_groups) == ("shop", 4)
    text = report_of(table)
    assert [row[:4] for row in rows_of(text)] == [
        ["small", "2", "1", "50 %"],
        ["many rows", "10", "3", "30 %"],
        ["calmer new", "5", "0", "0 %"],
        ["calm", "4", "0", "0 %"],
    ]
    assert float(rows_of(text)[0][4].replace("−", "-")) == -5.0
    assert "more." not in section(text, "groups")
    assert "by <bdi>shop</bdi>" in section(text, "groups")
    assert "was not in the training table" in section(text, "groups")


def test_fifty_groups_are_listed():
    n = 1234
    members = np.repeat(np.arange(n), 2)
    scores = np.repeat(np.arange(n, dtype=float), 2)
    table = gather_groups(RowGroups(members, [f"g{k}" for k in range(n)]), scores, scores < 3)
    text = report_of(table)
    assert [row[0] for row in rows_of(text)] == [f"g{k}" for k in range(50)]
    assert "And 1,184 more." in section(text, "groups")
    assert "was not in the training table" not in section(text, "groups")


@pytest.mark.parametrize("n_groups", [1, 50, 51])
def test_the_rest_is_counted(n_groups):
    members, names = np.arange(n_groups), [str(k) for k in range(n_groups)]
    text = report_of(gather_groups(RowGroups(members, names), np.zeros(n_groups), np.zeros(n_groups, bool)))
    assert ("And 1 more." in text) == (n_groups == 51)


def test_rows_without_a_group_do_not_count():
    scores = np.array([np.nan, -np.inf, 1.0, -7.0])
    table = gather_groups(RowGroups(np.array([0, 1, 1, -1]), ["a", "b"]), scores, scores < 0)
    assert [(row.name, row.n_rows, row.n_flagged) for row in table.rows] == [("b", 2, 1), ("a", 1, 0)]
    text = section(report_of(table), "groups")
    assert "−∞" in text
    assert "nan" not in text
    assert gather_groups(RowGroups(np.array([-1]), []), np.zeros(1), np.zeros(1, bool)) is None


def test_hostile_groups_are_text():
    names = [*HOSTILE, "x" * 10_000]
    groups = RowGroups(np.arange(len(names)), names, by=HOSTILE[0], new=names)
    text = report_of(gather_groups(groups, np.arange(len(names), dtype=float), np.zeros(len(names), bool)))
    assert not Outline(text).crossed
    assert Outline(text).tags.count("script") == 2
    assert rows_of(text)[0][0] == f"{HOSTILE[0]} new"
    assert max(len(row[0]) for row in rows_of(text)) <= 80 + len(" new")
    assert "⟨U+202E⟩" in section(text, "groups")


def test_no_groups_no_section():
    text = render_report(plain_content())
    assert not section(text, "groups")
    assert "#groups" not in text
    assert section(report_of(GroupTable("shop", (), 0)), "groups")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups")
    sensors(("pump 1", "pump 2", "pump 3"), odd="pump 2").to_csv(folder / "machines.csv", index=False)
    return folder


def test_the_machine_with_odd_rows_comes_first(folder):
    assert main(["detect", str(folder / "machines.csv"), "--time", "when", "--by", "machine", "-q"]) == 0
    text = (folder / "machines.report.html").read_text()
    found = rows_of(text)
    assert found[0][0] == "pump 2"
    assert sorted(row[0] for row in found) == ["pump 1", "pump 2", "pump 3"]
    assert [row[1] for row in found] == ["1,440"] * 3
    flagged = re.search(r"<b>([\d,]+)</b> of [\d,]+ rows flagged", text).group(1)
    assert sum(int(row[2].replace(",", "")) for row in found) == int(flagged.replace(",", ""))
    names = re.findall(r'<section id="([\w-]+)"', text)
    assert names[:4] == ["scores", "time", "groups", "top-rows"]


def test_groups_that_training_did_not_have_are_new(folder):
    known = sensors(("pump 1", "pump 3"), odd="none")
    model, table = str(folder / "model.oddatom"), str(folder / "new.csv")
    known.to_csv(folder / "known.csv", index=False)
    assert main(["fit", str(folder / "known.csv"), "--by", "machine", "--ignore", "when", "-m", model, "-q"]) == 0
    known.assign(machine=np.where(known.machine == "pump 3", "pump 9", known.machine)).to_csv(table, index=False)
    assert main(["report", model, table, "-o", str(folder / "new.html"), "-q"]) == 0
    text = (folder / "new.html").read_text()
    assert sorted(row[0] for row in rows_of(text)) == ["pump 1", "pump 9 new"]
    assert not section(text, "time")
