"""The defining loop and the gathers, scalar by scalar."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .dtypes import INTEGERS
from .steps import step
from .targets import cell_targets, row_targets, tuple_targets


class ZeroDivisor(Exception):
    """An integer zero among the divisors, at a position in the updates."""

    def __init__(self, position: tuple[int, ...]) -> None:
        super().__init__(position)
        self.position = position


def decode(array: np.ndarray[Any, Any]) -> list[Any]:
    """The values in C order, as Python scalars."""
    flat = np.array(array, copy=True, order="C").reshape(-1)
    if flat.dtype.name == "bfloat16":
        return (flat.view(np.uint16).astype(np.uint32) << 16).view(np.float32).tolist()
    return flat.tolist()


def encode(values: Sequence[Any], dtype: np.dtype[Any], shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """The array of those values, each of which the dtype can hold exactly."""
    if dtype.name == "bfloat16":
        wide = np.array(values, np.float32).view(np.uint32)
        return (wide >> 16).astype(np.uint16).view(dtype).reshape(shape)
    return np.array(values, dtype.newbyteorder("=") if not dtype.isnative else dtype).reshape(shape)


def _cells(targets: Iterable[int | None], width: int) -> Iterator[int | None]:
    for target in targets:
        for w in range(width):
            yield None if target is None else target * width + w


def loop(op: str, x: np.ndarray[Any, Any], targets: Sequence[int | None], width: int, updates: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """``for k in C order: x[target(k)] = op(x[target(k)], updates[k])`` on a copy of x, in slices of ``width`` cells."""
    dtype = x.dtype.name
    cells, us = decode(x), decode(updates)
    if op == "div" and dtype in INTEGERS and 0 in us:
        raise ZeroDivisor(tuple(int(i) for i in np.unravel_index(us.index(0), updates.shape)))
    f = step(op, dtype)
    for cell, u in zip(_cells(targets, width), us, strict=True):
        if cell is not None:
            cells[cell] = f(cells[cell], u)
    return encode(cells, x.dtype, x.shape)


def scatter_rows(
    op: str, x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], updates: np.ndarray[Any, Any], bounds: str = "raise", wrap: bool = False
) -> np.ndarray[Any, Any]:
    """``x[indices[i, ..., j], :] = op(x[...], updates[i, ..., j, :])``."""
    return loop(op, x, row_targets(x.shape, indices, bounds, wrap), math.prod(x.shape[1:]), updates)


def scatter_tuples(
    op: str, x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], updates: np.ndarray[Any, Any], bounds: str = "raise", wrap: bool = False
) -> np.ndarray[Any, Any]:
    """``x[indices[i, ..., j, :]] = op(x[...], updates[i, ..., j])``."""
    return loop(op, x, tuple_targets(x.shape, indices, bounds, wrap), math.prod(x.shape[indices.shape[-1] :]), updates)


def scatter_elements(
    op: str, x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], updates: np.ndarray[Any, Any], axis: int,
    bounds: str = "raise", wrap: bool = True,
) -> np.ndarray[Any, Any]:  # fmt: skip
    """``x[..., indices[q], ...] = op(x[...], updates[q])``."""
    return loop(op, x, cell_targets(x.shape, indices, axis, bounds, wrap), 1, updates)


def read(x: np.ndarray[Any, Any], targets: Sequence[int | None], width: int, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """A gather: the cells addressed; zeros where one is dropped."""
    cells = decode(x)
    zero = decode(np.zeros(1, x.dtype))[0]
    return encode([zero if c is None else cells[c] for c in _cells(targets, width)], x.dtype, shape)


def gather(x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], axis: int = 0, bounds: str = "raise", wrap: bool = False) -> np.ndarray[Any, Any]:
    """Slices along an axis, one outer position after the other."""
    rows = row_targets((x.shape[axis],), indices, bounds, wrap)
    size, width = x.shape[axis], math.prod(x.shape[axis + 1 :])
    targets = [None if r is None else o * size + r for o in range(math.prod(x.shape[:axis])) for r in rows]
    return read(x, targets, width, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def gather_tuples(x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], bounds: str = "raise") -> np.ndarray[Any, Any]:
    k = indices.shape[-1]
    return read(x, tuple_targets(x.shape, indices, bounds), math.prod(x.shape[k:]), (*indices.shape[:-1], *x.shape[k:]))


def gather_elements(x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], axis: int, bounds: str = "raise") -> np.ndarray[Any, Any]:
    return read(x, cell_targets(x.shape, indices, axis, bounds), 1, indices.shape)
