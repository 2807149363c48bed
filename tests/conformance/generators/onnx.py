"""Random nodes of ONNX's scatter and gather operators."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..cases import COMPLEX, FLOATS, INTS, Draw

Node = tuple[str, dict[str, Any]]
REDUCTIONS = {11: ("none",), 13: ("none",), 16: ("none", "add", "mul"), 18: ("none", "add", "mul", "min", "max")}


def case(draw: Draw) -> Node:
    node: Node = draw.pick(*[_scatter_elements] * 4, *[_scatter_nd] * 4, _gather, _gather_elements, _gather_nd, _tensor_scatter)(draw)
    return node


def scatter(draw: Draw) -> Node:
    """Scatter, which the reference evaluator does not have."""
    _, node = _scatter_elements(draw)
    node["attributes"].pop("reduction", None)
    return "Scatter", {**node, "opset": draw.mostly(draw.pick(9, 10), 11, 18, 8)}


def _node(opset: int, inputs: list[Any], **attributes: Any) -> dict[str, Any]:
    return {"opset": opset, "inputs": inputs, "attributes": {k: v for k, v in attributes.items() if v is not None}}


def _dtype(draw: Draw) -> str:
    return draw.mostly(draw.dtype(), "bool", "bfloat16", "text", *COMPLEX, probability=0.2)


def _values(draw: Draw, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype == "text":
        out = np.empty(prod(shape), object)
        out[:] = [draw.pick("", "a", "bc", "d\xe9") for _ in range(prod(shape))]
        return out.reshape(shape)
    return draw.values(shape, dtype)


def _updates(draw: Draw, shape: tuple[int, ...], dtype: str) -> Any:
    if draw.chance(0.06):
        shape = draw.other_shape(shape)
    return _values(draw, shape, draw.mostly(dtype, *INTS, *FLOATS, probability=0.03))


def _index_dtype(draw: Draw, *usual: str) -> str:
    return draw.mostly(draw.pick(*usual), "int32", "int16", "uint8", "float32", probability=0.05)


def _axis(draw: Draw, rank: int) -> int | None:
    return draw.mostly(draw.integer(-rank, rank - 1) if rank else 0, None, rank, -rank - 1, probability=0.1)


def _within(draw: Draw, shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """A shape of the same rank, no longer than ``shape`` but along the axis."""
    sizes = tuple(draw.integer(0, 5) if d == axis else draw.mostly(s, draw.integer(0, s), probability=0.4) for d, s in enumerate(shape))
    return draw.other_shape(sizes) if draw.chance(0.05) else sizes


def _scatter_elements(draw: Draw) -> Node:
    opset = draw.pick(11, 13, 16, 17, 18, 18, 18, 20)
    shape, dtype = draw.mostly(draw.shape(1, 3), (), probability=0.01), _dtype(draw)
    axis = _axis(draw, len(shape))
    at = (axis or 0) % max(len(shape), 1)
    where = _within(draw, shape, at)
    indices = draw.indices(where, shape[at] if shape else 1, _index_dtype(draw, "int32", "int64"), negative=0.2)
    inputs = [_values(draw, shape, dtype), indices, _updates(draw, where, dtype)]
    return "ScatterElements", _node(opset, inputs, axis=axis, reduction=_reduction(draw, opset))


def _reduction(draw: Draw, opset: int) -> str | None:
    usual = draw.pick(*REDUCTIONS[max(k for k in REDUCTIONS if k <= opset)])
    if usual == "none" and draw.chance(0.9):
        usual = None
    return draw.mostly(usual, "add", "max", "none", "zz", probability=0.04)


def _tuples(draw: Draw, shape: tuple[int, ...], least: int) -> tuple[Any, tuple[int, ...]]:
    k = draw.mostly(draw.integer(1, max(len(shape), 1)), 0, len(shape) + 1, probability=0.05)
    where = draw.shape(draw.mostly(1, 0), 2)
    return draw.tuples(where, (*shape, 1)[:k], _index_dtype(draw, "int64"), negative=0.2), where + shape[k:]


def _scatter_nd(draw: Draw) -> Node:
    opset = draw.pick(11, 13, 16, 17, 18, 18, 18, 20)
    shape, dtype = draw.mostly(draw.shape(1, 3), (), probability=0.01), _dtype(draw)
    indices, expected = _tuples(draw, shape, 0)
    inputs = [_values(draw, shape, dtype), indices, _updates(draw, expected, dtype)]
    return "ScatterND", _node(opset, inputs, reduction=_reduction(draw, opset))


def _gather(draw: Draw) -> Node:
    opset = draw.pick(1, 10, 11, 13, 13, 18)
    shape = draw.mostly(draw.shape(1, 3), (), probability=0.02)
    axis = _axis(draw, len(shape))
    size = shape[(axis or 0) % len(shape)] if shape else 1
    indices = draw.indices(draw.shape(0, 2), size, _index_dtype(draw, "int32", "int64"), negative=0.2)
    return "Gather", _node(opset, [_values(draw, shape, draw.mostly(_dtype(draw), "text")), indices], axis=axis)


def _gather_elements(draw: Draw) -> Node:
    shape = draw.mostly(draw.shape(1, 3), (), probability=0.02)
    axis = _axis(draw, len(shape))
    at = (axis or 0) % max(len(shape), 1)
    indices = draw.indices(_within(draw, shape, at), shape[at] if shape else 1, _index_dtype(draw, "int32", "int64"), negative=0.2)
    if indices.dtype.kind == "i":  # the evaluator builds a list as long as the largest index
        indices = np.clip(indices, -9, 9)
    return "GatherElements", _node(draw.pick(11, 13, 18), [_values(draw, shape, _dtype(draw)), indices], axis=axis)


def _gather_nd(draw: Draw) -> Node:
    opset, shape = draw.pick(11, 12, 13, 18), draw.shape(1, 4, 3)
    b = draw.integer(0, len(shape) - 1) if opset > 11 and draw.chance(0.5) else 0
    indices, _ = _tuples(draw, shape[b:], 0)
    spread = np.broadcast_to(indices, (*shape[:b], *indices.shape)).copy()
    if draw.chance(0.03) and spread.ndim > 1:
        spread = spread[..., :1, :]
    batch_dims = draw.mostly(b or None, b + 1, -1, probability=0.05)
    return "GatherND", _node(opset, [_values(draw, shape, _dtype(draw)), spread], batch_dims=batch_dims)


def _tensor_scatter(draw: Draw) -> Node:
    shape, dtype = draw.shape(2, 4, 4, 0.02), _dtype(draw)
    axis = draw.mostly(draw.pick(None, -2, draw.integer(1, len(shape) - 1)), -1, 0, 5, probability=0.2)
    at = (-2 if axis is None else axis) % len(shape)
    length = draw.integer(0, shape[at] + draw.mostly(0, 1))
    mode = draw.mostly(draw.pick(None, "linear", "circular"), "zz", probability=0.02)
    high = shape[at] + 3 if mode == "circular" else max(shape[at] - length, 0)
    starts = draw.rng.integers(-1 if draw.chance(0.05) else 0, high + draw.mostly(1, 2), shape[0]).astype(_index_dtype(draw, "int64"))
    given = None if draw.chance(0.15) else starts if draw.chance(0.95) else starts[:1]
    updates = _updates(draw, (*shape[:at], length, *shape[at + 1 :]), dtype)
    return "TensorScatter", _node(draw.pick(24, 24, 25), [_values(draw, shape, dtype), updates, given], axis=axis, mode=mode)
