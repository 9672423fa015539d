"""Rows that a detector is fitted to where they are not one array in this process's memory."""

from oddatom.sources.base import Source

__all__ = ["Source"]
