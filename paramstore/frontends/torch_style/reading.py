"""``gather``, ``index_select``, ``take`` and ``take_along_dim``: copies of elements or slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import batched, convert, normalize
from ...convert import Array
from ...errors import ShapeError
from ._rules import INT32_OR_INT64, INT64, spelled, vector

__all__ = ["gather", "index_select", "take", "take_along_dim"]

_X = "a Parameter or a NumPy array"
_DIM = "an axis, in [-rank, rank)"


def _data(name: str, x: Any) -> Array:
    return convert.plain(convert.anywhere(name, "x", x))


@spelled(
    "",
    "``out[q] = x[q, with index[q] at dim]`` for each position q of index.",
    "gather(np.array([[1, 2], [3, 4]]), 1, np.array([[0, 0], [1, 0]])).tolist()\n[[1, 1], [4, 3]]",
    first="The elements that an index of the same rank names.",
    x=_X,
    dim=_DIM,
    index="int32 or int64, the rank of x, nowhere larger than x except at dim",
)
def gather(x: Any, dim: int, index: Any) -> Array:
    data = _data("gather", x)
    call = normalize.elements("gather", "gather", vector(data), vector(index), None, dim, wrap=False, widths=INT32_OR_INT64, target="x")
    return batched.gathered(call).reshape(np.shape(index))


@spelled(
    "",
    "``out[..., j, ...] = x[..., index[j], ...]``, with both at dim.",
    "index_select(np.array([[1, 2], [3, 4]]), 1, np.array([1])).tolist()\n[[2], [4]]",
    first="Slices of an axis.",
    x=_X,
    dim=_DIM,
    index="int32 or int64, shape (M,) or ()",
)
def index_select(x: Any, dim: int, index: Any) -> Array:
    data = _data("index_select", x)
    if np.ndim(index) > 1 or (not data.ndim and np.size(index) != 1):
        raise ShapeError(f"index_select: index.shape = {np.shape(index)} must have one dimension, and one item if x has none")
    out = batched.gather("index_select", vector(data), vector(index), dim, widths=INT32_OR_INT64, target="x")
    return out if data.ndim else out.reshape(())


@spelled(
    "",
    "``out[q] = x.reshape(-1)[index[q]]``.",
    "take(np.array([[1, 2], [3, 4]]), np.array([3, -4])).tolist()\n[4, 1]",
    wrap=True,
    first="Elements of the array as if it had one axis.",
    source="take",
    x=_X,
    index="int64, any shape",
)
def take(x: Any, index: Any) -> Array:
    return batched.gather("take", _data("take", x).reshape(-1), index, 0, wrap=True, widths=INT64, target="x")


@spelled(
    "",
    "As `gather`, but x and index spread over each other except at dim.\n    Without dim both count as one axis, and negative indices are outside.",
    "take_along_dim(np.array([[1, 2], [3, 4]]), np.array([[-1]]), 1).tolist()\n[[2], [4]]",
    wrap=True,
    first="The elements that an index names.",
    x=_X,
    indices="int64, the rank of x",
    dim=_DIM + ", or None",
)
def take_along_dim(x: Any, indices: Any, dim: int | None = None) -> Array:
    if dim is None:
        return batched.gather(
            "take_along_dim", _data("take_along_dim", x).reshape(-1), np.reshape(indices, -1), 0, widths=INT32_OR_INT64, target="x"
        )
    return batched.take_along("take_along_dim", _data("take_along_dim", x), indices, dim, widths=INT64, target="x")
