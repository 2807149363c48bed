"""In-place scatters into what is not always a C-contiguous buffer: Parameters, and NumPy arrays of any layout.

A kernel works on contiguous rows. Where the target's memory is not like that, the rows that the call addresses are copied out, worked on
and put back; no other row is read or written.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import numpy as np

from . import bounds as rule
from . import dispatch, dtypes, picking, places, shortcuts
from .convert import Array
from .errors import DtypeError, TargetError
from .normalize import Call
from .parameter import Parameter
from .registry import Fault

__all__ = ["Form", "Target", "Touched", "array_of", "changed", "scatter", "stand_in"]

Form = Callable[..., Call]
Target = TypeVar("Target")


def array_of(name: str, argument: str, x: Any) -> Array:
    """The array behind a target, if it may be written.

    Raises:
        DtypeError: neither a Parameter nor an array of NumPy or CuPy.
        TargetError: read-only, or an array whose items share memory; on a GPU, one that is not C-contiguous.
    """
    if isinstance(x, Parameter):
        return x._array
    if places.on_gpu(x):
        array = places.adopted(name, argument, x)
        if places.plain(array) is not array:
            raise TargetError(f"{name}: {argument} must be C-contiguous and aligned on a GPU; its strides are {array.strides}")
        return array
    if not isinstance(x, np.ndarray):
        raise DtypeError(f"{name}: {argument} must be a Parameter or a NumPy array, not {type(x).__name__}")
    if not x.flags.writeable:
        raise TargetError(f"{name}: {argument} is read-only")
    if not x.flags.c_contiguous and overlaps_itself(x):
        raise TargetError(f"{name}: {argument} overlaps itself; its strides are {x.strides} for shape {x.shape}")
    return x if type(x) is np.ndarray else x.view(np.ndarray)


def overlaps_itself(x: Array) -> bool:
    """Whether two items of the array share a byte.

    >>> bool(overlaps_itself(np.broadcast_to(np.zeros(1), 3))), bool(overlaps_itself(np.zeros((3, 4))[::2, 1:].T))
    (True, False)
    """
    if x.size < 2:
        return False
    reach = x.itemsize
    steps = sorted((abs(step), size) for step, size in zip(x.strides, x.shape) if size > 1)
    for step, size in steps:
        if step < reach:
            break
        reach += step * (size - 1)
    else:
        return False  # each axis steps over all that the finer ones reach
    starts = np.zeros(1, np.int64)
    for step, size in steps:
        starts = (starts[:, None] + np.arange(size, dtype=np.int64) * step).reshape(-1)
    starts.sort()
    return bool((np.diff(starts) < x.itemsize).any())


def _in_place(x: Array) -> bool:
    """Whether kernels can work on the array's own memory."""
    return places.of(x) is not None or bool(x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative)


def stand_in(x: Array) -> Array:
    """An array of the shape of ``x`` without memory, for the checks of a normal form: any reshape of it is a view."""
    dtype = x.dtype if x.dtype.isnative else x.dtype.newbyteorder("=")
    return np.broadcast_to(np.empty((), dtype), x.shape)


class Touched:
    """The rows (or cells) of ``x`` that a call addresses, in a copy of their own.

    Args:
        call: made for `stand_in` of x.

    Raises:
        IndexOutOfBounds: as the bounds rule of the call says.
    """

    def __init__(self, call: Call, x: Array) -> None:
        self.x = x
        rows = call.layout == "rows"
        count, width = call.data.shape if rows else (x.size, 1)
        if rows:
            ids = rule.resolve(call.ids, count, call.bounds, call.wrap)
        else:
            ids = rule.flat_elements(call.ids, call.data.shape, call.axis, call.bounds, call.wrap)
        if isinstance(ids, Fault):
            raise call.error(ids)
        updates = call.updates.reshape(ids.size, width)
        inside = ids >= 0
        if not inside.all():
            ids, updates = ids[inside], picking.taken(updates, (np.flatnonzero(inside),))
        # The indexed axes are the first ones, as many as count the rows.
        lead = next(k for k in range(x.ndim + 1) if prod(x.shape[:k]) == count and prod(x.shape[k:]) == width)
        found, self.ids = np.unique(ids, return_inverse=True)
        self.where = np.unravel_index(found, x.shape[:lead]) if lead else (np.zeros(len(found), np.int64),)
        self.base = x if lead else x[None]
        rows_there = picking.taken(self.base, self.where)
        self.rows = np.ascontiguousarray(rows_there, call.data.dtype).reshape(len(found), width)
        call.layout, call.data, call.ids, call.updates = "rows", self.rows, self.ids, updates
        call.bounds, call.wrap = rule.DROP, False
        self.call = call

    def put_back(self) -> None:
        """Writes the rows to where they came from."""
        picking.put(self.base, self.where, self.rows.reshape(len(self.rows), *self.base.shape[len(self.where) :]))


def scatter(name: str, op: str, x: Target, form: Form, *arguments: Any, target: str = "x", short_cut: bool = False, **rules: Any) -> Target:
    """Runs the defining loop of ``op`` on a Parameter or a NumPy array; answers the target.

    Args:
        short_cut: whether arguments that fit are rows, so that the native kernel may take them at once.
        form: makes the call: ``form(name, op, array, *arguments, target=target, **rules)``.

    Raises:
        DtypeError, TargetError: a target that cannot be written.
        IndexOutOfBounds, ZeroDivisor: and whatever ``form`` raises; nothing has been written then.

    >>> from . import normalize
    >>> x = np.zeros((2, 4))[:, ::2]
    >>> scatter("demo", "add", x, normalize.rows, [1, 1], [[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[0.0, 0.0], [4.0, 6.0]]
    """
    if short_cut and _done_natively(op, x, *arguments):
        return x
    array = array_of(name, target, x)
    if _in_place(array):
        dispatch.run(form(name, op, array, *arguments, target=target, **rules))
    else:
        touched = Touched(form(name, op, stand_in(array), *arguments, target=target, **rules), array)
        dispatch.run(touched.call)
        touched.put_back()
    changed(x)
    return x


def _done_natively(op: str, x: Any, indices: Any, updates: Any) -> bool:
    if isinstance(x, Parameter):
        if shortcuts.rows(op, x._array, x._dtype_name, indices, updates):
            x._changed()
            return True
        return False
    if type(x) is not np.ndarray:
        return False
    return shortcuts.rows(op, x, dtypes.name(x.dtype), indices, updates)


def changed(x: Any) -> None:
    """Counts the call, where the target counts them."""
    if isinstance(x, Parameter):
        x._changed()
