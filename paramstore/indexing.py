"""NumPy's index expressions -> normal form: integers, integer arrays, slices, masks, Ellipsis and newaxis, alone or together.

What an expression means is asked of NumPy itself: it indexes, for each axis, an array of coordinates that takes no memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import axes, convert, normalize, places
from .convert import Array
from .errors import IndexFormError, IndexOutOfBounds, ShapeError
from .normalize import Call

__all__ = ["indexed", "cells_of"]


def indexed(name: str, op: str, x: Array, index: Any, b: Any, *, target: str = "a", exact: bool = True) -> Call:
    """``x[index] = op(x[index], b)`` once for each cell that ``index`` names, in C order of the shape of ``x[index]``, which b spreads to.

    Args:
        exact: whether b may be of another dtype, if it converts without loss.

    Raises:
        ParameterCastError: ``b`` cannot become the dtype of x without loss.
        ShapeError: it does not spread.
        IndexOutOfBounds: negative indices count from the end, once.
        IndexFormError: what NumPy does not take as an index.
    """
    normalize.check_op(name, op, x.dtype)
    on = places.of(x)
    if exact:
        values = convert.exactly(name, "b", b, x.dtype, owner=target, on=on)
    else:
        values = convert.updates_of(name, "values", b, x.dtype, convert=False, owner=target, on=on)
    if on is not None:  # NumPy reads the expression, on the host
        index = tuple(_on_host(name, i) for i in index) if isinstance(index, tuple) else _on_host(name, index)
    rules: dict[str, Any] = {"wrap": True, "broadcast": True, "convert_updates": False, "target": target}
    if _is_integers(index) and x.ndim:
        return normalize.rows(name, op, x, index, values, **rules)
    if type(index) is tuple and 0 < len(index) <= x.ndim and all(map(_is_integers, index)):
        try:
            tuples = axes.tuples_of(name, "indices", index)
        except ShapeError as error:
            raise IndexFormError(str(error)) from None
        return normalize.nd(name, op, x, tuples, values, least_rank=1, **rules)
    ids, count, row = cells_of(name, x.shape, index)
    return normalize.rows(name, op, x.reshape(count, *row), ids, values, **rules)


def _on_host(name: str, item: Any) -> Any:
    return convert.on_host(name, "indices", item) if places.on_gpu(item) else item


def _is_integers(item: Any) -> bool:
    """Whether an item is an integer or an array of them, so that the layouts of the core take it as it is."""
    kind = type(item)
    if kind is np.ndarray:
        return item.dtype.kind in "iu"
    return kind is int or (isinstance(item, np.integer) and not isinstance(item, np.timedelta64))


def cells_of(name: str, shape: tuple[int, ...], index: Any) -> tuple[Array, int, tuple[int, ...]]:
    """The rows that an index expression names in an array of ``shape``: their numbers, how many rows there are, and the shape of each.

    The rows end where the expression leaves the last axes whole.

    >>> ids, count, row = cells_of("demo", (3, 4, 5), (slice(None, 2), [0, -1]))
    >>> ids.tolist(), count, row
    ([[0, 3], [4, 7]], 12, (5,))
    """
    items = list(index) if isinstance(index, tuple) else [index]
    dots = any(item is Ellipsis for item in items[:-1])
    used = _axes_of(name, items, shape)
    if items and items[-1] is Ellipsis:
        items.pop()
        used = _axes_of(name, items, shape)
    while items and isinstance(items[-1], slice) and items[-1] == slice(None) and not dots:
        items.pop()
        used -= 1
    lead, row = shape[:used], shape[used:]
    expression = tuple(items)
    try:
        ids = np.array(np.broadcast_to(np.int64(0), lead)[expression])
        for d, size in enumerate(lead):
            along = np.arange(size, dtype=np.int64).reshape(-1, *[1] * (used - 1 - d))
            ids *= size
            ids += np.broadcast_to(along, lead)[expression]
    except IndexError as error:
        kind = IndexOutOfBounds if "out of bounds" in str(error) else IndexFormError
        raise kind(f"{name}: indices: {error}") from None
    except (TypeError, ValueError) as error:
        raise IndexFormError(f"{name}: indices: {error}") from None
    return ids, int(np.prod(lead, dtype=np.int64)), row


def _axes_of(name: str, items: list[Any], shape: tuple[int, ...]) -> int:
    """How many of the first axes the items index; all of them where an Ellipsis stands for some."""
    used, dots = 0, 0
    for item in items:
        if item is Ellipsis:
            dots += 1
        elif item is not None and not isinstance(item, (bool, np.bool_)):
            mask = not isinstance(item, (slice, int, np.integer)) and _is_mask(name, item)
            used += np.ndim(item) if mask else 1
    if used > len(shape) or dots > 1:
        raise IndexFormError(f"{name}: indices: {used} axes and {dots} '...' for {len(shape)} dimensions, shape = {shape}")
    return len(shape) if dots else used


def _is_mask(name: str, item: Any) -> bool:
    try:
        return np.asarray(item).dtype.kind == "b"
    except Exception as error:  # lists of unequal lengths; whatever the item's own methods raise
        raise IndexFormError(f"{name}: indices: {error}") from error
