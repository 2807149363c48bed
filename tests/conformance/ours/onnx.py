"""The same operators on paramstore's ONNX frontend."""

from __future__ import annotations

from typing import Any

from paramstore.frontends import onnx


def _run(op: str) -> Any:
    def run(opset: int, inputs: list[Any], attributes: dict[str, Any]) -> Any:
        return onnx.run_node({"op_type": op, **attributes}, inputs, opset)[0]

    return run


OPERATORS = {
    name: _run(name) for name in ("Scatter", "ScatterElements", "ScatterND", "Gather", "GatherElements", "GatherND", "TensorScatter")
}
