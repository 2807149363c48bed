"""In-place reductions that may leave out what was there before, and means: what ``scatter_reduce_`` and ``index_reduce_`` do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from . import dispatch, normalize, places, segments, targets
from .convert import Array
from .errors import ArgumentError, DeviceError, DtypeError
from .targets import Form, Target

__all__ = ["KINDS", "reduce_into"]

KINDS = {"sum": "add", "prod": "mul", "mean": "add", "amax": "max", "amin": "min"}


def reduce_into(
    name: str,
    kind: Any,
    x: Target,
    form: Form,
    *arguments: Any,
    include_self: bool,
    kinds: tuple[str, ...] = tuple(KINDS),
    target: str = "x",
    **rules: Any,
) -> Target:
    """Combines each addressed cell of ``x`` with its updates, in C order; the cells that no index names stay.

    Args:
        kind: one of ``kinds``. A mean divides the sum by the number of terms; that of integers is rounded down. On a GPU there is none.
        form: makes the call, as for `targets.scatter`.
        include_self: whether the cell's own value is the first term.

    >>> from . import normalize
    >>> x = np.array([10.0, 20.0, 30.0])
    >>> reduce_into("demo", "mean", x, normalize.rows, [2, 2], [1.0, 2.0], include_self=False).tolist()
    [10.0, 20.0, 1.5]
    """
    if not isinstance(kind, str) or kind not in kinds:
        raise ArgumentError(f"{name}: reduce = {kind!r} is none of {', '.join(map(repr, kinds))}")
    op = KINDS[kind]
    if include_self and kind != "mean":
        return targets.scatter(name, op, x, form, *arguments, target=target, **rules)
    array = targets.array_of(name, target, x)
    if (on := places.of(array)) is not None:
        if kind == "mean":
            raise DeviceError(f"{name}: reduce = 'mean' runs on the CPU only, and {target} is on {on.name}")
        call = form(name, op, array, *arguments, target=target, **rules)
        first = places.full(on, call.updates.shape, segments.start(op, array.dtype, infinite=True), array.dtype)
        dispatch.run(replace(call, op="update", updates=first))  # checks the indices: nothing is left that could fail
        dispatch.run(call)
        targets.changed(x)
        return x
    touched = targets.Touched(form(name, op, targets.stand_in(array), *arguments, target=target, **rules), array)
    if not include_self:
        touched.rows[...] = segments.start(op, array.dtype, infinite=True)
    dispatch.run(touched.call)
    if kind == "mean":
        counts = np.bincount(touched.ids, minlength=len(touched.rows)) + include_self
        _divide(name, touched.rows, counts)
    touched.put_back()
    targets.changed(x)
    return x


def _divide(name: str, rows: Array, counts: Array) -> None:
    if rows.dtype.kind == "b":
        raise DtypeError(f"{name}: mean is not defined for dtype bool")
    if rows.dtype.kind in "iu":
        np.floor_divide(rows, counts[:, None], out=rows, casting="unsafe")
        return
    by = np.broadcast_to(counts[:, None].astype(rows.dtype), rows.shape)
    dispatch.run(normalize.rows(name, "div", rows, np.arange(len(rows)), by, convert_updates=False))
