"""ONNX: a fitted detector as a file that other runtimes and languages score rows with (the extra `onnx`)."""

from oddatom.onnx.exporting import to_onnx

__all__ = ["to_onnx"]
