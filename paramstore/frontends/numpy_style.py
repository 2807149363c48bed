"""``np.ufunc.at`` made fast, threaded and safe: ``np.add.at(a, indices, b)`` becomes ``add_at(a, indices, b)``.

``a`` is a Parameter or a writable NumPy array of any layout (a view with steps, byte-swapped, without dimensions); ``indices`` is
whatever can stand in ``a[...]``: integers, integer arrays, slices, masks, ``...``, ``None``, or a tuple of them; negative integers count
from the end. ``b`` spreads to the shape of ``a[indices]``. Every occurrence of a cell counts, in C order. Each function returns None.

An array is not locked; for a Parameter that other threads change too, put the call into ``with p.lock:``.

Differences, all where ``ufunc.at`` is unsafe or leaves the result to chance:

==========================================  =====================================  ====================================================
case                                        ``np.ufunc.at``                        here
==========================================  =====================================  ====================================================
``a`` is read-only                          writes it                              `TargetError` (a ValueError)
``a`` overlaps itself (stride 0)            writes it, any result                  `TargetError` (a ValueError)
``b`` of a higher kind than ``a``           casts: 2.5 into integers adds 2        `ParameterCastError` (a TypeError)
``b`` not exact in ``a.dtype``              casts: 300 into uint8 adds 44          `ParameterCastError` (a TypeError)
``b`` a Python number or list               float64: each step is rounded from it  takes the dtype of ``a``; OverflowError out of range
int64 meets uint64                          computes in float64, cast back         exact, wraps
integer division                            computes in float64, cast back         truncates toward zero, exact
integer division by zero                    some number and a warning              `ZeroDivisor` (a ValueError), before any write
-0.0 meets 0.0 in min, max                  either                                 -0.0 is the smaller
``b`` spreads over a 2-D index of a vector  reads past the end of ``b`` (2.4.6)    spreads
complex min, max; bool division             defined                                `DtypeError` (a TypeError)
long double, times, objects                 defined                                `DtypeError` (a TypeError)
==========================================  =====================================  ====================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import indexing, ops, targets

__all__ = ["add_at", "subtract_at", "multiply_at", "divide_at", "minimum_at", "maximum_at"]

_DOC = """{doc}

    In C order of ``a[indices]``, for each cell x of it and its u of ``b``:  x = {formula}.

    Args:
        a: a Parameter or a writable NumPy array, changed in place.
        indices: whatever can stand in ``a[...]``.
        b: spreads to the shape of ``a[indices]``; converts to the dtype of ``a`` without loss.

    Raises:
        IndexOutOfBounds, IndexFormError: (IndexErrors) an index outside, or something that is no index.
        ParameterCastError: (a TypeError) ``b`` does not convert without loss.
        ShapeError: (a ValueError) ``b`` does not spread.
        TargetError: (a ValueError) ``a`` is read-only or overlaps itself.{more}

    Source: numpy.{ufunc}.at.

    >>> import numpy as np
    >>> a = np.array([[8.0, 6.0], [4.0, 2.0]])
    >>> {ufunc}_at(a, ([0, 0], [1, 1]), 2.0)
    >>> a.tolist()
    [[8.0, {result}], [4.0, 2.0]]
    """
_ZERO = "\n        ZeroDivisor: (a ValueError) an integer zero in ``b``."


def _at(ufunc: str, op: str, result: float) -> Callable[[Any, Any, Any], None]:
    name = f"{ufunc}_at"

    def function(a: Any, indices: Any, b: Any) -> None:
        targets.scatter(name, op, a, indexing.indexed, indices, b, target="a", short_cut=True)

    function.__name__ = function.__qualname__ = name
    row = ops.OPS[op]
    function.__doc__ = _DOC.format(doc=row.doc, formula=row.formula, ufunc=ufunc, result=result, more=_ZERO if row.zero_divisor else "")
    return function


add_at = _at("add", "add", 10.0)
subtract_at = _at("subtract", "sub", 2.0)
multiply_at = _at("multiply", "mul", 24.0)
divide_at = _at("divide", "div", 1.5)
minimum_at = _at("minimum", "min", 2.0)
maximum_at = _at("maximum", "max", 6.0)
