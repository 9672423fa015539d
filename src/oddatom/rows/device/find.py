"""What the parameter `device` names."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from oddatom.exceptions import DeviceWarning


def fit_device(device: str) -> Any:
    """Return the torch device that rows are fitted on, or None for this process's own arrays."""
    if device == "cpu":
        return None
    if device == "auto":
        return _find_gpu()
    try:
        from oddatom.arrays.torch_rows import find_device
    except ImportError:
        raise ImportError(
            f"The device {device!r} needs torch, which is not installed. Install oddatom[gpu], or pass device='cpu'."
        ) from None
    found = find_device(device)
    return None if found.type == "cpu" else found


def score_device(device: str) -> Any:
    """Return the device that rows are scored on; a model from a machine with a GPU scores where there is none, too."""
    try:
        return fit_device(device)
    except (ImportError, ValueError) as error:
        if not device.startswith("cuda"):
            raise
        warnings.warn(f"Rows are scored on the CPU: {error}", DeviceWarning, stacklevel=_outside())
        return None


def _outside() -> int:
    """Return the `stacklevel` of the first caller that is not this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "oddatom":
        frame, level = frame.f_back, level + 1
    return level


def _find_gpu() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else None
