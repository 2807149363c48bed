"""ONNX's reference evaluator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator


def versions() -> dict[str, str]:
    return {"onnx": onnx.__version__}


def _type(array: Any) -> int:
    return TensorProto.STRING if array.dtype.kind in "OU" else int(helper.np_dtype_to_tensor_dtype(array.dtype))


def model(op: str, opset: int, inputs: list[Any], attributes: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A model of one node, and its inputs by name."""
    names = ["" if value is None else f"i{k}" for k, value in enumerate(inputs)]
    given = {name: value for name, value in zip(names, inputs) if name}
    node = helper.make_node(op, names, ["o"], **attributes)
    infos = [helper.make_tensor_value_info(name, _type(value), value.shape) for name, value in given.items()]
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("o", _type(inputs[0]), None)])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 10 if opset >= 20 else 8
    return made, given


def _run(op: str) -> Any:
    def run(opset: int, inputs: list[Any], attributes: dict[str, Any]) -> Any:
        made, given = model(op, opset, inputs, attributes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(ReferenceEvaluator(made).run(None, given)[0])

    return run


NAMES = ("ScatterElements", "ScatterND", "Gather", "GatherElements", "GatherND", "TensorScatter")
OPERATORS = {name: _run(name) for name in NAMES}  # it has no Scatter
