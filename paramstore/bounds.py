"""The bounds rule in NumPy: what ``bounds="raise" | "drop" | "clip"`` does to indices.

The native kernels carry the same rule; tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import ArgumentError
from .registry import Fault

__all__ = ["BOUNDS", "RAISE", "DROP", "CLIP", "code", "resolve", "first_zero", "flatten_tuples", "flat_elements"]

RAISE, DROP, CLIP = range(3)
BOUNDS = {"raise": RAISE, "drop": DROP, "clip": CLIP}

IntArray = np.ndarray[Any, np.dtype[np.int64]]


def code(call: str, bounds: str) -> int:
    """The rule's number, or an error that lists the rules."""
    found = BOUNDS.get(bounds) if isinstance(bounds, str) else None
    if found is None:
        raise ArgumentError(f"{call}: bounds = {bounds!r} is none of 'raise', 'drop', 'clip'")
    return found


def resolve(ids: np.ndarray[Any, Any], size: int, bounds: int, wrap: bool) -> IntArray | Fault:
    """A private int64 copy of ``ids`` in which each is in [0, size), or -1 where it is dropped; or the first bad one.

    >>> resolve(np.array([0, -1, 7]), 5, DROP, wrap=True).tolist()
    [0, 4, -1]
    >>> resolve(np.array([0, 7]), 5, RAISE, wrap=False)
    Fault(kind='index', position=1, value=7)
    """
    out = ids.astype(np.int64)  # always a copy, so that no other thread can change what has been checked
    bad = (out < 0) | (out >= size)
    if not bad.any():
        return out
    if wrap:
        wrapped = (out < 0) & (out >= -size)
        values = out.copy()
        out[wrapped] += size
        bad &= ~wrapped
    else:
        values = out
    if (bounds == RAISE or (bounds == CLIP and size == 0)) and bad.any():  # an empty axis has nothing to clip to
        position = int(np.argmax(bad.reshape(-1)))
        return Fault("index", position, int(values.reshape(-1)[position]))
    if bounds == CLIP:
        return np.clip(out, 0, size - 1, out=out)
    out[bad] = -1
    return out


def first_zero(updates: np.ndarray[Any, Any]) -> Fault | None:
    """The first zero divisor, if there is one."""
    zero = (updates == 0).reshape(-1)
    return Fault("zero", int(np.argmax(zero)), 0) if zero.any() else None


def flatten_tuples(indices: np.ndarray[Any, Any], dims: Sequence[int], out: IntArray, bounds: int, wrap: bool) -> Fault | None:
    """Row-major offsets of index tuples ``indices`` (N, K) in a shape ``dims`` (K), into ``out`` (N); -1 where one is dropped.

    Each index is widened to int64 before it is multiplied.

    >>> out = np.empty(1, np.int64)
    >>> flatten_tuples(np.array([[0, 46341, 0]], np.int32), (1, 46342, 46341), out, RAISE, False); out.tolist()
    [2147488281]
    """
    columns = []
    first: Fault | None = None
    for j, size in enumerate(dims):
        column = resolve(indices[:, j], size, bounds, wrap)
        if isinstance(column, Fault):
            position = column.position * len(dims) + j
            if first is None or position < first.position:
                first = Fault("index", position, column.value)
        else:
            columns.append(column)
    if first is not None:
        return first
    out[:] = 0
    dropped = np.zeros(out.shape, bool)
    for column, size in zip(columns, dims):
        dropped |= column < 0
        out *= size
        out += column
    out[dropped] = -1
    return None


def flat_elements(indices: np.ndarray[Any, Any], shape: Sequence[int], axis: int, bounds: int, wrap: bool) -> IntArray | Fault:
    """Flat offsets, in an array of ``shape``, of the cells that an elements call addresses: coordinate ``axis`` is replaced by the index."""
    along = resolve(indices, shape[axis], bounds, wrap)
    if isinstance(along, Fault):
        return along
    flat = np.zeros(indices.shape, np.int64)
    for d, size in enumerate(shape):
        coordinate = along if d == axis else np.arange(indices.shape[d]).reshape([-1 if e == d else 1 for e in range(len(shape))])
        flat = flat * size + coordinate
    flat[along < 0] = -1
    return flat.reshape(-1)
