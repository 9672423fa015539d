"""Theorem 1: the best atom and row of codes, with the plane and its multipliers fixed."""
