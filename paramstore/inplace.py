"""In-place scatter on Parameters: the operator classes, and what the Parameter methods call.

Every class takes ``use_locking`` and is called with ``(parameter, indices, updates)``; it returns the Parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from . import convert, dispatch, normalize, ops, shortcuts
from .errors import DtypeError

if TYPE_CHECKING:
    from .parameter import Parameter

# fmt: off
__all__ = [
    "Scatter", "ScatterNd",
    "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMin", "ScatterMax", "ScatterUpdate",
    "ScatterNdAdd", "ScatterNdSub", "ScatterNdMul", "ScatterNdDiv", "ScatterNdMin", "ScatterNdMax", "ScatterNdUpdate",
]
# fmt: on


def apply(
    name: str,
    op: str,
    p: Parameter,
    indices: Any,
    updates: Any,
    *,
    nd: bool = False,
    use_locking: bool = False,
    bounds: str = "raise",
    short_cut: bool = True,
    refuse_zero: bool = False,
    form: Callable[..., normalize.Call] | None = None,
    **rules: Any,
) -> Parameter:
    """Runs the defining loop of ``op`` on the Parameter's buffer: the one way in for every in-place operator.

    Args:
        short_cut: whether the native short cut may be tried: False where a rule changes what arrays that fit do.
        refuse_zero: whether a zero among the updates is an error for every dtype.
        form: the normal form, where it is neither `normalize.rows` nor `normalize.nd`.
        rules: a frontend's other rules for the normal form.
    """
    if refuse_zero:
        rules["refuse_zero"] = True
        short_cut = type(updates) is np.ndarray and bool(updates.all())
    if use_locking is False:
        if short_cut and form is None and at_once(op, p, indices, updates, nd, bounds, rules.get("widths")):
            return p
        lock: Any = nullcontext()
    else:
        convert.a_bool(name, "use_locking", use_locking)
        lock = p.lock
    with lock:
        if use_locking and short_cut and form is None and at_once(op, p, indices, updates, nd, bounds, rules.get("widths")):
            return p
        form = form or (normalize.nd if nd else normalize.rows)
        dispatch.run(form(name, op, p._array, indices, updates, bounds=bounds, **rules))
        p._changed()
    return p


def at_once(op: str, p: Parameter, indices: Any, updates: Any, nd: bool = False, bounds: Any = "raise", widths: Any = None) -> bool:
    """Whether the call needed no conversion, and has been done; see `shortcuts`. A frontend may ask before it looks at its own rules."""
    if (
        shortcuts.nd(op, p._array, p._dtype_name, indices, updates, bounds, False, widths)
        if nd
        else shortcuts.rows(op, p._array, p._dtype_name, indices, updates, bounds)
    ):
        p._changed()
        return True
    return False


_FORMULA = {
    False: "for each i, ..., j in indices.shape:  x = input_x[indices[i, ..., j], :],  u = updates[i, ..., j, :]",
    True: "for each i, ..., j in indices.shape[:-1]:  x = input_x[indices[i, ..., j, :]],  u = updates[i, ..., j]",
}
_SHAPES = {
    False: "updates of shape indices.shape + input_x.shape[1:]",
    True: "indices of rank at least 2, updates of shape indices.shape[:-1] + input_x.shape[indices.shape[-1]:]",
}
_EXAMPLE = {
    False: "{name}()(ps.Parameter([8, 6, 7]), [2, 0], [2, 5]).shape\n    (3,)",
    True: "{name}()(ps.Parameter([[8, 6, 7]]), [[0, 2], [0, 0]], [2, 5]).shape\n    (1, 3)",
}
_DOC = """{doc}

    In C order, {formula}:  x = {step}.

    Args:
        use_locking: hold the Parameter's lock from the check to the last write, so that no concurrent update is lost.

    Called with ``(input_x, indices, updates, bounds="raise")``: a Parameter, integer indices and {shapes}.
    Returns the Parameter, changed in place.

    Raises:
        DtypeError: use_locking is no bool, the target no Parameter, or the op not defined for the dtype.
        ParameterCastError: the Parameter would have to be converted to the dtype of the updates.
        ShapeError: the shapes do not fit.
        IndexOutOfBounds, ZeroDivisor: a bad value; nothing has been written.

    Source: mindspore.ops.{source}.

    >>> import paramstore as ps
    >>> ps.{example}
    """


def _documented(cls: type[InplaceScatter]) -> str:
    op = ops.OPS[cls.op]
    name = cls.__name__
    return _DOC.format(
        doc=op.doc, formula=_FORMULA[cls.nd], step=op.formula, shapes=_SHAPES[cls.nd], source=name, example=_EXAMPLE[cls.nd].format(name=name)
    )


class InplaceScatter:
    """What the in-place operator classes share; see `Scatter` and `ScatterNd`."""

    op: str = ""
    nd: bool = False
    target: type[Any]  # Parameter; that module imports this one

    def __init_subclass__(cls, op: str = "", nd: bool = False) -> None:
        if op:
            cls.op, cls.nd = op, nd
            cls.__doc__ = _documented(cls)

    def __init__(self, use_locking: bool = False) -> None:
        self.name = type(self).__name__
        self.use_locking = convert.a_bool(self.name, "use_locking", use_locking)

    def __call__(self, input_x: Parameter, indices: Any, updates: Any, *, bounds: str = "raise") -> Parameter:
        if not isinstance(input_x, self.target):
            raise DtypeError(f"{self.name}: input_x must be a Parameter, not {type(input_x).__name__}")
        return apply(self.name, self.op, input_x, indices, updates, nd=self.nd, use_locking=self.use_locking, bounds=bounds)

    def __repr__(self) -> str:
        return f"{self.name}(use_locking={self.use_locking})"


class Scatter(InplaceScatter):
    """In-place rows scatter of any op of the table, those registered from outside included.

    >>> import paramstore as ps
    >>> ps.Scatter("add")(ps.Parameter([1.0, 2.0]), [1, 1], [10.0, 20.0]).numpy().tolist()
    [1.0, 32.0]
    """

    def __init__(self, op: str, use_locking: bool = False) -> None:
        super().__init__(use_locking)
        self.op = ops.op_named(self.name, op).name


class ScatterNd(Scatter):
    """In-place scatter by index tuples of any op of the table.

    >>> import paramstore as ps
    >>> ps.ScatterNd("max")(ps.Parameter([[1.0, 2.0]]), [[0, 1]], [5.0]).numpy().tolist()
    [[1.0, 5.0]]
    """

    nd = True


# fmt: off
class ScatterAdd(InplaceScatter, op="add"): ...
class ScatterSub(InplaceScatter, op="sub"): ...
class ScatterMul(InplaceScatter, op="mul"): ...
class ScatterDiv(InplaceScatter, op="div"): ...
class ScatterMin(InplaceScatter, op="min"): ...
class ScatterMax(InplaceScatter, op="max"): ...
class ScatterUpdate(InplaceScatter, op="update"): ...
class ScatterNdAdd(InplaceScatter, op="add", nd=True): ...
class ScatterNdSub(InplaceScatter, op="sub", nd=True): ...
class ScatterNdMul(InplaceScatter, op="mul", nd=True): ...
class ScatterNdDiv(InplaceScatter, op="div", nd=True): ...
class ScatterNdMin(InplaceScatter, op="min", nd=True): ...
class ScatterNdMax(InplaceScatter, op="max", nd=True): ...
class ScatterNdUpdate(InplaceScatter, op="update", nd=True): ...
# fmt: on


def apply_to(name: str, op: str, x: Any, indices: Any, updates: Any, *, bounds: str = "raise") -> None:
    """The rows kernel on a plain array, for callers inside the package that own it."""
    dispatch.run(normalize.rows(name, op, x, indices, updates, bounds=bounds))


def method(name: str, op: str, nd: bool = False) -> Callable[..., Parameter]:
    """The Parameter method of that name."""

    def function(self: Parameter, indices: Any, updates: Any, *, use_locking: bool = False, bounds: str = "raise") -> Parameter:
        return apply(name, op, self, indices, updates, nd=nd, use_locking=use_locking, bounds=bounds)

    function.__name__ = name
    function.__qualname__ = f"Parameter.{name}"
    title = f"Scatter{'Nd' if nd else ''}{op.capitalize()}"
    function.__doc__ = f"{ops.OPS[op].doc} See `paramstore.{title}`; ``bounds`` is \"raise\", \"drop\" or \"clip\". Returns the Parameter."
    return function
