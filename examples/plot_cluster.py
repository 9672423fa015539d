"""
The same fit on a cluster
=========================

Rows that are spread over workers are fitted where they are: the driver sends small questions and adds up the answers.
Here two workers of a Dask cluster inside this process hold the pixels of a photograph that comes with scikit-learn,
so that it can be tried anywhere; a real cluster differs by one line. The result is that of the fit in memory, to
rounding.
"""

# %%
# Rows: patches of a photograph
# -----------------------------
# A picture of a temple in China. Every 4 × 4 patch of it is a row of 48 numbers: which patches are unlike the rest?

import logging

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import load_sample_image

from oddatom import DLOCSVM

image = load_sample_image("china.jpg")[:424, :640]
height, width = image.shape[0] // 4, image.shape[1] // 4
patches = image.reshape(height, 4, width, 4, 3).swapaxes(1, 2).reshape(height * width, 48).astype(float)
print(f"{patches.shape[0]:,} rows × {patches.shape[1]} features")

settings = {"n_atoms": 12, "n_nonzero": 3, "beta": 0.01, "scoring": "residual", "init": "data", "random_state": 0}
here = DLOCSVM.paper(**settings).fit(patches)

# %%
# On the cluster
# --------------
# A Dask array goes into ``fit`` as an array does. ``Client("scheduler-address:8786")`` would take the cluster that is
# there; rows would come from files, for instance by ``dask.dataframe.read_parquet``, and never be in this process.

cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=logging.ERROR
)
client = Client(cluster)
rows = da.from_array(patches, chunks=(4240, 48))
there = DLOCSVM.paper(**settings).fit(rows)
lazy = there.score_samples(rows)  # as lazy as the rows; workers score theirs
scores = lazy.compute()
client.close()
cluster.close()

alike = np.abs(scores - here.score_samples(patches)).max() / np.abs(scores).max()
print(f"{type(lazy).__module__.split('.')[0]} array in, {type(lazy).__name__} of scores out")
print(f"largest difference from the fit in memory: {alike:.0e} of the largest score")

# %%
# What travelled
# --------------
# ``history_`` counts what the driver asked for, iteration by iteration. The number of rounds does not depend on the
# number of rows, nor does what an atom's question carries; rows themselves stay where they are, but for those nearest
# the SVM's margin.

history = there.history_
figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
iterations = np.arange(len(history["total"]))
axes[0].plot(iterations, history["total"], marker="o", color="C0")
axes[0].set(title="objective", xlabel="iteration")
axes[1].bar(iterations, history["rounds"], color="0.6")
axes[1].set(title="rounds", xlabel="iteration")
axes[2].bar(iterations, history["megabytes"], color="0.6")
axes[2].set(title="megabytes", xlabel="iteration")
plt.show()
rounds, megabytes = history["rounds"].sum(), history["megabytes"].sum()
print(f"{rounds:.0f} rounds, {megabytes:.1f} MB, of rows that take {patches.nbytes / 1e6:.1f} MB")

# %%
# And the picture
# ---------------

odd = scores < np.quantile(scores, 0.02)
shown = image / 255 * 0.45 + 0.55
for k in np.flatnonzero(odd):
    i, j = 4 * (k // width), 4 * (k % width)
    shown[i : i + 4, j : j + 4] = image[i : i + 4, j : j + 4] / 255
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
axes[0].imshow(image)
axes[0].set_title("the photograph")
axes[1].imshow(shown)
axes[1].set_title("the oddest 2 % of its patches")
for axis in axes:
    axis.axis("off")
plt.show()

# %%
# Three atoms are enough for a patch of sky, wood or leaves. For the ridges of the roof, narrower than a patch and of
# two colours, they are not, nor for single dark spots among the leaves. The detector knows nothing of temples.
