"""TensorFlow's conversions: what a literal becomes, which updates a tensor takes, `IndexedSlices`, and the rule for bad indices.

Literals become float32, int32 (int64 where they need it), complex128, bool or strings, unless they meet a tensor, whose dtype they take
if it can hold them. Arrays keep their dtype and are never converted: TensorFlow silently casts NumPy arrays, even 1.5 to 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import convert, dtypes, places, segments, slices
from ...convert import Array
from ...errors import ArgumentError, DtypeError, ParamstoreError
from .. import _text
from .errors import translated

__all__ = ["BY_DEVICE", "INDEX", "WIDE_INDEX", "IndexedSlices", "bounds_of", "convert_to_tensor", "device_of", "matching", "tensor"]

INDEX = ("int32", "int64")
WIDE_INDEX = ("int16", "int32", "int64")  # gathers and unsorted segments

# Where an operator has no policy of its own: bad indices are errors on a CPU, and left out ("drop") on every device that is not here.
BY_DEVICE = {"cpu": "raise"}

# What bad_indices_policy means on a CPU and on any other device.
_POLICIES = {"": ("raise", "drop"), "DEFAULT": ("raise", "drop"), "ERROR": ("raise", "raise"), "IGNORE": ("drop", "drop")}


def bounds_of(call: str, policy: Any, device: str) -> str:
    """The bounds rule for a ``bad_indices_policy``: by default bad indices are errors on the CPU and ignored on a GPU.

    >>> bounds_of("scatter_nd", "", "cpu"), bounds_of("scatter_nd", "", "cuda:0"), bounds_of("scatter_nd", "ERROR", "cuda:0")
    ('raise', 'drop', 'raise')
    """
    if policy == "":
        return BY_DEVICE.get(device, "drop")
    if not isinstance(policy, str):
        raise DtypeError(f"{call}: bad_indices_policy = {policy!r} must be a str, not {type(policy).__name__}")
    if policy not in _POLICIES:
        raise ArgumentError(f"{call}: bad_indices_policy = {policy!r} is none of {', '.join(map(repr, _POLICIES))}")
    return _POLICIES[policy][device != "cpu"]


def device_of(*values: Any) -> str:
    """The device that a call with these operands is for: that of the first one that is not on the CPU."""
    for value in values:
        if type(value) is not np.ndarray:
            device = getattr(value, "device", "cpu")
            if device != "cpu":
                return str(device)
    return "cpu"


def _leaf(value: Any) -> Any:
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return value


def _strings(call: str, argument: str, value: Any) -> Array:
    """A string tensor: an array of bytes objects."""
    # Literals become objects at once: NumPy's own fixed-width bytes lose zeros at their end.
    array = convert.array_of(call, argument, value, object if convert.is_literal(value) else None)
    if not _text.is_text(array):
        raise DtypeError(f"{call}: {argument}.dtype = {array.dtype} is no dtype of a tensor")
    return array if array.dtype.kind == "O" and all(type(v) is bytes for v in array.reshape(-1)) else _text.objects(array, "utf-8")


def tensor(call: str, argument: str, value: Any, dtype: Any = None) -> Array:
    """A value as an array of the dtype that TensorFlow gives it, or of ``dtype``.

    >>> tensor("f", "x", [1, 2.5]).dtype, tensor("f", "x", [1, 2]).dtype, tensor("f", "x", np.ones(1)).dtype
    (dtype('float32'), dtype('int32'), dtype('float64'))
    """
    if dtype is not None:
        return matching(call, argument, value, dtypes.resolve(call, dtype))
    if type(value) is np.ndarray and value.dtype.kind in "fiubc":
        return value
    if convert.is_literal(value) and isinstance(_leaf(value), (str, bytes)):
        return _strings(call, argument, value)
    array: Array = convert.anywhere(call, argument, value)
    if array.dtype.kind in "OUST" and not (convert.is_literal(value) and isinstance(_leaf(value), int)):
        return _strings(call, argument, value)
    if convert.is_literal(value) and not isinstance(_leaf(value), np.generic):
        wanted: Any = array.dtype
        if array.dtype.kind == "f":
            wanted = np.float32
        elif array.dtype.kind in "iuO":
            small = array.dtype.kind == "i" and (not array.size or (array.min() >= -(2**31) and array.max() < 2**31))
            wanted = np.int32 if small else np.int64
        return convert.updates_of(call, argument, value, np.dtype(wanted), convert=False)
    return array


def matching(call: str, argument: str, value: Any, dtype: np.dtype[Any]) -> Array:
    """Updates for a target of that dtype: literals take it, arrays must have it.

    Raises:
        InvalidDtype: an array of another dtype (a ValueError), or a literal of another kind (a TypeError).
    """
    if type(value) is np.ndarray and value.dtype is dtype and dtype.kind != "O":
        return value
    if dtype.kind == "O":
        return _strings(call, argument, value)
    on = None
    if places.on_gpu(value):  # it stays there; whether its target is there too is seen where they meet
        value = places.adopted(call, argument, value)
        on = places.of(value)
    found: Array = convert.updates_of(call, argument, value, dtype, convert=False, owner="the target", on=on)
    return found


class IndexedSlices(slices.IndexedSlices):
    """Rows of a larger tensor: ``values[k]`` stands for row ``indices[k]``; rows that repeat add up when it becomes dense.

    `paramstore.IndexedSlices` with TensorFlow's order of arguments, and like TensorFlow's not looked at before it is used.

    Args:
        values: shape ``indices.shape + row``.
        indices: integers.
        dense_shape: the larger tensor's shape; needed only to make it dense.

    Source: tf.IndexedSlices.

    >>> convert_to_tensor(IndexedSlices([[1.0], [2.0], [3.0]], [0, 2, 2], [3, 1])).tolist()
    [[1.0], [0.0], [5.0]]
    """

    __slots__ = ()

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values, self._indices, self._dense_shape = values, indices, dense_shape

    @property
    def values(self) -> Any:
        """The rows."""
        return self._values

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the rows."""
        return tensor("IndexedSlices", "values", self._values).dtype

    def __repr__(self) -> str:
        return f"IndexedSlices(values={self._values!r}, indices={self._indices!r}, dense_shape={self._dense_shape!r})"


def convert_to_tensor(value: Any, dtype: Any = None, name: Any = None) -> Array:
    """An array from anything, `IndexedSlices` included: duplicates are summed in their order, negative indices left out.

    Raises:
        ValueError: slices without a dense_shape, or of another dtype than the one asked for.
        InvalidArgumentError: an index past the end of the dense shape.

    Source: tf.convert_to_tensor.

    >>> convert_to_tensor([1, 2]).dtype
    dtype('int32')
    """
    call = "convert_to_tensor"
    try:
        if not isinstance(value, IndexedSlices):
            return tensor(call, "value", value, dtype)
        if value.dense_shape is None:
            raise ArgumentError(f"{call}: value = {value!r} has no dense_shape")
        if dtype is not None and value.dtype != dtypes.resolve(call, dtype):
            raise DtypeError(f"{call}: value.dtype = {value.dtype} must be {dtype}")
        rows = tensor(call, "values", value.values)
        return segments.unsorted(call, "sum", rows, value.indices, _first(call, value.dense_shape), widths=WIDE_INDEX)
    except ParamstoreError as error:
        raise translated(error) from None


def _first(call: str, dense_shape: Any) -> Any:
    sizes = convert.array_of(call, "dense_shape", dense_shape)
    if sizes.ndim != 1 or not sizes.size:
        raise ArgumentError(f"{call}: dense_shape = {dense_shape!r} must be a shape of at least one dimension")
    return sizes[0]
