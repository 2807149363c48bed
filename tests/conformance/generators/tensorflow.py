"""Random calls of TensorFlow's operators."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..cases import COMPLEX, FLOATS, INTS, Draw

Arguments = dict[str, Any]
ROWS = ("add", "sub", "mul", "div", "min", "max", "update")


def case(draw: Draw) -> tuple[str, Arguments]:
    family = draw.pick(*[_rows] * 5, *[_nd] * 3, _whole, _read, _batch, *[_scatter_nd] * 2, *[_tensor_scatter] * 3, *[_gather] * 2,
                       _gather_nd, *[_unsorted] * 3, *[_sorted] * 2, _dense)  # fmt: skip
    operator, arguments = family(draw)
    return operator, arguments


def _dtype(draw: Draw) -> str:
    return draw.mostly(draw.dtype(), "bool", "bfloat16", *COMPLEX, probability=0.15)


def _index_dtype(draw: Draw) -> str:
    return draw.mostly(draw.pick("int32", "int64"), "int16", "uint8", "uint32", "float32", probability=0.05)


def _other_dtype(draw: Draw, dtype: str) -> str:
    return draw.mostly(dtype, *INTS, *FLOATS, probability=0.04)


def _updates(draw: Draw, shape: tuple[int, ...], dtype: str, zero: bool = True) -> Any:
    """Mostly an array that fits; else another shape or dtype, or a literal."""
    if draw.chance(0.06):
        shape = draw.other_shape(shape)
    values = draw.values(shape, _other_dtype(draw, dtype), zero=zero)
    if values.dtype.name in ("int8", "uint8") and draw.chance(0.02):
        return (values.astype(int) + 300).tolist()
    if draw.chance(0.05) and values.dtype.name != "bfloat16" and values.size and np.isfinite(values).all():
        return values.tolist()
    return values


def _texts(draw: Draw, shape: tuple[int, ...]) -> Any:
    out = np.empty(prod(shape), object)
    out[:] = [draw.pick(b"", b"a", b"bc", b"\xff\x00d") for _ in range(prod(shape))]
    return out.reshape(shape)


def _maybe_numpy(draw: Draw, arguments: Arguments, key: str) -> Arguments:
    if draw.chance(0.03) and isinstance(arguments[key], np.ndarray) and arguments[key].dtype.kind in "iuf":
        arguments["numpy"] = True
        arguments[key] = arguments[key].astype(draw.pick(*INTS, *FLOATS))
    return arguments


def _rows(draw: Draw) -> tuple[str, Arguments]:
    op = draw.pick(*ROWS)
    shape = draw.mostly(draw.shape(1, 3), (), probability=0.01)
    where = draw.shape(0, 2)
    indices = draw.indices(where, shape[0] if shape else 1, _index_dtype(draw), negative=0.03)
    expected = where + shape[1:]
    if op == "update" and draw.chance(0.1):
        return "Variable.scatter_update", {"x": _texts(draw, shape), "indices": indices, "values": _texts(draw, expected)}
    dtype = _dtype(draw)
    x = draw.values(shape, dtype)
    zero = op != "div" or draw.chance(0.1)
    values = draw.values((), dtype, zero=zero) if draw.chance(0.08) else _updates(draw, expected, dtype, zero=zero)
    if op == "div" and x.dtype.kind == "i" and draw.chance(0.1):  # what kills it
        x[...], values = np.iinfo(dtype).min, -np.ones(expected, dtype)
    if op in ("add", "update") and draw.chance(0.1):
        return f"compat.v1.scatter_{op}", {"x": x, "indices": indices, "updates": values}
    return f"Variable.scatter_{op}", _maybe_numpy(draw, {"x": x, "indices": indices, "values": values}, "values")


def _tuples(draw: Draw, shape: tuple[int, ...], rank_one: float) -> tuple[Any, tuple[int, ...]]:
    """Index tuples for an array of that shape, and the shape of the updates."""
    k = draw.mostly(draw.integer(1, len(shape)) if shape else 0, 0, len(shape) + 1, probability=0.03)
    where = draw.shape(0 if draw.chance(rank_one) else 1, 2)
    dims = (*shape, 1)[:k]
    return draw.tuples(where, dims, _index_dtype(draw), negative=0.02), where + shape[k:]


def _nd(draw: Draw) -> tuple[str, Arguments]:
    op = draw.pick("add", "sub", "min", "max", "update")
    shape, dtype = draw.mostly(draw.shape(1, 3), (), probability=0.01), _dtype(draw)
    x = draw.values(shape, dtype)
    if draw.chance(0.1) and shape:  # of one dimension: as many rows
        where = draw.shape(1, 1)
        indices, expected = draw.indices(where, shape[0], _index_dtype(draw), negative=0.02), where + shape[1:]
    else:
        indices, expected = _tuples(draw, shape, 0.02)
    if op in ("add", "update") and draw.chance(0.1):
        return f"compat.v1.scatter_nd_{op}", {"x": x, "indices": indices, "updates": _updates(draw, expected, dtype)}
    return f"Variable.scatter_nd_{op}", _maybe_numpy(
        draw, {"x": x, "indices": indices, "updates": _updates(draw, expected, dtype)}, "updates"
    )


def _whole(draw: Draw) -> tuple[str, Arguments]:
    shape, dtype = draw.shape(0, 3), _dtype(draw)
    arguments = {"x": draw.values(shape, dtype), "value": _updates(draw, shape, dtype)}
    return draw.pick("Variable.assign", "Variable.assign_add", "Variable.assign_sub"), _maybe_numpy(draw, arguments, "value")


def _read(draw: Draw) -> tuple[str, Arguments]:
    shape = draw.shape(1, 3)
    x = draw.values(shape, _dtype(draw))
    if draw.chance(0.5):
        return "Variable.sparse_read", {"x": x, "indices": draw.indices(draw.shape(0, 2), shape[0], _index_dtype(draw))}
    return "Variable.gather_nd", {"x": x, "indices": _tuples(draw, shape, 0.1)[0]}


def _batch(draw: Draw) -> tuple[str, Arguments]:
    shape, dtype = draw.shape(1, 4, 3), _dtype(draw)
    b = draw.integer(0, len(shape) - 1)
    where = (*shape[:b], draw.integer(0, 3))
    if draw.chance(0.12):
        where = draw.other_shape(where)
    arguments = {"x": draw.values(shape, dtype), "indices": draw.indices(where, shape[b], _index_dtype(draw), negative=0.02)}
    values = _updates(draw, where + shape[b + 1 :], dtype)
    if draw.chance(0.2):
        return "compat.v1.batch_scatter_update", {**arguments, "updates": values}
    return "Variable.batch_scatter_update", {**arguments, "values": values}


def _policy(draw: Draw, arguments: Arguments) -> Arguments:
    if draw.chance(0.3):
        arguments["bad_indices_policy"] = draw.mostly(draw.pick("", "DEFAULT", "ERROR", "IGNORE"), "zz")
    return arguments


def _scatter_nd(draw: Draw) -> tuple[str, Arguments]:
    shape, dtype = draw.shape(1, 3), _dtype(draw)
    indices, expected = _tuples(draw, shape, 0.05)
    updates = _texts(draw, expected) if draw.chance(0.1) else _updates(draw, expected, dtype)
    sizes: Any = list(shape)
    if draw.chance(0.03):
        sizes = draw.pick(sizes[0], [sizes], [-1, *sizes[1:]])
    given = sizes if draw.chance(0.3) else np.asarray(sizes, indices.dtype if indices.dtype.kind == "i" else np.int32)
    return "scatter_nd", _policy(draw, {"indices": indices, "updates": updates, "shape": given})


def _tensor_scatter(draw: Draw) -> tuple[str, Arguments]:
    op = draw.pick("add", "sub", "min", "max", "update", "update")
    shape, dtype = draw.mostly(draw.shape(1, 3), (), probability=0.01), _dtype(draw)
    indices, expected = _tuples(draw, shape, 0.05)
    if op == "update" and draw.chance(0.1):
        return "tensor_scatter_nd_update", {"tensor": _texts(draw, shape), "indices": indices, "updates": _texts(draw, expected)}
    arguments = {"tensor": draw.values(shape, dtype), "indices": indices, "updates": _updates(draw, expected, dtype)}
    if op == "add" and draw.chance(0.2):
        return "raw_ops.ScatterNdNonAliasingAdd", {"input": arguments.pop("tensor"), **arguments}
    arguments = _maybe_numpy(draw, arguments, "updates")
    return f"tensor_scatter_nd_{op}", arguments if op == "update" else _policy(draw, arguments)


def _gather(draw: Draw) -> tuple[str, Arguments]:
    shape = draw.mostly(draw.shape(1, 4, 3), (), probability=0.01)
    data = _texts(draw, shape) if draw.chance(0.05) else draw.values(shape, _dtype(draw))
    b = draw.integer(0, max(len(shape) - 1, 0)) if draw.chance(0.4) else 0
    axis = draw.integer(b, max(len(shape) - 1, b))
    where = shape[:b] + draw.shape(0, 2)
    if draw.chance(0.04):
        where = draw.other_shape(where)
    indices = draw.indices(where, shape[axis] if axis < len(shape) else 1, _index_dtype(draw))
    arguments: Arguments = {"params": data, "indices": indices}
    if b or draw.chance(0.1):
        arguments["batch_dims"] = draw.mostly(b, b - len(where), -1, 3, probability=0.1)
    if axis != b or draw.chance(0.3):
        arguments["axis"] = draw.mostly(axis, axis - len(shape), 0, 5, probability=0.2)
    return "gather", arguments


def _gather_nd(draw: Draw) -> tuple[str, Arguments]:
    shape = draw.mostly(draw.shape(1, 4, 3), (), probability=0.03)
    b = draw.integer(0, len(shape) - 1) if shape and draw.chance(0.4) else 0
    indices, _ = _tuples(draw, shape[b:], 0.1)
    spread = np.broadcast_to(indices, (*shape[:b], *indices.shape)).copy()
    arguments: Arguments = {"params": draw.values(shape, _dtype(draw)), "indices": spread}
    if b or draw.chance(0.1):
        arguments["batch_dims"] = draw.mostly(b, -1, b + 1, 3, probability=0.1)
    return "gather_nd", _policy(draw, arguments)


def _segment_data(draw: Draw, where: tuple[int, ...]) -> Any:
    return _updates(draw, where + draw.shape(0, 2), _dtype(draw))


def _unsorted(draw: Draw) -> tuple[str, Arguments]:
    where, count = draw.shape(0, 2), draw.mostly(draw.integer(1, 5), 0, -1, probability=0.05)
    ids = draw.indices(where, max(count, 1), _index_dtype(draw), negative=0.2)
    kind = draw.pick("sum", "prod", "min", "max", "mean", "sqrt_n")
    return f"math.unsorted_segment_{kind}", {"data": _segment_data(draw, where), "segment_ids": ids, "num_segments": count}


def _sorted(draw: Draw) -> tuple[str, Arguments]:
    count = draw.integer(0, 6)
    ids = np.sort(draw.rng.integers(0, 5, count)).astype(_index_dtype(draw))
    if draw.chance(0.08):
        ids = draw.indices((count,), 5, "int64", negative=0.5, outside=0.0)
    if draw.chance(0.02):
        ids = ids.reshape(draw.pick((1, count), (count, 1)))
    kind = draw.pick("sum", "prod", "min", "max", "mean")
    return f"math.segment_{kind}", {"data": _segment_data(draw, (count,)), "segment_ids": ids}


def _dense(draw: Draw) -> tuple[str, Arguments]:
    shape, where = draw.shape(1, 3), draw.shape(1, 1)
    indices = draw.indices(where, shape[0], _index_dtype(draw), negative=0.1)
    values = draw.values(where + shape[1:], _dtype(draw))
    return "convert_to_tensor", {"values": values, "indices": indices, "shape": draw.mostly(list(shape), None)}
