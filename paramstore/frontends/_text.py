"""Strings as the core takes them: NumPy's variable-length ones, which can be joined, and back to arrays of Python objects."""

from __future__ import annotations

import numpy as np

from ..convert import Array

__all__ = ["is_text", "joinable", "objects"]


def is_text(array: Array, bytes_too: bool = True) -> bool:
    """Whether an array holds strings (str, and bytes if allowed) and nothing else; arrays of objects are looked through."""
    if array.dtype.kind == "O":
        return all(isinstance(v, str) or (bytes_too and isinstance(v, bytes)) for v in array.reshape(-1))
    return array.dtype.kind in ("UST" if bytes_too else "UT")


def joinable(array: Array) -> Array:
    """An array of strings whose ``add`` joins. Bytes become the characters of the same numbers, so that none is lost."""
    out = np.empty(array.shape, np.dtypes.StringDType())
    flat = out.reshape(-1)
    for k, value in enumerate(array.reshape(-1).tolist()):
        flat[k] = value.decode("latin-1") if isinstance(value, bytes) else value
    return out


def objects(array: Array, encoding: str | None = None) -> Array:
    """An array of objects: str, or bytes in an encoding."""
    out = np.empty(array.shape, object)
    flat = out.reshape(-1)
    for k, value in enumerate(array.reshape(-1).tolist()):
        flat[k] = value.encode(encoding) if encoding and isinstance(value, str) else value
    return out
