"""Functional scatter and gather: new arrays out, arguments unchanged.

Arrays of different dtypes are never converted here; Python numbers and lists take the dtype of the array they meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import batched, convert, dispatch, normalize, ops, places, shortcuts
from .convert import Array
from .errors import TooLarge
from .normalize import Call

# fmt: off
__all__ = [
    "scatter_nd",
    "tensor_scatter", "tensor_scatter_update", "tensor_scatter_add", "tensor_scatter_sub", "tensor_scatter_mul", "tensor_scatter_div",
    "tensor_scatter_min", "tensor_scatter_max",
    "scatter", "scatter_elements", "scatter_nd_reduce",
    "gather", "gather_nd", "gather_elements",
]
# fmt: on

INT32_OR_INT64 = ("int32", "int64")


def allocated(name: str, make: Callable[[], Array]) -> Array:
    """A new array, or an error of ours where the memory cannot hold it."""
    try:
        return make()
    except (MemoryError, ValueError) as error:  # ValueError: more bytes than an address can count
        raise TooLarge(f"{name}: {error}") from error


def copied(name: str, argument: str, value: Any) -> Array:
    """A plain array of the same values, in the same place, that is ours to write."""
    array = convert.anywhere(name, argument, value)

    def make() -> Array:
        out = places.empty(places.of(array), array.shape, array.dtype.newbyteorder("=") if not array.dtype.isnative else array.dtype)
        places.assign(out, array)
        return out

    return allocated(name, make)


def scatter_nd(indices: Any, updates: Any, shape: Any, *, bounds: str = "raise") -> Array:
    """Adds updates into zeros of ``shape``: the inverse of `gather_nd` where no index repeats.

    ``out[indices[i, ..., j, :]] += updates[i, ..., j]``, in C order.

    Args:
        indices: integers, shape (..., K) with at least 2 dimensions and K <= len(shape).
        updates: shape ``indices.shape[:-1] + shape[K:]``; its dtype is the result's.
        shape: the result's shape.
        bounds: what an index outside does: "raise", "drop" that update, or "clip".

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: indices that are no integers, a shape that holds others than integers, a dtype that cannot be added.
        IndexOutOfBounds: with bounds="raise"; negative indices are outside.

    Source: tf.scatter_nd.

    >>> scatter_nd(np.array([[4], [3], [1], [1]]), np.array([9, 10, 11, 12]), [8]).tolist()
    [0, 23, 0, 10, 9, 0, 0, 0]
    """
    return into_zeros("scatter_nd", indices, updates, shape, bounds=bounds)


def into_zeros(name: str, indices: Any, updates: Any, shape: Any, **rules: Any) -> Array:
    """`scatter_nd` under any name, with a frontend's other rules for `normalize.nd`."""
    found = shortcuts.zeros("add", indices, updates, shape, rules.get("bounds", "raise"), rules.get("wrap", False), rules.get("widths"))
    if found is not None:
        return found
    sizes = normalize.shape_of(name, shape)
    values = convert.anywhere(name, "updates", updates)
    dtype = values.dtype.newbyteorder("=") if not values.dtype.isnative else values.dtype
    normalize.check_op(name, "add", dtype)
    out = allocated(name, lambda: places.zeros(places.of(values), sizes, dtype))
    dispatch.run(normalize.nd(name, "add", out, indices, values, convert_updates=False, target="out", **rules))
    return out


def tensor_scatter(input_x: Any, indices: Any, updates: Any, op: str, *, bounds: str = "raise") -> Array:
    """A copy of ``input_x`` with any op of the table applied at index tuples, those registered from outside included.

    >>> tensor_scatter([1.0, 2.0], [[0], [0]], [3.0, 4.0], "add").tolist()
    [8.0, 2.0]
    """
    name = f"tensor_scatter_{op}"
    return _tensor_scatter(name, ops.op_named(name, op).name, input_x, indices, updates, bounds)


def _tensor_scatter(name: str, op: str, input_x: Any, indices: Any, updates: Any, bounds: str) -> Array:
    return into_copy(normalize.nd, name, op, input_x, indices, updates, bounds=bounds, widths=INT32_OR_INT64, target="input_x")


def into_copy(
    form: Callable[..., Call],
    name: str,
    op: str,
    data: Any,
    indices: Any,
    updates: Any,
    *,
    target: str,
    convert_updates: bool = False,
    short_cut: bool = True,
    **rules: Any,
) -> Array:
    """A scatter into a copy of ``data``, in the normal form ``form`` and with any of its rules, for the frontends.

    Args:
        short_cut: whether the native short cut may be tried: False where a rule changes what arrays that fit do.
    """
    if short_cut and form in _SHORT:
        axis = rules.get("axis", 0) if form is normalize.elements else None
        wrap = rules.get("wrap", form is normalize.elements)
        found = shortcuts.copied(op, data, indices, updates, axis, rules.get("bounds", "raise"), wrap, rules.get("widths"))
        if found is not None:
            return found
    out = copied(name, target, data)
    dispatch.run(form(name, op, out, indices, updates, target=target, convert_updates=convert_updates, **rules))
    return out


_SHORT = (normalize.nd, normalize.elements)

_DOC = """A copy of ``input_x`` with updates applied at index tuples. {doc}

    In C order, ``x = {formula}`` with ``x = out[indices[i, ..., j, :]]`` and ``u = updates[i, ..., j]``.

    Args:
        input_x: the array to start from; it is not changed.
        indices: int32 or int64, shape (..., K) with at least 2 dimensions and K <= input_x.ndim.
        updates: shape ``indices.shape[:-1] + input_x.shape[K:]``, dtype of input_x.
        bounds: what an index outside does: "raise", "drop" that update, or "clip".

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, indices of another dtype, or an op not defined for the dtype.
        IndexOutOfBounds: with bounds="raise"; negative indices are outside.
        ZeroDivisor: integer division by zero.

    Source: mindspore.ops.TensorScatter{title}.

    >>> import paramstore as ps
    >>> ps.tensor_scatter_{op}([8, 6, 7], [[2], [0]], [2, 4]).shape
    (3,)
    """


def _named(op: str) -> Callable[..., Array]:
    name = f"tensor_scatter_{op}"

    def function(input_x: Any, indices: Any, updates: Any, *, bounds: str = "raise") -> Array:
        return _tensor_scatter(name, op, input_x, indices, updates, bounds)

    function.__name__ = function.__qualname__ = name
    row = ops.OPS[op]
    function.__doc__ = _DOC.format(doc=row.doc, formula=row.formula, op=op, title=op.capitalize())
    return function


tensor_scatter_update = _named("update")
tensor_scatter_add = _named("add")
tensor_scatter_sub = _named("sub")
tensor_scatter_mul = _named("mul")
tensor_scatter_div = _named("div")
tensor_scatter_min = _named("min")
tensor_scatter_max = _named("max")


def scatter(data: Any, indices: Any, updates: Any, axis: int = 0, *, bounds: str = "raise") -> Array:
    """ONNX Scatter: a copy of ``data`` in which ``out[..., indices[q], ...] = updates[q]`` for each position q.

    The index replaces coordinate ``axis`` of q; the other coordinates are q's own. The same as `scatter_elements` without a reduction.

    Raises:
        ShapeError, DtypeError, IndexOutOfBounds: as `scatter_elements`.

    Source: ONNX operator Scatter, version 9.

    >>> scatter([[1.0, 2.0, 3.0, 4.0, 5.0]], [[1, 3]], [[1.1, 2.1]], axis=1).tolist()
    [[1.0, 1.1, 3.0, 2.1, 5.0]]
    """
    return _elements("scatter", data, indices, updates, axis, "none", bounds)


def scatter_elements(data: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none", *, bounds: str = "raise") -> Array:
    """ONNX ScatterElements: a copy of ``data`` with ``x = reduction(x, updates[q])`` at ``x = out[..., indices[q], ...]``, in C order of q.

    Args:
        data: shape of rank r >= 1.
        indices: int32 or int64, rank r, no longer than data except along ``axis``; values in [-s, s) with ``s = data.shape[axis]``.
        updates: shape of indices, dtype of data.
        axis: in [-r, r).
        reduction: "none" (the last one wins), "add", "mul", "min" or "max".
        bounds: what an index outside does: "raise", "drop" that update, or "clip".

    Raises:
        ShapeError: ranks, shapes or axis do not fit.
        DtypeError: the dtypes differ, indices of another dtype, or a reduction not defined for the dtype.
        ArgumentError: an unknown reduction.
        IndexOutOfBounds: with bounds="raise".

    Source: ONNX operator ScatterElements, version 18.

    >>> scatter_elements([1.0], [-1], [1.0], reduction="add").tolist()
    [2.0]
    """
    return _elements("scatter_elements", data, indices, updates, axis, reduction, bounds)


def _elements(name: str, data: Any, indices: Any, updates: Any, axis: Any, reduction: Any, bounds: str) -> Array:
    op = normalize.reduction_op(name, reduction)
    return into_copy(normalize.elements, name, op, data, indices, updates, axis=axis, bounds=bounds, widths=INT32_OR_INT64, target="data")


def scatter_nd_reduce(data: Any, indices: Any, updates: Any, reduction: str = "none", *, bounds: str = "raise") -> Array:
    """ONNX ScatterND: a copy of ``data`` with ``x = reduction(x, updates[i, ..., j])`` at ``x = out[indices[i, ..., j, :]]``, in C order.

    As the ``tensor_scatter_*`` functions, but negative indices count from the end, and indices of one dimension are a single tuple.

    Raises:
        ShapeError, DtypeError, ArgumentError, IndexOutOfBounds: as `scatter_elements`.

    Source: ONNX operator ScatterND, version 18.

    >>> scatter_nd_reduce([1, 2, 3], [[-1], [-1]], [10, 20], reduction="add").tolist()
    [1, 2, 33]
    """
    name = "ScatterND"
    op = normalize.reduction_op(name, reduction)
    return into_copy(
        normalize.nd, name, op, data, indices, updates, bounds=bounds, wrap=True, widths=INT32_OR_INT64, target="data", least_rank=1
    )


def gather(params: Any, indices: Any, axis: int = 0, *, bounds: str = "raise") -> Array:
    """Slices of ``params`` along ``axis``: shape ``params.shape[:axis] + indices.shape + params.shape[axis + 1:]``.

    Args:
        bounds: what an index outside does: "raise", "drop" (its slice is zeros), or "clip".

    Raises:
        ShapeError: params of rank 0, or an axis outside.
        DtypeError: indices that are no integers.
        IndexOutOfBounds: with bounds="raise"; negative indices are outside.

    Source: mindspore.ops.Gather, tf.gather.

    >>> gather([[1, 2], [3, 4], [5, 6]], [2, 0]).tolist()
    [[5, 6], [1, 2]]
    """
    if type(axis) is int and axis == 0:
        out = shortcuts.gathered(params, indices, bounds, False, None)
        if out is not None:
            return out
    return batched.gather("gather", params, indices, axis, bounds=bounds)


def named_gather(name: str, params: Array, ids: Any, bounds: str) -> Array:
    """`gather` of rows under the name of another call and its arguments."""
    return batched.gather(name, params, ids, 0, bounds=bounds, target="param")


def gather_nd(params: Any, indices: Any, *, bounds: str = "raise") -> Array:
    """The cells or slices ``params[indices[i, ..., j, :]]``: shape ``indices.shape[:-1] + params.shape[indices.shape[-1]:]``.

    Raises:
        ShapeError: indices of rank 0, or whose last size is more than the rank of params.
        DtypeError: indices that are no integers.
        IndexOutOfBounds: with bounds="raise"; negative indices are outside.

    Source: tf.gather_nd, mindspore.ops.GatherNd.

    >>> gather_nd([[1, 2], [3, 4]], [[1, 0], [0, 1]]).tolist()
    [3, 2]
    """
    return batched.gather_nd("gather_nd", params, indices, bounds=bounds)


def gather_elements(data: Any, indices: Any, axis: int = 0, *, bounds: str = "raise") -> Array:
    """ONNX GatherElements: ``out[q] = data[..., indices[q], ...]``, where the index replaces coordinate ``axis`` of q.

    Raises:
        ShapeError: ranks, shapes or axis do not fit.
        DtypeError: indices that are neither int32 nor int64.
        IndexOutOfBounds: with bounds="raise"; indices in [-s, s) are inside.

    Source: ONNX operator GatherElements, version 13.

    >>> gather_elements([[1, 2], [3, 4]], [[0, 0], [-1, 0]], axis=1).tolist()
    [[1, 1], [4, 3]]
    """
    array = convert.plain(convert.anywhere("gather_elements", "data", data))
    call = normalize.elements("gather_elements", "gather", array, indices, None, axis, bounds=bounds, widths=INT32_OR_INT64)
    return batched.gathered(call)
