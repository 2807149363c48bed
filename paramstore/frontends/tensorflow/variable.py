"""``tf.Variable``: TensorFlow's methods on a Parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import batched, dtypes, inplace, slices
from ...convert import Array
from ...errors import ArgumentError, DtypeError, ParamstoreError
from ...parameter import Parameter
from ._doc import nd_doc, rows_doc
from .errors import translated
from .tensors import BY_DEVICE, INDEX, IndexedSlices, matching, tensor

__all__ = ["Variable"]

_Method = Callable[..., "Variable"]


def check_bool(call: str, dtype: np.dtype[Any], allowed: bool) -> None:
    """Refuses bool where paramstore's op is defined for it and TensorFlow's operator is not."""
    if not allowed and dtype == np.bool_:
        raise DtypeError(f"{call}: not defined for dtype bool")


def _rows(op: str) -> _Method:
    call = f"scatter_{op}"
    # TensorFlow's division refuses any zero; so it may not take the short cut, which does not look for them.
    rules: dict[str, Any] = {"refuse_zero": True, "short_cut": False} if op == "div" else {}
    takes_bool = op == "update"
    at_once = not rules

    def method(self: Variable, sparse_delta: IndexedSlices, use_locking: bool | None = False, name: Any = None) -> Variable:
        if not isinstance(sparse_delta, slices.IndexedSlices):
            raise DtypeError(f"{call}: sparse_delta must be IndexedSlices, not {type(sparse_delta).__name__}")
        p, values = self._p, sparse_delta._values
        if at_once and (use_locking is False or use_locking is None) and (takes_bool or p._dtype_name != "bool"):
            if p._device == "cpu" and inplace.at_once(op, p, sparse_delta._indices, values):
                return self
        try:
            if p._dtype_name == "bool":
                check_bool(call, p.dtype, takes_bool)
            if type(values) is not np.ndarray or values.dtype is not p._array.dtype:
                values = matching(call, "values", values, p.dtype)
            inplace.apply(
                call,
                op,
                p,
                sparse_delta._indices,
                values,
                use_locking=False if use_locking is None else use_locking,
                bounds=BY_DEVICE.get(p._device, "drop"),
                widths=INDEX,
                spread_scalar=True,
                **rules,
            )
        except ParamstoreError as error:
            raise translated(error) from None
        return self

    method.__name__, method.__qualname__, method.__doc__ = call, f"Variable.{call}", rows_doc(op)
    return method


def _nd(op: str) -> _Method:
    call = f"scatter_nd_{op}"
    takes_bool = op in ("add", "update")

    def method(self: Variable, indices: Any, updates: Any, name: Any = None, use_locking: bool | None = False) -> Variable:
        p = self._p
        if (use_locking is False or use_locking is None) and (takes_bool or p._dtype_name != "bool"):
            if p._device == "cpu" and inplace.at_once(op, p, indices, updates, True):
                return self
        try:
            if p._dtype_name == "bool":
                check_bool(call, p.dtype, takes_bool)
            if type(updates) is not np.ndarray or updates.dtype is not p._array.dtype:
                updates = matching(call, "updates", updates, p.dtype)
            inplace.apply(
                call,
                op,
                p,
                indices,
                updates,
                nd=True,
                use_locking=False if use_locking is None else use_locking,
                bounds=BY_DEVICE.get(p._device, "drop"),
                widths=INDEX,
                column=True,
                least_depth=1,
            )
        except ParamstoreError as error:
            raise translated(error) from None
        return self

    method.__name__, method.__qualname__, method.__doc__ = call, f"Variable.{call}", nd_doc(op)
    return method


class Variable:
    """A variable with TensorFlow's methods, around a `paramstore.Parameter`.

    Args:
        initial_value: an array, a literal, or a function of no arguments that gives one. Literals become float32 or int32.
        trainable: a flag for optimizers.
        name: any string.
        dtype: convert the initial value to this dtype.
        device: "cpu", "cuda" or "cuda:1"; by default where the initial value is.

    Source: tf.Variable.

    >>> Variable([[1.0, 2.0]]).dtype
    dtype('float32')
    """

    __slots__ = ("__weakref__", "_p")

    def __init__(
        self, initial_value: Any = None, trainable: bool | None = True, *, name: str | None = None, dtype: Any = None, device: str | None = None
    ) -> None:
        call = "Variable"
        try:
            value = initial_value() if callable(initial_value) else initial_value
            if value is None:
                raise ArgumentError(f"{call}: initial_value is missing")
            array = tensor(call, "initial_value", value)
            wanted = None if dtype is None or array.dtype == object else dtypes.resolve(call, dtype)
            self._p = Parameter(array, name or "Variable", dtype=wanted, device=device, trainable=trainable is None or trainable)
        except ParamstoreError as error:
            raise translated(error) from None

    @classmethod
    def of(cls, parameter: Parameter) -> Variable:
        """TensorFlow's view of an existing Parameter: the same buffer, lock and version."""
        if not isinstance(parameter, Parameter):
            raise DtypeError(f"Variable.of: parameter must be a Parameter, not {type(parameter).__name__}")
        self = cls.__new__(cls)
        self._p = parameter
        return self

    @property
    def parameter(self) -> Parameter:
        """The Parameter behind it."""
        return self._p

    @property
    def name(self) -> str:
        return self._p.name

    @property
    def shape(self) -> tuple[int, ...]:
        return self._p.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._p.dtype

    @property
    def device(self) -> str:
        return self._p.device

    @property
    def trainable(self) -> bool:
        return self._p.trainable

    def numpy(self) -> Array:
        """A copy."""
        return self._p.numpy()

    def value(self) -> Array:
        """A copy; TensorFlow's tensors do not change with the variable either."""
        return self._p.numpy()

    read_value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self._p.__array__(dtype, copy)

    def __len__(self) -> int:
        return len(self._p)

    def __repr__(self) -> str:
        return f"<Variable {self.name!r} shape={self.shape} dtype={self.dtype}>"

    def assign(self, value: Any, use_locking: bool | None = False, name: Any = None, read_value: bool = True) -> Variable | None:
        """Replaces the whole value by one of the same shape; returns the variable, or None with ``read_value=False``."""
        return self._whole("assign", value, use_locking, read_value)

    def assign_add(self, delta: Any, use_locking: bool | None = False, name: Any = None, read_value: bool = True) -> Variable | None:
        """Adds a value of the same shape."""
        return self._whole("assign_add", delta, use_locking, read_value)

    def assign_sub(self, delta: Any, use_locking: bool | None = False, name: Any = None, read_value: bool = True) -> Variable | None:
        """Subtracts a value of the same shape."""
        return self._whole("assign_sub", delta, use_locking, read_value)

    def _whole(self, call: str, value: Any, use_locking: bool | None, read_value: bool) -> Variable | None:
        try:
            check_bool(call, self.dtype, call == "assign")
            getattr(self._p, call)(matching(call, "value", value, self.dtype), use_locking=False if use_locking is None else use_locking)
        except ParamstoreError as error:
            raise translated(error) from None
        return self if read_value else None

    def batch_scatter_update(self, sparse_delta: IndexedSlices, use_locking: bool | None = False, name: Any = None) -> Variable:
        """Replaces rows of a batch of tables: ``var[b..., indices[b..., j]] = values[b..., j]``; the last one in C order wins.

        Args:
            sparse_delta: indices of any rank whose first sizes are the variable's, and values of shape
                ``indices.shape + var.shape[indices.ndim:]``.

        Raises:
            TypeError: no IndexedSlices.
            InvalidArgumentError: shapes, dtypes or indices that do not fit.

        Source: tf.Variable.batch_scatter_update.

        >>> Variable([[0, 0], [0, 0]]).batch_scatter_update(IndexedSlices([[5], [6]], [[1], [0]])).numpy().tolist()
        [[0, 5], [6, 0]]
        """
        call = "batch_scatter_update"
        if not isinstance(sparse_delta, slices.IndexedSlices):
            raise DtypeError(f"{call}: sparse_delta must be IndexedSlices, not {type(sparse_delta).__name__}")
        p = self._p
        try:
            values = matching(call, "values", sparse_delta.values, p.dtype)
            bounds = BY_DEVICE.get(p._device, "drop")
            batched.scatter(
                call,
                "update",
                p,
                sparse_delta.indices,
                values,
                use_locking=False if use_locking is None else use_locking,
                bounds=bounds,
                widths=INDEX,
            )
        except ParamstoreError as error:
            raise translated(error) from None
        return self

    def sparse_read(self, indices: Any, name: Any = None) -> Array:
        """A copy of the rows at ``indices``. Source: tf.Variable.sparse_read."""
        from .functions import gather_rows

        return gather_rows("sparse_read", self, indices, widths=INDEX)

    def gather_nd(self, indices: Any, name: Any = None) -> Array:
        """A copy of the cells or slices at index tuples. Source: tf.Variable.gather_nd."""
        from .functions import gather_tuples

        return gather_tuples("gather_nd", self, indices, widths=INDEX)

    # fmt: off
    scatter_add: _Method = _rows("add")
    scatter_sub: _Method = _rows("sub")
    scatter_mul: _Method = _rows("mul")
    scatter_div: _Method = _rows("div")
    scatter_min: _Method = _rows("min")
    scatter_max: _Method = _rows("max")
    scatter_update: _Method = _rows("update")
    scatter_nd_add: _Method = _nd("add")
    scatter_nd_sub: _Method = _nd("sub")
    scatter_nd_min: _Method = _nd("min")
    scatter_nd_max: _Method = _nd("max")
    scatter_nd_update: _Method = _nd("update")
    # fmt: on
