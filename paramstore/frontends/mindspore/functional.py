"""Scatters into a copy or into zeros: ``TensorScatter*``, ``TensorScatterElements``, ``ScatterNd`` and their functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ... import dtypes, functional, normalize, shortcuts
from ...convert import Array
from ...errors import ArgumentError, DtypeError, ShapeError
from ._rules import BOOL, EQUAL, EVERYTHING, INDEX, NUMBERS, WIDE_INDEX, a_tensor, an_int, data_of, document

# fmt: off
__all__ = [
    "TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMul", "TensorScatterDiv", "TensorScatterMin",
    "TensorScatterMax", "TensorScatterElements", "ScatterAddWithAxis", "ScatterNd",
    "tensor_scatter_update", "tensor_scatter_add", "tensor_scatter_sub", "tensor_scatter_mul", "tensor_scatter_div",
    "tensor_scatter_min", "tensor_scatter_max", "tensor_scatter_elements", "scatter", "scatter_nd",
]
# fmt: on

class TensorScatter:
    """What the functional scatters at index tuples share; each is called with ``(input_x, indices, updates)``."""

    op: ClassVar[str]
    dtypes: ClassVar[frozenset[str]]
    name: ClassVar[str]

    def __init_subclass__(cls, op: str, dtypes: frozenset[str] = NUMBERS) -> None:
        cls.op, cls.dtypes, cls.name = op, dtypes, cls.__name__
        _document_tensor_scatter(cls, op, f"{cls.name}()")

    def __call__(self, input_x: Any, indices: Any, updates: Any, *, bounds: str = "raise") -> Array:
        if type(input_x) is np.ndarray and dtypes.name(input_x.dtype) in self.dtypes:
            found = shortcuts.copied(self.op, input_x, indices, updates, None, bounds, False, INDEX)
            if found is not None:
                return found
        x = data_of(self.name, "input_x", input_x, self.dtypes)
        a_tensor(self.name, "indices", indices)
        a_tensor(self.name, "updates", updates)
        return functional.into_copy(normalize.nd, self.name, self.op, x, indices, updates, target="input_x", widths=INDEX, bounds=bounds)

    def __repr__(self) -> str:
        return f"{self.name}()"


def _document_tensor_scatter(thing: Any, op: str, spelled: str) -> None:
    arguments = {
        "input_x": "the array to start from; it is not changed",
        "indices": "int32 or int64, at least 2 dimensions, the last of size K <= input_x.ndim",
        "updates": "shape indices.shape[:-1] + input_x.shape[K:], dtype of input_x",
        "bounds": 'paramstore\'s own: "raise", "drop" (what MindSpore does on the GPU) or "clip"',
    }
    formula = "On a copy, for each i, ..., j in indices.shape[:-1]:  x = out[indices[i, ..., j, :]],  u = updates[i, ..., j],  x = {step}."
    document(thing, op, formula, arguments, f"ops.{spelled}(np.array([8, 6]), np.array([[0]]), np.array([2])).shape\n(2,)", types=EQUAL)


# fmt: off
class TensorScatterUpdate(TensorScatter, op="update", dtypes=EVERYTHING): ...
class TensorScatterAdd(TensorScatter, op="add"): ...
class TensorScatterSub(TensorScatter, op="sub"): ...
class TensorScatterMul(TensorScatter, op="mul"): ...
class TensorScatterDiv(TensorScatter, op="div", dtypes=NUMBERS - {"int8", "uint8"}): ...
class TensorScatterMin(TensorScatter, op="min"): ...
class TensorScatterMax(TensorScatter, op="max"): ...
# fmt: on


def _function(operator: TensorScatter) -> Callable[..., Array]:
    def function(input_x: Any, indices: Any, updates: Any, *, bounds: str = "raise") -> Array:
        return operator(input_x, indices, updates, bounds=bounds)

    function.__name__ = function.__qualname__ = f"tensor_scatter_{operator.op}"
    _document_tensor_scatter(function, operator.op, function.__name__)
    return function


tensor_scatter_update = _function(TensorScatterUpdate())
tensor_scatter_add = _function(TensorScatterAdd())
tensor_scatter_sub = _function(TensorScatterSub())
tensor_scatter_mul = _function(TensorScatterMul())
tensor_scatter_div = _function(TensorScatterDiv())
tensor_scatter_min = _function(TensorScatterMin())
tensor_scatter_max = _function(TensorScatterMax())


class TensorScatterElements:
    def __init__(self, axis: int = 0, reduction: str = "none") -> None:
        self.axis = an_int("TensorScatterElements", "axis", axis)
        self.reduction = reduction
        self._op = _reduction("TensorScatterElements", reduction)

    def __call__(self, data: Any, indices: Any, updates: Any) -> Array:
        x = data_of("TensorScatterElements", "data", data, NUMBERS | BOOL if self._op == "update" else NUMBERS)
        # Past the end is dropped, as the page says; a negative index is "illegal" there and an error here.
        return _elements("TensorScatterElements", self._op, x, indices, updates, self.axis, bounds="drop", refuse_negative=True, short_cut=False)


class ScatterAddWithAxis:
    def __init__(self, axis: int = 0) -> None:
        self.axis = an_int("ScatterAddWithAxis", "axis", axis)

    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Array:
        x = data_of("ScatterAddWithAxis", "input_x", input_x, NUMBERS)
        return _elements("ScatterAddWithAxis", "add", x, indices, updates, self.axis, convert_updates=True)


def tensor_scatter_elements(input_x: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none") -> Array:
    return TensorScatterElements(axis, reduction)(input_x, indices, updates)


def scatter(input: Any, axis: int, index: Any, src: Any) -> Array:
    x = data_of("scatter", "input", input, NUMBERS | BOOL)
    if not isinstance(src, float):  # a float stands for all of the updates
        a_tensor("scatter", "src", src)
    rules: dict[str, Any] = {"spread_scalar": isinstance(src, float), "widths": WIDE_INDEX}
    return _elements("scatter", "update", x, index, src, an_int("scatter", "axis", axis), **rules)


def _reduction(name: str, reduction: Any) -> str:
    if not isinstance(reduction, str):
        raise DtypeError(f"{name}: reduction = {reduction!r} must be a str, not {type(reduction).__name__}")
    if reduction not in ("none", "add"):
        raise ArgumentError(f"{name}: reduction = {reduction!r} is none of 'none', 'add'")
    return normalize.reduction_op(name, reduction)


def _elements(name: str, op: str, x: Array, indices: Any, updates: Any, axis: int, widths: tuple[str, ...] = INDEX, **rules: Any) -> Array:
    a_tensor(name, "indices", indices)
    if isinstance(updates, (list, tuple)):
        a_tensor(name, "updates", updates)
    return functional.into_copy(
        normalize.elements, name, op, x, indices, updates, axis=axis, target="input_x", widths=widths, wrap=False, **rules
    )


class ScatterNd:
    def __call__(self, indices: Any, updates: Any, shape: tuple[int, ...]) -> Array:
        a_tensor("ScatterNd", "indices", indices)
        data_of("ScatterNd", "updates", updates, EVERYTHING)
        if not isinstance(shape, tuple):
            raise DtypeError(f"ScatterNd: shape must be a tuple of ints, not {type(shape).__name__}")
        if any(an_int("ScatterNd", "shape's item", size) < 1 for size in shape):
            raise ShapeError(f"ScatterNd: shape = {shape} must hold positive sizes only")
        return functional.into_zeros("ScatterNd", indices, updates, shape, widths=WIDE_INDEX)


def scatter_nd(indices: Any, updates: Any, shape: tuple[int, ...]) -> Array:
    return ScatterNd()(indices, updates, shape)


def _document_elements() -> None:
    formula = "On a copy, for each q:  x = out[..., index[q], ...],  u = updates[q],  x = {step}; the index replaces coordinate ``axis``."
    example = "ops.{}.tolist()\n[1, 2, {}]"
    call = "np.array([1, 2, 3]), np.array([2]), np.array([10])"
    common = {
        "input_x": "at least one dimension; it is not changed",
        "indices": "int32 or int64, the rank of input_x, no longer than it except along ``axis``",
        "updates": "shape of indices, dtype of input_x",
        "axis": "in [-input_x.ndim, input_x.ndim)",
    }
    reduction = {"reduction": '"none" (the last one wins) or "add"'}
    dropped = "a negative index; those past the end are left out"
    unknown = "ArgumentError: (a ValueError) an unknown reduction."
    document(TensorScatterElements, "update", formula, {**common, **reduction}, example.format(f"TensorScatterElements()({call})", 10),
             types=EQUAL, indices=dropped, more=unknown)  # fmt: skip
    document(tensor_scatter_elements, "update", formula, {**common, **reduction}, example.format(f"tensor_scatter_elements({call})", 10),
             types=EQUAL, indices=dropped, more=unknown)  # fmt: skip
    cast = "ParameterCastError: (a TypeError and RuntimeError) input_x would have to be converted to the dtype of the updates."
    arguments = {**common, "updates": "shape of indices"}
    document(ScatterAddWithAxis, "add", formula, arguments, example.format(f"ScatterAddWithAxis()({call})", 13), more=cast)
    arguments = {
        "input": common["input_x"],
        "axis": "in [-input.ndim, input.ndim)",
        "index": "int16, " + common["indices"].replace("input_x", "input"),
        "src": "shape of index, or a float for all of them",
    }
    example = "ops.scatter(np.array([1, 2]), 0, np.array([1]), np.array([7])).tolist()\n[1, 7]"
    document(scatter, "update", formula, arguments, example, types=EQUAL)


def _document_scatter_nd() -> None:
    nd = {
        "indices": "int16, int32 or int64, at least 2 dimensions, the last of size K <= len(shape)",
        "updates": "shape indices.shape[:-1] + shape[K:]; its dtype is the result's",
        "shape": "a tuple of positive ints",
    }
    formula = "From zeros, for each i, ..., j in indices.shape[:-1]:  x = out[indices[i, ..., j, :]],  u = updates[i, ..., j],  x = {step}."
    for thing, spelled in ((ScatterNd, "ScatterNd()"), (scatter_nd, "scatter_nd")):
        document(thing, "add", formula, nd, f"ops.{spelled}(np.array([[1], [1]]), np.array([2, 3]), (3,)).tolist()\n[0, 5, 0]")


_document_elements()
_document_scatter_nd()
