"""Scaling of columns, fitted once and applied to new rows unchanged. A kind of scaling is one file."""
