"""Numba: the sequential loop anybody would write, compiled. A yardstick: nobody ships it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from ..arguments import Arguments
from ..workloads import Workload
from .base import Contender, Peer

__all__ = ["load"]

_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, u: x + u, "sub": lambda x, u: x - u, "mul": lambda x, u: x * u, "div": lambda x, u: x / u,
    "min": lambda x, u: min(x, u), "max": lambda x, u: max(x, u), "update": lambda x, u: u,
}  # fmt: skip


class Numba:
    name, yardstick, copies = "numba", True, 0

    def __init__(self, threads: int) -> None:
        self.numba: Any = import_module("numba")
        self.numba.set_num_threads(min(threads, self.numba.config.NUMBA_NUM_THREADS))
        self.version = str(self.numba.__version__)
        self._loops: dict[str, Any] = {}

    def contenders(self, w: Workload, a: Arguments) -> Iterator[Contender]:
        if w.form != "rows" or w.dtype == "float16":  # Numba has no float16 on the CPU
            return
        loop = self._loops.setdefault(w.op, None) or self._compiled(w.op)
        x, u = a.table.reshape(len(a.table), -1), a.updates.reshape(len(a.ids), -1)
        yield Contender("numba loop", lambda: loop(x, a.ids, u), lambda _: a.table)

    def _compiled(self, op: str) -> Any:
        step = self.numba.njit(_STEPS[op])

        def loop(x: Any, ids: Any, u: Any) -> None:
            for k in range(ids.shape[0]):
                i = ids[k]
                for j in range(x.shape[1]):
                    x[i, j] = step(x[i, j], u[k, j])

        self._loops[op] = self.numba.njit(loop)
        return self._loops[op]


def load(threads: int) -> Peer:
    return Numba(threads)
