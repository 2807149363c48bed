"""``tf.compat.v1``: scatter functions that take the variable first. The defaults of ``use_locking`` are TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import DtypeError
from ....parameter import Parameter
from ..functions import *  # noqa: F403
from ..functions import __all__ as _functions
from ..functions import tensor_scatter_nd_add as tensor_scatter_add
from ..functions import tensor_scatter_nd_sub as tensor_scatter_sub
from ..functions import tensor_scatter_nd_update as tensor_scatter_update
from ..math import *  # noqa: F403
from ..math import __all__ as _math
from ..tensors import IndexedSlices
from ..variable import Variable

# fmt: off
__all__ = [
    "IndexedSlices", "Variable", "batch_scatter_update", "scatter_add", "scatter_div", "scatter_max", "scatter_min", "scatter_mul",
    "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update", "scatter_sub", "scatter_update", "tensor_scatter_add", "tensor_scatter_sub",
    "tensor_scatter_update", *_functions, *_math,
]
# fmt: on


def _variable(call: str, ref: Any) -> Variable:
    if isinstance(ref, Parameter):
        return Variable.of(ref)
    if not isinstance(ref, Variable):
        raise DtypeError(f"{call}: ref must be a Variable, not {type(ref).__name__}")
    return ref


def _rows(method: str, locking: bool = False) -> Callable[..., Variable]:
    run = getattr(Variable, method)

    def function(ref: Any, indices: Any, updates: Any, use_locking: bool = locking, name: Any = None) -> Variable:
        done: Variable = run(_variable(method, ref), IndexedSlices(updates, indices), use_locking=use_locking)
        return done

    return _named(function, method)


def _nd(method: str, locking: bool = False) -> Callable[..., Variable]:
    run = getattr(Variable, method)

    def function(ref: Any, indices: Any, updates: Any, use_locking: bool = locking, name: Any = None) -> Variable:
        done: Variable = run(_variable(method, ref), indices, updates, use_locking=use_locking)
        return done

    return _named(function, method)


def _named(function: Callable[..., Variable], method: str) -> Callable[..., Variable]:
    function.__name__ = function.__qualname__ = method
    function.__doc__ = f"`Variable.{method}` with the variable, indices and updates as arguments. Source: tf.compat.v1.{method}."
    return function


scatter_add = _rows("scatter_add")
scatter_sub = _rows("scatter_sub")
scatter_mul = _rows("scatter_mul")
scatter_div = _rows("scatter_div")
scatter_min = _rows("scatter_min")
scatter_max = _rows("scatter_max")
scatter_update = _rows("scatter_update", locking=True)
batch_scatter_update = _rows("batch_scatter_update", locking=True)
scatter_nd_add = _nd("scatter_nd_add")
scatter_nd_sub = _nd("scatter_nd_sub")
scatter_nd_update = _nd("scatter_nd_update", locking=True)
