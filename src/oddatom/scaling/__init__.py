"""Scaling of columns, fitted once and applied to new rows unchanged."""
