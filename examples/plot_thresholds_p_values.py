"""
Where to cut, and how sure to be
================================

A ranking needs no threshold; an alarm does. On the breast cancer measurements that come with scikit-learn we compare
the ways to cut, look at p-values, and see when the promise of a false discovery rate holds. Labels are used to check.
"""

# %%
# Rows that are normal, and rows that are not known yet
# -----------------------------------------------------
# The model is fitted to 250 benign cases. New are the other benign ones and some of the malignant: the usual case of
# a machine that was fine so far.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from oddatom import OddAtomDetector

data = load_breast_cancer()
rng = np.random.default_rng(0)
benign = rng.permutation(np.flatnonzero(data.target == 1))
malignant = rng.permutation(np.flatnonzero(data.target == 0))
train, new = data.data[benign[:250]], data.data[np.r_[benign[250:], malignant[:40]]]
is_odd = np.r_[np.zeros(len(benign) - 250, bool), np.ones(40, bool)]
print(f"{len(train)} training rows; {len(new)} new rows, {is_odd.sum()} of them malignant")

detector = OddAtomDetector(random_state=0).fit(train)

# %%
# Four thresholds, one fit
# ------------------------
# ``set_threshold`` changes where a fitted model cuts, and learns nothing anew.

for threshold in ("auto", 0.05, 0.01, ("fdr", 0.1)):
    flagged = detector.set_threshold(threshold).predict(new) == -1
    print(
        f"{threshold!s:12}  flagged {flagged.sum():3d}   malignant {(flagged & is_odd).sum():2d} of {is_odd.sum()}   "
        f"false alarms {(flagged & ~is_odd).sum():2d}"
    )

# %%
# "auto" flags what is odder than a table without anomalies would have; a share flags that many rows like the training
# rows whether they are odd or not; a false discovery rate of 0.1 promises that at most a tenth of the rows
# reported, in expectation, is normal. It reports few: many malignant rows are no odder than some benign ones, and their
# p-values are too large for that promise.
#
# p-values
# --------
# A p-value says how often a row like the training rows would be as odd. Those of normal new rows should be spread
# evenly over 0 to 1, so that a share t of them lies below t. That is the promise that a score alone does not make.

p = detector.p_values(new)
grid = np.linspace(0, 1, 201)
scores = detector.score_samples(new)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
bins = np.linspace(scores.min(), scores.max(), 40)
left.hist(
    [scores[~is_odd], scores[is_odd]], bins=bins, stacked=True, color=["0.7", "C3"], label=["benign", "malignant"]
)
for threshold, style in (("auto", "--"), (0.05, ":")):
    left.axvline(
        detector.set_threshold(threshold).offset_,
        color="black",
        linestyle=style,
        linewidth=1,
        label=f"threshold {threshold}",
    )
left.set(xlabel="score (lower = odder)", ylabel="new rows")
left.legend(fontsize=9)
right.plot(grid, [(p[~is_odd] <= t).mean() for t in grid], color="0.4", label="benign")
right.plot(grid, [(p[is_odd] <= t).mean() for t in grid], color="C3", label="malignant")
right.plot([0, 1], [0, 1], color="black", linestyle="--", linewidth=1, label="what is promised for normal rows")
right.set(xlabel="t", ylabel="share of rows with p ≤ t")
right.legend(loc="lower right", fontsize=9)
plt.show()

# %%
# Does the promise hold, and when not?
# ------------------------------------
# Fifteen times: draw other training rows, report by ("fdr", 0.1), count false alarms among the reports. Once with
# clean training rows, once with malignant ones among them.


def one_draw(seed, contamination):
    """Return the share of false alarms among the rows reported, and the share of the malignant that are reported."""
    rng = np.random.default_rng(seed)
    usual, odd = rng.permutation(benign), rng.permutation(malignant)
    k = round(contamination * 250)
    model = OddAtomDetector(threshold=("fdr", 0.1), random_state=0)
    model.fit(data.data[np.r_[usual[: 250 - k], odd[:k]]])
    rows = data.data[np.r_[usual[250:], odd[-40:]]]
    reported = model.predict(rows) == -1
    n_usual = len(usual) - 250
    return reported[:n_usual].sum() / max(reported.sum(), 1), reported[n_usual:].mean()


results = {share: np.array([one_draw(seed, share) for seed in range(15)]) for share in (0.0, 0.02, 0.1)}
for share, result in results.items():
    false, found = result.mean(axis=0)
    print(f"{share:4.0%} malignant in training: {false:.3f} false among reports, {found:.2f} of the malignant found")

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
names = [f"{share:.0%}" for share in results]
for axis, column, title in zip(axes, (0, 1), ("false alarms among the reports", "malignant rows found"), strict=True):
    axis.boxplot(
        [result[:, column] for result in results.values()], tick_labels=names, widths=0.5, medianprops={"color": "C3"}
    )
    axis.set(title=title, xlabel="malignant rows in training")
axes[0].axhline(0.1, color="black", linestyle="--", linewidth=1)
plt.show()

# %%
# The promise is kept on average, not in each draw. Anomalies in the training rows make p-values larger: the procedure
# becomes cautious and, with enough of them, silent. It is made for training rows that are known to be fine. Where
# they are not, take a share, or work down the ranking.
