"""Targets in memory layouts of every kind. Also runs in the child process."""

from __future__ import annotations

from typing import Any

import numpy as np

LAYOUTS = ("C", "F", "step", "reversed", "swapped", "unaligned", "readonly", "overlap")


def laid_out(array: Any, layout: str) -> Any:
    """An array with the values of ``array`` in memory of its own, laid out as the name says; "overlap" repeats the first row (or cell)."""
    if layout == "F":
        return np.asfortranarray(array) if array.ndim else array.copy()
    if layout == "step":
        wide = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
        out = wide[tuple(slice(None, None, 2) for _ in array.shape)] if array.ndim else wide
        out[...] = array
        return out
    if layout == "reversed":
        return array[::-1].copy()[::-1] if array.ndim else array.copy()
    if layout == "swapped":
        return array.astype(array.dtype.newbyteorder())
    if layout == "unaligned":
        raw = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
        raw[...] = array
        return raw
    if layout == "overlap":
        first = array[:1].copy() if array.ndim else array.copy()
        return np.lib.stride_tricks.as_strided(first, array.shape, (0, *first.strides[1:]) if array.ndim else ())
    out = array.copy()
    out.flags.writeable = layout != "readonly"
    return out
