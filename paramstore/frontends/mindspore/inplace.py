"""Operators that change a Parameter: ``ScatterAdd`` ... ``ScatterNdUpdate``, ``IndexAdd`` and their functions.

Updates are converted to the Parameter's dtype by MindSpore's table of implicit conversions, and the Parameter never is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ... import axes, convert, inplace
from ...errors import DtypeError
from ...parameter import Parameter
from ._rules import ANY_NUMBER, INDEX, INT32, NUMBERS, a_tensor, an_int, document, refuse_dtype

# fmt: off
__all__ = [
    "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMin", "ScatterMax", "ScatterUpdate",
    "ScatterNdAdd", "ScatterNdSub", "ScatterNdMul", "ScatterNdDiv", "ScatterNdMin", "ScatterNdMax", "ScatterNdUpdate",
    "ScatterNonAliasingAdd", "IndexAdd", "InplaceIndexAdd",
    "scatter_add", "scatter_sub", "scatter_mul", "scatter_div", "scatter_min", "scatter_max", "scatter_update",
    "scatter_nd_add", "scatter_nd_sub", "scatter_nd_mul", "scatter_nd_div", "scatter_nd_min", "scatter_nd_max", "scatter_nd_update",
    "index_add", "inplace_index_add",
]
# fmt: on

_FORMULA = {
    False: "For each i, ..., j in indices.shape:  x = input_x[indices[i, ..., j], :],  u = updates[i, ..., j, :],  x = {step}.",
    True: "For each i, ..., j in indices.shape[:-1]:  x = input_x[indices[i, ..., j, :]],  u = updates[i, ..., j],  x = {step}.",
}
_ARGUMENTS = {
    False: {"input_x": "a Parameter of shape (N, ...)", "indices": "int32 or int64, any shape",
            "updates": "shape indices.shape + input_x.shape[1:]; a number where that is ()"},
    True: {"input_x": "a Parameter of shape (N, ...)",
           "indices": "int32 or int64, at least 2 dimensions, the last of size K <= input_x.ndim",
           "updates": "shape indices.shape[:-1] + input_x.shape[K:]"},
}  # fmt: skip
_LOCK = "(of the constructor) hold the Parameter's lock from the check to the last write, so that no concurrent update is lost"
_CAST = "ParameterCastError: (a TypeError and RuntimeError) the Parameter would have to be converted to the dtype of the updates."
_ZERO = "ZeroDivisor: (a ValueError) {} zero among the updates; nothing has been written."
_EXAMPLE = {
    False: "ops.{name}(ps.Parameter(np.array([8, 6, 7])), np.array([2, 0]), np.array([2, 5])).shape\n(3,)",
    True: "ops.{name}(ps.Parameter(np.array([8, 6, 7])), np.array([[2], [0]]), np.array([2, 5])).shape\n(3,)",
}


def a_parameter(name: str, value: Any, allowed: frozenset[str], argument: str = "input_x") -> None:
    """The target of an in-place operator, with a dtype that it takes."""
    if not isinstance(value, Parameter):
        raise DtypeError(f"{name}: {argument} must be a Parameter, not {type(value).__name__}")
    if value._dtype_name not in allowed:
        refuse_dtype(name, argument, value._dtype_name, allowed)


def _document(thing: Any, row: type[InPlace], spelled: str, more: dict[str, str]) -> None:
    errors = _CAST if row.op != "div" else _CAST + "\n        " + _ZERO.format("a" if row.rules.get("refuse_zero") else "an integer")
    document(thing, row.op, _FORMULA[row.nd], {**_ARGUMENTS[row.nd], **more}, _EXAMPLE[row.nd].format(name=spelled), more=errors)


class InPlace:
    """What the in-place scatter classes share; each is called with ``(input_x, indices, updates)`` and returns the Parameter."""

    op: ClassVar[str]
    nd: ClassVar[bool]
    dtypes: ClassVar[frozenset[str]]
    rules: ClassVar[dict[str, Any]]
    name: ClassVar[str]

    def __init_subclass__(cls, op: str = "", nd: bool = False, dtypes: frozenset[str] = NUMBERS, **rules: Any) -> None:
        if op:
            cls.op, cls.nd, cls.dtypes, cls.name = op, nd, dtypes, cls.__name__
            cls.rules = {"widths": INDEX, "target": "input_x", **rules}
            _document(cls, cls, f"{cls.name}()", {"use_locking": _LOCK})

    def __init__(self, use_locking: bool = False) -> None:
        self.use_locking = convert.a_bool(self.name, "use_locking", use_locking)
        self._at_once = not use_locking and "refuse_zero" not in self.rules

    def __call__(self, input_x: Parameter, indices: Any, updates: Any) -> Parameter:
        if self._at_once and type(input_x) is Parameter and input_x._dtype_name in self.dtypes:
            if inplace.at_once(self.op, input_x, indices, updates, self.nd):
                return input_x
        a_parameter(self.name, input_x, self.dtypes)
        a_tensor(self.name, "indices", indices)
        if isinstance(updates, (list, tuple)):
            a_tensor(self.name, "updates", updates)
        return inplace.apply(self.name, self.op, input_x, indices, updates, nd=self.nd, use_locking=self.use_locking, **self.rules)

    def __repr__(self) -> str:
        return f"{self.name}(use_locking={self.use_locking})"


class LockedInPlace(InPlace):
    """Those whose lock is held by default."""

    def __init__(self, use_locking: bool = True) -> None:
        super().__init__(use_locking)


# ScatterDiv refuses float zeros too.
# fmt: off
class ScatterAdd(InPlace, op="add"): ...
class ScatterSub(InPlace, op="sub"): ...
class ScatterMul(InPlace, op="mul"): ...
class ScatterDiv(InPlace, op="div", refuse_zero=True): ...
class ScatterMin(InPlace, op="min"): ...
class ScatterMax(InPlace, op="max"): ...
class ScatterUpdate(LockedInPlace, op="update"): ...
class ScatterNdAdd(InPlace, op="add", nd=True): ...
class ScatterNdSub(InPlace, op="sub", nd=True): ...
class ScatterNdMul(InPlace, op="mul", nd=True): ...
class ScatterNdDiv(InPlace, op="div", nd=True): ...
class ScatterNdMin(InPlace, op="min", nd=True): ...
class ScatterNdMax(InPlace, op="max", nd=True): ...
class ScatterNdUpdate(LockedInPlace, op="update", nd=True, dtypes=ANY_NUMBER): ...
# fmt: on


class ScatterNonAliasingAdd(InPlace, op="add", nd=True):
    def __init__(self) -> None:
        super().__init__(False)

    def __repr__(self) -> str:
        return "ScatterNonAliasingAdd()"


_document(ScatterNonAliasingAdd, ScatterNonAliasingAdd, "ScatterNonAliasingAdd()", {})


def _function(operator: InPlace) -> Callable[[Parameter, Any, Any], Parameter]:
    """The function without a lock argument: the operator with its default lock."""

    def function(input_x: Parameter, indices: Any, updates: Any) -> Parameter:
        return operator(input_x, indices, updates)

    return _named(function, type(operator), {})


def _locking(cls: type[InPlace]) -> Callable[..., Parameter]:
    """The function with a lock argument."""

    def function(input_x: Parameter, indices: Any, updates: Any, use_locking: bool = False) -> Parameter:
        return cls(use_locking)(input_x, indices, updates)

    return _named(function, cls, {"use_locking": _LOCK.replace("(of the constructor) ", "")})


def _named(function: Callable[..., Parameter], row: type[InPlace], more: dict[str, str]) -> Callable[..., Parameter]:
    name = f"scatter_nd_{row.op}" if row.nd else f"scatter_{row.op}"
    function.__name__ = function.__qualname__ = name
    _document(function, row, name, more)
    return function


scatter_add = _function(ScatterAdd())
scatter_sub = _function(ScatterSub())
scatter_mul = _function(ScatterMul())
scatter_div = _function(ScatterDiv())
scatter_min = _function(ScatterMin())
scatter_max = _function(ScatterMax())
scatter_update = _function(ScatterUpdate())
scatter_nd_add = _locking(ScatterNdAdd)
scatter_nd_sub = _locking(ScatterNdSub)
scatter_nd_mul = _locking(ScatterNdMul)
scatter_nd_div = _locking(ScatterNdDiv)
scatter_nd_min = _locking(ScatterNdMin)
scatter_nd_max = _locking(ScatterNdMax)
scatter_nd_update = _function(ScatterNdUpdate())

# The dtypes on the pages of the two below; no others.
_ADDED = frozenset({"int8", "int16", "int32", "uint8", "float16", "float32", "float64"})


def _add_along(name: str, x: Any, indices: Any, y: Any, axis: int, use_locking: bool, target: str, argument: str) -> Parameter:
    a_parameter(name, x, _ADDED, target)
    a_tensor(name, "indices", indices)
    a_tensor(name, argument, y)
    return inplace.apply(
        name, "add", x, indices, y, form=axes.along, axis=axis, use_locking=use_locking, widths=INT32, target=target, argument=argument
    )


class IndexAdd:
    def __init__(self, axis: int, use_lock: bool = True, check_index_bound: bool = True) -> None:
        self.axis = an_int("IndexAdd", "axis", axis)
        self.use_lock = convert.a_bool("IndexAdd", "use_lock", use_lock)
        # False does not skip the check: MindSpore's CPU kernel does not skip it either, and memory must stay safe.
        self.check_index_bound = convert.a_bool("IndexAdd", "check_index_bound", check_index_bound)

    def __call__(self, x: Parameter, indices: Any, y: Any) -> Parameter:
        return _add_along("IndexAdd", x, indices, y, self.axis, self.use_lock, "x", "y")


class InplaceIndexAdd:
    def __init__(self, axis: int) -> None:
        self.axis = an_int("InplaceIndexAdd", "axis", axis)

    def __call__(self, var: Parameter, indices: Any, updates: Any) -> Parameter:
        return _add_along("InplaceIndexAdd", var, indices, updates, self.axis, False, "var", "updates")


def index_add(x: Parameter, indices: Any, y: Any, axis: int, use_lock: bool = True, check_index_bound: bool = True) -> Parameter:
    return IndexAdd(axis, use_lock, check_index_bound)(x, indices, y)


def inplace_index_add(var: Parameter, indices: Any, updates: Any, axis: int) -> Parameter:
    return InplaceIndexAdd(axis)(var, indices, updates)


def _document_along() -> None:
    formula = "For each j:  x = {0}[:, ..., indices[j], :],  u = {1}[:, ..., j, :],  x = {{step}}, with the index at ``axis``."
    example = "x = ps.Parameter(np.zeros((1, 3), np.float32))\n>>> ops.{} is x\nTrue\n>>> x.numpy().tolist()\n[[3.0, 0.0, 0.0]]"
    call = "x, np.array([0, 0], np.int32), np.array([[1, 2]], np.float32)"
    for thing, spelled, x, u in (
        (IndexAdd, f"IndexAdd(1)({call})", "x", "y"),
        (index_add, f"index_add({call}, 1)", "x", "y"),
        (InplaceIndexAdd, f"InplaceIndexAdd(1)({call})", "var", "updates"),
        (inplace_index_add, f"inplace_index_add({call}, 1)", "var", "updates"),
    ):
        arguments = {
            x: "a Parameter of int8, int16, int32, uint8, float16, float32 or float64",
            "indices": "int32, shape (M,)",
            u: f"the shape of {x}, but M at ``axis``",
            "axis": f"in [-{x}.ndim, {x}.ndim)",
        }
        if x == "x":
            arguments["use_lock"] = "hold the Parameter's lock from the check to the last write"
            arguments["check_index_bound"] = "the bounds are always checked"
        document(thing, "add", formula.format(x, u), arguments, example.format(spelled), more=_CAST)


_document_along()
