"""
Which text does not belong?
===========================

Real text that every Python has: the documentation of scikit-learn's metrics, 85 texts, and eight of Python's standard
library that were slipped in among them. Each becomes a row of word weights, most of them zero, and the detectors take
the sparse rows as they are. Topics are atoms; a text on another subject is not made of them. The example also shows
where ``OddAtomDetector``, the one to start with elsewhere, is the wrong choice.
"""

# %%
# Texts to sparse rows
# --------------------

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from oddatom import DLOCSVM, LinearOneClassSVM, OddAtomDetector


def texts_of(module):
    """Return the documentation of what a module offers, by name; short ones are left out."""
    home = importlib.import_module(module)
    found = {
        f"{module}.{name}": inspect.getdoc(getattr(home, name))
        for name in home.__all__
        if callable(getattr(home, name))
    }
    return {name: text for name, text in found.items() if text and len(text) > 200}


usual = texts_of("sklearn.metrics")
others = {}
for module in (
    "smtplib",
    "tarfile",
    "argparse",
    "textwrap",
    "zipfile",
    "logging",
    "subprocess",
    "threading",
    "statistics",
):
    others.update(texts_of(module))


def slip_in(seed):
    """Return names, sparse rows and labels of the metrics and of eight other texts, and the words."""
    strays = np.random.default_rng(seed).permutation(sorted(others))[:8]
    names = np.array([*usual, *strays])
    vectorizer = TfidfVectorizer(stop_words="english", min_df=2, sublinear_tf=True, token_pattern="[a-z]{3,}")
    X = vectorizer.fit_transform([usual.get(name) or others[name] for name in names])
    return names, X, np.isin(names, strays), vectorizer.get_feature_names_out()


names, X, stray, words = slip_in(0)
print(f"{X.shape[0]} texts × {X.shape[1]} words, {X.nnz / X.shape[0] / X.shape[1]:.0%} of the weights are not zero")

# %%
# Atoms are topics
# ----------------
# Ten atoms, two to a text. What an atom is made of can be read.

detector = DLOCSVM.paper(n_atoms=10, n_nonzero=2, beta=0.01, scoring="residual", random_state=0).fit(X)
codes = detector.transform(X)
usage = np.asarray((codes != 0).mean(axis=0)).ravel()
for i in np.argsort(-usage)[:5]:
    atom = detector.components_[i] * np.sign(codes[:, [i]].sum())
    print(f"in {usage[i]:4.0%} of the texts: {', '.join(words[np.argsort(-atom)[:7]])}")

# %%
# The odd texts, and the words that make them so
# ----------------------------------------------

scores = detector.score_samples(X)
order = np.argsort(scores)
for row in order[:6]:
    left = -detector.explain(X[[row]]).contributions[0]
    print(f"{names[row]:28} {'slipped in' if stray[row] else '':10}  {', '.join(words[np.argsort(-left)[:4]])}")

left_over = -scores * detector.scale_**2  # rows of weights have length one
figure, axis = plt.subplots(figsize=(9, 3.6), layout="constrained")
axis.bar(np.arange(len(order)), left_over[order], color=np.where(stray[order], "C3", "0.75"), width=0.9)
axis.set(xlabel="texts, oddest first", ylabel="share that two atoms leave over", xticks=[], ylim=(0, 1))
axis.set_title("The eight texts that were slipped in are red")
plt.show()

# %%
# Which detector, how many atoms?
# -------------------------------
# Five draws of other strays. Few atoms are best: with more of them some learn the strays, and without labels nothing
# here tells how many are too many. The plain SVM does well on some draws and not on others. ``OddAtomDetector`` is
# worse than chance: it scales every word by how it usually varies, and most words are usually absent, so to it a long
# text with many words is odd and a short one on another subject is not. Rows that are mostly zeros are not what it
# was made for.

choices = {
    f"DLOCSVM,\n{n} atoms": DLOCSVM.paper(n_atoms=n, n_nonzero=2, beta=0.01, scoring="residual", random_state=0)
    for n in (5, 10, 20, 40)
}
choices |= {"LinearOne-\nClassSVM": LinearOneClassSVM(nu=0.1), "OddAtom-\nDetector": OddAtomDetector(random_state=0)}
found = {name: [] for name in choices}
for seed in range(5):
    _, X, stray, _ = slip_in(seed)
    for name, model in choices.items():
        found[name].append(roc_auc_score(stray, -model.fit(X).score_samples(X)))

figure, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
for place, values in enumerate(found.values()):
    axis.plot([place] * 5, values, "o", color="C0", alpha=0.6)
    axis.plot(place, np.mean(values), "_", color="black", markersize=24)
axis.axhline(0.5, color="black", linestyle="--", linewidth=1)
axis.annotate("chance", (5.45, 0.5), xytext=(0, 3), textcoords="offset points", ha="right", fontsize=9)
axis.set(xticks=range(len(found)), xticklabels=list(found), ylabel="AUROC", ylim=(0, 1.03), xlim=(-0.5, 5.5))
plt.show()
