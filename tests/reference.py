"""Slow, obvious NumPy versions of every kernel, for the tests to compare against."""

import numpy as np


def best_atom(A, g):
    """Global maximiser of dᵀAd + 2gᵀd on the unit sphere, and its value: bisection on ‖(μI − A)⁻¹g‖ = 1."""
    scale = max(np.abs(A).max(), np.abs(g).max())
    lam, V = np.linalg.eigh(A / scale)
    q = (V.T @ (g / scale)).astype(np.longdouble)
    e = (lam[-1] - lam).astype(np.longdouble)  # μ = λ_max + s, so μ − λ_i = s + e_i
    e[e < 1e-14] = 0
    top = e == 0
    y = np.zeros_like(q)
    y[~top] = q[~top] / e[~top]
    if np.linalg.norm(q[top]) == 0 and y @ y <= 1:
        y[np.argmax(top)] = np.sqrt(1 - y @ y)
    else:
        lo, hi = np.linalg.norm(q[top]), np.linalg.norm(q)
        for _ in range(300):
            s = np.sqrt(lo) * np.sqrt(hi) if lo > 0 else (lo + hi) / 2
            if np.linalg.norm(q / (s + e)) > 1:
                lo = s
            else:
                hi = s
        y = q / (hi + e)
    d = np.asarray(V @ (y / np.linalg.norm(y)), dtype=float)
    return d, float(d @ A @ d + 2 * g @ d)


def omp(Y, D, s, tol=1e-10):
    """Orthogonal matching pursuit, a least-squares fit a step: indices padded with −1, values with 0."""
    indices = np.full((len(Y), s), -1)
    values = np.zeros((len(Y), s))
    for row, y in enumerate(Y):
        support = []
        residual = y
        while len(support) < min(s, len(D)):
            correlation = np.abs(D @ residual)
            i = int(np.argmax(correlation))
            wider = [*support, i]
            if correlation[i] <= tol * np.linalg.norm(y) or np.linalg.matrix_rank(D[wider]) < len(wider):
                break
            support = wider
            x = np.linalg.lstsq(D[support].T, y, rcond=None)[0]
            residual = y - x @ D[support]
        if support:
            indices[row, : len(support)] = support
            values[row, : len(support)] = x
    return indices, values


def one_class_svm(X, nu):
    """w, rho and lam of the linear one-class SVM on dense rows, by libsvm run to the end in unit-RMS units."""
    from sklearn.svm import OneClassSVM

    C = nu * len(X)
    scale = np.sqrt(np.mean(np.sum(X**2, axis=1)))
    model = OneClassSVM(kernel="linear", nu=nu, tol=1e-12).fit(X / scale)
    lam = np.zeros(len(X))
    lam[model.support_] = np.abs(model.dual_coef_[0]) / C
    return X.T @ lam, model.offset_[0] * scale**2 / C, lam


def row_penalty(name, t, beta, epsilon):
    """β φ(t)."""
    return beta * {"l21": t, "l20": float(t > 0), "l2eps": min(t, epsilon)}[name]


def dictionary_objective(Y, D, X, penalty, beta, epsilon=0.1):
    """F = ½‖Y − XD‖² + β Σ φ(‖x^i‖)."""
    norms = np.linalg.norm(X, axis=0)
    return 0.5 * np.sum((Y - X @ D) ** 2) + sum(row_penalty(penalty, t, beta, epsilon) for t in norms)


def one_class_objective(X, w, rho, nu):
    """G = ½‖w‖² − ρ + Σ (ρ − w·x)₊ / (ν N)."""
    return 0.5 * w @ w - rho + np.sum(np.maximum(rho - X @ w, 0)) / (nu * len(X))


def dl_ocsvm(Y, D, s, beta, nu, eta, n_sweeps, penalty="l21", epsilon=0.1):
    """Algorithm 1 on dense codes: D, X, w, rho, and the objective F + G before the first sweep and after each."""
    D = D.copy()
    indices, values = omp(Y, D, s)
    X = np.zeros((len(Y), len(D)))
    for j, k in zip(*np.nonzero(indices >= 0), strict=True):
        X[j, indices[j, k]] = values[j, k]
    support = X != 0
    w, rho, lam = one_class_svm(X, nu)
    totals = [dictionary_objective(Y, D, X, penalty, beta, epsilon) + one_class_objective(X, w, rho, nu)]
    for _ in range(n_sweeps):
        for i in range(len(D)):
            rows = support[:, i]
            if not X[rows, i].any():
                continue
            R = Y[rows] - X[rows] @ D + np.outer(X[rows, i], D[i])
            c = eta * w[i] * lam[rows]
            d, _ = best_atom(R.T @ R, R.T @ c)
            if not c.any() and d @ D[i] < 0:  # ±d are equally good: stay on the atom's side
                d = -d
            r = R @ d + c
            t = np.linalg.norm(r)
            # The best norm is where a piece of ½(z − t)² + β φ(z) is flat, or where two pieces meet.
            z = min(
                (0.0, max(t - beta, 0.0), epsilon, t),
                key=lambda z: (z - t) ** 2 / 2 + row_penalty(penalty, z, beta, epsilon),
            )
            if z > 0:
                D[i] = d
            X[rows, i] = z / t * r
        w, rho, lam = one_class_svm(X, nu)
        totals.append(dictionary_objective(Y, D, X, penalty, beta, epsilon) + one_class_objective(X, w, rho, nu))
    return D, X, w, rho, np.array(totals)


def smoothed_one_class(X, w, rho, C, eps):
    """½‖w‖² − rho + 1/C Σ_j ψ(rho − w·x_j), ψ the hinge rounded over a width eps, and its gradient in [w, rho]."""
    u = rho - X @ w
    psi = np.where(u <= -eps / 2, 0.0, np.where(u >= eps / 2, u, (u + eps / 2) ** 2 / (2 * eps)))
    slope = np.clip(0.5 + u / eps, 0.0, 1.0)
    value = 0.5 * w @ w - rho + psi.sum() / C
    return value, np.append(w - slope @ X / C, slope.sum() / C - 1.0)


def atom_rows(E, x, d, c):
    """R = E + x dᵀ (the residual without the atom) and c on the rows whose code x is listed: those with x not NaN."""
    used = ~np.isnan(x)
    return E[used] + np.outer(x[used], d), c[used]


def atom_moments(E, x, d, c):
    """RᵀR, Rᵀc and ‖c‖² of one atom; x is NaN on the rows that do not use it."""
    R, c = atom_rows(E, x, d, c)
    return R.T @ R, R.T @ c, c @ c


def commit_atom(E, x, old, new, shrink, c):
    """New codes shrink·(R new + c) of one atom and the new residual; x is NaN on the rows that do not use it."""
    E, x = E.copy(), x.copy()
    for j in np.flatnonzero(~np.isnan(x)):
        r = E[j] + x[j] * old
        x[j] = shrink * (r @ new + c[j])
        E[j] = r - x[j] * new
    return E, x
