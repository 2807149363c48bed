"""Scatters along one axis, one index for each slice: what `index_add` and its kin do. Also index vectors that belong together.

Both become the layout ``rows``; the axes before the indexed one are counted into the row number.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from . import blocks, convert, normalize, places
from .convert import Array
from .errors import DtypeError, ShapeError
from .normalize import Call
from .places import Place

__all__ = ["along", "tuples_of"]


def along(
    name: str,
    op: str,
    x: Array,
    indices: Any,
    updates: Any,
    axis: Any = 0,
    *,
    bounds: str = "raise",
    wrap: bool = False,
    convert_updates: bool = True,
    widths: tuple[str, ...] | None = None,
    target: str = "x",
    spread_scalar: bool = False,
    argument: str = "updates",
    least_rank: int = 1,
) -> Call:
    """``x[:, ..., indices[j], :] = op(x[...], updates[:, ..., j, :])`` with the index at ``axis``, in the order of j.

    Args:
        indices: one dimension, (M,).
        updates: the shape of x, but M at ``axis``.
        spread_scalar: whether updates without dimensions stand for all of them.
        argument: what the caller calls the updates.
        least_rank: 0 takes indices without dimensions too, as one.
    """
    normalize.check_op(name, op, x.dtype)
    at = normalize.axis_of(name, axis, max(x.ndim, 1))
    size, inner = x.shape[at] if x.ndim else 1, x.shape[at + 1 :]
    probe = blocks.probe(name, x, size, indices, bounds=bounds, wrap=wrap, widths=widths, target=target)
    if not least_rank <= probe.shown.ndim <= 1 or not x.ndim:
        raise ShapeError(f"{name}: indices.shape = {probe.shown.shape} must have one dimension, {target}.shape = {x.shape} at least one")
    m, outer, on = probe.ids.size, prod(x.shape[:at]), places.of(x)
    expected = (*x.shape[:at], m, *inner)
    values = convert.updates_of(name, argument, updates, x.dtype, convert=convert_updates, owner=target, on=on)
    if spread_scalar and not values.ndim:
        values = places.full(on, expected, values, x.dtype)
    if values.shape != expected:
        raise ShapeError(
            f"{name}: {argument}.shape = {values.shape} must be {expected}: {target}.shape = {x.shape}, with {m} indices at axis {at}"
        )
    ids = blocks.spread(name, blocks.resolved(probe, size).reshape(1, m), outer, size).reshape(outer, m)
    table = x.reshape(outer * size, prod(inner))
    call = normalize.rows(
        name, op, table, ids, values.reshape(outer, m, prod(inner)), bounds="drop", convert_updates=False, target=target
    )
    call.update_shape = values.shape  # where a zero divisor is reported
    return call


def tuples_of(name: str, argument: str, vectors: Any, *, widths: tuple[str, ...] | None = None, on: Place = None) -> Array:
    """Index arrays that belong together, spread over each other as NumPy does, as tuples in the place ``on``: shape (..., number of arrays).

    Raises:
        DtypeError: no sequence, or indices of another dtype, or of different ones.
        ShapeError: none at all, or shapes that do not go together.

    >>> tuples_of("demo", "indices", (np.array([0, 1]), np.array([5]))).tolist()
    [[0, 5], [1, 5]]
    """
    if not isinstance(vectors, Sequence) or isinstance(vectors, (str, bytes)):
        raise DtypeError(f"{name}: {argument} must be a tuple or list of index arrays, not {type(vectors).__name__}")
    found = [convert.indices_of(name, f"{argument}[{k}]", v, widths, on)[0] for k, v in enumerate(vectors)]
    if not found:
        raise ShapeError(f"{name}: {argument} must hold at least one index array")
    if widths is not None and len({v.dtype for v in found}) > 1:
        raise DtypeError(f"{name}: {argument} must have one dtype, not {', '.join(str(v.dtype) for v in found)}")
    try:
        if on is None:
            return np.stack(np.broadcast_arrays(*found), axis=-1)
        shape = np.broadcast_shapes(*(v.shape for v in found))
        out: Array = on.empty((*shape, len(found)), np.result_type(*(v.dtype for v in found)))
        for k, vector in enumerate(found):
            on.copy(out[..., k], vector)
        return out
    except ValueError:
        raise ShapeError(f"{name}: {argument} of shapes {', '.join(str(v.shape) for v in found)} do not spread over each other") from None
