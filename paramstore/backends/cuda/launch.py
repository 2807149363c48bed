"""The kernels as the registry has them: each checks the call, chooses how to run it, and starts the work on the current stream."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import Any

import numpy as np

from ... import bounds as rule
from ... import ops
from ...registry import Fault
from . import device as devices
from . import geometry
from .calls import Array, Ids, Walk, aligned, check, device_of, fault_at, i32, i64, launch, reported, require
from .cells import Cell

__all__ = ["scatter_rows", "scatter_elements", "gather_rows", "gather_elements", "flatten_tuples", "sorted_targets"]

# An ordered elements call gives each lane (all positions that differ along the axis only) to one thread, if there are lanes enough to fill
# a GPU or hardly any steps in one; else it sorts.
ENOUGH_LANES, FEW_STEPS = 1 << 14, 16
_VECTOR = 16  # bytes that a thread takes at a time


def _divisors(cell: Cell, updates: Array) -> Array | None:
    return updates if ops.OPS[cell.op].zero_divisor and updates.dtype.kind in "iu" else None


def _same_dtype(data: Array, other: Array) -> None:
    require(data.dtype == other.dtype, f"arrays of dtypes {data.dtype} and {other.dtype}")


def sorted_targets(device: devices.Device, ids: Ids, size: int, kind: str, *place: Any) -> tuple[Array, Array]:
    """(targets in rising order, their places in the call): equal ones keep their order, those left out are -1."""
    key = "int32" if size < 2**31 else "int64"  # half the width, half the time to sort
    shape = geometry.items(ids.n)
    keys, ordered = device.empty((ids.n,), np.dtype(key)), device.empty((ids.n,), np.dtype(np.int64))
    launch(device, "ids", f"keys_of_{kind}_{key}", shape, *place, ids.arguments, keys)
    order = device.argsort(keys)
    launch(device, "ids", f"take_keys_{key}", shape, keys, order, i64(ids.n), ordered)
    return ordered, order


def _fold(device: devices.Device, cell: Cell, data: Array, width: int, found: tuple[Array, Array], updates: Array) -> None:
    ordered, order = found
    vector = aligned(width * data.itemsize, data, updates)
    columns = width * data.itemsize // _VECTOR if vector else width
    shape = geometry.rows(int(order.size), columns)
    launch(device, cell.family, cell.entry("rows"), shape, data, i64(width), ordered, order, i64(order.size), updates, i32(vector))


def scatter_rows(cell: Cell, data: Array, ids: Array, updates: Array, bounds: int, wrap: bool) -> Fault | None:
    """``data[ids[i], :] = op(data[ids[i], :], updates[i, :])``; data (R, W), ids (N,), updates (N, W)."""
    device = device_of(data=data, ids=ids, updates=updates)
    size, width = data.shape
    require(ids.ndim == 1 and updates.shape == (ids.size, width), f"updates of shape {updates.shape}")
    _same_dtype(data, updates)
    rows = Ids(ids, size, bounds, wrap)
    fault = check(device, rows, _divisors(cell, updates))
    if fault is not None or not rows.n or not data.size:
        return fault
    if cell.method == "fold":
        _fold(device, cell, data, width, sorted_targets(device, rows, size, "rows"), updates)
        return None
    vector = aligned(width * data.itemsize, data, updates)
    shape = geometry.rows(rows.n, width * data.itemsize // _VECTOR if vector else width)
    launch(device, cell.family, cell.entry("rows"), shape, data, i64(width), rows.arguments, updates, i32(vector))
    return None


def scatter_elements(cell: Cell, data: Array, axis: int, indices: Array, updates: Array, bounds: int, wrap: bool) -> Fault | None:
    """``data[..., indices[q], ...] = op(data[...], updates[q])`` with coordinate ``axis`` of q replaced by the index."""
    device = device_of(data=data, indices=indices, updates=updates)
    require(updates.shape == indices.shape, f"updates of shape {updates.shape}")
    _same_dtype(data, updates)
    walk = Walk(data.shape, indices.shape, axis)
    ids = Ids(indices, data.shape[axis], bounds, wrap)
    fault = check(device, ids, _divisors(cell, updates))
    if fault is not None or not ids.n or not data.size:
        return fault
    entry, place = cell.entry("elements"), walk.arguments(device)
    if cell.method == "atomic":
        launch(device, cell.family, entry, geometry.items(ids.n), data, *place, ids.arguments, updates)
        return None
    lanes = ids.n // walk.along
    if lanes >= ENOUGH_LANES or walk.along <= FEW_STEPS:
        launch(device, cell.family, entry, geometry.items(lanes), data, *place, ids.arguments, i64(walk.along), i64(walk.inner), updates)
    else:
        _fold(device, cell, data, 1, sorted_targets(device, ids, int(data.size), "elements", *place), updates)
    return None


def gather_rows(data: Array, ids: Array, out: Array, bounds: int, wrap: bool) -> Fault | None:
    """``out[i, :] = data[ids[i], :]``, zeros where an id is dropped."""
    device = device_of(data=data, ids=ids, out=out)
    require(ids.ndim == 1 and out.shape == (ids.size, data.shape[1]), f"out of shape {out.shape}")
    _same_dtype(data, out)
    rows = Ids(ids, data.shape[0], bounds, wrap)
    fault = check(device, rows)
    if fault is not None or not out.size:
        return fault
    width = data.shape[1] * data.itemsize
    unit = gcd(width, data.data.ptr, out.data.ptr, _VECTOR)
    shape = geometry.rows(rows.n, width // unit)
    launch(device, "moves", f"gather_rows_{unit}", shape, data, i64(width // unit), rows.arguments, out)
    return None


def gather_elements(data: Array, axis: int, indices: Array, out: Array, bounds: int, wrap: bool) -> Fault | None:
    """``out[q] = data[..., indices[q], ...]``, zero where an index is dropped."""
    device = device_of(data=data, indices=indices, out=out)
    require(out.shape == indices.shape, f"out of shape {out.shape}")
    _same_dtype(data, out)
    walk = Walk(data.shape, indices.shape, axis)
    ids = Ids(indices, data.shape[axis], bounds, wrap)
    fault = check(device, ids)
    if fault is None and ids.n:
        launch(device, "moves", f"gather_elements_{data.itemsize}", geometry.items(ids.n), data, walk.arguments(device), ids.arguments, out)
    return fault


def flatten_tuples(indices: Array, dims: Sequence[int], out: Array, bounds: int, wrap: bool) -> Fault | None:
    """Row-major offsets of index tuples ``indices`` (N, K) in a shape ``dims`` (K), into ``out`` (N); -1 where one is dropped."""
    device = device_of(indices=indices, out=out)
    n, k = indices.shape
    require(out.shape == (n,) and out.dtype == np.int64 and k == len(dims) and prod(dims) < 2**63, f"out of shape {out.shape}")
    if not n:
        return None
    tuples = Ids(indices, 0, bounds, wrap)
    found = device.zeros((1,), np.dtype(np.uint64))
    sizes = device.put(np.array(list(dims) or [1], np.int64))
    launch(device, "ids", "flatten", geometry.items(n), indices, i64(n), sizes, i32(k), tuples.wide, i32(bounds), i32(wrap), out, found)
    if bounds == rule.RAISE or (bounds == rule.CLIP and 0 in dims):
        position = reported(device, found)[0]
        if position is not None:
            return fault_at(device, indices, position)
    return None
