"""Algorithm 1 and its sweeps (DL, DPL): drivers that hold small matrices and ask the rows for sums."""
