"""Fits on a Dask cluster: rows on the workers, small messages between them and the driver. Needs `oddatom[dask]`."""

from oddatom.rows.dask.cluster_group import ClusterGroup
from oddatom.rows.dask.cluster_source import ClusterSource

__all__ = ["ClusterGroup", "ClusterSource"]
