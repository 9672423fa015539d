"""Score in child processes, forked, spawned or joblib's, after this process has used numba's threads."""

import multiprocessing
import sys
import warnings

import numba
from small_models import KINDS, digest, make, quietly, rows

# Enough rows for parallel regions, and two threads asked for: a daemon would take one.
TRAIN, NEW = rows(300), rows(6_000, seed=1)


def score(model):
    warnings.simplefilter("ignore")
    return digest(model, NEW)


def fit_and_score(kind):
    warnings.simplefilter("ignore")
    return digest(make(kind, n_jobs=2).fit(TRAIN), NEW)


def both(kind, model):
    return score(model), fit_and_score(kind)


def main(how, kinds):
    models = {kind: quietly(make(kind, n_jobs=2).fit, TRAIN) for kind in kinds}
    expected = {kind: quietly(score, model) for kind, model in models.items()}
    numba.get_num_threads()  # they have been started, if not by the scoring
    if how == "loky":
        from joblib import Parallel, delayed

        found = Parallel(n_jobs=2)(delayed(both)(kind, model) for kind, model in models.items())
    else:
        with multiprocessing.get_context(how).Pool(2) as pool:
            found = pool.starmap(both, models.items(), chunksize=1)
    for kind, (scored, fitted) in zip(models, found, strict=True):
        assert scored == expected[kind], (kind, "scored")
        assert fitted == expected[kind], (kind, "fitted")
        assert quietly(score, models[kind]) == expected[kind], (kind, "here, afterwards")
    print("same")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], sys.argv[2:] or list(KINDS))
