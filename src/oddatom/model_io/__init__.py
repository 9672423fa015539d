"""Model files: a fitted model as one safetensors file that is safe to load. See docs/model-files.md."""

from oddatom.model_io.files import load, save

__all__ = ["load", "save"]
