"""Interrupt fits, by a signal, at moments spread over their length; say what was hit.

After each the model must be as it was before, or as the whole fit leaves it, and fits go on as if nothing had been.
"""

import signal
import sys
import time
import warnings

import numba
from small_models import KINDS, digest, make, rows, state
from threadpoolctl import ThreadpoolController

from oddatom.arrays import threads as _threads

TRAIN, NEW = rows(2_000), rows(50, seed=1)


def interrupt(number, frame):
    raise KeyboardInterrupt


def blas():
    return [library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()]


def interrupted(model, delay):
    """Whether a fit was interrupted."""
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        try:
            model.fit(TRAIN)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    except KeyboardInterrupt:
        return True
    return False


def main(n_delays, kinds):
    signal.signal(signal.SIGALRM, interrupt)
    hits = 0
    for kind in kinds:
        whole = make(kind).fit(TRAIN)
        start = time.perf_counter()
        make(kind).fit(TRAIN)
        length = time.perf_counter() - start
        want, names = digest(whole, NEW), set(state(whole))
        before, usual = blas(), numba.get_num_threads()
        for k in range(n_delays):
            delay = max(1e-5, length * (k + 0.5) / n_delays)
            new, old = make(kind), make(kind, nu=0.3).fit(TRAIN[:500])
            kept = state(old)
            old.set_params(nu=0.1)
            for model in (new, old):
                if not interrupted(model, delay):
                    assert digest(model, NEW) == want, kind
                    continue
                hits += 1
                now = state(model)
                same = {} if model is new else kept
                unchanged = now.keys() == same.keys() and all(now[name] is same[name] for name in now)
                assert unchanged or (set(now) == names and digest(model, NEW) == want), (kind, delay, sorted(now))
                assert _threads._state.inside == {}, kind
                assert _threads._state.limiter is None, kind
                assert _threads._state.region == {}, kind
                assert blas() == before, kind
                assert numba.get_num_threads() == usual, kind
        assert digest(make(kind).fit(TRAIN), NEW) == want, kind
    print(hits)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]), sys.argv[2:] or list(KINDS))
