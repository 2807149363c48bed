"""Arrays for a row of the table: the ids' distributions, and values that stay normal numbers however often a call is repeated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .workloads import Workload

__all__ = ["Arguments", "build", "distributed"]

Array = np.ndarray[Any, np.dtype[Any]]
Ids = np.ndarray[Any, np.dtype[np.int64]]

HOT_ROWS = 1000  # the rows that "heavy" duplicates fall on
HOT_SHARE = 0.1  # the part of "onehot" ids that is one row
ZIPF = 1.2
_BLOCK = 1 << 18  # values drawn; larger arrays repeat them


@dataclass
class Arguments:
    """The arrays of one workload. Peers that can work on NumPy memory share them; ours has a Parameter of its own."""

    table: Array
    ids: Array  # (N,) or, for the form "nd", (N, K); for "elements" the shape of the updates
    updates: Array  # for gathers and bags: empty
    unique: int  # how many different rows (elements: cells) are hit

    def fresh(self) -> Arguments:
        """The same with a table of its own."""
        return Arguments(self.table.copy(), self.ids, self.updates, self.unique)


def _uniform(rng: np.random.Generator, n: int, rows: int) -> Ids:
    return rng.integers(0, rows, n)


def _zipf(rng: np.random.Generator, n: int, rows: int) -> Ids:
    """Rank r has a probability like r ** -1.2; the ranks are dealt to rows at random."""
    sums = np.cumsum(np.arange(1, rows + 1, dtype=np.float64) ** -ZIPF)
    ranks = np.searchsorted(sums, rng.random(n) * sums[-1], side="right")
    ids: Ids = rng.permutation(rows)[np.minimum(ranks, rows - 1)]
    return ids


def _sorted(rng: np.random.Generator, n: int, rows: int) -> Ids:
    return np.sort(_uniform(rng, n, rows))


def _onehot(rng: np.random.Generator, n: int, rows: int) -> Ids:
    ids = _uniform(rng, n, rows)
    ids[rng.random(n) < HOT_SHARE] = rows // 2
    return ids


def _heavy(rng: np.random.Generator, n: int, rows: int) -> Ids:
    hot = rng.choice(rows, min(rows, HOT_ROWS), replace=False)
    return hot[_uniform(rng, n, len(hot))]


_DRAW: dict[str, Callable[[np.random.Generator, int, int], Ids]] = {
    "uniform": _uniform, "zipf": _zipf, "sorted": _sorted, "onehot": _onehot, "heavy": _heavy,
}  # fmt: skip


def distributed(name: str, rng: np.random.Generator, n: int, rows: int) -> Ids:
    """``n`` ids of ``rows`` rows, distributed as named.

    >>> ids = distributed("onehot", np.random.default_rng(0), 1000, 500)
    >>> 0.05 < float(np.mean(ids == 250)) < 0.15
    True
    """
    return _DRAW[name](rng, n, rows)


def _values(w: Workload, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Values whose repeated sums, products and quotients neither overflow nor become subnormal, which would be another speed."""
    size = prod(shape)
    n = min(size, _BLOCK)
    kind = np.dtype(w.dtype).kind
    if w.op in ("mul", "div"):
        block = rng.choice(np.array([-1, 1]), n)
    else:
        block = rng.integers(-100, 100, n) if kind == "i" else rng.uniform(-1, 1, n)
    return np.resize(block.astype(w.dtype), size).reshape(shape)


def build(w: Workload, seed: int = 0) -> Arguments:
    """The arrays of a workload, from a fixed seed."""
    rng = np.random.default_rng(seed)
    targets = w.table[w.axis] if w.form == "elements" else prod(w.table[: w.depth])
    flat = distributed(w.ids, rng, w.calls, targets)
    if w.form == "nd":
        ids: Array = np.stack(np.unravel_index(flat, w.table[: w.depth]), axis=-1)
        update_shape = w.index_shape[:-1] + w.table[w.depth :]
    else:
        ids = flat.reshape(w.index_shape)
        update_shape = w.index_shape if w.form == "elements" else w.index_shape + w.table[1:]
    table = _values(w, rng, w.table)
    updates = np.empty(0, w.dtype) if w.form in ("gather", "bags") else _values(w, rng, update_shape)
    return Arguments(table, np.ascontiguousarray(ids.astype(w.index, copy=False)), updates, _unique(w, flat, ids, targets))


def _unique(w: Workload, flat: Ids, ids: Array, targets: int) -> int:
    if w.form != "elements":
        hit = np.zeros(targets, bool)
        hit[flat] = True
        return int(np.count_nonzero(hit))
    cells = np.zeros(w.table, bool)
    np.put_along_axis(cells, ids, True, w.axis)
    return int(np.count_nonzero(cells))
