"""SciPy: a sparse matrix with one 1 in each column, times the updates. It has no threads."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from ..arguments import Arguments
from ..workloads import Workload
from .base import Array, Contender, Peer

__all__ = ["load"]


class Scipy:
    name, yardstick, copies = "scipy", False, 0

    def __init__(self) -> None:
        self.sparse: Any = import_module("scipy.sparse")
        self.version = str(import_module("scipy").__version__)

    def contenders(self, w: Workload, a: Arguments) -> Iterator[Contender]:
        n = a.ids.size
        if w.op != "add" or w.dtype == "float16" or w.form not in ("rows", "scatter_nd"):
            return
        shape, matrix = (a.table.shape[0], n), self.sparse.csc_array

        def product() -> Array:
            ones, columns = np.ones(n, a.table.dtype), np.arange(n + 1, dtype=a.ids.dtype)
            out: Array = matrix((ones, a.ids, columns), shape=shape) @ a.updates
            return out

        if w.form == "scatter_nd":
            yield Contender("csc_array @ u", product, lambda out: out)
        else:
            table = a.table
            yield Contender("x += csc_array @ u", lambda: np.add(table, product(), out=table), lambda _: table)


def load(threads: int) -> Peer:
    return Scipy()
