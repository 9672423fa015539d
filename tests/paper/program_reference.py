"""The published program's loops, slowly and plainly: signals are columns, every matrix is formed."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import orthogonal_mp_gram
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import OneClassSVM


def codes(Y, D, s):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return orthogonal_mp_gram(D.T @ D, D.T @ Y, n_nonzero_coefs=s)


def svm(X, nu):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = OneClassSVM(kernel="linear", nu=nu, max_iter=5000).fit(X.T)
    lam = np.zeros(X.shape[1])
    lam[model.support_] = model.dual_coef_.ravel()
    C = nu * X.shape[1]
    return model.coef_.ravel() / C, model.offset_[0] / C, lam / C


def alternate(E, D, X, nu, sweeps, update):
    w, rho, lam = svm(X, nu)
    for _ in range(sweeps):
        for i in range(D.shape[1]):
            use = np.flatnonzero(X[i])
            if use.size == 0:
                continue
            R = E[:, use] + np.outer(D[:, i], X[i, use])
            D[:, i], X[i, use] = update(i, use, R, w[i] * lam[use])
            E[:, use] = R - np.outer(D[:, i], X[i, use])
        w, rho, lam = svm(X, nu)
    return w @ X - rho


def shrink(r, beta):
    t = np.linalg.norm(r)
    return np.zeros_like(r) if t < beta else (1 - beta / t) * r


def published_dl(Y, D, s, nu, beta, sweeps):
    X = codes(Y, D, s)

    def update(i, use, R, c):
        d = np.ones(len(Y)) / np.sqrt(len(Y))
        for _ in range(50):
            d = d + 2 * R @ (R.T @ d + c) / (2 * np.linalg.norm(R @ R.T))
            d /= np.linalg.norm(d)
        x = shrink(R.T @ d + c, beta)
        return (d if x.any() else D[:, i].copy()), x

    return alternate(Y - D @ X, D, X, nu, sweeps, update), X


def published_dpl(Y, D, s, nu, beta, gamma, sweeps):
    X = codes(Y, D, s)
    counts = (X != 0).sum(axis=1)
    alpha = gamma * counts / np.linalg.norm(counts)
    P = np.linalg.lstsq(Y.T, X.T, rcond=None)[0].T

    def update(i, use, R, c):
        U, p = Y[:, use], P[i]
        d = np.ones(len(Y)) / np.sqrt(len(Y))
        for _ in range(200):
            x = U.T @ p
            slope = U @ (x - R.T @ d - c + beta * x / np.linalg.norm(x) + alpha[i] * np.sign(x))
            p = p - slope / np.linalg.norm(U.T @ U)
            d = d + R @ x / np.linalg.norm(R @ R.T)
            d /= np.linalg.norm(d)
        P[i] = p
        return d, U.T @ p

    return alternate(Y - D @ X, D, X, nu, sweeps, update), X


def published_kdl(Y, A, s, nu, beta, gamma, sweeps):
    N = Y.shape[1]
    K = rbf_kernel(Y.T, Y.T, gamma=gamma) + 1e-10 * np.eye(N)
    values, V = np.linalg.eigh(K)
    root, inverse = V * np.sqrt(values) @ V.T, V / np.sqrt(values) @ V.T
    X = codes(A.T @ K, A.T @ K @ A, s)

    def update(i, use, R, c):
        v = np.ones(N)
        for _ in range(10):
            v = R @ (R.T @ v)
            v /= np.linalg.norm(v)
        length = np.linalg.norm(R @ (R.T @ v))
        z = np.ones(N) / np.sqrt(N)
        for _ in range(50):
            z = z + 2 / length * root @ (R @ (R.T @ (root @ z) + c))
            z /= np.linalg.norm(z)
        a = inverse @ z
        x = shrink(R.T @ K @ a + c, beta)
        return (a if x.any() else A[:, i].copy()), x

    return alternate(np.eye(N) - A @ X, A, X, nu, sweeps, update), X
