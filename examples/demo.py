"""Find the strays among handwritten zeros (scikit-learn's bundled digits); labels are only used to check.

Prints the ten most anomalous rows with their scores and writes demo_output/anomalies.png.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from oddatom import DLOCSVM


def main() -> None:
    digits = load_digits()
    rng = np.random.RandomState(0)
    kept = np.flatnonzero((digits.target == 0) | (rng.uniform(size=digits.target.size) < 0.02))
    X, label = digits.data[kept], digits.target[kept]

    print("Fitting. The very first run compiles the kernels, which takes about half a minute; later ones do not.")
    detector = DLOCSVM.paper(n_atoms=64, n_nonzero=12, beta=0.02, nu=0.15, random_state=0).fit(X)
    score = detector.score_samples(X)
    odd = np.argsort(score, kind="stable")[:10]

    print(f"{X.shape[0]} images of 8×8 pixels: {np.sum(label == 0)} zeros and {np.sum(label != 0)} strays.")
    print(
        f"{detector.components_.shape[0]} of {detector.active_atoms_.size} atoms are in use after {detector.n_iter_} "
        f"sweeps; the SVM's duality gap is {detector.gap_:.0e}."
    )
    print("\nThe ten most anomalous rows (the lower the score, the more anomalous):\n")
    print("rank   row      score   decision  verdict  digit")
    for rank, row in enumerate(odd, 1):
        decision = score[row] - detector.offset_
        verdict = "anomaly" if decision < 0 else "normal"
        print(f"{rank:4d}  {kept[row]:4d}  {score[row]:9.2e}  {decision:9.2e}  {verdict:7s}  {label[row]:5d}")

    path = plot(X, score, detector.offset_, odd, label)
    print(f"\nPlot: {path}")


def plot(X: np.ndarray, score: np.ndarray, offset: float, odd: np.ndarray, label: np.ndarray) -> Path:
    """Draw the scores with the threshold, and the ten images."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(9, 4.5), layout="constrained")
    grid = figure.add_gridspec(2, 10, height_ratios=[2.2, 1])
    axes = figure.add_subplot(grid[0, :])
    bins = np.linspace(score.min(), score.max(), 50)
    axes.hist([score[label == 0], score[label != 0]], bins=bins, stacked=True, label=["zeros", "strays"])
    axes.axvline(offset, color="black", linestyle="--", label="threshold")
    axes.set(xlabel="score (lower = more anomalous)", ylabel="rows", title="Scores without labels")
    axes.legend()
    for k, row in enumerate(odd):
        image = figure.add_subplot(grid[1, k])
        image.imshow(X[row].reshape(8, 8), cmap="gray_r")
        image.set_title(f"#{k + 1}", fontsize=9)
        image.axis("off")
    path = Path("demo_output") / "anomalies.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)
    return path


if __name__ == "__main__":
    main()
