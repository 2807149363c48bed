"""Operators on a copy with an index for each row or slice: ``InplaceAdd`` (in spite of its name), ``IndexFill``, ``IndexPut``."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ... import axes, functional, normalize, places
from ...convert import Array
from ...errors import ArgumentError, DtypeError, ShapeError
from ._rules import ANY_NUMBER, EQUAL, INDEX, INT32, NUMBERS, a_tensor, an_int, data_of, document

# fmt: off
__all__ = [
    "InplaceAdd", "InplaceSub", "InplaceUpdateV2", "IndexFill", "IndexPut", "inplace_add", "inplace_sub", "inplace_update", "index_fill",
]
# fmt: on


class _Rows:
    """The operators named in place that answer a copy, with indices that are Python ints."""

    op: ClassVar[str]

    def __init__(self, indices: int | tuple[int, ...]) -> None:
        self.indices = _ints(type(self).__name__, indices)

    def __call__(self, x: Any, v: Any) -> Array:
        return _rows(type(self).__name__, self.op, x, self.indices, v, NUMBERS)


class InplaceAdd(_Rows):
    op = "add"


class InplaceSub(_Rows):
    op = "sub"


class InplaceUpdateV2:
    def __call__(self, x: Any, indices: Any, v: Any) -> Array:
        rows = indices if isinstance(indices, np.ndarray) or places.on_gpu(indices) else _ints("InplaceUpdateV2", indices)
        return _rows("InplaceUpdateV2", "update", x, rows, v, frozenset({"float16", "float32", "int32"}))


def inplace_add(x: Any, v: Any, indices: int | tuple[int, ...]) -> Array:
    return InplaceAdd(indices)(x, v)


def inplace_sub(x: Any, v: Any, indices: int | tuple[int, ...]) -> Array:
    return InplaceSub(indices)(x, v)


def inplace_update(x: Any, v: Any, indices: Any) -> Array:
    return InplaceUpdateV2()(x, indices, v)


def _ints(name: str, indices: Any) -> tuple[int, ...]:
    if isinstance(indices, tuple):
        return tuple(an_int(name, "indices' item", i) for i in indices)
    return (an_int(name, "indices", indices),)


def _rows(name: str, op: str, x: Any, indices: Any, v: Any, allowed: frozenset[str]) -> Array:
    array = data_of(name, "x", x, allowed)
    a_tensor(name, "v", v)
    return functional.into_copy(normalize.rows, name, op, array, indices, v, target="x", widths=INDEX)


class IndexFill:
    def __call__(self, x: Any, dim: Any, index: Any, value: Any) -> Array:
        a_tensor("IndexFill", "value", value)
        return _fill("IndexFill", x, dim, index, value)


def index_fill(x: Any, axis: Any, index: Any, value: Any) -> Array:
    return _fill("index_fill", x, axis, index, value)


def _fill(name: str, x: Any, axis: Any, index: Any, value: Any) -> Array:
    array = data_of(name, "x", x, NUMBERS)
    a_tensor(name, "index", index)
    if np.ndim(value):
        raise ShapeError(f"{name}: value.shape = {np.shape(value)} must be ()")
    return functional.into_copy(
        axes.along, name, "update", array, index, value,
        axis=axis, target="x", widths=INT32, wrap=True, spread_scalar=True, argument="value", least_rank=0,
    )


class IndexPut:
    def __init__(self, accumulate: int = 0) -> None:
        self.accumulate = an_int("IndexPut", "accumulate", accumulate)
        if self.accumulate not in (0, 1):
            raise ArgumentError(f"IndexPut: accumulate = {accumulate} must be 0 or 1")

    def __call__(self, x1: Any, x2: Any, indices: Any) -> Array:
        array, values = data_of("IndexPut", "x1", x1, ANY_NUMBER), data_of("IndexPut", "x2", x2, ANY_NUMBER)
        if not isinstance(indices, (tuple, list)):
            raise DtypeError(f"IndexPut: indices must be a tuple or list of arrays, not {type(indices).__name__}")
        for k, vector in enumerate(indices):
            a_tensor("IndexPut", f"indices[{k}]", vector)
        tuples = axes.tuples_of("IndexPut", "indices", indices, widths=INDEX, on=places.of(array))
        if values.ndim != 1 or any(np.ndim(vector) != 1 for vector in indices):
            shapes = ", ".join(str(np.shape(vector)) for vector in indices)
            raise ShapeError(f"IndexPut: x2.shape = {values.shape} and those of the indices, {shapes}, must have one dimension each")
        op = "add" if self.accumulate else "update"
        return functional.into_copy(
            normalize.nd, "IndexPut", op, array, tuples, values, target="x1", widths=INDEX, wrap=True, broadcast=True
        )


def _document_rows() -> None:
    formula = "On a copy, for each j:  x = out[indices[j], :],  u = v[j, :],  x = {step}."
    common = {
        "x": "shape (N, ...); it is not changed",
        "indices": "an int or a tuple of M ints in [0, N)",
        "v": "shape (M,) + x.shape[1:], dtype of x",
    }
    x, v = "np.ones(2, np.float32)", "np.ones(1, np.float32)"
    for op, kind, function in (("add", InplaceAdd, inplace_add), ("sub", InplaceSub, inplace_sub)):
        document(kind, op, formula, common, f"ops.{kind.__name__}(1)({x}, {v}).shape\n(2,)", types=EQUAL)
        document(function, op, formula, common, f"ops.{function.__name__}({x}, {v}, 1).shape\n(2,)", types=EQUAL)
    update = {**common, "x": "float16, float32 or int32, shape (N, ...); it is not changed"}
    update["indices"] += ", or an int32 or int64 array of shape (M,)"
    document(InplaceUpdateV2, "update", formula, update, f"ops.InplaceUpdateV2()({x}, 1, {v}).shape\n(2,)", types=EQUAL)
    document(inplace_update, "update", formula, update, f"ops.inplace_update({x}, {v}, 1).shape\n(2,)", types=EQUAL)


def _document_index() -> None:
    wraps = "an index outside [-s, s) for an axis of size s; negative ones count from the end"
    fill = {"x": "it is not changed", "dim": "in [-x.ndim, x.ndim)", "index": "int32, shape (M,)", "value": "shape (), dtype of x"}
    formula = "On a copy, for each j:  out[:, ..., index[j], :] = value, with the index at ``dim``."
    document(IndexFill, "update", formula, fill, "ops.IndexFill()(np.array([1, 2]), 0, np.array([-1], np.int32), np.array(7)).shape\n(2,)",
             types=EQUAL, indices=wraps)  # fmt: skip
    document(index_fill, "update", formula.replace("dim", "axis"),
             {"x": fill["x"], "axis": fill["dim"], "index": fill["index"], "value": "shape (), dtype of x; or a number that it holds"},
             "ops.index_fill(np.array([1, 2]), 0, np.array([-1], np.int32), 7).tolist()\n[1, 7]", types=EQUAL, indices=wraps)  # fmt: skip
    put = {
        "accumulate": "0 replaces, 1 adds",
        "x1": "it is not changed",
        "x2": "shape (M,) or (1,), or (x1.shape[-1],) with fewer index arrays than dimensions; dtype of x1",
        "indices": "a tuple or list of K <= x1.ndim arrays of shape (M,) or (1,), all int32 or all int64",
    }
    formula = "On a copy, for each j in M:  x = out[indices[0][j], ..., indices[K - 1][j]],  u = x2[j],  x = u, or x + u."
    document(IndexPut, "update", formula, put, "ops.IndexPut(1)(np.array([1, 2]), np.array([7]), (np.array([-1, -1]),)).tolist()\n[1, 16]",
             types=EQUAL, indices=wraps, more="ArgumentError: (a ValueError) accumulate is neither 0 nor 1.")  # fmt: skip


_document_rows()
_document_index()
