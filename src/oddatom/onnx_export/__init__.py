"""Fitted detectors as ONNX graphs; `oddatom.onnx.to_onnx` is the way in."""
