"""Fits on a Dask cluster: rows on the workers, small messages between them and the driver. Needs `oddatom[dask]`."""

from oddatom.cluster.group import ClusterGroup
from oddatom.cluster.source import ClusterSource

__all__ = ["ClusterGroup", "ClusterSource"]
