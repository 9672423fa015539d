"""An ONNX graph, written one operation at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 15, 8  # of 2021: every runtime in use knows them
_TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64}


class Graph:
    """A graph under construction. Values go by their names; arrays and numbers become constants of it.

    Calling it adds an operation and returns the name of its result: `graph("Add", x, 1.0)`.
    """

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[tuple[Any, ...], onnx.TensorProto] = {}

    def __call__(self, operation: str, *inputs: Any, name: str | None = None, **attributes: Any) -> str:
        """Add an operation; return its result's name.

        Parameters
        ----------
        operation : str
            Of ONNX.
        *inputs : str, array or number
            A Python float is a constant of float64, an int of int64.
        name : str, optional
            Of the result.
        **attributes : of the operation
        """
        name = name or f"{operation.lower()}_{len(self._nodes)}"
        named = [one if isinstance(one, str) else self._constant(one) for one in inputs]
        self._nodes.append(helper.make_node(operation, named, [name], **attributes))
        return name

    def cast(self, value: str, dtype: str) -> str:
        """Add a cast to "float32", "float64" or "int64"."""
        return self("Cast", value, to=_TYPES[dtype])

    def sum(self, value: str, axis: int, *, keep: bool = False) -> str:
        """Add a sum over one axis."""
        return self("ReduceSum", value, np.array([axis]), keepdims=int(keep))

    def dot(self, rows: str, vector: Any) -> str:
        """Add the product of every row with a vector; as a matrix, with which onnxruntime also takes no rows at all."""
        return self("Squeeze", self("MatMul", rows, np.asarray(vector)[:, None]), np.array([1]))

    def model(
        self, name: str, rows: tuple[str, str, int], outputs: dict[str, str], properties: dict[str, str]
    ) -> onnx.ModelProto:
        """Return the graph as a checked model, without what its outputs do not need.

        Parameters
        ----------
        name : str
            Of the graph.
        rows : (name, dtype, number of columns)
            Of the one input.
        outputs : dict of str to str
            Names and dtypes; each a vector, one number a row.
        properties : dict of str to str
            Metadata of the model.
        """
        from oddatom import __version__

        source, dtype, n_columns = rows
        nodes, needed = [], set(outputs)
        for node in reversed(self._nodes):
            if node.output[0] in needed:
                nodes.append(node)
                needed.update(node.input)
        graph = helper.make_graph(
            nodes[::-1],
            name,
            [helper.make_tensor_value_info(source, _TYPES[dtype], ["N", n_columns])],
            [helper.make_tensor_value_info(output, _TYPES[kind], ["N"]) for output, kind in outputs.items()],
            [constant for constant in self._constants.values() if constant.name in needed],
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="oddatom",
            producer_version=__version__,
        )
        helper.set_model_props(model, properties)
        onnx.checker.check_model(model, full_check=True)
        return model

    def _constant(self, value: Any) -> str:
        array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
        array = array.astype(np.int64 if array.dtype.kind == "i" else np.float64)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = numpy_helper.from_array(array, f"constant_{len(self._constants)}")
        return self._constants[key].name
