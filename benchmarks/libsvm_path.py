"""libsvm stopped after 5,000 steps, beside `oddatom.boundary.libsvm_smo` (python -m benchmarks.libsvm_path)."""

import warnings

import numpy as np
import scipy.sparse
from sklearn.svm import OneClassSVM

from benchmarks._common import PAPER, best_in_turn, load
from oddatom import DLOCSVM
from oddatom.boundary.libsvm import MAX_ITER, TOL, _slots
from oddatom.boundary.libsvm_smo import walk


def compare(name):
    """Print how long both take on the codes of a set, scaled so that rows have a norm of about one."""
    nu = PAPER[name]["nu"]
    X = scipy.sparse.csr_array(DLOCSVM.paper(random_state=0, **PAPER[name]).fit(load(name)).train_codes_)
    X = X * np.sqrt(X.shape[0])
    slots, dense = _slots(X), X.toarray()
    walk(*slots, X.shape[1], nu, TOL, 1)  # compile
    found = {}

    def ours():
        found["ours"] = walk(*slots, X.shape[1], nu, TOL, MAX_ITER)[2]

    def libsvm():
        found["libsvm"] = int(np.sum(OneClassSVM(kernel="linear", nu=nu, max_iter=MAX_ITER).fit(dense).n_iter_))

    seconds = best_in_turn({"ours": ours, "libsvm": libsvm}, 2)
    ratio = seconds["libsvm"] / seconds["ours"]
    print(f"{name}: {X.shape[0]} rows, steps {found}, {seconds['ours']:.2f} s, libsvm {ratio:.1f} times as long")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for each in ("pendigits", "satellite", "shuttle"):
        compare(each)
