"""The loop with one row of values at a time, for sizes at which threads work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .dtypes import COMPLEX, FLOATS, INTEGERS, SIGNED, dtype_of
from .steps import Step


def _float32_of(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if x.dtype.name == "bfloat16":
        return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return x.astype(np.float32)


def _half_of(v: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype.name == "float16":
        return v.astype(dtype)
    bits = v.view(np.uint32)
    narrow = np.where(v != v, np.uint32(0x7FC0), (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16)
    return narrow.astype(np.uint16).view(dtype)


def _pick(first: np.ndarray[Any, Any], x: np.ndarray[Any, Any], u: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """x where ``first`` says so or x is NaN, else u; a NaN in u wins."""
    return np.where((x != x) | (first & (u == u)), x, u)


def _vector_integer_div(x: np.ndarray[Any, Any], u: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    quotient = np.abs(x).view(unsigned) // np.abs(u).view(unsigned)  # abs(lowest) is lowest, which unsigned is its magnitude
    return np.where((x < 0) != (u < 0), np.zeros((), unsigned) - quotient, quotient).view(x.dtype)


def _vector_complex(op: str, x: np.ndarray[Any, Any], u: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    a, b, c, d = x.real, x.imag, u.real, u.imag
    out = np.empty(np.broadcast(x, u).shape, x.dtype)
    if op == "mul":
        out.real, out.imag = a * c - b * d, a * d + b * c
        return out
    first = np.abs(c) >= np.abs(d)
    ratio = np.where(first, d / c, c / d)
    scale = np.where(first, 1 / (c + d * ratio), 1 / (d + c * ratio))
    zero = (c == 0) & (d == 0)
    out.real = np.where(zero, a / np.abs(c), np.where(first, a + b * ratio, a * ratio + b) * scale)
    out.imag = np.where(zero, b / np.abs(c), np.where(first, b - a * ratio, b * ratio - a) * scale)
    return out


def vector_step(op: str, dtype: str) -> Step:
    """`step` on arrays. Integers wrap, as NumPy's arrays do."""
    if op == "update":
        return lambda x, u: u
    if dtype in ("float16", "bfloat16"):
        target, inner = dtype_of(dtype), vector_step(op, "float32")
        return lambda x, u: _half_of(inner(_float32_of(x), _float32_of(u)), target)
    if dtype in COMPLEX and op in ("mul", "div"):
        return lambda x, u: _vector_complex(op, x, u)
    if dtype in INTEGERS and op == "div":
        return _vector_integer_div if dtype in SIGNED else np.floor_divide
    if op == "min":
        return lambda x, u: _pick((x < u) | ((x == u) & np.signbit(x)), x, u) if dtype in FLOATS else np.minimum(x, u)
    if op == "max":
        return lambda x, u: _pick((x > u) | ((x == u) & np.signbit(u)), x, u) if dtype in FLOATS else np.maximum(x, u)
    return {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op]


def fold_rows(op: str, x: np.ndarray[Any, Any], rows: Sequence[int | None], updates: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The loop for ``x (R, W)``, resolved rows (N) and ``updates (N, W)``."""
    out, f = x.copy(), vector_step(op, x.dtype.name)
    with np.errstate(all="ignore"):
        for row, u in zip(rows, updates, strict=True):
            if row is not None:
                out[row] = f(out[row], u)
    return out


def fold_elements(
    op: str, x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], updates: np.ndarray[Any, Any], axis: int, bounds: str = "raise"
) -> np.ndarray[Any, Any]:
    """The loop of an elements call with wrapping indices: positions that differ in another coordinate than the axis never meet."""
    out, f = x.copy(), vector_step(op, x.dtype.name)
    table, ids, us = np.moveaxis(out, axis, 0), np.moveaxis(indices, axis, 0).astype(np.int64), np.moveaxis(updates, axis, 0)
    size = x.shape[axis]
    ids = np.where((ids < 0) & (ids >= -size), ids + size, ids)
    if bounds == "clip":
        ids = np.clip(ids, 0, size - 1)
    inside = (ids >= 0) & (ids < size)
    assert bounds == "drop" or inside.all()
    rest = np.indices(ids.shape[1:])
    with np.errstate(all="ignore"):
        for m in range(ids.shape[0]):
            at = (ids[m][inside[m]], *(c[inside[m]] for c in rest))
            table[at] = f(table[at], us[m][inside[m]])
    return out
