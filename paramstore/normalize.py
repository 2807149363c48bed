"""Any call -> one of two layouts, with every check of types and shapes.

``rows``: ``data (R, W)``, ``ids (N,)``, ``updates (N, W)``; index tuples are flattened to ids.
``elements``: ``data``, ``indices`` and ``updates`` of one rank, and an axis.

What is left to the kernels is what needs a look at every value: the bounds of the indices and integer zero divisors. Where they
find a fault, `Call.error` says where in the caller's own arrays it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from . import bounds as rule
from . import convert, dtypes, ops, places, registry
from .convert import Array
from .errors import ArgumentError, DtypeError, IndexOutOfBounds, ParamstoreError, ShapeError, TooLarge, ZeroDivisor
from .registry import Fault

__all__ = ["Call", "rows", "nd", "elements", "axis_of", "shape_of", "check_op", "reduction_op"]


@dataclass(slots=True)
class Call:
    """A call in normal form. ``updates`` is the output array of a gather."""

    name: str  # the operator, for messages
    op: str
    layout: str
    data: Array  # (R, W) for rows, any rank for elements
    ids: Array  # (N,) for rows, the rank of data for elements
    updates: Array  # (N, W) for rows, the shape of ids for elements
    bounds: int
    wrap: bool
    shown: Array  # the caller's indices, for messages
    sizes: tuple[int, ...]  # the range of each index: one size, or one for each member of a tuple
    update_shape: tuple[int, ...] = ()
    axis: int = 0
    device: str = "cpu"

    @property
    def dtype(self) -> str:
        return dtypes.name(self.data.dtype)

    def error(self, fault: tuple[str, int, int]) -> ParamstoreError:
        """The exception for what a kernel found."""
        kind, position, value = fault
        if kind == "zero":
            return ZeroDivisor(f"{self.name}: {_at('updates', position, self.update_shape)} = 0: integer division by zero")
        if self.shown.dtype == object or self.shown.dtype == np.uint64:
            value = int(self.shown.reshape(-1)[position])
        size = self.sizes[position % len(self.sizes)]
        low = -size if self.wrap else 0
        return IndexOutOfBounds(f"{self.name}: {_at('indices', position, self.shown.shape)} = {value} is not in [{low}, {size})")


def _at(argument: str, position: int, shape: Sequence[int]) -> str:
    if not shape:
        return argument
    return f"{argument}[{', '.join(str(int(i)) for i in np.unravel_index(position, tuple(shape)))}]"


def axis_of(call: str, axis: Any, rank: int) -> int:
    """``axis`` counted from the front.

    Raises:
        DtypeError: no integer.
        ShapeError: outside [-rank, rank).
    """
    if isinstance(axis, (bool, np.bool_)) or not hasattr(type(axis), "__index__"):
        raise DtypeError(f"{call}: axis = {axis!r} must be an integer")
    try:
        value = axis.__index__()
    except Exception as error:  # an array with dimensions; whatever the value's own method raises
        raise DtypeError(f"{call}: axis = {axis!r} must be an integer") from error
    if not -rank <= value < rank:
        raise ShapeError(f"{call}: axis = {value} is not in [{-rank}, {rank})")
    return int(value) % rank


def shape_of(call: str, shape: Any) -> tuple[int, ...]:
    """A shape argument as a tuple of non-negative ints whose product an array can have."""
    if hasattr(type(shape), "__index__") and not isinstance(shape, np.ndarray):
        shape = (shape,)
    try:
        sizes = tuple(shape)
    except Exception as error:
        raise DtypeError(f"{call}: shape = {shape!r} must be a sequence of integers") from error
    if any(isinstance(s, (bool, np.bool_)) or not hasattr(type(s), "__index__") for s in sizes):
        raise DtypeError(f"{call}: shape = {shape!r} must hold integers only")
    try:
        out = tuple(s.__index__() for s in sizes)
    except Exception as error:  # rows of an array with more than one dimension
        raise DtypeError(f"{call}: shape = {shape!r} must hold integers only") from error
    if any(s < 0 for s in out):
        raise ShapeError(f"{call}: shape = {out} has a negative size")
    if len(out) > 64 or prod(max(s, 1) for s in out) >= 2**60:
        raise ShapeError(f"{call}: shape = {out} is larger than an array can be")
    return out


def check_op(call: str, op: str, dtype: np.dtype[Any]) -> None:
    """Refuses an op that is not defined for the dtype, before anything is looked at. A kernel registered from outside defines it."""
    if op == "gather":
        return
    contract = ops.op_named(call, op)
    kind = dtypes.kind(dtype)
    if kind not in contract.kinds and not registry.knows(op, dtypes.name(dtype)):
        raise DtypeError(f"{call}: {op} is not defined for dtype {dtype} ({kind}); it is for {', '.join(sorted(contract.kinds))}")


def _apart(array: Array, target: Array) -> Array:
    """``array``, copied if it may share memory with what the call writes."""
    return places.copy(array) if places.overlap(array, target) else array


def rows(
    name: str,
    op: str,
    x: Array,
    indices: Any,
    updates: Any,
    *,
    bounds: str = "raise",
    wrap: bool = False,
    convert_updates: bool = True,
    widths: tuple[str, ...] | None = None,
    target: str = "x",
    spread_scalar: bool = False,
    broadcast: bool = False,
    refuse_zero: bool = False,
) -> Call:
    """``x[indices[i, ..., j], :] = op(x[...], updates[i, ..., j, :])``, or a gather of rows when ``updates`` is None.

    Args:
        spread_scalar: whether updates without dimensions stand for all of them (TensorFlow's rule).
        broadcast: whether updates spread to the shape they must have, as NumPy's do.
        refuse_zero: whether a zero among the updates is an error for every dtype (MindSpore's and TensorFlow's division).
    """
    code = rule.code(name, bounds)
    check_op(name, op, x.dtype)
    if x.ndim < 1:
        raise ShapeError(f"{name}: {target}.shape = () must have at least one dimension")
    on = places.of(x)
    ids, original = convert.indices_of(name, "indices", indices, widths, on)
    row_shape = x.shape[1:]
    expected = ids.shape + row_shape
    values = _values(name, op, x, updates, expected, "indices.shape + " + target + ".shape[1:]", convert_updates, target, spread_scalar, broadcast)
    if refuse_zero:
        _no_zero(name, values)
    n, w = ids.size, prod(row_shape)
    return Call(
        name, op, "rows", x.reshape(x.shape[0], w), _apart(ids, x if op != "gather" else values).reshape(n), values.reshape(n, w),
        code, wrap, ids if original is None else original, (x.shape[0],), values.shape, device=places.family(on),
    )  # fmt: skip


def _values(
    name: str,
    op: str,
    x: Array,
    updates: Any,
    expected: tuple[int, ...],
    rule_text: str,
    convert_updates: bool,
    target: str,
    spread: bool = False,
    broadcast: bool = False,
) -> Array:
    """The updates, checked and kept apart from the target; for a gather, room for the result."""
    if op == "gather":
        try:
            return places.empty(places.of(x), expected, x.dtype)
        except (MemoryError, ValueError) as error:  # ValueError: too many dimensions, or more bytes than an address can count
            raise TooLarge(f"{name}: the result of shape {expected}: {error}") from error
    on = places.of(x)
    values = convert.updates_of(name, "updates", updates, x.dtype, convert=convert_updates, owner=target, on=on)
    if (spread or broadcast) and not values.ndim:
        return places.full(on, expected, values, x.dtype)
    if broadcast and values.shape != expected:
        try:
            values = convert.plain(places.spread(values, expected))
        except ValueError:
            raise ShapeError(f"{name}: updates.shape = {values.shape} does not spread to {rule_text} = {expected}") from None
    if values.shape != expected:
        raise ShapeError(f"{name}: updates.shape = {values.shape} must be {rule_text} = {expected}")
    return _apart(values, x)


def _no_zero(name: str, values: Array) -> None:
    zero = rule.first_zero(places.host(values))
    if zero is not None:
        raise ZeroDivisor(f"{name}: {_at('updates', zero.position, values.shape)} = 0: updates must not contain 0")


def nd(
    name: str,
    op: str,
    x: Array,
    indices: Any,
    updates: Any,
    *,
    bounds: str = "raise",
    wrap: bool = False,
    convert_updates: bool = True,
    widths: tuple[str, ...] | None = None,
    target: str = "x",
    least_rank: int = 2,
    least_depth: int = 0,
    least_target_rank: int = 0,
    column: bool = False,
    broadcast: bool = False,
) -> Call:
    """Each vector along the last axis of ``indices`` (..., K) addresses the cell or slice ``x[i0, ..., iK-1]``.

    Args:
        least_depth: the smallest K; with K = 0 each update is for the whole of x.
        column: whether indices of one dimension are as many tuples of one index (TensorFlow's Variables) and not a single tuple.
        broadcast: whether updates spread to the shape they must have, as NumPy's do.
    """
    code = rule.code(name, bounds)
    check_op(name, op, x.dtype)
    if x.ndim < least_target_rank:
        raise ShapeError(f"{name}: {target}.shape = {x.shape} must have at least one dimension")
    on = places.of(x)
    tuples, original = convert.indices_of(name, "indices", indices, widths, on)
    if column and tuples.ndim == 1:
        tuples = tuples.reshape(-1, 1)
        original = None if original is None else original.reshape(-1, 1)
    if tuples.ndim < least_rank:
        raise ShapeError(f"{name}: indices.shape = {tuples.shape} must have at least {least_rank} dimensions")
    k = tuples.shape[-1]
    if k < least_depth:
        raise ShapeError(f"{name}: indices.shape = {tuples.shape}: its last size must be at least {least_depth}")
    if k > x.ndim:
        raise ShapeError(f"{name}: indices.shape = {tuples.shape}: its last size {k} is more than the {x.ndim} dimensions of {target}.shape = {x.shape}")
    dims, row_shape = x.shape[:k], x.shape[k:]
    expected = tuples.shape[:-1] + row_shape
    values = _values(name, op, x, updates, expected, f"indices.shape[:-1] + {target}.shape[indices.shape[-1]:]", convert_updates, target,
                     broadcast=broadcast)  # fmt: skip
    n, r, w = prod(tuples.shape[:-1]), prod(dims), prod(row_shape)
    shown = tuples if original is None else original
    call = Call(name, op, "rows", x.reshape(r, w), tuples, values.reshape(n, w), code, wrap, shown, dims or (1,), values.shape,
                device=places.family(on))  # fmt: skip
    call.ids = _apart(tuples, x).reshape(n) if k == 1 else flat_ids(call, tuples.reshape(n, k), dims)
    return call


def flat_ids(call: Call, tuples: Array, dims: tuple[int, ...]) -> Array:
    """Row-major ids of index tuples; what a kernel then still has to obey is that dropped ones are -1."""
    out = places.empty(places.of(tuples), (tuples.shape[0],), np.dtype(np.int64))
    kernel = registry.find(call.name, "flatten", "tuples", tuples.dtype.name, call.device)
    fault = kernel.function(tuples, dims, out, call.bounds, call.wrap)
    if fault is not None:
        raise call.error(fault)
    call.bounds, call.wrap = rule.DROP, False
    return out


def elements(
    name: str,
    op: str,
    data: Array,
    indices: Any,
    updates: Any,
    axis: Any = 0,
    *,
    bounds: str = "raise",
    wrap: bool = True,
    widths: tuple[str, ...] | None = None,
    convert_updates: bool = False,
    target: str = "data",
    spread_scalar: bool = False,
    corner: bool = False,
    refuse_negative: bool = False,
) -> Call:
    """``data[..., indices[q], ...] = op(..., updates[q])``: coordinate ``axis`` of each position q is replaced by the index there.

    Args:
        spread_scalar: whether updates without dimensions stand for all of them.
        corner: whether updates may be larger than the indices: then the corner of the indices' shape counts (PyTorch's rule).
        refuse_negative: whether a negative index is an error even with bounds="drop" (MindSpore drops only those past the end).
    """
    code = rule.code(name, bounds)
    check_op(name, op, data.dtype)
    if data.ndim < 1:
        raise ShapeError(f"{name}: {target}.shape = () must have at least one dimension")
    at = axis_of(name, axis, data.ndim)
    on = places.of(data)
    ids, original = convert.indices_of(name, "indices", indices, widths, on)
    if ids.ndim != data.ndim:
        raise ShapeError(f"{name}: indices.shape = {ids.shape} must have the rank of {target}.shape = {data.shape}")
    if corner and getattr(updates, "ndim", 0) == ids.ndim and updates.shape != ids.shape:
        updates = updates[tuple(map(slice, ids.shape))]
    values = _values(name, op, data, updates, ids.shape, "indices.shape", convert_updates, target, spread_scalar)
    for d, (inner, outer) in enumerate(zip(ids.shape, data.shape)):
        if d != at and inner > outer:
            raise ShapeError(f"{name}: indices.shape[{d}] = {inner} must not exceed {target}.shape[{d}] = {outer} (axis = {at})")
    shown = ids if original is None else original
    ids = _apart(ids, data if op != "gather" else values)
    call = Call(name, op, "elements", data, ids, values, code, wrap, shown, (data.shape[at],), values.shape, at, places.family(on))
    if refuse_negative and ids.size:
        flat = places.host(ids).reshape(-1)
        if int(flat.min()) < 0:
            position = int(np.argmax(flat < 0))
            raise call.error(Fault("index", position, int(flat[position])))
    return call


def reduction_op(call: str, reduction: Any) -> str:
    """The op that an ONNX reduction names."""
    found = ops.REDUCTIONS.get(reduction) if isinstance(reduction, str) else None
    if found is None:
        raise ArgumentError(f"{call}: reduction = {reduction!r} is none of {', '.join(map(repr, ops.REDUCTIONS))}")
    return found
