"""Reductions over segments: rows that share an id are combined, in their order, by an op of the table.

Also the two that divide: the mean, and the sum over the square root of the count. On a GPU the ids are looked at on the host, which
waits for the stream.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import convert, dispatch, dtypes, functional, normalize, ops, places
from .convert import Array
from .errors import DtypeError, IndexOutOfBounds, ShapeError

__all__ = ["unsorted", "sorted_", "start", "KINDS"]

# What a segment reduction does with the rows; "mean" and "sqrt_n" are sums that are divided afterwards.
KINDS = {"sum": "add", "prod": "mul", "min": "min", "max": "max", "mean": "add", "sqrt_n": "add"}


def start(op: str, dtype: np.dtype[Any], infinite: bool) -> Any:
    """What a segment without rows holds: the op's identity; for floats under min and max the end of the range, or infinity."""
    identity = ops.OPS[op].identity
    if not isinstance(identity, str):
        return identity
    if dtypes.kind(dtype) == "bool":
        return identity == "highest"
    if infinite and dtypes.kind(dtype) == "float":
        return np.inf if identity == "highest" else -np.inf
    return dtypes.range_of(dtype)[identity == "highest"]


def _check(name: str, kind: str, data: Any, ids: Any, widths: tuple[str, ...] | None) -> tuple[Array, Array]:
    values = convert.plain(convert.anywhere(name, "data", data))
    op = KINDS[kind]
    normalize.check_op(name, op, values.dtype)
    if values.dtype == np.bool_ or (kind == "sqrt_n" and dtypes.kind(values.dtype) not in ("float", "complex")):
        raise DtypeError(f"{name}: {kind} is not defined for dtype {values.dtype}")
    if places.of(values) is not None and places.on_gpu(ids):
        ids = places.host(convert.array_on(name, "segment_ids", ids, places.of(values)))
    found, _ = convert.indices_of(name, "segment_ids", ids, widths)
    return values, found.astype(np.int64)  # private: checked once


def _too_far(name: str, ids: Array, bad: Array, low: str, high: int) -> IndexOutOfBounds:
    flat = int(np.argmax(bad.reshape(-1)))
    where = ", ".join(str(int(i)) for i in np.unravel_index(flat, ids.shape)) if ids.ndim else ""
    return IndexOutOfBounds(f"{name}: segment_ids[{where}] = {ids.reshape(-1)[flat]} is not in [{low}, {high})")


def unsorted(name: str, kind: str, data: Any, segment_ids: Any, num_segments: Any, *, widths: tuple[str, ...] | None = None) -> Array:
    """``out[ids[i, ..., j], ...] = op(out[...], data[i, ..., j, ...])`` in C order, from the op's identity.

    Args:
        kind: one of `KINDS`.
        data: shape ``segment_ids.shape + row``.
        segment_ids: integers; the rows of negative ones are left out.
        num_segments: the first size of the result.

    Raises:
        ShapeError, DtypeError: they do not fit.
        IndexOutOfBounds: an id of num_segments or more.
    """
    values, ids = _check(name, kind, data, segment_ids, widths)
    (count,) = normalize.shape_of(name, (num_segments,))  # one integer, and not a negative one
    if values.shape[: ids.ndim] != ids.shape:
        raise ShapeError(f"{name}: data.shape = {values.shape} must begin with segment_ids.shape = {ids.shape}")
    bad = ids >= count
    if bad.any():
        raise _too_far(name, ids, bad, "...", count)
    out = _filled(name, (count, *values.shape[ids.ndim :]), start(KINDS[kind], values.dtype, infinite=False), values)
    dispatch.run(normalize.rows(name, KINDS[kind], out, ids, values, bounds="drop", convert_updates=False))
    return out if kind not in ("mean", "sqrt_n") else _divided(name, kind, out, _counts(ids, count))


def sorted_(name: str, kind: str, data: Any, segment_ids: Any, *, widths: tuple[str, ...] | None = None) -> Array:
    """As `unsorted` for ids of shape (N,) that never fall; there are as many segments as the last id says, and those without rows are 0.

    (1 for "prod".) An integer mean truncates toward zero.

    Raises:
        ShapeError, DtypeError: they do not fit, or ids that fall.
        IndexOutOfBounds: a negative id.
    """
    values, ids = _check(name, kind, data, segment_ids, widths)
    if ids.ndim != 1 or values.ndim < 1 or len(ids) != len(values):
        raise ShapeError(f"{name}: segment_ids.shape = {ids.shape} must be (data.shape[0],), data.shape = {values.shape}")
    falls = ids[1:] < ids[:-1]
    if falls.any():
        at = int(np.argmax(falls)) + 1
        raise ShapeError(f"{name}: segment_ids[{at}] = {ids[at]} is less than the one before it, {ids[at - 1]}: they must be sorted")
    if len(ids) and ids[0] < 0:
        raise _too_far(name, ids, ids < 0, "0", int(ids[-1]) + 1)
    count = int(ids[-1]) + 1 if len(ids) else 0
    op = KINDS[kind]
    out = _filled(name, (count, *values.shape[1:]), start(op, values.dtype, infinite=True), values)
    dispatch.run(normalize.rows(name, op, out, ids, values, convert_updates=False))
    counts = _counts(ids, count)
    if op in ("min", "max"):
        without = np.flatnonzero(counts == 0)
        dispatch.run(normalize.rows(name, "update", out, without, np.zeros((), out.dtype), spread_scalar=True))
    return out if kind not in ("mean", "sqrt_n") else _divided(name, kind, out, counts, in_place=True)


def _filled(name: str, shape: tuple[int, ...], value: Any, like: Array) -> Array:
    sizes = normalize.shape_of(name, shape)
    return functional.allocated(name, lambda: places.full(places.of(like), sizes, value, like.dtype))


def _counts(ids: Array, count: int) -> Array:
    return np.bincount(ids[ids >= 0].reshape(-1), minlength=count)


def _divided(name: str, kind: str, sums: Array, counts: Array, in_place: bool = False) -> Array:
    """Sums over their counts; an empty segment divides by 1. Integer means are floats, unless they are to stay in place."""
    dtype = own = sums.dtype
    if dtypes.kind(own) in ("int", "uint"):
        # Integer means divide in the widest type, which holds every count.
        wide = np.uint64 if own == np.uint64 else np.int64
        dtype = np.dtype(wide if in_place else np.float32 if own.itemsize < 4 else np.float64)
        sums = places.astype(sums, dtype)
    by = np.maximum(counts, 1).astype(dtype)
    if kind == "sqrt_n":
        by = np.sqrt(by)
    by = by.reshape(-1, *[1] * (sums.ndim - 1))
    dispatch.run(normalize.rows(name, "div", sums, np.arange(len(sums)), by, convert_updates=False, broadcast=True))
    return places.astype(sums, own) if in_place else sums
