"""The order of the gallery: from the questions most users have to those that few have."""

FIRST = (
    "plot_sensors.py",
    "plot_explain_one.py",
    "plot_thresholds_p_values.py",
    "plot_digits_atoms.py",
    "plot_sparse_text.py",
    "plot_kernels.py",
    "plot_compare_pyod.py",
    "plot_drift.py",
    "plot_cluster.py",
)


class ByQuestion:
    """A key to sort examples by: those of `FIRST` in that order, then others by name."""

    def __init__(self, folder: str) -> None:
        pass

    def __call__(self, name: str) -> tuple[int, str]:
        """Return the place of a file."""
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)
