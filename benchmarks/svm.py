"""The one-class SVM on real codes: time against libsvm and LIBLINEAR, objective against both; large problems alone.

python -m benchmarks.svm
"""

from __future__ import annotations

import json
import warnings

import numpy as np
import scipy.sparse
from liblinear.liblinearutil import parameter, problem, train
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM

from benchmarks._common import PAPER, best_in_turn, load, machine
from oddatom import DLOCSVM, SVDD, LinearOneClassSVM


def objective(X: scipy.sparse.csr_array, w: np.ndarray, rho: float, nu: float) -> float:
    """½‖w‖² − rho + 1/(nu N) Σ (rho − w·x)₊, rows in unit-RMS units."""
    scale2 = X.multiply(X).sum() / X.shape[0]
    value = 0.5 * w @ w - rho + np.maximum(rho - X @ w, 0).sum() / (nu * X.shape[0])
    return float(value / scale2)


def best_offset(X: scipy.sparse.csr_array, w: np.ndarray, nu: float) -> float:
    """The offset that minimises the objective for a given plane: every solver is judged by its plane."""
    f = X @ w
    k = int(np.ceil(nu * f.size)) - 1
    return float(np.partition(f, k)[k])


def codes(name: str) -> scipy.sparse.csr_array:
    """Codes of an ODDS set as the last sweep of DL-OCSVM leaves them, zero columns left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = DLOCSVM.paper(random_state=0, **PAPER[name]).fit(load(name)).train_codes_
    used = np.flatnonzero(abs(X).sum(axis=0))
    return scipy.sparse.csr_array(X[:, used])


def compare(name: str, X: scipy.sparse.csr_array, nu: float, repeats: int) -> dict[str, object]:
    """Our time and objective beside libsvm's and LIBLINEAR's on the same rows."""
    N = X.shape[0]
    scale = float(np.sqrt(X.multiply(X).sum() / N))
    unit = scipy.sparse.csr_array(X / scale)
    dense = unit.toarray()
    liblinear = problem(np.ones(N), scipy.sparse.csr_matrix(unit))
    options = parameter(f"-s 21 -n {nu} -e 1e-4 -q")
    models: dict[str, object] = {}

    def ours() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models["ours"] = LinearOneClassSVM(nu=nu).fit(unit)

    def libsvm() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            models["libsvm"] = OneClassSVM(kernel="linear", nu=nu, tol=1e-3).fit(dense)

    def liblinear_() -> None:
        models["liblinear"] = train(liblinear, options)

    ours()  # compile
    times = best_in_turn({"ours": ours}, 5 * repeats)
    times |= best_in_turn({"libsvm": libsvm, "liblinear": liblinear_}, repeats)
    own = models["ours"]
    planes = {
        "ours": own.coef_[0],
        "libsvm": models["libsvm"].coef_.ravel() / (nu * N),
        "liblinear": np.array(models["liblinear"].get_decfun()[0]) / (nu * N),
    }
    objectives = {k: objective(unit, w, best_offset(unit, w, nu), nu) for k, w in planes.items()}
    return {
        "rows": N,
        "columns": X.shape[1],
        "seconds": times,
        "objective": objectives,
        "gap": own.gap_,
        "libsvm_over_ours": times["libsvm"] / times["ours"],
        "liblinear_over_ours": times["liblinear"] / times["ours"],
        "no_higher_than_liblinear": objectives["ours"] <= objectives["liblinear"] + 1e-8,
    }


def random_codes(N: int, n: int, s: int, negative: float) -> scipy.sparse.csr_array:
    """Codes with s non-zeros a row, a share of them negative: at .02 there is a margin, at .1 there is none."""
    rng = np.random.default_rng(0)
    columns = np.argsort(rng.random((N, n)), axis=1)[:, :s]
    data = rng.gamma(2.0, size=(N, s)) * np.where(rng.random((N, s)) < negative, -1, 1)
    return scipy.sparse.csr_array((data.ravel(), columns.ravel(), np.arange(0, N * s + 1, s)), shape=(N, n))


def run() -> dict[str, object]:
    real = {
        name: compare(name, codes(name), float(PAPER[name]["nu"]), 1) for name in ("satellite", "pendigits", "shuttle")
    }
    large = {}
    for kind, negative in (("margin", 0.02), ("no margin", 0.1)):
        for N, n, s in ((50_000, 18, 4), (600_000, 20, 4)):
            X = random_codes(N, n, s, negative)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = LinearOneClassSVM(nu=0.05).fit(X)
                t = best_in_turn({"fit": lambda X=X: LinearOneClassSVM(nu=0.05).fit(X)}, 5)["fit"]
            large[f"{N:,} × {n} atoms, {s} non-zeros, {kind}"] = {"seconds": t, "gap": model.gap_}
    rows = np.random.default_rng(0).normal(size=(100_000, 20))
    ball = best_in_turn({"plane": lambda: LinearOneClassSVM(nu=0.05).fit(rows + 3.0),
                         "ball": lambda: SVDD(nu=0.05).fit(rows)}, 5)  # fmt: skip
    flags = np.random.default_rng(0).choice([0.0, 1.0], size=(100_000, 20))  # many rows lie on the ball
    tied = best_in_turn({"plane": lambda: LinearOneClassSVM(nu=0.05).fit(flags),
                         "ball": lambda: SVDD(nu=0.05).fit(flags)}, 5)  # fmt: skip
    each = {}
    raw = load("shuttle")
    for sweeps in range(7):  # every one-class SVM that a fit on shuttle meets
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = DLOCSVM.paper(random_state=0, max_iter=sweeps, **PAPER["shuttle"]).fit(raw).train_codes_
            nu = float(PAPER["shuttle"]["nu"])
            each[sweeps] = best_in_turn({"fit": lambda X=X, nu=nu: LinearOneClassSVM(nu=nu).fit(X)}, 5)["fit"]
    return {
        "real_codes": real,
        "large": large,
        "ball_over_plane": ball["ball"] / ball["plane"],
        "tied_ball_over_plane": tied["ball"] / tied["plane"],
        "shuttle_by_sweep_seconds": each,
    }


if __name__ == "__main__":
    print(json.dumps({"machine": machine(), "svm": run()}, indent=2, default=float))
