"""Slow, obvious NumPy versions of every kernel, for the tests to compare against."""

import warnings

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
    totals = [dictionary_objective(Y, D, X, penalty, beta, epsilon) + eta * one_class_objective(X, w, rho, nu)]
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
        totals.append(dictionary_objective(Y, D, X, penalty, beta, epsilon) + eta * one_class_objective(X, w, rho, nu))
    return D, X, w, rho, np.array(totals)


def soft(x, alpha):
    """Shrink every entry towards zero by alpha."""
    return np.sign(x) * np.maximum(np.abs(x) - alpha, 0)


def range_basis(Y):
    """Orthonormal columns that span the range of Y; singular values below 1e-6 of the largest count as zero."""
    U, sigma, _ = np.linalg.svd(Y, full_matrices=False)
    return U[:, sigma > 1e-6 * max(sigma.max(initial=0.0), 1e-300)]


def analysis_value(x, c, alpha, penalty="l21", beta=0.0, epsilon=0.1):
    """½‖x − c‖² + α‖x‖₁ + β φ(‖x‖)."""
    return 0.5 * np.sum((x - c) ** 2) + alpha * np.abs(x).sum() + row_penalty(penalty, np.linalg.norm(x), beta, epsilon)


def best_analysis(Y, c, alpha, beta, radius=None):
    """Minimise ½‖x − c‖² + α‖x‖₁ + β‖x‖ over x = Y p, ‖x‖ ≤ radius, by a general convex solver.

    Its answer is then polished: with its zeros and signs the problem is a projection and a shrinkage.
    """
    import cvxpy as cp

    U = range_basis(Y)
    b = U.T @ c
    size = np.linalg.norm(b)
    if size == 0 or radius == 0:
        return np.zeros(len(Y))
    q = cp.Variable(U.shape[1])
    cost = 0.5 * cp.sum_squares(q - b / size) + alpha / size * cp.norm1(U @ q) + beta / size * cp.norm2(q)
    limits = [] if radius is None else [cp.norm2(q) <= radius / size]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")  # 1e-12 is asked of it
        cp.Problem(cp.Minimize(cost), limits).solve(
            solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
        )
    x = size * (U @ q.value)
    best = x if radius is None or np.linalg.norm(x) <= radius else x * (radius / np.linalg.norm(x))
    for tol in (1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, np.inf):
        zero = np.abs(x) <= tol * np.abs(x).max()
        v = U.T @ (c - alpha * np.where(zero, 0.0, np.sign(x)))
        if zero.any():
            v = v - np.linalg.pinv(U[zero], rcond=1e-9) @ (U[zero] @ v)
        t = np.linalg.norm(v)
        t_new = max(t - beta, 0.0) if radius is None else min(max(t - beta, 0.0), radius)
        trial = np.where(zero, 0.0, U @ v) * (t_new / t if t > 0 else 0.0)
        if analysis_value(trial, c, alpha, "l21", beta) < analysis_value(best, c, alpha, "l21", beta):
            best = trial
    return best


def pair_objective(Y, D, X, alpha, penalty, beta, epsilon=0.1):
    """F = ½‖Y − XD‖² + β Σ φ(‖x^i‖) + Σ α_i‖x^i‖₁."""
    return dictionary_objective(Y, D, X, penalty, beta, epsilon) + alpha @ np.abs(X).sum(axis=0)


def best_pair_codes(Y, c, alpha, penalty, beta, epsilon):
    """The best x = Y p for a target c."""
    x = best_analysis(Y, c, alpha, beta if penalty == "l21" else 0.0)
    if penalty == "l21":
        return x
    t = np.linalg.norm(x)
    norms = (0.0, max(t - beta, 0.0), epsilon, t)  # where a piece of the penalty is flat, or where two pieces meet
    tried = [x * (z / t) if t > 0 else 0 * x for z in norms]
    return min(tried, key=lambda x: analysis_value(x, c, alpha, penalty, beta, epsilon))


def range_of(Y):
    """Uᵀ of an orthonormal basis U of the range of Y."""
    U, size, _ = np.linalg.svd(Y, full_matrices=False)
    return U[:, size > 1e-6 * size[0]].T


def dpl_ocsvm(Y, D, s, beta, gamma, nu, eta, n_sweeps, penalty="l21", epsilon=0.1):
    """Algorithm 1 with the appendix's sweep over pairs, dense: D, P, X, w, rho, F + eta G before and after sweeps.

    A pair takes the best d for its codes, then the best p for that d; before it is trimmed, the best d for x = 0.
    """
    D = D.copy()
    indices, values = omp(Y, D, s)
    X = np.zeros((len(Y), len(D)))
    for j, k in zip(*np.nonzero(indices >= 0), strict=True):
        X[j, indices[j, k]] = values[j, k]
    support = X != 0
    counts = support.sum(axis=0)
    alpha = gamma * counts / np.linalg.norm(counts)
    P = np.linalg.lstsq(Y, X, rcond=1e-6)[0].T
    P[counts == 0] = 0.0
    X = np.where(support, Y @ P.T, 0.0)
    w, rho, lam = one_class_svm(X, nu)
    totals = [pair_objective(Y, D, X, alpha, penalty, beta, epsilon) + eta * one_class_objective(X, w, rho, nu)]
    for _ in range(n_sweeps):
        for i in range(len(D)):
            if not P[i].any():
                continue
            rows = support[:, i]
            R = Y[rows] - X[rows] @ D + np.outer(X[rows, i], D[i])
            d = R.T @ X[rows, i]
            d = d / np.linalg.norm(d)
            c = R @ d + eta * w[i] * lam[rows]
            x = best_pair_codes(Y[rows], c, alpha[i], penalty, beta, epsilon)
            if not x.any():  # the best atom for x = 0 may leave something of the pair
                M, target = range_of(Y[rows]) @ R, range_of(Y[rows]) @ (eta * w[i] * lam[rows])
                d, _ = best_atom(M.T @ M, M.T @ target)
                d = -d if eta == 0.0 and d @ D[i] < 0 else d  # both are as good: stay on the side of the old one
                x = best_pair_codes(Y[rows], R @ d + eta * w[i] * lam[rows], alpha[i], penalty, beta, epsilon)
            P[i] = np.linalg.pinv(Y[rows], rcond=1e-6) @ x
            X[rows, i] = x
            if x.any():
                D[i] = d
        w, rho, lam = one_class_svm(X, nu)
        totals.append(pair_objective(Y, D, X, alpha, penalty, beta, epsilon) + eta * one_class_objective(X, w, rho, nu))
    return D, P, X, w, rho, np.array(totals)


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


def pair_target(E, x, old, new, c):
    """R new + c of one pair, R without its atom `old`; x is NaN on the rows that do not use it."""
    R, c = atom_rows(E, x, old, c)
    return R @ new + c


def gradient_pair(Y, R, k, d, alpha, beta, steps):
    """Gradient steps on min_d max_τ −½‖H(R d + k − ατ₁ − βτ₂)‖², H onto the range of Y: d, τ₁, τ₂ and x."""
    U = range_basis(Y)
    H = U @ U.T
    tau1, tau2 = np.zeros(len(Y)), np.zeros(len(Y))
    for _ in range(steps):
        v = H @ (R @ d + k - alpha * tau1 - beta * tau2)
        d = d + R.T @ v / np.sum((H @ R) ** 2)
        d = d / np.linalg.norm(d)
        tau1 = np.clip(tau1 + alpha / (alpha**2 + beta**2) * v, -1, 1)
        tau2 = tau2 + beta / (alpha**2 + beta**2) * v
        tau2 = tau2 / max(1.0, np.linalg.norm(tau2))
    x = H @ (R @ d + k - alpha * tau1)
    return d, tau1, tau2, x - beta * tau2 if np.linalg.norm(x) > beta else np.zeros(len(Y))


def code_statistics(Y, D, X, s):
    """How often rows use each atom, the mean square of its coefficient then, and the median squared residual."""
    N, m = Y.shape
    used = X != 0
    usage = (used.sum(axis=0) + 0.5) / (N + 1)
    variance = np.array([np.mean(X[u, i] ** 2) if u.any() else np.mean(X[used] ** 2) for i, u in enumerate(used.T)])
    return usage, variance, np.median(np.sum((Y - X @ D) ** 2, axis=1)) / max(m - s, 1)


def description_length(Y, D, X, usage, variance, noise):
    """Nats of the support, of its coefficients and of the residual, row by row."""
    out = np.empty(len(Y))
    for j, (y, x) in enumerate(zip(Y, X, strict=True)):
        nats = np.sum((y - x @ D) ** 2) / (2 * noise)
        for i in range(len(D)):
            if x[i] == 0:
                nats -= np.log(1 - usage[i])
            else:
                nats -= np.log(usage[i])
                nats += x[i] ** 2 / (2 * variance[i]) + max(0.0, 0.5 * np.log(variance[i] / noise))
        out[j] = nats
    return out


def cross_conformal(held_out, scores):
    """p-values by counting: held-out scores of each fold, and the scores of each row under each fold's model."""
    N = sum(len(fold) for fold in held_out)
    return np.array(
        [(1 + sum(s <= t for fold, t in zip(held_out, row, strict=True) for s in fold)) / (N + 1) for row in scores]
    )


def shortest_half(s):
    """Centre and length of the shortest interval that holds most of the numbers; of several the mean centre."""
    s = sorted(s)
    h = len(s) // 2 + 1
    length = min(b - a for a, b in zip(s, s[h - 1 :], strict=False))
    return np.mean([(a + b) / 2 for a, b in zip(s, s[h - 1 :], strict=False) if b - a <= length + 1e-12]), length


def asinh_columns(train, X):
    """asinh(4z)/4 column by column, z = (x − median) / (q95 − q5) of the training rows, |x|/10 where x is constant."""
    columns = []
    for x, new in zip(train.T, X.T, strict=True):
        low, center, high = np.quantile(x, [0.05, 0.5, 0.95])
        spread = high - low
        if high == low and x.min() < x.max():
            spread = 8 * np.median([abs(u - center) for u in x if u != center])
        if x.min() == x.max():
            center, spread = x[0], abs(x[0]) / 10 or 1.0
        columns.append(np.arcsinh(4 * (new - center) / spread) / 4)
    return np.column_stack(columns)


def histogram_bins(x, values):
    """The bin of each value, and the number of bins: √N of them, 5 to 30, from x's q1 to its q99, one at either end."""
    n_bins = min(max(int(np.sqrt(len(x))), 5), 30)
    low, high = np.quantile(x, [0.01, 0.99])
    if low == high:
        low, high = x.min(), x.max()
    bins = []
    for u in values:
        if u < low or u > high:
            bins.append(0 if u < low else n_bins + 1)
        else:
            bins.append(1 if high == low else 1 + min(int(n_bins * (u - low) / (high - low)), n_bins - 1))
    return np.array(bins), n_bins + 2


def histogram_nats(train, X, left_out=None):
    """−log p_f(x_f) by counting, half a row in each bin: (N, m).

    With `left_out` row i of X is scored by the counts of all training rows but left_out[i]; the bins stay.
    """
    out = np.empty(X.shape)
    for f, x in enumerate(train.T):
        bins, n = histogram_bins(x, x)
        for j, b in enumerate(histogram_bins(x, X[:, f])[0]):
            others = bins if left_out is None else np.delete(bins, left_out[j])
            out[j, f] = -np.log((np.sum(others == b) + 0.5) / (len(others) + 0.5 * n))
    return out


def histogram_entropy(train):
    """−Σ p log p over the bins of each column."""
    out = []
    for x in train.T:
        bins, n = histogram_bins(x, x)
        p = np.array([(np.sum(bins == b) + 0.5) / (len(x) + 0.5 * n) for b in range(n)])
        out.append(-np.sum(p * np.log(p)))
    return np.array(out)


def spread_covariance(spread):
    """The covariance matrix that a Spread stands for."""
    V = spread.directions
    rest = np.eye(V.shape[1]) - sum(np.outer(v, v) for v in V)
    return sum(lam * np.outer(v, v) for lam, v in zip(spread.variances, V, strict=True)) + spread.rest * rest


def member_terms(y, member):
    """What each feature adds to a member's parts of a row coded y ≈ c + g d: (4, m), and the nats to name the atom.

    The parts: description length, squared Mahalanobis distance, squared residual, half unbent and in units of its
    noise, and
    as it is.
    """
    w = y - min(member.centroids, key=lambda c: np.sum((y - c) ** 2))
    i = int(np.argmin([np.sum((w - (d @ w) * d) ** 2) for d in member.atoms]))
    g, d = member.atoms[i] @ w, member.atoms[i]
    e = (w - g * d) ** 2
    length = (g * d) ** 2 / (2 * member.gain_variance[i]) + e / (2 * member.noise)  # ‖d‖ = 1
    distance = w * (np.linalg.inv(spread_covariance(member.spread)) @ w)
    z = np.sinh(4 * y) / 4  # what asinh made y of
    straight = np.array([z_f / y_f if y_f else 1.0 for z_f, y_f in zip(z, y, strict=True)])
    return np.stack([length, distance, straight * e / member.feature_noise, e]), member.cost[i]


def member_parts(Y, members):
    """Description length, squared Mahalanobis distance, largest and whole squared residual: (N, M, 4)."""
    out = np.empty((len(Y), len(members), 4))
    for j, y in enumerate(Y):
        for b, member in enumerate(members):
            terms, name = member_terms(y, member)
            out[j, b] = name + terms[0].sum(), terms[1].sum(), terms[2].max(), terms[3].sum()
    return out


def lloyd(Y, C, steps, t=0.0):
    """Lloyd's steps on the share 1 − t of the rows nearest to a centroid; centroids of under 1 % of them go."""
    for _ in range(steps):
        distances = np.array([[np.sum((y - c) ** 2) for c in C] for y in Y])
        order = np.argsort(distances.min(axis=1))[: int(np.ceil((1 - t) * len(Y)))]
        served = [[j for j in order if np.argmin(distances[j]) == k] for k in range(len(C))]
        C = np.array([np.mean(Y[rows], axis=0) for rows in served if len(rows) >= max(0.01 * len(order), 1)])
    return C


def ridge_covariance(W):
    """Covariance around 0 with 5 % and 0.01 % a column of the mean variance added to every variance."""
    n, m = W.shape
    S = sum(np.outer(w, w) for w in W) / n
    return S + (0.05 + 1e-4 * m) * np.trace(S) / m * np.eye(m)


def atom_costs(chosen, gain, noise, n_atoms):
    """Nats to say which atoms a row uses, for each of them being the one, and how large its gain is."""
    share = [(np.sum(chosen == i) + 0.5) / (len(chosen) + 1) for i in range(n_atoms)]
    variance = [max(np.mean(gain[chosen == i] ** 2) if np.any(chosen == i) else 0.0, noise) for i in range(n_atoms)]
    costs = []
    for i in range(n_atoms):
        others = sum(np.log(1 - share[k]) for k in range(n_atoms) if k != i)
        costs.append(-np.log(share[i]) - others + 0.5 * np.log(variance[i] / noise))
    return np.array(costs), np.array(variance)


def robust_z(train, values):
    """(log(v + lift) − median) / (IQR / 1.349) of the training values, lift a thousandth of their median."""
    lift = 1e-3 * np.median(train)
    low, center, high = np.quantile(np.log(train + lift), [0.25, 0.5, 0.75])
    return (np.log(values + lift) - center) / ((high - low) / 1.3489795003921634)


def log_mean_exp(Z, weights):
    """log Σ_p weight_p exp(z_p), in long doubles."""
    return np.array(
        [float(np.log(sum(w * np.exp(np.longdouble(z)) for z, w in zip(row, weights, strict=True)))) for row in Z]
    )


def agreement(Z, power):
    """Weights of columns: the mean correlation with the other columns, at least 0.01, to a power; they sum to 1."""
    n = Z.shape[1]
    means = [np.mean([np.corrcoef(Z[:, i], Z[:, k])[0, 1] for k in range(n) if k != i]) for i in range(n)]
    weights = np.maximum(means, 0.01) ** power
    return weights / weights.sum()
