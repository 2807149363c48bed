"""Calls of ``ufunc.at``: every way to index, targets of every layout, updates that spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..cases import COMPLEX, INTS, Draw
from ..layouts import LAYOUTS

UFUNCS = ("add_at", "subtract_at", "multiply_at", "divide_at", "minimum_at", "maximum_at")


def _slice(draw: Draw, size: int) -> slice:
    def end() -> int | None:
        return draw.pick(None, draw.integer(-size - 1, size + 1))

    return slice(end(), end(), draw.pick(None, None, 1, 2, -1, -2, draw.mostly(3, 0)))


def _item(draw: Draw, size: int, shape: tuple[int, ...]) -> Any:
    """An index for one axis; integer arrays all have the same shape, or one that spreads to it."""
    how = draw.integer(0, 9)
    if how < 2:
        return int(draw.indices((), size, negative=0.3)) if draw.chance(0.7) else draw.indices((), size)[()]
    if how < 5:
        return _slice(draw, size)
    if how == 5:
        mask = draw.rng.random(draw.mostly(size, size + 1, probability=0.03)) < 0.5
        return mask if draw.chance(0.6) or not mask.size else mask.tolist()
    found = draw.indices(draw.mostly(shape, shape[1:], (1, *shape[1:]), (*shape, 1)), size, draw.mostly("int64", *INTS), negative=0.3)
    return found if draw.chance(0.8) else found.tolist()


def _index(draw: Draw, shape: tuple[int, ...]) -> Any:
    """An expression for an array of that shape; now and then one that cannot index."""
    if draw.chance(0.03):
        return draw.pick(1.5, "a", [2**70], np.array([0.5]), [0.0], (0,) * (len(shape) + 1), (..., ...), np.array(["a"]), [[0], [0, 1]])
    if shape and draw.chance(0.35):
        return draw.indices(draw.shape(0, 2), shape[0], draw.mostly("int64", *INTS), negative=0.4)
    if draw.chance(0.15):
        mask = draw.rng.random(draw.mostly(shape, draw.other_shape(shape), shape[:1], probability=0.3)) < 0.5
        return mask
    if draw.chance(0.1):
        return draw.pick((), ..., None, slice(None), True, False, (None, ...), np.array(True), [], ([],))
    common = draw.shape(1, 2)
    items = [_item(draw, size, common) for size in shape[: draw.integer(0, len(shape))]]
    if draw.chance(0.25):
        items.insert(draw.integer(0, len(items)), ...)
    if draw.chance(0.15):
        items.insert(draw.integer(0, len(items)), draw.pick(None, None, True, False))
    return tuple(items) if len(items) != 1 or draw.chance(0.5) else items[0]


def _b_shape(draw: Draw, a: Any, index: Any) -> tuple[int, ...]:
    """A shape that spreads to ``a[index]``; sometimes not."""
    try:
        shape = np.shape(a[index])
    except (IndexError, ValueError, TypeError, OverflowError):
        return draw.shape(0, 2)
    if draw.chance(0.3):
        shape = tuple(draw.mostly(n, 1, probability=0.5) for n in shape[draw.integer(0, len(shape)) :])
    return draw.mostly(shape, draw.other_shape(shape), (1, *shape), probability=0.05)


def case(draw: Draw) -> tuple[str, dict[str, Any]]:
    operator = draw.pick(*UFUNCS)
    dtype = draw.mostly(draw.dtype(), "bool", *COMPLEX, probability=0.12)
    a = draw.values(draw.shape(0, 4), dtype)
    index = _index(draw, a.shape)
    near = {"int64": ("uint64", "int32"), "uint64": ("int64", "int32"), "complex64": ("complex128", "int32")}.get(
        dtype, ("bool", "complex128")
    )
    other = draw.mostly(dtype, draw.dtype(), *near, *near, probability=0.25)
    b: Any = draw.values(_b_shape(draw, a, index), other, zero=draw.chance(0.3) or operator != "divide_at")
    if draw.chance(0.15):
        b = draw.pick(0, 1, 2, 3, -1, 2.5, True, 300, 2**40, 1e300, 1j, float("nan"), np.float64(0.1), np.int16(3), "x", None)
    elif draw.chance(0.05):
        b = b.tolist()
    layout = draw.mostly("C", *LAYOUTS, probability=0.3)
    return operator, {"a": a, "indices": index, "b": b, "layout": layout}
