"""
Beside PyOD's detectors
=======================

``oddatom.pyod`` has the detectors as PyOD has its own, so that they can be compared, combined and swapped by name.
Three bundled sets whose labels are known and not shown to any detector; every one at its defaults. Three small sets say
little about detectors in general: for 19 sets see :doc:`/untuned` and :doc:`/learners`.
"""

# %%
# The sets
# --------
# Anomalies are a class that is rare here: malignant cases among benign ones, other digits among zeros, wines of
# another grower.

import matplotlib.pyplot as plt
import numpy as np
from pyod.models.combination import average
from pyod.models.copod import COPOD
from pyod.models.ecod import ECOD
from pyod.models.hbos import HBOS
from pyod.models.iforest import IForest
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from pyod.utils.utility import standardizer
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from oddatom.pyod import DLOCSVM, OddAtom


def rare(data, usual, n_odd, seed):
    """Return all rows of the classes `usual` and a few others, with labels."""
    rng = np.random.default_rng(seed)
    inside = np.isin(data.target, usual)
    others = rng.permutation(np.flatnonzero(~inside))[:n_odd]
    rows = np.r_[np.flatnonzero(inside), others]
    return data.data[rows], (~inside[rows]).astype(int)


sets = {
    "breast cancer": (load_breast_cancer(), [1], 20),
    "digits": (load_digits(), [0], 20),
    "wine": (load_wine(), [0, 1], 8),
}

# %%
# The detectors
# -------------
# PyOD's contract: ``fit``, then ``decision_scores_``, the higher the odder. Rows are standardised for those that
# measure distances; ``OddAtom`` and ``DLOCSVM`` scale by themselves and get the rows as they are.

detectors = {
    "OddAtom": lambda seed: OddAtom(random_state=seed),
    "DLOCSVM": lambda seed: DLOCSVM(random_state=seed),
    "IForest": lambda seed: IForest(random_state=seed),
    "KNN": lambda seed: KNN(),
    "LOF": lambda seed: LOF(),
    "ECOD": lambda seed: ECOD(),
    "COPOD": lambda seed: COPOD(),
    "HBOS": lambda seed: HBOS(),
}
own_scaling = {"OddAtom", "DLOCSVM"}

auroc, precision = (np.zeros((len(detectors), len(sets))) for _ in range(2))
n_draws = 3
for column, (data, usual, n_odd) in enumerate(sets.values()):
    for seed in range(n_draws):
        X, y = rare(data, usual, n_odd, seed)
        for row, (name, make) in enumerate(detectors.items()):
            scaled = X if name in own_scaling else StandardScaler().fit_transform(X)
            scores = make(seed).fit(scaled).decision_scores_
            auroc[row, column] += roc_auc_score(y, scores) / n_draws
            precision[row, column] += average_precision_score(y, scores) / n_draws

# %%
# What came out
# -------------

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for axis, values, title in zip(axes, (auroc, precision), ("AUROC", "average precision"), strict=True):
    table = np.column_stack([values, values.mean(axis=1)])
    axis.imshow(table, cmap="Blues", vmin=0.3 if title == "AUROC" else 0.0, vmax=1.25, aspect="auto")
    best = table.max(axis=0)
    for (row, column), value in np.ndenumerate(table):
        weight = "bold" if value >= best[column] - 0.005 else "normal"
        axis.text(column, row, f"{value:.2f}", ha="center", va="center", fontweight=weight)
    axis.set_xticks(range(len(sets) + 1), [*sets, "mean"])
    axis.set_yticks(range(len(detectors)), list(detectors))
    axis.axvline(len(sets) - 0.5, color="white", linewidth=3)
    axis.tick_params(length=0)
    axis.set_title(f"{title}, mean of {n_draws} draws")
    axis.spines[:].set_visible(False)
plt.show()

# %%
# On these three sets COPOD comes first in the mean, by wine and breast cancer, where anomalies lie in the tails of
# single columns, and HBOS second, for the same reason; ``OddAtom`` and an Isolation Forest are close to each other.
# ``DLOCSVM`` is far behind: it has settings that need choosing, and here nobody chose.
#
# Together
# --------
# An adapter is a PyOD detector: its scores go into PyOD's combinations. On these sets the average of two lies between
# them.

for name, (data, usual, n_odd) in sets.items():
    X, y = rare(data, usual, n_odd, 0)
    columns = [
        OddAtom(random_state=0).fit(X).decision_scores_,
        KNN().fit(StandardScaler().fit_transform(X)).decision_scores_,
    ]
    both = average(standardizer(np.column_stack(columns)))
    alone = [roc_auc_score(y, scores) for scores in columns]
    print(f"{name:14} OddAtom {alone[0]:.3f}   KNN {alone[1]:.3f}   averaged {roc_auc_score(y, both):.3f}")
