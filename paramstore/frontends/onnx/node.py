"""Runs one node, given as ONNX's NodeProto or as a mapping; the proto is only read, so that the package ``onnx`` is not needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...convert import Array
from ...errors import ArgumentError, DtypeError
from . import operators
from .schema import version_of

__all__ = ["run_node"]

_FUNCTIONS: dict[str, Callable[..., Array]] = {name: getattr(operators, name) for name in operators.__all__}
_INT, _STRING = 2, 3  # AttributeProto.AttributeType


def _attribute(call: str, proto: Any) -> Any:
    if proto.type == _INT:
        return proto.i
    if proto.type == _STRING:
        return proto.s.decode("utf-8", "replace")
    raise DtypeError(f"{call}: attribute {proto.name!r} is neither an integer nor a string")


def _parts(node: Any) -> tuple[str, dict[str, Any]]:
    """The operator's name and its attributes."""
    if isinstance(node, Mapping):
        rest = dict(node)
        name = rest.pop("op_type", None)
        if not isinstance(name, str):
            raise ArgumentError(f"run_node: node = {dict(node)!r} must name its 'op_type'")
        return name, rest
    if not hasattr(node, "op_type") or not hasattr(node, "attribute"):
        raise DtypeError(f"run_node: node must be a NodeProto or a mapping, not {type(node).__name__}")
    if getattr(node, "domain", "") not in ("", "ai.onnx"):
        raise ArgumentError(f"run_node: node.domain = {node.domain!r} is not ONNX's own")
    return node.op_type, {a.name: _attribute(node.op_type, a) for a in node.attribute}


def run_node(node: Any, inputs: Sequence[Any], opset: int | None = None) -> tuple[Array, ...]:
    """Runs one node and answers its outputs.

    Args:
        node: an ``onnx.NodeProto``, or a mapping with "op_type" and the attributes.
        inputs: its inputs in order; None for an optional one that is left out.
        opset: the model's opset, which chooses the operator's version; by default the latest.

    Raises:
        ArgumentError: an unknown operator, an attribute that its version does not have, or a wrong number of inputs.
        ShapeError, DtypeError, IndexOutOfBounds: as the operator.

    >>> run_node({"op_type": "ScatterND", "reduction": "add"}, [[1, 2, 3], [[0], [0]], [10, 20]], 16)
    (array([31,  2,  3]),)
    """
    name, attributes = _parts(node)
    version = version_of(name, opset)
    allowed = [key for key, _ in version.attributes]
    for key in attributes:
        if key not in allowed:
            raise ArgumentError(f"{version.name}: attribute {key!r} is none of {allowed}")
    least, most = version.inputs
    if not least <= len(inputs) <= most or any(value is None for value in inputs[:least]):
        raise ArgumentError(f"{version.name}: {len(inputs)} inputs given, {least} to {most} wanted")
    return (_FUNCTIONS[name](*inputs, **attributes, opset=opset),)
