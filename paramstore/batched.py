"""What takes more than one axis into account: gathers along any axis or with leading batch axes, and scatters of slices.

All of it becomes the layout ``rows``: the axes before the indexed one are counted into the row number.
"""

from __future__ import annotations

from contextlib import nullcontext
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from . import blocks, convert, dispatch, dtypes, normalize, places, registry
from . import bounds as rule
from . import blocks, convert, dispatch, normalize, places, shortcuts
from .convert import Array
from .errors import DtypeError, IndexOutOfBounds, ShapeError
from .normalize import Call

if TYPE_CHECKING:
    from .parameter import Parameter

__all__ = ["gathered", "gather", "gather_nd", "scatter", "scatter_slices", "take_along", "batch_dims_of"]


def gathered(call: Call) -> Array:
    """Runs a gather and answers its result."""
    dispatch.run(call)
    return call.updates.reshape(call.update_shape)


def batch_dims_of(name: str, batch_dims: Any, most: int) -> int:
    """``batch_dims``, counted from the end of ``most`` dimensions where it is negative."""
    if isinstance(batch_dims, (bool, np.bool_)) or not hasattr(type(batch_dims), "__index__"):
        raise DtypeError(f"{name}: batch_dims = {batch_dims!r} must be an integer")
    value = int(batch_dims.__index__())
    if not -most <= value <= most:
        raise ShapeError(f"{name}: batch_dims = {value} is not in [{-most}, {most}]")
    return value % most if value < 0 else value


def _leading(name: str, count: int, target: str, data: tuple[int, ...], indices: tuple[int, ...]) -> tuple[int, ...]:
    """The batch axes, if both sides have the same."""
    if count > min(len(data), len(indices)) or data[:count] != indices[:count]:
        raise ShapeError(f"{name}: indices.shape = {indices} must begin with the {count} batch sizes of {target}.shape = {data}")
    return data[:count]


def gather(
    name: str,
    params: Any,
    indices: Any,
    axis: Any,
    batch_dims: Any = 0,
    *,
    bounds: str = "raise",
    wrap: bool = False,
    widths: tuple[str, ...] | None = None,
    target: str = "params",
) -> Array:
    """Slices along ``axis``; the first ``batch_dims`` axes of params and indices go together.

    The result has the shape ``params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]``.
    """
    if type(axis) is int and axis == 0 and type(batch_dims) is int and batch_dims == 0:
        out = shortcuts.gathered(params, indices, bounds, wrap, widths)
        if out is not None:
            return out
    data = convert.plain(convert.anywhere(name, target, params))
    at = normalize.axis_of(name, axis, max(data.ndim, 1))
    if at == 0 and type(batch_dims) is int and batch_dims == 0:
        return gathered(normalize.rows(name, "gather", data, indices, None, bounds=bounds, wrap=wrap, widths=widths, target=target))
    size, inner = data.shape[at], data.shape[at + 1 :]
    probe = blocks.probe(name, data, size, indices, bounds=bounds, wrap=wrap, widths=widths, target=target)
    shape = probe.shown.shape
    b = batch_dims_of(name, batch_dims, len(shape))
    if b > at:
        raise ShapeError(f"{name}: batch_dims = {b} must not be more than axis = {at}")
    batch, middle = _leading(name, b, target, data.shape, shape), data.shape[b:at]
    found = blocks.resolved(probe, size)
    result = (*data.shape[:at], *shape[b:], *inner)
    if 0 in result:  # the row numbers of nothing could still be many
        return places.empty(places.of(data), result, data.dtype)
    # Row (batch, middle, index) of a table whose rows are the axes after ``axis``.
    ids = blocks.spread(name, found.reshape(prod(batch), prod(shape[b:])), prod(middle), size)
    table = data.reshape(prod(data.shape[: at + 1]), *inner)
    return gathered(normalize.rows(name, "gather", table, ids, None, bounds="drop", target=target)).reshape(result)


def gather_nd(
    name: str,
    params: Any,
    indices: Any,
    batch_dims: Any = 0,
    *,
    bounds: str = "raise",
    wrap: bool = False,
    widths: tuple[str, ...] | None = None,
    target: str = "params",
    least_depth: int = 0,
) -> Array:
    """Cells or slices at index tuples; the first ``batch_dims`` axes of params and indices go together.

    The result has the shape ``indices.shape[:-1] + params.shape[batch_dims + indices.shape[-1]:]``.
    """
    if type(batch_dims) is int and batch_dims == 0:
        out = shortcuts.gathered_nd(params, indices, bounds, wrap, widths)
        if out is not None:
            return out
    data = convert.plain(convert.anywhere(name, target, params))
    if type(batch_dims) is int and batch_dims == 0:
        return gathered(
            normalize.nd(name, "gather", data, indices, None, bounds=bounds, wrap=wrap, widths=widths, target=target, least_rank=1,
                         least_depth=least_depth)
        )  # fmt: skip
    tuples, _ = convert.indices_of(name, "indices", indices, widths, places.of(data))
    b = batch_dims_of(name, batch_dims, max(tuples.ndim - 1, 0))
    batch = _leading(name, b, target, data.shape, tuples.shape)
    cells, k = data.shape[b:], tuples.shape[-1] if tuples.ndim else 0
    if k > len(cells):
        raise ShapeError(
            f"{name}: indices.shape = {tuples.shape}: its last size {k} is more than the {len(cells)} dimensions that {target}.shape = "
            f"{data.shape} has after {b} batch dimensions"
        )
    probe = normalize.nd(
        name, "gather", places.empty(places.of(data), (*cells[:k], 0), data.dtype), indices, None, bounds=bounds, wrap=wrap, widths=widths,
        target=target, least_rank=1, least_depth=least_depth,
    )  # fmt: skip
    size = prod(cells[:k])
    ids = blocks.spread(name, blocks.resolved(probe, size).reshape(prod(batch), prod(tuples.shape[b:-1])), 1, size)
    table = data.reshape(prod(batch) * size, *cells[k:])
    return gathered(normalize.rows(name, "gather", table, ids, None, bounds="drop", target=target)).reshape(*tuples.shape[:-1], *cells[k:])


def scatter(
    name: str,
    op: str,
    p: Parameter,
    indices: Any,
    updates: Any,
    *,
    use_locking: bool = False,
    bounds: str = "raise",
    widths: tuple[str, ...] | None = None,
) -> Parameter:
    """In-place scatter in which every axis of the indices but the last is a batch axis of the Parameter too.

    ``x[b..., indices[b..., j]] = op(..., updates[b..., j])``, for updates of shape ``indices.shape + x.shape[indices.ndim:]``.
    """
    convert.a_bool(name, "use_locking", use_locking)
    with p.lock if use_locking else nullcontext():
        x = p._array
        ids, _ = convert.indices_of(name, "indices", indices, widths, places.of(x))
        b = ids.ndim - 1
        if b < 0 or b >= x.ndim:
            raise ShapeError(f"{name}: indices.shape = {ids.shape} must have 1 to {x.ndim} dimensions, the Parameter has shape {x.shape}")
        batch, size = _leading(name, b, "x", x.shape, ids.shape), x.shape[b]
        found = blocks.resolved(blocks.probe(name, x, size, indices, bounds=bounds), size)
        rows = blocks.spread(name, found.reshape(prod(batch), ids.shape[-1]), 1, size).reshape(ids.shape)
        table = x.reshape(prod(batch) * size, *x.shape[b + 1 :])
        dispatch.run(normalize.rows(name, op, table, rows, updates, bounds="drop"))
        p._changed()
    return p


def scatter_slices(name: str, out: Array, update: Any, starts: Any, axis: Any, circular: bool, target: str = "past_cache") -> None:
    """Writes one slice for each batch item: ``out[b, ..., starts[b] + t, ...] = update[b, ..., t, ...]`` along ``axis``.

    Args:
        out: shape (batch, ..., S, ...), changed in place.
        update: the same shape, but at most S along ``axis``.
        starts: int64, shape (batch,), or None for zeros.
        axis: any axis but the first.
        circular: whether positions past the end go on at the front; otherwise they are an error. Negative starts always are.
    """
    at = normalize.axis_of(name, axis, max(out.ndim, 1))
    if at == 0:
        raise ShapeError(f"{name}: axis = {axis} must not be the batch axis, {target}.shape = {out.shape}")
    on = places.of(out)
    values = convert.updates_of(name, "update", update, out.dtype, convert=False, owner=target, on=on)
    size, length = out.shape[at], values.shape[at] if values.ndim == out.ndim else 0
    if values.shape != (*out.shape[:at], length, *out.shape[at + 1 :]) or length > size:
        raise ShapeError(f"{name}: update.shape = {values.shape} must be {target}.shape = {out.shape}, or smaller along axis {at}")
    batch, middle, inner = out.shape[0], prod(out.shape[1:at]), prod(out.shape[at + 1 :])
    first, _ = convert.indices_of(name, "write_indices", [0] * batch if starts is None else starts, ("int64",), on)
    if first.shape != (batch,):
        raise ShapeError(f"{name}: write_indices.shape = {first.shape} must be {(batch,)}")
    first = places.host(places.copy(first))
    bad = (first < 0) if circular else (first < 0) | (first > size - length)
    if bad.any():
        where = int(np.argmax(bad))
        text = "must not be negative" if circular else f"is not in [0, {size - length}] (update has {length} of {size} positions)"
        raise IndexOutOfBounds(f"{name}: write_indices[{where}] = {first[where]} {text}")
    positions = first[:, None, None] % max(size, 1) + np.arange(length)
    rows = np.arange(batch * middle, dtype=np.int64).reshape(batch, middle, 1) * size
    ids = rows + (positions % max(size, 1) if circular else positions)
    table = out.reshape(batch * middle * size, inner)
    dispatch.run(normalize.rows(name, "update", table, ids, values.reshape(*ids.shape, inner), convert_updates=False))


def take_along(name: str, data: Array, indices: Any, axis: Any, *, widths: tuple[str, ...] | None = None, target: str = "data") -> Array:
    """``out[q] = data[q, with indices[q] at axis]``; the two spread over each other on every other axis."""
    found, _ = convert.indices_of(name, "indices", indices, widths, places.of(data))
    at = normalize.axis_of(name, axis, max(data.ndim, 1))
    if found.ndim != data.ndim:
        raise ShapeError(f"{name}: indices.shape = {found.shape} must have the rank of {target}.shape = {data.shape}")
    try:
        common = np.broadcast_shapes(data.shape[:at] + (1,) + data.shape[at + 1 :], found.shape[:at] + (1,) + found.shape[at + 1 :])
    except ValueError:
        raise ShapeError(f"{name}: indices.shape = {found.shape} and {target}.shape = {data.shape} do not spread over each other") from None
    wide = [convert.plain(places.spread(a, common[:at] + a.shape[at : at + 1] + common[at + 1 :])) for a in (data, found)]
    return gathered(normalize.elements(name, "gather", wide[0], wide[1], None, at, wrap=True, target=target))
