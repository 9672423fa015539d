"""The section "Over time": what it draws, and where."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from time_contents import (
    HOUR,
    PLANTED,
    SPIKE,
    dots,
    drawings,
    hostile_time_content,
    section,
    sensors,
    share,
    time_content,
)

from oddatom.cli import main
from oddatom.report import RowGroups, RowTimes, TopRow, render_report
from oddatom.report.limits import Limits
from oddatom.report.over_time import Reason, find_reasons, gather_over_time, put_in_bins
from oddatom.report.time_figures import TALL, WIDE, score_plot
from oddatom.report.top_rows import top_rows
from report_contents import HOSTILE, Outline, plain_content

WINDOW = 24  # of hourly rows


class Found:
    """A report of the command line, and the rows it is about."""

    def __init__(self, folder, table, *words):
        table.to_csv(folder / "table.csv", index=False)
        assert main(["detect", str(folder / "table.csv"), "-q", "--explain-all", *words]) == 0
        self.table = table
        self.text = (folder / "table.report.html").read_text()
        self.rows = pd.read_csv(folder / "table.anomalies.csv")
        self.drawings = drawings(self.text)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return Found(tmp_path_factory.mktemp("time"), sensors(), "--time")


@pytest.fixture(scope="module")
def by_machine(tmp_path_factory):
    table = sensors(("pump 1", "pump 2", "pump 3", "pump 4"), odd="pump 3")
    table.loc[7, "temp"] = np.nan
    return Found(tmp_path_factory.mktemp("machines"), table, "--time", "when", "--by", "machine")


def ranks(drawing):
    """The places of the numbered marks by their numbers."""
    return {
        int(text.text): (share(text.get("x")), share(text.get("y")))
        for text in drawing.iter("text")
        if text.get("class").split()[0] == "rank"
    }


def circles(drawing):
    """The places of the marks, the first of them last."""
    return [(share(one.get("cx")), share(one.get("cy"))) for one in drawing.iter("circle")]


def heights(drawing):
    """Return what a height in a drawing stands for, by its ticks."""
    ticks = [text for text in drawing.iter("text") if text.get("class") == "tick" and text.get("text-anchor") == "end"]
    values = [float(text.text.replace("−", "-").replace(",", "")) for text in ticks]
    slope, start = np.polyfit([share(text.get("y")) for text in ticks], values, 1)
    return lambda y: start + slope * y


def captions(text):
    found = re.findall(r"<figcaption>(.*?)</figcaption>", section(text, "time"), re.DOTALL)
    return [re.sub(r"<[^>]+>", "", one).replace("\xa0", " ") for one in found]


def test_the_section_follows_the_scores(found):
    names = re.findall(r'<section id="([\w-]+)"', found.text)
    assert names[:3] == ["scores", "time", "top-rows"]
    assert re.findall(r'<li><a href="#([\w-]+)">', found.text) == names
    assert not Outline(found.text).crossed


def test_the_planted_rows_are_numbered_first(found):
    first = [int(re.search(r"Row ([\d,]+)", one).group(1).replace(",", "")) - 1 for one in captions(found.text)[:3]]
    assert all(any(row in planted for row in first) for planted in PLANTED)
    places = ranks(found.drawings[0])
    assert {1, 2, 3} <= set(places)
    for rank, row in enumerate(first, 1):
        assert places[rank][0] == pytest.approx(row / (len(found.table) - 1), abs=1e-3)


def test_every_flagged_row_is_marked_at_its_time_and_score(found):
    flagged = np.flatnonzero(found.rows.is_anomaly)
    places = np.array(dots(found.drawings[0]))
    assert len(places) == flagged.size > 20
    assert_allclose(places[:, 0], flagged / (len(found.rows) - 1), atol=1e-3)
    assert_allclose(heights(found.drawings[0])(places[:, 1]), found.rows.score[flagged], atol=0.1)


def test_odd_rows_that_are_not_flagged_are_open(found):
    rows = [int(re.search(r"Row ([\d,]+)", one).group(1).replace(",", "")) - 1 for one in captions(found.text)]
    expected = ["top" if found.rows.is_anomaly[row] else "top open" for row in rows]
    assert set(expected) == {"top", "top open"}
    assert [one.get("class") for one in found.drawings[0].iter("circle")] == expected[::-1]
    assert [one.get("class") for drawing in found.drawings[1:] for one in drawing.iter("circle")] == expected
    assert "k-open" in section(found.text, "time")


def test_the_threshold_parts_flagged_rows_from_others(found):
    (line,) = [line for line in found.drawings[0].iter("line") if line.get("class") == "threshold"]
    said = float(re.search(r"The threshold is (−[\d.]+)\.", found.text).group(1).replace("−", "-"))
    assert heights(found.drawings[0])(share(line.get("y1"))) == pytest.approx(said, abs=0.05)
    assert line.get("y1") == line.get("y2")
    assert (line.get("x1"), line.get("x2")) == ("0", "100%")


def test_times_have_dates(found):
    ticks = [text for text in found.drawings[0].iter("text") if text.get("text-anchor") == "middle"]
    days = {text.text: share(text.get("x")) for text in ticks if text.get("class") == "tick"}
    assert list(days) == ["2024-01-08", "2024-01-22", "2024-02-05", "2024-02-19"]
    assert days["2024-01-22"] == pytest.approx(21 * 24 / (60 * 24 - 1), abs=1e-3)


def test_captions_say_what_makes_a_row_odd(found):
    (spike,) = [one for one in captions(found.text) if "Row 484," in one]
    why = found.rows.top_features[SPIKE[0]].split(",")[0]
    assert re.fullmatch(rf"\d+ Row 484, 2024-01-21 03:00{re.escape(why)}; value 70.0", spike)
    assert len(captions(found.text)) == 12
    ago = [one for one in captions(found.text) if " ago" in one]
    assert len(ago) < 3  # those are listed that others are due to
    for one in ago:
        row = int(re.search(r"Row ([\d,]+)", one).group(1).replace(",", ""))
        assert found.rows.top_features[row - 1].endswith(f"; {re.search('[0-9,]+ rows? ago', one).group()}")
        assert "value" not in one  # that of the row is not the odd one
    assert found.rows.top_features.str.contains(" ago").any()
    assert [("not flagged" in one) for one in captions(found.text)] == [
        not found.rows.is_anomaly[int(re.search(r"Row ([\d,]+)", one).group(1).replace(",", "")) - 1]
        for one in captions(found.text)
    ]


def test_the_rows_around_the_spike(found):
    number = next(k for k, one in enumerate(captions(found.text)) if "Row 484," in one)
    drawing, row = found.drawings[1 + number], SPIKE[0]
    value = heights(drawing)
    ((x, y),) = circles(drawing)
    assert x == pytest.approx(WINDOW / (WINDOW + WINDOW // 2), abs=1e-3)
    assert value(y) == pytest.approx(70.0, abs=0.3)
    (level,) = [line for line in drawing.iter("line") if line.get("class") == "level"]
    assert value(share(level.get("y1"))) == pytest.approx(found.table.flow[row - WINDOW : row].median(), abs=0.3)
    assert share(level.get("x2")) == pytest.approx(x, abs=1e-3)
    (path,) = [path.get("d") for path in drawing.iter("path") if path.get("class") == "line"]
    drawn = [int(y) / 400 for y in re.findall(r"[ML]\d+ (\d+)", path)]
    assert path.count("M") == 1
    assert_allclose(value(np.array(drawn)), found.table.flow[row - WINDOW : row + WINDOW // 2 + 1], atol=0.4)
    around = np.arange(row - WINDOW, row + WINDOW // 2 + 1)
    flagged = around[found.rows.is_anomaly[around]]
    places = np.array(dots(drawing))
    assert_allclose(places[:, 0], (flagged - around[0]) / (around.size - 1), atol=1e-3)
    assert_allclose(value(places[:, 1]), found.table.flow[flagged], atol=0.4)


def test_the_table_of_odd_rows_is_by_episode(found):
    table = section(found.text, "top-rows")
    rows = [int(row) for row in re.findall(r'<th scope="row" class="n" data-v="(\d+)">', table)]
    gaps = np.diff(np.sort(rows))
    assert (gaps > WINDOW).all()
    assert rows[0] - 1 == found.rows.score.idxmin()
    assert "One row of each episode is listed" in table
    cells = re.findall(r'<td class="t why">(.*?)</td>', table, re.DOTALL)
    for row, cell in zip(rows, cells, strict=True):  # the same as in the file of the command
        why, _, ago = found.rows.top_features[row - 1].partition("; ")
        assert why.startswith(re.search("<bdi>(.*?)</bdi>", cell).group(1))
        assert re.findall("<small>(.*?)</small>", cell.replace("\xa0", " ")) == ([ago] if ago else [])
    heads = re.findall(r'<th scope="col" class="cell .">.*?<bdi>(.*?)</bdi>', table)
    assert heads == ["when", "flow", "temp"]


def test_groups_are_series_of_their_own(by_machine):
    text = section(by_machine.text, "time")
    assert "The line is the lowest score of the 4 groups at a time." in text
    flagged = by_machine.rows[by_machine.rows.is_anomaly]
    lowest = flagged.groupby("when").score.min()
    places = np.array(dots(by_machine.drawings[0]))
    hours = (pd.to_datetime(lowest.index) - pd.Timestamp("2024-01-01")).total_seconds() / 3600
    assert len(places) == len(lowest) > 10
    assert_allclose(places[:, 0], hours / (60 * 24 - 1), atol=1e-3)
    assert_allclose(heights(by_machine.drawings[0])(places[:, 1]), lowest, atol=0.1)
    (path,) = [path.get("d") for path in by_machine.drawings[0].iter("path") if path.get("class") == "line"]
    every = by_machine.rows.groupby("when").score.min()
    drawn = np.array([int(y) / 400 for y in re.findall(r"[ML]\d+ (\d+)", path)])
    assert "V" not in path
    assert_allclose(heights(by_machine.drawings[0])(drawn), every, atol=0.1)
    assert any(re.match(r"\d+ Row [\d,]+, pump 3, 2024", one) for one in captions(by_machine.text))


def test_small_pictures_have_the_rows_of_one_group(by_machine):
    drawn = 0
    for caption, drawing in zip(captions(by_machine.text), by_machine.drawings[1:], strict=True):
        row = int(re.search(r"Row ([\d,]+)", caption).group(1).replace(",", "")) - 1
        column = re.search(r"\d\d:\d\d(flow|temp)", caption).group(1)
        table = by_machine.table
        own = table[table.machine == table.machine[row]]
        at = own.index.get_loc(row)
        values = own[column].iloc[max(at - WINDOW, 0) : at + WINDOW // 2 + 1].dropna()
        (path,) = [path.get("d") for path in drawing.iter("path") if path.get("class") == "line"]
        y = np.array([int(y) / 400 for y in re.findall(r"[ML]\d+ (\d+)", path)])
        assert_allclose(heights(drawing)(y), values, atol=0.02 * np.ptp(values))
        drawn += 1
    assert drawn == 12


def test_without_times_and_groups_there_is_nothing_of_it(tmp_path):
    table = sensors().drop(columns="when")
    plain = Found(tmp_path, table)
    assert not section(plain.text, "time")
    assert not section(plain.text, "groups")
    assert "#time" not in plain.text
    assert "#groups" not in plain.text
    assert "episode" not in plain.text
    assert " ago" not in section(plain.text, "top-rows")
    assert re.findall(r'<section id="([\w-]+)"', plain.text)[:2] == ["scores", "top-rows"]


# What is drawn of the scores.


@pytest.mark.parametrize("n", [1, 2, 50, 400, 3000])
@pytest.mark.parametrize("same", [False, True])
def test_bins_hold_the_lowest_and_the_highest(n, same):
    rng = np.random.default_rng(n)
    times = np.sort(rng.integers(0, 5 * n, n).astype(float) if same else rng.uniform(0, 1e15, n))
    values, flagged, most = rng.normal(size=n), rng.uniform(size=n) < 0.05, 100
    bins, each = put_in_bins(times, values, flagged, np.inf, most)
    own = np.unique(times).size <= most
    assert each == own
    width = (times[-1] - times[0]) / most
    column = times if own else np.minimum((times - times[0]) // width, most - 1)
    assert bins.times.size <= most
    assert_array_equal(bins.times, [times[column == k].min() for k in np.unique(column)])
    assert_array_equal(bins.lowest, [values[column == k].min() for k in np.unique(column)])
    assert_array_equal(bins.highest, [values[column == k].max() for k in np.unique(column)])
    marked = [min(values[(column == k) & flagged], default=np.nan) for k in np.unique(column)]
    assert_array_equal(bins.marked, marked)
    assert_array_equal(bins.starts, np.arange(bins.times.size) == 0)


def test_a_gap_starts_the_line_anew():
    times = np.array([0.0, 1.0, 2.0, 50.0, 51.0, 200.0])
    bins, _ = put_in_bins(times, np.zeros(6), np.zeros(6, bool), 40.0, 100)
    assert_array_equal(bins.starts, [True, False, False, True, False, True])
    coarse, each = put_in_bins(times, np.zeros(6), np.zeros(6, bool), 60.0, 3)
    assert not each
    assert_array_equal(coarse.starts, [True, True])


def gathered(times, scores, flagged, groups=None, drawn=None, window=4, gap=np.inf, dates=True, column="x", n_top=3):
    listed = np.argsort(scores, kind="stable")[:n_top]
    top = [TopRow(int(j), k + 1, float(scores[j]), None, bool(flagged[j])) for k, j in enumerate(listed)]
    reasons = [Reason(f"{column}: jump", 0.8, column, "cell")] * len(top)
    rows = RowTimes(np.asarray(times, float), dates, window, gap)
    return gather_over_time(rows, groups, scores, flagged, listed, top, reasons, drawn or {})


def test_a_million_rows_keep_every_column_with_a_flagged_row():
    rng = np.random.default_rng(0)
    N = 1_000_000
    times, scores = np.sort(rng.uniform(0, 1e15, N)), rng.normal(size=N)
    flagged = np.zeros(N, bool)
    flagged[rng.choice(N, 700, replace=False)] = True
    over = gathered(times, scores, flagged, drawn={"x": scores}, window=100_000, n_top=12)
    columns = np.unique(np.minimum((times[flagged] - times[0]) * 2000 // (times[-1] - times[0]), 1999))
    assert np.count_nonzero(~np.isnan(over.bins.marked)) == columns.size > 500
    text = render_report(dataclasses.replace(plain_content(), over_time=over))
    assert len(dots(drawings(text)[0])) == columns.size
    assert len(section(text, "time")) < 400_000
    assert "1,000,000 rows are more than a picture can show" in text


def test_the_rows_around_end_at_gaps_and_at_their_group():
    n = 40
    times = np.arange(2 * n) // 2 * HOUR
    groups = RowGroups(np.arange(2 * n) % 2, ["even", "odd"])
    times[2 * 15 :] += 100 * HOUR  # a gap
    scores = np.zeros(2 * n)
    scores[2 * 18] = -9.0
    values = np.arange(2 * n, dtype=float)
    flagged = scores < -1
    over = gathered(times, scores, flagged, groups, {"x": values}, window=8, gap=8 * HOUR, n_top=1)
    (moment,) = over.moments
    assert (moment.group, over.n_series) == ("even", 2)
    assert_array_equal(moment.around.bins.lowest, np.arange(2 * 15, 2 * 22 + 1, 2))
    assert (moment.around.value, moment.around.level) == (36.0, 32.0)
    assert_array_equal(moment.around.bins.marked, [36.0 if v == 36 else np.nan for v in moment.around.bins.lowest])
    far = gathered(times, scores, flagged, groups, {"x": values}, window=8, n_top=1).moments[0].around
    assert_array_equal(far.bins.lowest, np.arange(2 * 10, 2 * 22 + 1, 2))


def test_groups_that_are_flagged_at_one_time_have_one_mark_at_the_lowest():
    times = HOUR * np.repeat(np.arange(30), 3)
    scores = np.linspace(0.0, 1.0, 90)
    scores[[31, 32, 60]] = [-5.0, -7.0, -6.0]  # the first two at one time
    groups = RowGroups(np.tile([0, 1, 2], 30), ["a", "b", "c"])
    over = gathered(times, scores, scores < -1, groups)
    assert_array_equal(np.flatnonzero(~np.isnan(over.bins.marked)), [10, 20])
    assert_array_equal(over.bins.marked[[10, 20]], [-7.0, -6.0])
    assert_array_equal(over.bins.lowest, scores.reshape(30, 3).min(axis=1))
    assert_array_equal(over.bins.highest, over.bins.lowest)
    alone = gathered(times, scores, scores < -1)
    assert_array_equal(alone.bins.highest, scores.reshape(30, 3).max(axis=1))


def test_rows_come_in_any_order():
    rng = np.random.default_rng(0)
    times, scores, values = HOUR * np.arange(300), rng.normal(size=300), rng.normal(size=300)
    flagged = scores < -2
    shuffled = rng.permutation(300)
    straight = gathered(times, scores, flagged, drawn={"x": values})
    other = gathered(times[shuffled], scores[shuffled], flagged[shuffled], drawn={"x": values[shuffled]})
    for name in ("times", "lowest", "highest", "marked"):
        assert_array_equal(getattr(straight.bins, name), getattr(other.bins, name))
    for one, two in zip(straight.moments, other.moments, strict=True):
        assert_array_equal(one.around.bins.lowest, two.around.bins.lowest)
        assert one.around.level == two.around.level


def test_missing_values_are_gaps():
    values = np.arange(20.0)
    values[[4, 9]] = np.nan, np.inf
    scores = np.where(np.arange(20) == 9, -9.0, 0.0)
    over = gathered(HOUR * np.arange(20), scores, scores < -1, drawn={"x": values}, window=8, n_top=1)
    around = over.moments[0].around
    assert np.isnan(around.value)
    assert around.level == 5.0  # of 1, 2, 3, 5, 6, 7, 8
    text = render_report(dataclasses.replace(plain_content(), over_time=over))
    small = drawings(text)[1]
    (path,) = [path.get("d") for path in small.iter("path") if path.get("class") == "line"]
    assert [part.count("L") + 1 for part in path.split("M")[1:]] == [3, 4, 4]
    assert not dots(small, "line")
    assert not circles(small)
    assert not dots(small)
    assert [line.get("x1") for line in small.iter("line") if line.get("class") == "row"] == ["66.67%"]
    assert "nan" not in section(text, "time").lower()


def test_a_value_between_missing_ones_is_a_dot():
    values = np.arange(20.0)
    values[[4, 6]] = np.nan
    scores = np.where(np.arange(20) == 9, -9.0, 0.0)
    over = gathered(HOUR * np.arange(20), scores, scores < -1, drawn={"x": values}, window=8, n_top=1)
    text = render_report(dataclasses.replace(plain_content(), over_time=over))
    ((x, _),) = dots(drawings(text)[1], "line")
    assert x == pytest.approx(4 / 12, abs=1e-3)  # rows 1 to 13


@pytest.mark.parametrize("drawn", [{}, {"y": np.arange(20.0)}, {"x": np.full(20, np.nan)}])
def test_columns_without_numbers_have_a_caption_alone(drawn):
    scores = np.where(np.arange(20) == 9, -9.0, 0.0)
    over = gathered(HOUR * np.arange(20), scores, scores < -1, drawn=drawn, n_top=1)
    text = render_report(dataclasses.replace(plain_content(), over_time=over))
    assert len(drawings(text)) == 1
    assert captions(text) == ["1 Row 9, 1970-01-01 09:00x: jump 80 %; value cell"]


@pytest.mark.parametrize("kind", ["text", "ignored", "id"])
def test_columns_that_are_not_numbers_or_not_shown_are_not_drawn(tmp_path, kind):
    table = sensors()
    hours = np.arange(len(table))
    extra = {
        "text": np.where((hours % 24 >= 6) & (hours % 24 < 18) | (hours == 700), "day", "night"),
        "ignored": [f"{987_000_000 + k}" for k in hours],
        "id": [f"SECRET-{k}" for k in hours],
    }
    words = {"text": [], "ignored": ["--ignore", "extra"], "id": ["--id", "extra"]}
    found = Found(tmp_path, table.assign(extra=extra[kind]), "--time", "when", *words[kind])
    drawn = re.findall(r'<p class="drawn"><bdi>(.*?)</bdi>', found.text)
    assert drawn
    assert set(drawn) <= {"flow", "temp"}
    if kind == "text":
        (caption,) = [one for one in captions(found.text) if "Row 701," in one]
        assert re.search(r"2024-01-30 04:00extra \d+ %; value day", caption)
        assert len(drawn) == sum("extra" not in one for one in captions(found.text)) < 12
    else:
        assert "SECRET" not in found.text
        assert "987000" not in found.text


@pytest.mark.parametrize(
    ("times", "dates"),
    [
        (HOUR * np.arange(50), True),
        (np.r_[np.nan, np.inf, HOUR * np.arange(48)], True),
        (np.linspace(-62_135_596_800e6, 253_402_300_800e6 - 1, 50), True),
        (np.r_[1e300, -1e300, np.zeros(48)], True),
        (np.r_[1.7e308, -1.7e308, np.zeros(48)], False),
        (np.zeros(50), True),
        (np.full(50, 0.25), False),
        (np.r_[np.zeros(25), 5e-324 * np.ones(25)], False),
        (1e-9 * np.arange(50), True),
        (-np.arange(50.0), False),
    ],
)
@pytest.mark.parametrize("bad", [None, -np.inf, np.nan, -1e300])
@pytest.mark.filterwarnings("error")
def test_any_times_and_scores_are_drawn(times, dates, bad):
    rng = np.random.default_rng(0)
    scores, values = rng.normal(size=50), rng.normal(size=50)
    flagged = scores < -1.5
    if bad is not None:
        scores[20], values[21], values[20] = bad, np.inf, 1e308
    over = gathered(times, scores, flagged, drawn={"x": values}, dates=dates, n_top=12)
    content = plain_content(scores=scores[~np.isnan(scores)], offset=-1.5)
    text = render_report(dataclasses.replace(content, over_time=over))
    assert not Outline(text).crossed
    assert not re.search(r"\bnan\b|\binf\b", section(text, "time"), re.IGNORECASE)
    for drawing in drawings(text):
        for x, y in [*circles(drawing), *dots(drawing)]:
            assert 0 <= x <= 1
            assert 0 <= y <= 1
    if bad in (-np.inf, -1e300):
        assert "are drawn at the lower edge" in text


def test_a_counter_is_named():
    scores = np.where(np.arange(20) == 9, -9.0, 0.0)
    over = gathered(7 * np.arange(20), scores, scores < -1, dates=False, n_top=1)
    text = render_report(dataclasses.replace(plain_content(), over_time=over))
    assert captions(text) == ["1 Row 9, time 63x: jump 80 %; value cell"]
    assert "from 0 to 133" in section(text, "time")
    assert "k-open" not in section(text, "time")


def test_no_row_with_a_time_is_no_section():
    over = gathered(np.full(5, np.nan), np.zeros(5), np.zeros(5, bool))
    assert over is None
    assert not section(render_report(dataclasses.replace(plain_content(), over_time=over)), "time")


def test_without_a_threshold_there_is_no_line():
    content = time_content()
    with_line = section(render_report(content), "time")
    assert 'class="threshold"' in with_line
    without = section(render_report(dataclasses.replace(content, offset=None)), "time")
    assert "threshold" not in without


@pytest.mark.parametrize("spread", [1.0, 0.3, 0.02])
def test_numbers_do_not_overlap(spread):
    rng = np.random.default_rng(0)
    times, scores = HOUR * np.arange(2000), rng.normal(size=2000)
    odd = (1000 + spread * rng.permutation(np.linspace(-900, 900, 12))).astype(int)
    scores[odd] = -9 + rng.uniform(0, 2, 12)
    over = gathered(times, scores, scores < -5, n_top=12)
    marks = score_plot(over, scores, -5.0, 12).marks
    assert [mark.number for mark in marks] == list(range(1, 13))
    shown = [mark for mark in marks if mark.room != "none"]
    assert len(shown) >= (12 if spread == 1.0 else 3)
    boxes = []
    for mark in shown:
        width = 8 * len(str(mark.number))
        left = share(mark.x) * WIDE + mark.dx - {"start": 0, "middle": width / 2, "end": width}[mark.anchor]
        top = share(mark.y) * TALL + mark.dy - 11
        boxes.append((left, top, left + width, top + 14))
    for k, one in enumerate(boxes):
        for two in boxes[:k]:
            apart = one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
            assert apart


def test_reasons_are_the_largest_shares():
    shares = np.array([[0.2, 0.8], [0.0, 0.0]])
    found = find_reasons(("flow", "flow: jump"), shares, ("flow", "flow"), ("flow", "size"), [("1", "2"), ("3", "4")])
    assert found == [Reason("flow: jump", 0.8, "flow", "1"), Reason("", 0.0, "", "")]
    assert find_reasons((), None, (), ("flow",), [("1",)]) == [Reason("", 0.0, "", "")]


def test_bars_of_views_have_the_value_of_their_column():
    plain = plain_content(n_top=1, n_columns=2)
    shares = np.array([[0.5, 0.3, 0.2]])
    names = ("column 0: jump", "column 0", "column 1")
    content = dataclasses.replace(
        plain,
        contributions=shares,
        contribution_columns=names,
        contribution_sources=("column 0", "column 0", "column 1"),
        top=[dataclasses.replace(plain.top[0], cells=("7.5", "8.5"))],
    )
    (row,) = top_rows(content, Limits()).rows
    assert [(one.name, one.value) for one in row.shares] == list(zip(names, ("7.5", "7.5", "8.5"), strict=True))
    assert row.hot == {"column 0": pytest.approx(0.8), "column 1": 0.2}


# Hostile content.


def test_hostile_names_add_no_element_and_no_attribute():
    text = render_report(hostile_time_content())
    harmless = Outline(render_report(hostile_time_content(tuple(f"text {k}" for k in range(len(HOSTILE))))))
    outline = Outline(text)
    assert not outline.crossed
    assert not outline.open
    assert sorted(outline.tags) == sorted(harmless.tags)
    assert {(tag, name) for tag, name, _ in outline.attributes} == {(t, n) for t, n, _ in harmless.attributes}
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]", text)
    ids = [value for _, attribute, value in outline.attributes if attribute == "id"]
    assert len(ids) == len(set(ids))
    assert {value for _, attribute, value in outline.attributes if attribute == "aria-labelledby"} <= set(ids)
    assert len(drawings(text)) == 12  # parsed as XML


@pytest.mark.parametrize("character", ['"', "\u202e", "<"])
def test_the_largest_content_stays_below_two_megabytes(character):
    long = character * 10_000
    content = time_content(long, (long,), tuple(f"{k}{long}" for k in range(400)))
    content = dataclasses.replace(
        content,
        over_time=dataclasses.replace(
            content.over_time,
            moments=[dataclasses.replace(one, value=long, group=long) for one in content.over_time.moments],
        ),
    )
    text = render_report(content)
    assert len(section(text, "time").encode()) < 150_000
    assert len(section(text, "groups").encode()) < 60_000
    assert "…" in section(text, "time")
    assert text.count('scope="row"') < 200
    n = 400
    full = plain_content(
        n_top=300,
        n_columns=n,
        columns=[f"{c}{long}" for c in range(n)],
        contribution_columns=[f"{c}{long}" for c in range(n)],
        top=[TopRow(k, k + 1, -1.0, 0.1, True, [long] * n, since=k) for k in range(300)],
        warnings=[long] * 500,
        parameters={f"{k}{long}": long for k in range(1000)},
        over_time=content.over_time,
        groups=content.groups,
    )
    document = render_report(full)
    assert len(document.encode()) < 2_000_000
    assert "To keep the file small" in document
