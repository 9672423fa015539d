"""
What if the data change slowly?
===============================

A camera reads the digits 0 to 4 from cards, and its lamp grows dim: from one day to the next nobody would notice, but
after seven weeks images are less than half as bright. A detector that was fitted once takes that for an anomaly. One
that is shown every new batch with ``partial_fit`` moves along. Now and then there is a stray, a digit from 5 to 9.
Nobody labels anything; labels serve to check.
"""

# %%
# The stream
# ----------
# Eight batches of real images (scikit-learn's digits), each a little darker than the one before.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from oddatom import OddAtomDetector

n_batches, n_normal, n_strays = 8, 110, 10
images, digit = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
normal, strays = rng.permutation(np.flatnonzero(digit <= 4)), rng.permutation(np.flatnonzero(digit > 4))
lamp = np.linspace(1.0, 0.4, n_batches)
is_stray = np.repeat([False, True], [n_normal, n_strays])


def batch(k):
    kept = normal[k * n_normal : (k + 1) * n_normal], strays[k * n_strays : (k + 1) * n_strays]
    return lamp[k] * images[np.concatenate(kept)]


figure, axes = plt.subplots(1, n_batches, figsize=(8, 1.3), layout="constrained")
for k, axis in enumerate(axes):
    axis.imshow(batch(k)[0].reshape(8, 8), "gray", vmin=0, vmax=16)
    axis.set_title(f"week {k}", fontsize=9)
    axis.axis("off")

# %%
# Score first, then learn
# -----------------------
# Every batch is judged by both detectors before either has seen it. The first was fitted to week 0. The second learns
# from each batch afterwards, strays and all: the ensemble leaves out what surprises it. ``decay=0.6`` lets six in ten
# of the rows it remembers stay when a batch comes, so that a row of a weeks ago counts 0.6ᵃ.

fixed = OddAtomDetector(random_state=0).fit(batch(0))
moving = OddAtomDetector(random_state=0).partial_fit(batch(0))  # the same: a first batch is a fit

detectors = {"fitted once": fixed, "partial_fit": moving}
auroc = {name: [] for name in detectors}
alarms = {name: [] for name in detectors}
for k in range(1, n_batches):
    rows = batch(k)
    for name, detector in detectors.items():
        auroc[name].append(roc_auc_score(~is_stray, detector.score_samples(rows)))
        alarms[name].append(np.mean(detector.predict(rows)[~is_stray] == -1))
    moving.partial_fit(rows, decay=0.6)
    print(f"week {k}, {len(moving.memory_.rows)} images remembered", end="")
    print("".join(f"; {name}: AUROC {auroc[name][-1]:.2f}, false alarms {alarms[name][-1]:.0%}" for name in detectors))

# %%
# What the lamp did
# -----------------
# The detector that was fitted once confuses dark with strange: its ranking gets worse, and in the end it reports nearly
# every good image. The other one keeps up with the lamp. What goes up and down with the weeks is chance: a batch has
# ten strays.

weeks = np.arange(1, n_batches)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for name, marker in zip(detectors, "sv", strict=True):
    left.plot(weeks, auroc[name], marker=marker, label=name)
    right.plot(weeks, 100 * np.array(alarms[name]), marker=marker, label=name)
left.set(xlabel="week", ylabel="AUROC of strays", ylim=(0.5, 1.0))
right.set(xlabel="week", ylabel="good images reported, %", ylim=(0, None))
left.legend()

# %%
# A detector can only follow what is slow. A fault that lasts becomes normal within some 1/(1 − decay) batches: choose
# ``decay`` by how long a change may last before it counts as the new normal, and look at what was reported until then.
# `DLOCSVM` has the same method; there the next fit begins with the dictionary of the last.
#
# What is remembered is bounded (at most 20,000 rows), travels with pickled and saved models, and is in ``memory_``:

memory = moving.memory_
print(f"{memory.n_batches} batches, {len(memory.rows)} of {memory.n_batches * is_stray.size} images remembered")
