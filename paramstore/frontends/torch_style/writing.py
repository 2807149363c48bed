"""``index_add_`` ... ``scatter_reduce_``: what PyTorch does in place, on a Parameter or a NumPy array that is returned."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from ... import convert, dtypes, indexing, normalize, places, reductions, targets
from ...convert import Array
from ...errors import ArgumentError, DtypeError, IndexFormError, ShapeError
from ...normalize import Call
from ._rules import INT32_OR_INT64, INT64, along, elements, spelled, vector

__all__ = [
    "index_add_",
    "index_copy_",
    "index_fill_",
    "index_put_",
    "index_reduce_",
    "put_",
    "scatter_",
    "scatter_add_",
    "scatter_reduce_",
]

Target = TypeVar("Target")

_X = "a Parameter or a writable NumPy array"
_DIM = "an axis, in [-rank, rank)"
_LINES: dict[str, Any] = {"dim": _DIM, "index": "int32 or int64, shape (M,) or ()", "source": "the shape and dtype of x, but M at dim"}
_CELLS: dict[str, Any] = {
    "dim": _DIM,
    "index": "int32 or int64, the rank of x, nowhere larger than x except at dim",
    "src": "dtype of x, at least as large as index everywhere; its corner counts",
}
_ALONG = "For each j:  x = x[..., index[j], ...] at dim,  u = source[..., j, ...],  x = {step}."
_AT = "For each position q of index:  x = x[q, with index[q] at dim],  u = src[q],  x = {step}."
_INCLUDE = "whether the cell's own value is the first term"

_INTO_LINES: dict[str, Any] = {"convert_updates": False, "argument": "source"}


def _op_for(name: str, accumulate: Any) -> str:
    return "add" if convert.a_bool(name, "accumulate", accumulate) else "update"


def _reduce(name: str, kind: str, x: Target, form: targets.Form, *arguments: Any, include_self: Any, **rules: Any) -> Target:
    own = convert.a_bool(name, "include_self", include_self)
    return reductions.reduce_into(name, kind, x, form, *arguments, include_self=own, widths=INT32_OR_INT64, **rules)


@spelled(
    "add",
    _ALONG[:-1] + ", with alpha times u.",
    "index_add_(np.zeros(3), 0, np.array([2, 2]), np.array([1.0, 2.0]), alpha=2).tolist()\n[0.0, 0.0, 6.0]",
    x=_X,
    **_LINES,
    alpha="a number that multiplies source first",
)
def index_add_(x: Target, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Target:
    if alpha != 1 or type(alpha) is not int:
        if places.of(targets.array_of("index_add_", "x", x)) is not None:
            raise ArgumentError(f"index_add_: alpha = {alpha!r} must be 1 on a GPU; scale source first")
        source = convert.scaled("index_add_", "source", source, "alpha", alpha, targets.array_of("index_add_", "x", x).dtype)
    return targets.scatter("index_add_", "add", x, along, index, source, dim, same_rank=True, widths=INT32_OR_INT64, **_INTO_LINES)


@spelled(
    "update",
    _ALONG,
    "index_copy_(np.zeros(3), 0, np.array([2, 0]), np.array([1.0, 2.0])).tolist()\n[2.0, 0.0, 1.0]",
    x=_X,
    **{**_LINES, "index": "int64, shape (M,) or ()"},
)
def index_copy_(x: Target, dim: int, index: Any, source: Any) -> Target:
    return targets.scatter("index_copy_", "update", x, along, index, vector(source), dim, widths=INT64, **_INTO_LINES)


@spelled(
    "update",
    "For each j:  x[..., index[j], ...] = value, with the index at dim.",
    "index_fill_(np.zeros(3), 0, np.array([-1]), 5).tolist()\n[0.0, 0.0, 5.0]",
    wrap=True,
    x=_X,
    dim=_DIM,
    index="int64, shape (M,) or ()",
    value="a number that x can hold, or an array of one without dimensions",
)
def index_fill_(x: Target, dim: int, index: Any, value: Any) -> Target:
    if shape := convert.anywhere("index_fill_", "value", value).shape:
        raise IndexFormError(f"index_fill_: value.shape = {shape} must be ()")
    number = value.item() if isinstance(value, (np.ndarray, np.generic)) else value
    return targets.scatter(
        "index_fill_", "update", x, along, index, number, dim, widths=INT64, wrap=True, spread_scalar=True, argument="value"
    )


def _index_put(name: str, op: str, x: Array, indices: Any, values: Any, *, target: str) -> Call:
    """Masks and integer vectors, one for each of the first axes; None leaves an axis whole."""
    if not isinstance(indices, (tuple, list)):
        raise DtypeError(f"{name}: indices must be a tuple of arrays, not {type(indices).__name__}")
    read = convert.array_of if places.of(x) is None else convert.on_host
    items = [None if item is None else read(name, f"indices[{k}]", item) for k, item in enumerate(indices)]
    for k, item in enumerate(items):
        if item is not None and dtypes.name(item.dtype) not in ("int32", "int64", "bool"):
            raise DtypeError(f"{name}: indices[{k}].dtype = {item.dtype} must be int32, int64 or bool")
    expression = tuple(slice(None) if item is None else item for item in items)
    return indexing.indexed(name, op, x, expression, values, target=target, exact=False)


@spelled(
    "update",
    "For each cell of ``x[indices]``, in C order:  x = u, or x + u with accumulate=True.",
    "index_put_(np.zeros(3), (np.array([2, 2]),), 5.0, accumulate=True).tolist()\n[0.0, 0.0, 10.0]",
    wrap=True,
    x=_X,
    indices="a tuple of int32, int64 or bool arrays, which spread over each other",
    values="dtype of x; spreads to the shape of x[indices]",
    accumulate="whether values are added",
)
def index_put_(x: Target, indices: Any, values: Any, accumulate: bool = False) -> Target:
    return targets.scatter("index_put_", _op_for("index_put_", accumulate), x, _index_put, indices, values)


def _put(name: str, op: str, x: Array, index: Any, source: Any, **rules: Any) -> Call:
    on = places.of(x)
    ids, values = (convert.plain(convert.array_on(name, what, given, on)) for what, given in (("index", index), ("source", source)))
    if ids.size != values.size:
        raise ShapeError(f"{name}: source.shape = {values.shape} must have as many elements as index.shape = {ids.shape}")
    return normalize.rows(name, op, x.reshape(-1), ids.reshape(-1), values.reshape(-1), **rules)


@spelled(
    "update",
    "For each position q of index, in C order:  x = x.reshape(-1)[index[q]],  u = source[q],  x = u, or x + u.",
    "put_(np.zeros(3), np.array([-1]), np.array([5.0])).tolist()\n[0.0, 0.0, 5.0]",
    wrap=True,
    x=_X,
    index="int64, any shape",
    source="dtype of x, as many elements as index",
    accumulate="whether sources are added",
)
def put_(x: Target, index: Any, source: Any, accumulate: bool = False) -> Target:
    return targets.scatter("put_", _op_for("put_", accumulate), x, _put, index, source, widths=INT64, wrap=True, convert_updates=False)


@spelled(
    "prod",
    "Combines each cell with its sources: their product, mean, largest or smallest, in the order of j.",
    "index_reduce_(np.ones(3), 0, np.array([2, 2]), np.array([3.0, 2.0]), 'prod').tolist()\n[1.0, 1.0, 6.0]",
    first="Reduces slices into the target.",
    x=_X,
    **_LINES,
    reduce='"prod", "mean", "amax" or "amin"',
    include_self=_INCLUDE,
)
def index_reduce_(x: Target, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Target:
    kinds = ("prod", "mean", "amax", "amin")
    rules: dict[str, Any] = {"include_self": include_self, "kinds": kinds, "same_rank": True, **_INTO_LINES}
    return _reduce("index_reduce_", reduce, x, along, index, source, dim, **rules)


_SCATTER = {None: "update", "add": "add", "multiply": "mul"}


@spelled(
    "update",
    _AT[:-1] + ", or x + u, or x * u.",
    "scatter_(np.zeros(3), 0, np.array([2, 0]), np.array([1.0, 2.0])).tolist()\n[2.0, 0.0, 1.0]",
    x=_X,
    **{**_CELLS, "src": _CELLS["src"] + ". Or a number, for all of them (also by the name value)"},
    reduce='None, "add" or "multiply"',
)
def scatter_(x: Target, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Target:
    if (src is None) == (value is None):
        raise ArgumentError("scatter_: one of src and value must be given")
    if reduce is not None and (not isinstance(reduce, str) or reduce not in _SCATTER):
        raise ArgumentError(f"scatter_: reduce = {reduce!r} is none of None, 'add', 'multiply'")
    number = value if src is None else src
    spread = not isinstance(number, np.ndarray) and not np.ndim(number)
    return targets.scatter("scatter_", _SCATTER[reduce], x, elements, index, number, dim, widths=INT32_OR_INT64, spread_scalar=spread)


@spelled("add", _AT, "scatter_add_(np.zeros(3), 0, np.array([2, 2]), np.array([1.0, 2.0])).tolist()\n[0.0, 0.0, 3.0]", x=_X, **_CELLS)
def scatter_add_(x: Target, dim: int, index: Any, src: Any) -> Target:
    return targets.scatter("scatter_add_", "add", x, elements, index, src, dim, widths=INT32_OR_INT64)


@spelled(
    "add",
    "Combines each cell with the sources whose index names it: sum, product, mean, largest or smallest, in C order.",
    "scatter_reduce_(np.ones(3), 0, np.array([2, 2]), np.array([3.0, 2.0]), 'mean', include_self=False).tolist()\n[1.0, 1.0, 2.5]",
    first="Reduces elements into the target.",
    x=_X,
    **_CELLS,
    reduce='"sum", "prod", "mean", "amax" or "amin"',
    include_self=_INCLUDE,
)
def scatter_reduce_(x: Target, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Target:
    return _reduce("scatter_reduce_", reduce, x, elements, index, src, dim, include_self=include_self)
