"""Kernels, the coordinates of rows in their feature space, and the landmarks these are made of."""
