"""What the tests of "Over time" and "Groups" share: a table of sensors with odd rows, and content made by hand."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd

from oddatom.report import GroupRow, GroupTable, OddMoment, OverTime, RowsAround, TopRow
from oddatom.report.over_time import put_in_bins
from report_contents import HOSTILE, hostile_content, plain_content

DAY, HOUR = 86_400e6, 3_600e6
SPIKE = range(20 * 24 + 3, 20 * 24 + 4)  # a value of noon at 03:00
STUCK = range(35 * 24 + 5, 35 * 24 + 17)
SHIFT = range(50 * 24, 52 * 24)
PLANTED = (SPIKE, STUCK, SHIFT)


def sensors(machines=(None,), odd=None):
    """60 days of hourly rows with a daily cycle; the machine `odd` has the planted rows."""
    frames = []
    for seed, machine in enumerate(machines):
        rng = np.random.default_rng(seed)
        times = pd.date_range("2024-01-01", periods=24 * 60, freq="h")
        hour = times.hour.to_numpy()
        flow = 50 + 20 * np.sin(2 * np.pi * (hour - 6) / 24) + rng.normal(0, 1, hour.size)
        temp = 20 + 3 * np.sin(2 * np.pi * (hour - 9) / 24) + rng.normal(0, 0.3, hour.size)
        if machine == odd:
            flow[SPIKE] = 70.0
            flow[STUCK] = flow[STUCK[0]]
            temp[SHIFT] += 6.0
        frame = pd.DataFrame({"when": times.strftime("%Y-%m-%d %H:%M"), "flow": flow.round(2), "temp": temp.round(2)})
        frames.append(frame if machine is None else frame.assign(machine=machine))
    return pd.concat(frames).sort_values("when", kind="stable", ignore_index=True)


def bins_of(times, values, flagged):
    return put_in_bins(np.asarray(times, float), np.asarray(values, float), np.asarray(flagged), np.inf, 2000)[0]


def time_content(name="time", reasons=("flow: jump", "flow", "size"), groups=("a", "b", "c"), make=plain_content):
    """Content with all that rows in time and groups have; the fourth of the oddest rows has no picture."""
    plain = make()
    rng = np.random.default_rng(0)
    N = plain.scores.size
    times = 1.7e15 + 3.2 * HOUR * np.arange(N)  # 40 days: as many ticks as there may be
    scores = rng.permutation(plain.scores)
    order = np.argsort(scores)
    values = rng.normal(size=N)
    values[order[1]] = np.nan  # the second of the oddest rows has no value
    moments = []
    for k, j in enumerate(order[:12]):
        rows = slice(max(j - 24, 0), j + 13)
        bins = bins_of(times[rows], values[rows], scores[rows] <= plain.offset)
        reason = reasons[k % len(reasons)]
        around = None if k == 3 else RowsAround(reason, bins, float(values[j]), 0.1)
        row = TopRow(int(j), k + 1, float(scores[j]), None, k < 5, since=k % 3)
        moments.append(OddMoment(row, float(times[j]), groups[0], reason, 0.8, f"{values[j]:.3g}", around))
    over = OverTime(name, True, N, 1, True, bins_of(times, scores, scores <= plain.offset), tuple(moments))
    rows = tuple(GroupRow(group, 100 - k, 60 - 3 * k, -float(k), k == 1) for k, group in enumerate(groups))
    return dataclasses.replace(plain, over_time=over, groups=GroupTable(name, rows, len(rows) + 7))


def hostile_time_content(texts=HOSTILE):
    """The same with a hostile text wherever a text may stand."""
    return time_content(" ".join(texts), texts, texts, make=lambda: hostile_content(texts))


def section(report, name):
    """The text of a section of a report; "" where it has none."""
    found = re.search(rf'<section id="{name}".*?</section>', report, re.DOTALL)
    return found.group() if found else ""


def drawings(report):
    """The drawings of "Over time": the large one, then the small ones."""
    text = section(report, "time")
    # A drawing holds another one, which stretches.
    return [ElementTree.fromstring(one) for one in re.findall(r'<svg role="img".*?</svg>.*?</svg>', text, re.DOTALL)]


def share(text):
    """A place in percent as a share."""
    return float(text.removesuffix("%")) / 100


def dots(drawing, kind="flagged"):
    """The places of the dots of a drawing, as shares of its width and height."""
    (box,) = drawing.findall("svg")
    _, _, width, height = map(float, box.get("viewBox").split())
    paths = [path.get("d") for path in box.iter("path") if path.get("class") == kind]
    return [(int(x) / width, int(y) / height) for path in paths for x, y in re.findall(r"M(\d+) (\d+)h0", path)]
