"""Sparse coding: rows of data as combinations of few atoms of a given dictionary."""

from oddatom.coding.analysis import analysis_codes
from oddatom.coding.batch_omp import Codes, batch_omp, batch_omp_gram

__all__ = ["Codes", "analysis_codes", "batch_omp", "batch_omp_gram"]
