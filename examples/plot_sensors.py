"""
Which readings of a sensor are wrong?
=====================================

Four electrodes, 800 readings each: the EEG recording that comes with matplotlib. Nobody has labelled it. We add three
faults of the kind that sensors have, to see what is found: one electrode is stuck, another has a single spike, and
two plugs are swapped for a while. The recording may hold oddities of its own, and does.
"""

# %%
# The readings
# ------------
# Their unit is not told: each sensor has a deviation of one.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.cbook import get_sample_data

from oddatom import OddAtomDetector

with get_sample_data("eeg.dat") as file:
    readings = np.frombuffer(file.read()).reshape(-1, 4).copy()
sensors = ["A", "B", "C", "D"]

readings[150:168, 1] = readings[150, 1]  # B is stuck
readings[332, 2] += 4  # C has a spike
readings[420:440, [0, 3]] = readings[420:440, [3, 0]]  # A and D are swapped
faults = {"stuck": (150, 168), "spike": (332, 333), "swapped": (420, 440)}

# %%
# From readings to rows
# ---------------------
# A detector takes rows, so every window of ten readings becomes one: level, spread and largest step of each sensor. A
# stuck sensor has usual values; that they do not change is what is odd, and only the last two say so. What a row does
# not say, no detector sees.

window, hop = 10, 5
starts = np.arange(0, len(readings) - window + 1, hop)
windows = np.stack([readings[start : start + window] for start in starts])
columns = {}
for k, sensor in enumerate(sensors):
    values = windows[:, :, k]
    columns[f"level {sensor}"] = values.mean(axis=1)
    columns[f"spread {sensor}"] = np.log(values.std(axis=1) + 1e-3)
    columns[f"step {sensor}"] = np.log(np.abs(np.diff(values, axis=1)).max(axis=1) + 1e-3)
rows = pd.DataFrame(columns, index=pd.Index(starts, name="start"))

# %%
# The oddest windows
# ------------------
# The lowest contributions say which sensor, and what about it.

detector = OddAtomDetector(random_state=0).fit(rows)
scores = pd.Series(detector.score_samples(rows), index=rows.index)
shares = detector.explain(rows).contributions
for start in scores.nsmallest(8).index:
    reasons = ", ".join(f"{name} {value:.2f}" for name, value in shares.loc[start].nsmallest(2).items())
    print(f"readings {start:3d} to {start + window:3d}  score {scores[start]:5.2f}   {reasons}")

# %%
# The two windows inside the stuck stretch are among the first six, by the step and the spread of B. The other four
# nobody put there: bursts on all electrodes around readings 530 and 685. Whether these are artefacts or the signal
# itself is a question for whoever knows the recording. The spike comes seventh, by the step of its own sensor. The
# swapped plugs are not found: A and D are about equally lively, so these windows look like any others.

figure, axes = plt.subplots(5, 1, figsize=(9, 7), sharex=True, height_ratios=[1, 1, 1, 1, 1.3], layout="constrained")
for k, sensor in enumerate(sensors):
    axes[k].plot(readings[:, k], color="0.25", linewidth=0.8)
    axes[k].set_ylabel(sensor, rotation=0, labelpad=12)
    axes[k].set_yticks([])
axes[4].step(scores.index, scores, where="post", color="C0")
axes[4].axhline(detector.offset_, color="black", linestyle="--", linewidth=1)
axes[4].annotate(
    "threshold", (800, detector.offset_), xytext=(0, 3), textcoords="offset points", ha="right", fontsize=9
)
axes[4].set(xlabel="reading", ylabel="score", xlim=(0, 800))
for name, (start, stop) in faults.items():
    for axis in axes:
        axis.axvspan(start, max(stop, start + 3), color="C3", alpha=0.2, linewidth=0)
    axes[0].annotate(
        name, (start, 1), xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points", color="C3"
    )
for start in scores.index[scores < detector.offset_]:
    axes[4].axvspan(start, start + window, color="C0", alpha=0.15, linewidth=0)
figure.suptitle("Faults put in (red), windows flagged (blue)")
plt.show()

# %%
# The ranking is what to work through; "auto" says where it is sure, and where to stop is up to whoever looks.
