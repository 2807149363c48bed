"""NumPy: ``ufunc.at`` and fancy assignment. It has no threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arguments import Arguments
from ..workloads import Workload
from .base import Array, Contender, Peer, locked_parts

__all__ = ["load"]

_UFUNC: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


class Numpy:
    name, version, yardstick, copies = "numpy", np.__version__, False, 0

    def contenders(self, w: Workload, a: Arguments) -> Iterator[Contender]:
        table, ids, updates = a.table, a.ids, a.updates
        if w.form == "locked":
            yield Contender("np.add.at + Lock", locked_parts(w, a, lambda i, u: np.add.at(table, i, u)), lambda _: table)
        elif w.form == "gather":
            yield Contender("np.take", lambda: np.take(table, ids, axis=0), lambda out: out)
            yield Contender("x[i]", lambda: table[ids], lambda out: out)
        elif w.form == "rows":
            yield self._scatter(w, table, ids, updates)
            if table.ndim == 1 and w.op == "add" and w.dtype == "float32":
                yield Contender("x += np.bincount", lambda: self._bincount(table, ids, updates), lambda _: table)
        else:
            yield self._copied(w, a)

    @staticmethod
    def _scatter(w: Workload, table: Array, index: Any, updates: Array) -> Contender:
        if w.op == "update":
            return Contender("x[i] = u", lambda: table.__setitem__(index, updates), lambda _: table)
        at = _UFUNC[w.op].at
        return Contender(f"np.{_UFUNC[w.op].__name__}.at", lambda: at(table, index, updates), lambda _: table)

    @staticmethod
    def _bincount(table: Array, ids: Array, updates: Array) -> None:
        table += np.bincount(ids, updates, len(table))

    def _copied(self, w: Workload, a: Arguments) -> Contender:
        """The functional forms: a copy (or zeros), then as in place."""
        index: Any = a.ids
        if w.form == "nd":
            index = tuple(np.moveaxis(a.ids, -1, 0))
        elif w.form == "elements":
            grid = list(np.ogrid[tuple(slice(s) for s in w.index_shape)])
            grid[w.axis] = a.ids
            index = tuple(grid)

        def call() -> Array:
            out = np.zeros(a.table.shape, a.table.dtype) if w.form == "scatter_nd" else a.table.copy()
            if w.op == "update" and w.form == "elements":
                np.put_along_axis(out, a.ids, a.updates, w.axis)
            elif w.op == "update":
                out[index] = a.updates
            else:
                _UFUNC[w.op].at(out, index, a.updates)
            return out

        how = f"np.{_UFUNC[w.op].__name__}.at" if w.op != "update" else "put_along_axis" if w.form == "elements" else "x[i] = u"
        return Contender(f"{'zeros' if w.form == 'scatter_nd' else 'copy'}, {how}", call, lambda out: out)


def load(threads: int) -> Peer:
    return Numpy()
