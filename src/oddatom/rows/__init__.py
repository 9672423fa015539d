"""Where rows live: in an array, in files, on a device or on a Dask cluster. A place has a source and its shards."""

from oddatom.rows.source import Source

__all__ = ["Source"]
