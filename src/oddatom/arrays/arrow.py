"""pyarrow, or one line that says how to get it."""

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.ipc
    import pyarrow.parquet  # noqa: F401
except ImportError as error:
    raise ImportError("oddatom.table needs pyarrow, which is not installed: pip install 'oddatom[table]'") from error

__all__ = ["pa", "pc"]
