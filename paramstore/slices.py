"""IndexedSlices: some rows of a larger array, as sparse gradients come."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from . import buffers, convert, dtypes, normalize, registry
from .convert import Array
from .errors import ArgumentError, DtypeError, IndexOutOfBounds, ShapeError

__all__ = ["IndexedSlices", "clip_by_global_norm", "global_norm"]

CHUNK = 1 << 20  # values squared at a time


class IndexedSlices:
    """Rows of a larger array: ``values[k]`` belongs to row ``indices[k]``, and rows that repeat add up.

    Args:
        indices: integers of any shape.
        values: numbers of shape ``indices.shape + dense_shape[1:]``. A literal takes the dtype of what it is applied to.
        dense_shape: the shape of the larger array; without it there is no `to_dense`, and no check of shapes.

    Raises:
        ShapeError, DtypeError: they do not fit together.

    Source: tf.IndexedSlices, which takes ``values`` first.

    >>> g = IndexedSlices([2, 0, 2], [[1.0], [2.0], [3.0]], (4, 1))
    >>> g.coalesce()
    IndexedSlices(indices=[0 2], values=float64 (2, 1), dense_shape=(4, 1))
    >>> g.to_dense().tolist()
    [[2.0], [0.0], [4.0], [0.0]]
    """

    __slots__ = ("_dense_shape", "_indices", "_values")
    _indices: Any
    _values: Any
    _dense_shape: Any

    def __init__(self, indices: Any, values: Any, dense_shape: Any = None) -> None:
        self._indices, self._values = indices, values
        self._dense_shape = None if dense_shape is None else normalize.shape_of("IndexedSlices", dense_shape)
        self._indices, found = self._arrays("IndexedSlices")
        if not convert.is_literal(values):
            self._values = found

    @classmethod
    def _of(cls, indices: Any, values: Any, dense_shape: Any) -> IndexedSlices:
        """Slices whose parts are known to fit."""
        made = cls.__new__(cls)
        made._indices, made._values, made._dense_shape = indices, values, dense_shape
        return made

    def _shape(self, call: str) -> tuple[int, ...] | None:
        shape: tuple[int, ...] | None = self._dense_shape
        if shape is None or type(self) is IndexedSlices:  # normalised when it was made
            return shape
        return normalize.shape_of(call, shape)

    def _arrays(self, call: str) -> tuple[Array, Array]:
        """The ids and the rows as plain arrays whose shapes fit."""
        ids, _ = convert.indices_of(call, "indices", self._indices)
        values = convert.plain(convert.array_of(call, "values", self._values))
        shape = self._shape(call)
        if shape == ():
            raise ShapeError(f"{call}: dense_shape = () must have at least one dimension")
        row = values.shape[ids.ndim :] if shape is None else shape[1:]
        if values.shape != ids.shape + row or values.ndim < ids.ndim:
            raise ShapeError(f"{call}: values.shape = {values.shape} must be indices.shape + dense_shape[1:] = {ids.shape + row}")
        return ids, values

    @property
    def indices(self) -> Any:
        """Where the rows belong: int32 or int64."""
        return self._indices

    @property
    def values(self) -> Any:
        """The rows."""
        return convert.array_of("IndexedSlices", "values", self._values)

    @property
    def dense_shape(self) -> Any:
        """The shape of the whole, or None."""
        return self._dense_shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the rows."""
        found: np.dtype[Any] = self.values.dtype
        return found

    def __len__(self) -> int:
        """How many rows there are, repeated ones included."""
        return int(np.size(self._indices))

    def __repr__(self) -> str:
        values = self.values
        ids = np.array2string(np.asarray(self.indices), threshold=8)
        return f"{type(self).__name__}(indices={ids}, values={values.dtype} {values.shape}, dense_shape={self.dense_shape})"

    def coalesce(self) -> IndexedSlices:
        """The same sum with each row once, in rising order of the ids.

        Rows that repeat are added in C order, in their dtype; float16 and bfloat16 are added in float32 and rounded once. The result
        does not depend on the number of threads.

        Returns: slices with ``indices`` of shape (U,) and ``values`` of shape (U,) + row.

        Raises:
            IndexOutOfBounds: an id that is negative, or past the end of dense_shape.
            DtypeError: a dtype without addition.

        >>> IndexedSlices([3, 1, 3], [1.0, 2.0, 4.0]).coalesce().values.tolist()
        [2.0, 5.0]
        """
        call = "coalesce"
        ids, values = self._arrays(call)
        normalize.check_op(call, "add", values.dtype)
        shape = self._shape(call)
        n, w = ids.size, prod(values.shape[ids.ndim :])
        size = shape[0] if shape is not None else max(0, int(ids.max(initial=-1))) + 1
        kernel = registry.find(call, "coalesce", "slices", dtypes.name(values.dtype))
        flat, names = ids.reshape(n), None
        if size.bit_length() + n.bit_length() > 64 and n and flat.min() >= 0 and flat.max() < size:  # kernels sort id and position in 64 bits
            names, flat = np.unique(flat, return_inverse=True)
        found: Any = kernel.function(flat, values.reshape(n, w), size if names is None else len(names))
        if len(found) == 3:
            raise bad_id(call, ids, found, size)
        unique, rows = found
        unique = unique if names is None else names[unique]
        return self._of(unique, rows.reshape(len(unique), *values.shape[ids.ndim :]), self._dense_shape)

    def to_dense(self) -> Array:
        """The whole array: zeros, and the coalesced rows in their places.

        Raises:
            ArgumentError: no dense_shape.
            IndexOutOfBounds: an id past its end.
        """
        shape = self._shape("to_dense")
        if shape is None:
            raise ArgumentError("to_dense: the slices have no dense_shape")
        one = self.coalesce()
        out = buffers.empty("to_dense", shape, one.dtype)
        out[...] = np.zeros((), one.dtype)
        out[one._indices] = one._values
        return out

    def __add__(self, other: Any) -> IndexedSlices:
        """The rows of both, those of ``self`` first.

        >>> (IndexedSlices([0], [1.0]) + IndexedSlices([0], [2.0])).coalesce().values.tolist()
        [3.0]
        """
        if not isinstance(other, IndexedSlices):
            return NotImplemented
        call = "IndexedSlices + IndexedSlices"
        (ids, values), (more_ids, more) = self._arrays(call), other._arrays(call)
        row, more_row = values.shape[ids.ndim :], more.shape[more_ids.ndim :]
        if values.dtype != more.dtype:
            raise DtypeError(f"{call}: dtypes {values.dtype} and {more.dtype} differ")
        shape, more_shape = self._shape(call), other._shape(call)
        if row != more_row or (shape is not None and more_shape is not None and shape != more_shape):
            raise ShapeError(f"{call}: rows of shape {row} of {shape} and {more_row} of {more_shape} differ")
        wide = ids.dtype if ids.dtype == more_ids.dtype else np.dtype(np.int64)
        both = np.concatenate([ids.reshape(-1), more_ids.reshape(-1)]).astype(wide, copy=False)
        rows = np.concatenate([values.reshape(ids.size, *row), more.reshape(more_ids.size, *row)])
        return self._of(both, rows, shape if shape is not None else more_shape)

    def __mul__(self, factor: Any) -> IndexedSlices:
        """Every row times a number, in the dtype of the rows."""
        return self._scaled("IndexedSlices * factor", np.multiply, factor)

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> IndexedSlices:
        """Every row divided by a number, in the dtype of the rows."""
        return self._scaled("IndexedSlices / factor", np.true_divide, factor)

    def __neg__(self) -> IndexedSlices:
        """Every row with the opposite sign."""
        return self._scaled("-IndexedSlices", np.multiply, -1)

    def _scaled(self, call: str, ufunc: Any, factor: Any) -> IndexedSlices:
        ids, values = self._arrays(call)
        if ufunc is np.true_divide and dtypes.kind(values.dtype) not in ("float", "complex"):
            raise DtypeError(f"{call}: dtype {values.dtype} has no exact quotients")
        by = convert.updates_of(call, "factor", factor.item() if isinstance(factor, np.generic) else factor, values.dtype, convert=False)
        if by.ndim:
            raise ShapeError(f"{call}: factor.shape = {by.shape} must be ()")
        with np.errstate(all="ignore"):
            return self._of(ids, np.asarray(ufunc(values, by)), self._dense_shape)

    def norm(self) -> float:
        """The Euclidean norm of the coalesced rows, which is that of the dense gradient; in float64."""
        return global_norm([self])

    def clip_by_norm(self, max_norm: float) -> IndexedSlices:
        """The coalesced slices, scaled by ``max_norm / norm`` where their norm is above ``max_norm``.

        >>> IndexedSlices([0, 1], [3.0, 4.0]).clip_by_norm(1.0).values.tolist()
        [0.6000000000000001, 0.8]
        """
        ((clipped,), _) = clip_by_global_norm([self], max_norm)
        assert isinstance(clipped, IndexedSlices)
        return clipped


def bad_id(call: str, ids: Array, fault: tuple[str, int, int], size: int) -> IndexOutOfBounds:
    """The exception for the first id that is outside [0, size)."""
    where = ", ".join(str(int(i)) for i in np.unravel_index(fault[1], ids.shape)) if ids.ndim else ""
    return IndexOutOfBounds(f"{call}: indices{f'[{where}]' if where else ''} = {fault[2]} is not in [0, {size})")


def _squares(call: str, values: Array) -> float:
    """The sum of squares in float64, a chunk at a time; the order does not depend on the machine."""
    kind = dtypes.kind(values.dtype)
    if kind not in ("float", "complex"):
        raise DtypeError(f"{call}: dtype {values.dtype} must be a floating type")
    flat = values.reshape(-1)
    sums = []
    with np.errstate(all="ignore"):
        for start in range(0, flat.size, CHUNK):
            part = flat[start : start + CHUNK]
            for wide in (part.real, part.imag) if kind == "complex" else (part,):
                x = wide.astype(np.float64)
                x *= x
                sums.append(np.add.reduce(x))
        return float(np.add.reduce(np.array(sums, np.float64)))


def global_norm(gradients: Iterable[Any]) -> float:
    """The Euclidean norm of all gradients together, in float64: slices (coalesced first), arrays, or both.

    >>> global_norm([IndexedSlices([1, 1], [1.0, 2.0]), np.array([4.0])])
    5.0
    """
    return _norm("global_norm", [_summed("global_norm", g) for g in gradients])


def _summed(call: str, gradient: Any) -> Any:
    return gradient.coalesce() if isinstance(gradient, IndexedSlices) else convert.array_of(call, "gradient", gradient)


def _norm(call: str, gradients: list[Any]) -> float:
    return float(np.sqrt(sum(_squares(call, g.values if isinstance(g, IndexedSlices) else g) for g in gradients)))


def clip_by_global_norm(gradients: Iterable[Any], max_norm: float) -> tuple[list[Any], float]:
    """All gradients scaled by ``max_norm / norm`` where their norm together is above ``max_norm``; and that norm.

    Args:
        gradients: slices, which come back coalesced, and arrays.
        max_norm: above 0. A norm that is NaN or infinite makes every value NaN or 0 times infinity: it is not hidden.

    Raises:
        ArgumentError: max_norm is not above 0.
        DtypeError: a gradient that is not of a floating type.

    Source: tf.clip_by_global_norm; torch.nn.utils.clip_grad_norm_ adds 1e-6 to the norm.

    >>> (half, rest), norm = clip_by_global_norm([IndexedSlices([1, 1], [1.0, 2.0]), np.array([4.0])], 2.5)
    >>> half.values.tolist(), rest.tolist(), norm
    ([1.5], [2.0], 5.0)
    """
    call = "clip_by_global_norm"
    if isinstance(max_norm, bool) or not isinstance(max_norm, (int, float, np.integer, np.floating)) or not max_norm > 0:
        raise ArgumentError(f"{call}: max_norm = {max_norm!r} must be a number above 0")
    summed = [_summed(call, g) for g in gradients]
    norm = _norm(call, summed)
    if norm <= max_norm:
        return summed, norm
    factor = float(max_norm) / norm
    with np.errstate(all="ignore"):
        return [g * factor if isinstance(g, IndexedSlices) else np.asarray(g * g.dtype.type(factor)) for g in summed], norm
