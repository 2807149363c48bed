"""Values that find mistakes, and comparing bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import _FLOAT_BITS, COMPLEX, INTEGERS, SIGNED, dtype_of


def bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of an array, as integers in C order, with one pattern for every NaN."""
    flat = np.array(array, copy=True, order="C").reshape(-1)
    if flat.dtype.name not in _FLOAT_BITS:
        return flat.view(f"u{flat.dtype.itemsize}")
    width, infinity = _FLOAT_BITS[flat.dtype.name]
    out = flat.view(f"u{width // 8}")
    magnitude = out & out.dtype.type((1 << (width - 1)) - 1)
    out[magnitude > infinity] = infinity + 1
    return out


def assert_same(got: Any, expected: np.ndarray[Any, Any], context: object = "") -> None:
    """Equal shape, dtype and bits; all NaNs count as equal, the zeros do not."""
    assert isinstance(got, np.ndarray), type(got)
    assert got.dtype == expected.dtype, (got.dtype, expected.dtype, context)
    assert got.shape == expected.shape, (got.shape, expected.shape, context)
    a, b = bits(got), bits(expected)
    if not np.array_equal(a, b):
        per_item = len(a) // max(1, got.size)
        first = int(np.argmax(a != b)) // per_item
        at = tuple(int(i) for i in np.unravel_index(first, got.shape))
        raise AssertionError(f"{context}: {int((a != b).sum())} of {len(a)} differ, first at {at}: {got[at]!r}, not {expected[at]!r}")


def pool(dtype: str, zero: bool = True) -> np.ndarray[Any, Any]:
    """Values at the edges of a dtype, and some ordinary ones."""
    rng = np.random.default_rng(5)
    target = dtype_of(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(target)
        edges = [0, 1, 2, 3, 7, 10, info.max, info.max - 1, info.max // 2, info.max // 2 + 1, info.min, info.min + 1]
        if dtype in SIGNED:
            edges += [-1, -2, -3, -7, info.min // 2, info.min // 2 - 1]
        out = np.concatenate([np.array(edges, target), rng.integers(info.min, info.max, 14, target, endpoint=True)])
        return out if zero else out[out != 0]
    if dtype in COMPLEX:
        component = pool("float32" if dtype == "complex64" else "float64")
        corners = np.array([0.0, -0.0, 1.0, -1.0, np.inf, np.nan, component[1], component[14]], component.dtype)
        grid = np.stack(np.meshgrid(corners, corners), -1).reshape(-1, 2)
        pairs = np.concatenate([grid, component[rng.integers(0, len(component), (40, 2))], rng.standard_normal((20, 2)).astype(component.dtype)])
        return np.ascontiguousarray(pairs).view(target).reshape(-1)
    width, infinity = _FLOAT_BITS[dtype]
    precision = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[dtype]
    one = (infinity >> precision) // 2 << precision
    patterns = [
        0, 1, 2, 3, (1 << precision) - 1, 1 << precision, (1 << precision) + 1,  # zero, subnormals, the least normals
        one, one + 1, one - 1, one + (1 << precision), one + (1 << precision - 1), one + (precision << precision), one + (precision + 1 << precision),
        infinity - 1, infinity - 2, infinity, infinity + (1 << precision - 1),
    ]  # fmt: skip
    patterns += [p | 1 << (width - 1) for p in patterns]
    values = np.array(patterns, f"u{width // 8}").view(target)
    with np.errstate(all="ignore"):
        ordinary = np.concatenate([rng.standard_normal(16) * 3, np.array([0.1, -1 / 3, 1e-3, 1e3, 7.5])]).astype(np.float32).astype(target)
    return np.concatenate([values, ordinary, ordinary])
