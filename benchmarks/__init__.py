"""Timings, as ratios taken in one run."""
