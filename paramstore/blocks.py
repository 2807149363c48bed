"""Row ids where the axes before the indexed one count as blocks of rows: what batch axes, and other axes than the first, become.

On a GPU they are index tuples (block, id), flattened by the kernel that flattens every other tuple.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from . import bounds as rule
from . import normalize, places, registry
from .convert import Array
from .normalize import Call

__all__ = ["probe", "resolved", "spread"]


def probe(name: str, x: Array, size: int, indices: Any, **rules: Any) -> Call:
    """The checks of ``indices`` against an axis of that size, where x lives: a call on rows of no width."""
    return normalize.rows(name, "gather", places.empty(places.of(x), (size, 0), x.dtype), indices, None, **rules)


def resolved(call: Call, size: int) -> Array:
    """The ids of a call in a private array, checked by its bounds rule; -1 where one is dropped.

    Raises:
        IndexOutOfBounds: as the rule says.
    """
    if places.of(call.ids) is not None:
        return normalize.flat_ids(call, call.ids.reshape(call.ids.size, 1), (size,))
    ids = rule.resolve(call.ids, size, call.bounds, call.wrap)
    if isinstance(ids, registry.Fault):
        raise call.error(ids)
    return ids


def spread(name: str, ids: Array, middle: int, size: int) -> Array:
    """``out[b, m, j] = (b * middle + m) * size + ids[b, j]`` for ids (B, J) of blocks of ``size`` rows; -1 stays.

    >>> spread("demo", np.array([[0, -1], [1, 1]]), 2, 10).tolist()
    [[[0, -1], [10, -1]], [[21, 21], [31, 31]]]
    """
    batch, count = ids.shape
    blocks = np.arange(batch * middle, dtype=np.int64).reshape(batch, middle, 1)
    on = places.of(ids)
    if on is None:
        return np.where(ids[:, None] < 0, -1, blocks * size + ids[:, None])
    shape = (batch, middle, count)
    tuples = on.empty((*shape, 2), np.dtype(np.int64))
    places.assign(tuples[..., 0], blocks)
    places.assign(tuples[..., 1], ids[:, None])
    # A dropped id is -1, which no axis has.
    stand_in = on.empty((0, 0), np.dtype(np.bool_))
    call = Call(name, "gather", "rows", stand_in, tuples, stand_in, rule.DROP, False, tuples, (batch * middle, size), device=places.family(on))
    return normalize.flat_ids(call, tuples.reshape(prod(shape), 2), (batch * middle, size)).reshape(shape)
