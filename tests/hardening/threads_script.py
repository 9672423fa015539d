"""Ten threads score one model of each kind while another thread fits; all must say what one thread said."""

import sys
import threading

import numba
from small_models import KINDS, digest, make, quietly, rows

# Enough rows that scoring enters parallel regions where there are cores.
TRAIN, NEW, OTHER = rows(400), rows(6_000, seed=1), rows(2_000, seed=2)


def main(kinds):
    models = {kind: quietly(make(kind, n_jobs=2).fit, TRAIN) for kind in kinds}
    expected = {kind: quietly(digest, model, NEW) for kind, model in models.items()}
    fits = {kind: quietly(make(kind, n_jobs=2).fit, OTHER) for kind in kinds}
    fitted = {kind: quietly(digest, model, NEW[:100]) for kind, model in fits.items()}
    for kind, model in models.items():
        start, done, wrong = threading.Barrier(11), threading.Event(), []

        def score(kind=kind, model=model, start=start, wrong=wrong):
            start.wait(60)
            try:
                if digest(model, NEW) != expected[kind]:
                    wrong.append("scores")
            except BaseException as error:
                wrong.append(repr(error))

        def fit(kind=kind, start=start, done=done, wrong=wrong):
            start.wait(60)
            while True:  # once at least
                try:
                    if digest(make(kind, n_jobs=2).fit(OTHER), NEW[:100]) != fitted[kind]:
                        wrong.append("fit")
                except BaseException as error:
                    wrong.append(repr(error))
                if done.is_set():
                    return

        scorers = [threading.Thread(target=score) for _ in range(10)]
        fitter = threading.Thread(target=fit)
        for thread in (*scorers, fitter):
            thread.start()
        for thread in scorers:
            thread.join()
        done.set()
        fitter.join()
        assert wrong == [], (kind, wrong)
        assert quietly(digest, model, NEW) == expected[kind], kind
    print("same", numba.threading_layer() if numba.get_num_threads() > 1 else "")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main(sys.argv[1:] or list(KINDS))
