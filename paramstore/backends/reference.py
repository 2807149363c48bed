"""The defining loop as NumPy can best say it: always there, the home of strings, objects and records, and the guard of the other backends.

Duplicates are taken in rounds: round j holds the j-th update of every row, so that rows within a round are distinct and the rounds
keep the C order of each row's updates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import bounds, dtypes, ops, picking, registry

Array = np.ndarray[Any, np.dtype[Any]]
Step = Callable[[Array, Array], Array]


def _rounds(ids: Array) -> Iterator[Array]:
    """Positions in ``ids`` (N,), grouped by how many equal ids came before them."""
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    first = np.ones(len(ids), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    place = np.arange(len(ids))
    occurrence = place - np.maximum.accumulate(np.where(first, place, 0))
    by_round = order[np.argsort(occurrence, kind="stable")]
    yield from np.split(by_round, np.cumsum(np.bincount(occurrence))[:-1])


def _complex_mul(x: Array, u: Array) -> Array:
    """The textbook product; NumPy's own may fuse a multiply and an add."""
    out = np.empty(x.shape, x.dtype)
    out.real = x.real * u.real - x.imag * u.imag
    out.imag = x.real * u.imag + x.imag * u.real
    return out


def _complex_div(x: Array, u: Array) -> Array:
    """Smith's division: scaled by the larger component of the divisor."""
    swap = np.abs(u.real) < np.abs(u.imag)
    big, small = np.where(swap, u.imag, u.real), np.where(swap, u.real, u.imag)
    ratio = small / big
    scale = 1 / (big + small * ratio)
    out = np.empty(x.shape, x.dtype)
    out.real = np.where(swap, x.real * ratio + x.imag, x.real + x.imag * ratio) * scale
    out.imag = np.where(swap, x.imag * ratio - x.real, x.imag - x.real * ratio) * scale
    zero = (u.real == 0) & (u.imag == 0)
    size = np.abs(u.real)
    out.real[zero] = x.real[zero] / size[zero]
    out.imag[zero] = x.imag[zero] / size[zero]
    return out


def _int_div(x: Array, u: Array) -> Array:
    """Division toward zero, from NumPy's division toward minus infinity."""
    floor = np.floor_divide(x, u)
    inexact = (x - floor * u) != 0
    out: Array = floor + (inexact & ((x < 0) != (u < 0))).astype(x.dtype)
    return out


def _float_min(x: Array, u: Array) -> Array:
    zeros = (x == 0) & (u == 0)
    return np.where(zeros, -((-x) + (-u)), np.minimum(x, u))


def _float_max(x: Array, u: Array) -> Array:
    zeros = (x == 0) & (u == 0)
    return np.where(zeros, x + u, np.maximum(x, u))


_STEPS: dict[str, Step] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum, "max": np.maximum}
_STEPS_BY_KIND: dict[tuple[str, str], Step] = {
    ("mul", "complex"): _complex_mul,
    ("div", "complex"): _complex_div,
    ("div", "int"): _int_div,
    ("div", "uint"): _int_div,
    ("min", "float"): _float_min,
    ("max", "float"): _float_max,
}


def _folding(step: Step) -> registry.KernelFunction:
    """A kernel that applies ``step`` once for each update, in C order for each row."""

    def kernel(data: Array, ids: Array, updates: Array) -> None:
        if not updates.size:
            return
        with np.errstate(all="ignore"):
            for k in _rounds(ids):
                rows = ids[k]
                data[rows] = step(data[rows], updates[k])

    return kernel


def _assign(data: Array, ids: Array, updates: Array) -> None:
    """The last update of each row wins."""
    rows, from_the_end = np.unique(ids[::-1], return_index=True)
    data[rows] = updates[len(ids) - 1 - from_the_end]


def _joining(data: Array, ids: Array, updates: Array) -> None:
    """Adding strings of any length joins them. A string that is missing stops that, so the work is done aside."""
    out = data.copy()
    for k, row in enumerate(ids):
        out[row] = np.add(out[row], updates[k])
    data[...] = out


def _assign_strings(data: Array, ids: Array, updates: Array) -> None:
    picking.put(data, (ids,), updates)


def _gather_strings(data: Array, ids: Array, out: Array) -> None:
    out[...] = picking.taken(data, (ids,))


def _gather(data: Array, ids: Array, out: Array) -> None:
    out[...] = data[ids]


def coalesce(ids: Array, values: Array, size: int) -> tuple[Array, Array] | tuple[str, int, int]:
    """The sorted unique ``ids`` (N,) and the sums of their rows of ``values`` (N, W), in C order; or the first id outside [0, size)."""
    found = bounds.resolve(ids, size, bounds.RAISE, False)
    if isinstance(found, registry.Fault):
        return found
    unique, first, place = np.unique(found, return_index=True, return_inverse=True)
    half = values.dtype.itemsize == 2 and dtypes.kind(values.dtype) == "float"
    sums = values[first].astype(np.float32 if half else values.dtype)
    again = np.ones(len(ids), bool)
    again[first] = False
    later = np.flatnonzero(again)
    with np.errstate(all="ignore"):
        for k in _rounds(place[later]) if len(later) else ():
            sums[place[later[k]]] += values[later[k]]
        return unique.astype(ids.dtype), sums.astype(values.dtype, copy=False)


def _register_all() -> None:
    def add(op: str, dtype: str, function: registry.KernelFunction) -> None:
        for layout in ("rows", "elements"):
            registry.register(op, layout, dtype, function, backend="reference", priority=0)

    for dtype in (*dtypes.NUMERIC, *dtypes.ASSIGN_ONLY):
        kind = dtypes.KINDS.get(dtype, dtype)
        for op in ops.OPS.values():
            if kind in op.kinds:
                step = _STEPS_BY_KIND.get((op.name, kind)) or _STEPS.get(op.name)
                if step is None and op.name != "update":
                    raise NotImplementedError(f"the reference backend has no step for the op {op.name!r}")
                add(op.name, dtype, _folding(step) if step else _assign)
        if kind in ops.OPS["add"].kinds:
            registry.register("coalesce", "slices", dtype, coalesce, backend="reference", priority=0, checks=True)  # type: ignore[arg-type]
        add("gather", dtype, _gather)
    add("update", "string", _assign_strings)
    add("gather", "string", _gather_strings)
    add("add", "string", _joining)
    for index in ("int32", "int64"):
        registry.register("flatten", "tuples", index, bounds.flatten_tuples, backend="reference", priority=0, checks=True)


_register_all()
