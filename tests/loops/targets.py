"""Where indices point, under each rule for what lies outside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np


class BadIndex(Exception):
    """An index outside, at a position in the indices."""

    def __init__(self, position: tuple[int, ...], value: int) -> None:
        super().__init__(position, value)
        self.position, self.value = position, value


def place(index: int, size: int, bounds: str, wrap: bool) -> int | None:
    """Where an index points; None if its update is dropped.

    Raises:
        IndexError: it points nowhere, and the rule is to say so (clipping into nothing included).
    """
    if wrap and -size <= index < 0:
        index += size
    if 0 <= index < size:
        return index
    if bounds == "drop":
        return None
    if bounds == "clip" and size:
        return 0 if index < 0 else size - 1
    raise IndexError


def _placed(indices: np.ndarray[Any, Any], sizes: Sequence[int], bounds: str, wrap: bool) -> list[int | None]:
    """`place` for every index in C order; the size cycles through ``sizes``."""
    out = []
    for q, index in zip(np.ndindex(indices.shape), indices.reshape(-1).tolist()):
        try:
            out.append(place(index, sizes[q[-1] if len(sizes) > 1 else 0], bounds, wrap))
        except IndexError:
            raise BadIndex(q, index) from None
    return out


def row_targets(x_shape: Sequence[int], indices: np.ndarray[Any, Any], bounds: str = "raise", wrap: bool = False) -> list[int | None]:
    """For each index the row it addresses."""
    return _placed(indices, x_shape[:1], bounds, wrap)


def tuple_targets(x_shape: Sequence[int], indices: np.ndarray[Any, Any], bounds: str = "raise", wrap: bool = False) -> list[int | None]:
    """For each vector along the last axis the number, in C order, of the slice it addresses."""
    k = indices.shape[-1]
    count = math.prod(indices.shape[:-1])
    flat = _placed(indices, x_shape[:k] or (1,), bounds, wrap)
    out: list[int | None] = []
    for n in range(count):
        row: int | None = 0
        for size, index in zip(x_shape[:k], flat[n * k : (n + 1) * k]):
            row = None if row is None or index is None else row * size + index
        out.append(row)
    return out


def cell_targets(
    x_shape: Sequence[int], indices: np.ndarray[Any, Any], axis: int, bounds: str = "raise", wrap: bool = True
) -> list[int | None]:
    """For each position of the indices the number, in C order, of the cell it addresses."""
    along = _placed(indices, (x_shape[axis],), bounds, wrap)
    out: list[int | None] = []
    for q, index in zip(product(*map(range, indices.shape)), along):
        cell: int | None = 0
        for d, size in enumerate(x_shape):
            coordinate = index if d == axis else q[d]
            cell = None if cell is None or coordinate is None else cell * size + coordinate
        out.append(cell)
    return out
