"""Theorem 2: the best pair of a synthesis and an analysis atom, with the plane and its multipliers fixed."""
