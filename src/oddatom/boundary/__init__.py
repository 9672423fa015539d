"""Exact solvers of the one-class SVM: Newton's method, interior point, weights, row space; and libsvm's path."""
