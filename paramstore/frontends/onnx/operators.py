"""ONNX's scatter and gather operators. Nothing is converted; indices count from the end where they are negative, save in Gather-1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import batched, convert, functional, normalize, ops, shortcuts
from ...convert import Array
from ...errors import ArgumentError, ShapeError
from ...normalize import Call
from .. import _text
from .schema import Version, version_of

__all__ = ["Gather", "GatherElements", "GatherND", "Scatter", "ScatterElements", "ScatterND", "TensorScatter"]


def _scatter(v: Version, form: Callable[..., Call], reduction: Any, data: Any, indices: Any, updates: Any, **rules: Any) -> Array:
    if type(reduction) is str and reduction in v.reductions:  # every version takes every number type
        axis = rules["axis"] if form is normalize.elements else None
        found = shortcuts.copied(ops.REDUCTIONS[reduction], data, indices, updates, axis, "raise", True, v.indices)
        if found is not None:
            return found
    op = v.reduction(reduction)
    array = v.data("data", data)
    text = array.dtype == object
    if text:
        updates = v.data("updates", updates)
        if op == "add":
            array, updates = _text.joinable(array), _text.joinable(updates) if updates.dtype == object else updates
    out = functional.into_copy(form, v.name, op, array, indices, updates, target="data", widths=v.indices, wrap=True, **rules)
    return _text.objects(out) if text and op == "add" else out


def Scatter(data: Any, indices: Any, updates: Any, axis: Any = 0, *, opset: int | None = None) -> Array:
    """A copy of ``data`` in which ``out[..., indices[q], ...] = updates[q]`` for each position q.

    The index replaces coordinate ``axis`` of q. The last of several updates of one cell wins, and negative indices count from the end;
    ONNX leaves both open.

    Args:
        data: rank r >= 1.
        indices: int32 or int64, rank r; no longer than data except along ``axis``.
        updates: shape of indices, dtype of data.
        axis: in [-r, r).
        opset: 9 or later; from 11 on ONNX calls it ScatterElements.

    Raises:
        ShapeError, DtypeError, ArgumentError, IndexOutOfBounds: what does not fit.

    Source: ONNX operator Scatter, versions 9 and 11.

    >>> Scatter([[1.0, 2.0, 3.0, 4.0, 5.0]], [[1, 3]], [[1.1, 2.1]], axis=1).tolist()
    [[1.0, 1.1, 3.0, 2.1, 5.0]]
    """
    return _scatter(version_of("Scatter", opset), normalize.elements, "none", data, indices, updates, axis=axis)


def ScatterElements(data: Any, indices: Any, updates: Any, axis: Any = 0, reduction: str = "none", *, opset: int | None = None) -> Array:
    """A copy of ``data`` with ``x = reduction(x, updates[q])`` at ``x = out[..., indices[q], ...]``, in C order of q.

    Args:
        data: rank r >= 1.
        indices: int32 or int64, rank r, values in [-s, s) with ``s = data.shape[axis]``; no longer than data except along ``axis``.
        updates: shape of indices, dtype of data.
        axis: in [-r, r).
        reduction: "none" (the last one wins), "add" or "mul" (from opset 16), "min" or "max" (from 18; NaN wins). For bool "add" is or,
            and strings are joined by it.
        opset: 11 or later.

    Raises:
        ShapeError, DtypeError, ArgumentError, IndexOutOfBounds: what does not fit.

    Source: ONNX operator ScatterElements, versions 11, 13, 16 and 18.

    >>> ScatterElements([1.0], [-1], [1.0], reduction="add").tolist()
    [2.0]
    """
    return _scatter(version_of("ScatterElements", opset), normalize.elements, reduction, data, indices, updates, axis=axis)


def ScatterND(data: Any, indices: Any, updates: Any, reduction: str = "none", *, opset: int | None = None) -> Array:
    """A copy of ``data`` with ``x = reduction(x, updates[i, ..., j])`` at ``x = out[indices[i, ..., j, :]]``, in C order.

    Args:
        data: rank r >= 1.
        indices: int64, shape (..., K) with K <= r; of one dimension, they are one tuple.
        updates: shape ``indices.shape[:-1] + data.shape[K:]``, dtype of data.
        reduction: as `ScatterElements`.
        opset: 11 or later.

    Raises:
        ShapeError, DtypeError, ArgumentError, IndexOutOfBounds: what does not fit.

    Source: ONNX operator ScatterND, versions 11, 13, 16 and 18.

    >>> ScatterND([1, 2, 3], [[-1], [-1]], [10, 20], reduction="add").tolist()
    [1, 2, 33]
    """
    v = version_of("ScatterND", opset)
    return _scatter(v, normalize.nd, reduction, data, indices, updates, least_rank=1, least_target_rank=1)


def Gather(data: Any, indices: Any, axis: Any = 0, *, opset: int | None = None) -> Array:
    """Slices of ``data`` along ``axis``: shape ``data.shape[:axis] + indices.shape + data.shape[axis + 1:]``.

    Args:
        data: rank r >= 1.
        indices: int32 or int64; negative ones count from the end from opset 11 on.
        axis: in [-r, r).
        opset: 1 or later.

    Raises:
        ShapeError, DtypeError, ArgumentError, IndexOutOfBounds: what does not fit.

    Source: ONNX operator Gather, versions 1, 11 and 13.

    >>> Gather([[1, 2], [3, 4], [5, 6]], [-1, 0]).tolist()
    [[5, 6], [1, 2]]
    """
    v = version_of("Gather", opset)
    return batched.gather(v.name, v.data("data", data), indices, axis, wrap=v.wraps, widths=v.indices, target="data")


def GatherElements(data: Any, indices: Any, axis: Any = 0, *, opset: int | None = None) -> Array:
    """``out[q] = data[..., indices[q], ...]``, the index in place of coordinate ``axis`` of q; the shape is that of indices.

    Args:
        data: rank r >= 1.
        indices: int32 or int64, rank r, values in [-s, s) with ``s = data.shape[axis]``; no longer than data except along ``axis``.
        axis: in [-r, r).
        opset: 11 or later.

    Raises:
        ShapeError, DtypeError, ArgumentError, IndexOutOfBounds: what does not fit.

    Source: ONNX operator GatherElements, versions 11 and 13.

    >>> GatherElements([[1, 2], [3, 4]], [[0, 0], [-1, 0]], axis=1).tolist()
    [[1, 1], [4, 3]]
    """
    v = version_of("GatherElements", opset)
    array = convert.plain(v.data("data", data))
    return batched.gathered(normalize.elements(v.name, "gather", array, indices, None, axis, widths=v.indices))


def GatherND(data: Any, indices: Any, batch_dims: Any = 0, *, opset: int | None = None) -> Array:
    """The cells or slices at index tuples: shape ``indices.shape[:-1] + data.shape[batch_dims + K:]``.

    Args:
        data: rank r >= 1.
        indices: int64, rank q >= 1, shape (..., K) with 1 <= K <= r - batch_dims.
        batch_dims: not negative, less than q and r (from opset 12): so many first axes of both go together.
        opset: 11 or later.

    Raises:
        ShapeError, DtypeError, ArgumentError, IndexOutOfBounds: what does not fit.

    Source: ONNX operator GatherND, versions 11, 12 and 13.

    >>> GatherND([[1, 2], [3, 4]], [[1], [-2]], batch_dims=1).tolist()
    [2, 3]
    """
    v = version_of("GatherND", opset)
    if batch_dims != 0 and not v.attributes:
        raise ArgumentError(f"{v.name}: batch_dims = {batch_dims!r} came later, in opset 12")
    if not isinstance(batch_dims, bool) and hasattr(type(batch_dims), "__index__") and batch_dims < 0:
        raise ShapeError(f"{v.name}: batch_dims = {batch_dims} must not be negative")
    return batched.gather_nd(v.name, v.data("data", data), indices, batch_dims, wrap=True, widths=v.indices, target="data", least_depth=1)


def TensorScatter(
    past_cache: Any, update: Any, write_indices: Any = None, axis: Any = -2, mode: str = "linear", *, opset: int | None = None
) -> Array:
    """A copy of a cache with one slice written for each batch item: ``out[b, ..., write_indices[b] + t, ...] = update[b, ..., t, ...]``.

    Args:
        past_cache: shape (batch, ..., S, ...), with S the size along ``axis``.
        update: the same shape, but no more than S along ``axis``.
        write_indices: int64, shape (batch,), not negative; zeros by default.
        axis: any but the first.
        mode: "linear" (the slice must fit) or "circular" (it goes on at the front).
        opset: 24 or later.

    Raises:
        ShapeError, DtypeError, ArgumentError, IndexOutOfBounds: what does not fit. ONNX's 8-bit and 4-bit floats and 4-bit integers are
            not supported.

    Source: ONNX operator TensorScatter, version 24.

    >>> TensorScatter([[[1], [2], [3]]], [[[8], [9]]], [2], mode="circular").tolist()
    [[[9], [2], [8]]]
    """
    v = version_of("TensorScatter", opset)
    if not isinstance(mode, str) or mode not in ("linear", "circular"):
        raise ArgumentError(f"{v.name}: mode = {mode!r} is none of 'linear', 'circular'")
    out = functional.copied(v.name, "past_cache", v.data("past_cache", past_cache))
    new = v.data("update", update) if out.dtype == object else update
    batched.scatter_slices(v.name, out, new, write_indices, axis, mode == "circular")
    return out
