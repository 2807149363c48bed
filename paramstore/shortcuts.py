"""The native short cuts: calls whose arguments need no conversion are checked and run in one step.

Each answers False or None where the general path must look, and say what is wrong; nothing has been written then. So an array that is
read-only, unaligned, byte-swapped or not C-contiguous goes the general way, and so does every error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import bounds as rule
from . import dtypes, registry
from .backends import cpu
from .convert import Array

__all__ = ["rows", "nd", "copied", "zeros", "gathered", "gathered_nd"]

_OPS, _BOUNDS, _cpu = cpu.OP_NUMBERS, rule.BOUNDS, cpu.extension
_EVERY = 3
# Which index dtypes a rule allows, as the extension counts them: 1 for int32, 2 for int64.
_ALLOWED: dict[tuple[str, ...] | None, int] = {None: _EVERY}


def _allowed(widths: tuple[str, ...] | None) -> int:
    found = _ALLOWED.get(widths)
    if found is None:
        found = _ALLOWED[widths] = ("int32" in widths) + 2 * ("int64" in widths)  # type: ignore[operator]
    return found


def rows(op: str, x: Any, dtype: str, indices: Any, updates: Any, bounds: Any = "raise") -> bool:
    """``x[indices] = op(x[indices], updates)`` along the first axis, in place."""
    if type(bounds) is not str or bounds not in _BOUNDS or not registry.is_native(op, dtype):
        return False
    done: bool = _cpu.fast_rows(_OPS[op], x, indices, updates, _BOUNDS[bounds])
    return done


def nd(op: str, x: Any, dtype: str, indices: Any, updates: Any, bounds: Any = "raise", wrap: bool = False, widths: Any = None) -> bool:
    """The same with index tuples."""
    if type(bounds) is not str or bounds not in _BOUNDS or not registry.is_native(op, dtype):
        return False
    done: bool = _cpu.fast_nd(_OPS[op], x, indices, updates, _BOUNDS[bounds], wrap, _allowed(widths))
    return done


def copied(op: str, data: Any, indices: Any, updates: Any, axis: Any, bounds: Any, wrap: bool, widths: Any) -> Array | None:
    """A copy of ``data`` with updates at index tuples or, with an axis, at elements."""
    if type(data) is not np.ndarray or type(bounds) is not str or bounds not in _BOUNDS or not registry.is_native(op, dtypes.name(data.dtype)):
        return None
    if axis is None:
        out: Array | None = _cpu.fast_copy_nd(_OPS[op], data, indices, updates, _BOUNDS[bounds], wrap, _allowed(widths))
    elif type(axis) is int and -64 <= axis < 64:  # no array has more dimensions
        out = _cpu.fast_copy_elements(_OPS[op], data, indices, updates, axis, _BOUNDS[bounds], wrap, _allowed(widths))
    else:
        out = None
    return out


def zeros(op: str, indices: Any, updates: Any, shape: Any, bounds: Any, wrap: bool, widths: Any) -> Array | None:
    """Zeros of that shape with updates at index tuples."""
    if type(updates) is not np.ndarray or type(bounds) is not str or bounds not in _BOUNDS or not registry.is_native(op, dtypes.name(updates.dtype)):
        return None
    out: Array | None = _cpu.fast_zeros_nd(_OPS[op], indices, updates, shape, _BOUNDS[bounds], wrap, _allowed(widths))
    return out


def gathered(params: Any, indices: Any, bounds: Any, wrap: bool, widths: Any) -> Array | None:
    """``params[indices]`` along the first axis."""
    if type(params) is not np.ndarray or type(bounds) is not str or bounds not in _BOUNDS or not registry.is_native("gather", dtypes.name(params.dtype)):
        return None
    out: Array | None = _cpu.fast_gather(params, indices, _BOUNDS[bounds], wrap, _allowed(widths))
    return out


def gathered_nd(params: Any, indices: Any, bounds: Any, wrap: bool, widths: Any) -> Array | None:
    """The cells or slices at index tuples."""
    if type(params) is not np.ndarray or type(bounds) is not str or bounds not in _BOUNDS or not registry.is_native("gather", dtypes.name(params.dtype)):
        return None
    out: Array | None = _cpu.fast_gather_nd(params, indices, _BOUNDS[bounds], wrap, _allowed(widths))
    return out
