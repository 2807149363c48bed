"""TensorFlow's functional scatter and gather: new arrays out, arguments unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import batched, convert, functional, normalize, shortcuts
from ...convert import Array
from ...errors import ParamstoreError, ShapeError
from .. import _text
from ._doc import tensor_doc
from .errors import translated
from .tensors import INDEX, WIDE_INDEX, bounds_of, device_of, matching, tensor
from .variable import Variable, check_bool

# fmt: off
__all__ = [
    "gather", "gather_nd", "scatter_nd", "tensor_scatter_nd_add", "tensor_scatter_nd_max", "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub", "tensor_scatter_nd_update",
]
# fmt: on


def scatter_nd(indices: Any, updates: Any, shape: Any, bad_indices_policy: str = "", name: Any = None) -> Array:
    """Adds updates into zeros of ``shape``; bool updates are or-ed, strings joined.

    ``out[indices[i, ..., j, :]] += updates[i, ..., j]``, in C order, so that the result is always the same.

    Args:
        indices: int32 or int64, rank at least 2, shape (..., K) with 1 <= K <= len(shape).
        updates: shape ``indices.shape[:-1] + shape[K:]``; its dtype is the result's.
        shape: a vector of sizes.
        bad_indices_policy: what an index outside does: "ERROR", "IGNORE" (that update is left out), or "" or "DEFAULT": an error on a CPU,
            ignored on a GPU.

    Raises:
        InvalidArgumentError: shapes, dtypes, indices or a policy that do not fit.

    Source: tf.scatter_nd.

    >>> scatter_nd([[4], [3], [1], [7]], [9, 10, 11, 12], [8]).tolist()
    [0, 11, 0, 10, 9, 0, 0, 12]
    """
    call = "scatter_nd"
    if bad_indices_policy == "":
        found = shortcuts.zeros("add", indices, updates, shape, "raise", False, INDEX)
        if found is not None:
            return found
    try:
        bounds = bounds_of(call, bad_indices_policy, device_of(indices, updates))
        values = tensor(call, "updates", updates)
        if not isinstance(shape, (list, tuple)) and convert.array_of(call, "shape", shape).ndim != 1:
            raise ShapeError(f"{call}: shape = {shape!r} must be a vector")
        text = values.dtype == object
        out = functional.into_zeros(
            call, indices, _text.joinable(values) if text else values, shape, bounds=bounds, widths=INDEX, least_depth=1
        )
        return _text.objects(out, "latin-1") if text else out
    except ParamstoreError as error:
        raise translated(error) from None


def _into_tensor(call: str, op: str, start: Any, indices: Any, updates: Any, policy: str, takes_bool: bool = False) -> Array:
    if policy == "" and (takes_bool or getattr(start, "dtype", None) != np.bool_):
        found = shortcuts.copied(op, start, indices, updates, None, "raise", False, INDEX)
        if found is not None:
            return found
    try:
        data = tensor(call, "tensor", start)
        check_bool(call, data.dtype, takes_bool)
        return functional.into_copy(
            normalize.nd, call, op, data, indices, matching(call, "updates", updates, data.dtype), target="tensor",
            bounds=bounds_of(call, policy, device_of(start, indices, updates)), widths=INDEX, least_depth=1,
        )  # fmt: skip
    except ParamstoreError as error:
        raise translated(error) from None


def _tensor_scatter(op: str) -> Callable[..., Array]:
    call = f"tensor_scatter_nd_{op}"

    def function(tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: Any = None) -> Array:
        return _into_tensor(call, op, tensor, indices, updates, bad_indices_policy)

    function.__name__ = function.__qualname__ = call
    function.__doc__ = tensor_doc(op)
    return function


tensor_scatter_nd_add = _tensor_scatter("add")
tensor_scatter_nd_sub = _tensor_scatter("sub")
tensor_scatter_nd_min = _tensor_scatter("min")
tensor_scatter_nd_max = _tensor_scatter("max")


def tensor_scatter_nd_update(tensor: Any, indices: Any, updates: Any, name: Any = None) -> Array:
    return _into_tensor("tensor_scatter_nd_update", "update", tensor, indices, updates, "", takes_bool=True)


tensor_scatter_nd_update.__doc__ = tensor_doc("update")


def gather(params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: Any = 0, name: Any = None) -> Array:
    """Slices of ``params`` along ``axis``; the first ``batch_dims`` axes of params and indices go together.

    Args:
        indices: int16, int32 or int64.
        validate_indices: has no effect, as in TensorFlow.
        axis: in [-r, r) and not before the batch axes; by default ``batch_dims``.
        batch_dims: in [-q, q] for indices of rank q.

    Returns shape ``params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]``.

    Raises:
        InvalidArgumentError: shapes, dtypes or indices that do not fit; on a GPU an index outside gives zeros.

    Source: tf.gather.

    >>> gather([[1, 2], [3, 4]], [[1], [0]], batch_dims=1).tolist()
    [[2], [3]]
    """
    return gather_rows("gather", params, indices, batch_dims if axis is None else axis, batch_dims)


def gather_rows(call: str, params: Any, indices: Any, axis: Any = 0, batch_dims: Any = 0, widths: tuple[str, ...] = WIDE_INDEX) -> Array:
    """`gather` under any name."""
    try:
        bounds = bounds_of(call, "", device_of(params, indices))
        return batched.gather(call, _params(call, params), indices, axis, batch_dims, bounds=bounds, widths=widths)
    except ParamstoreError as error:
        raise translated(error) from None


def gather_nd(params: Any, indices: Any, batch_dims: Any = 0, name: Any = None, bad_indices_policy: str = "") -> Array:
    """The cells or slices of ``params`` at index tuples; the first ``batch_dims`` axes of both go together.

    Args:
        indices: int16, int32 or int64, shape (..., K).
        batch_dims: not negative, less than the rank of indices.
        bad_indices_policy: as `scatter_nd`; a slice that is ignored is zeros.

    Returns shape ``indices.shape[:-1] + params.shape[batch_dims + K:]``.

    Raises:
        ValueError: a batch_dims outside.
        InvalidArgumentError: shapes, dtypes or indices that do not fit.

    Source: tf.gather_nd.

    >>> gather_nd([[1, 2], [3, 4]], [[1, 0], [0, 1]]).tolist()
    [3, 2]
    """
    return gather_tuples("gather_nd", params, indices, batch_dims, bad_indices_policy)


def gather_tuples(
    call: str, params: Any, indices: Any, batch_dims: Any = 0, policy: str = "", widths: tuple[str, ...] = WIDE_INDEX
) -> Array:
    """`gather_nd` under any name."""
    try:
        bounds = bounds_of(call, policy, device_of(params, indices))
        if not isinstance(batch_dims, bool) and hasattr(type(batch_dims), "__index__") and batch_dims < 0:
            raise ShapeError(f"{call}: batch_dims = {batch_dims} must not be negative")
        return batched.gather_nd(call, _params(call, params), indices, batch_dims, bounds=bounds, widths=widths)
    except ParamstoreError as error:
        raise translated(error) from None


def _params(call: str, params: Any) -> Array:
    """What is read: a Variable's own buffer, which a gather only copies from, or a tensor."""
    return params._p._array if isinstance(params, Variable) else tensor(call, "params", params)


def non_aliasing_add(input: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: Any = None) -> Array:
    """`tensor_scatter_nd_add` under the name and with the arguments of tf.raw_ops.ScatterNdNonAliasingAdd."""
    return _into_tensor("ScatterNdNonAliasingAdd", "add", input, indices, updates, bad_indices_policy, takes_bool=True)
