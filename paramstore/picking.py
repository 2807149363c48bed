"""``array[where]`` and ``array[where] = values`` for index arrays, safe for strings of any length.

Those go row by row: before NumPy 2.3 indexing with arrays frees them too early, in reading and in writing.
"""

from __future__ import annotations

import numpy as np

from .convert import Array

__all__ = ["put", "taken"]


def taken(array: Array, where: tuple[Array, ...]) -> Array:
    """A copy of the slices at index arrays of one dimension, one for each of the first axes.

    >>> taken(np.array([[1, 2], [3, 4]]), (np.array([1, 0]), np.array([0, 0]))).tolist()
    [3, 1]
    """
    if array.dtype.kind != "T":
        out: Array = array[where]
        return out
    out = np.empty((len(where[0]), *array.shape[len(where) :]), array.dtype)
    for k, at in enumerate(zip(*where)):
        out[k] = array[at]
    return out


def put(array: Array, where: tuple[Array, ...], values: Array) -> None:
    """Writes them back; the last one wins where a slice is named twice.

    >>> x = np.zeros(3)
    >>> put(x, (np.array([2, 0]),), np.array([5.0, 7.0]))
    >>> x.tolist()
    [7.0, 0.0, 5.0]
    """
    if array.dtype.kind != "T":
        array[where] = values
        return
    for k, at in enumerate(zip(*where)):
        array[at] = values[k]
