"""PyTorch: every function that does the same; which is fastest depends on the workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from .. import lookups, optimizers
from ..arguments import Arguments
from ..workloads import Workload
from .base import Array, Contender, Peer, locked_parts

__all__ = ["load"]

_REDUCE = {"mul": "prod", "min": "amin", "max": "amax"}


class Torch:
    name, yardstick, copies = "torch", False, 0

    def __init__(self, threads: int) -> None:
        self.torch: Any = import_module("torch")
        self.torch.set_num_threads(threads)
        self.version = str(self.torch.__version__)

    def contenders(self, w: Workload, a: Arguments) -> Iterator[Contender]:
        t = self.torch.from_numpy
        x, i = t(a.table), t(a.ids)
        u = t(a.updates)
        if w.form == "locked":
            add = locked_parts(w, a, lambda ids, updates: x.index_add_(0, t(ids), t(updates)))
            yield Contender("index_add_ + Lock", add, lambda _: a.table)
        elif w.form == "optim":
            yield optimizers.torch_contender(self.torch, w, a)
        elif w.form == "bags":
            yield lookups.torch_contender(self.torch, w, a)
        elif w.form == "gather":
            yield Contender("index_select", lambda: self.torch.index_select(x, 0, i), _numpy)
            yield Contender("x[i]", lambda: x[i], _numpy)
            if x.ndim == 2 and x.is_floating_point():
                yield Contender("embedding", lambda: self.torch.nn.functional.embedding(i, x), _numpy)
        elif w.form == "rows":
            for label, function in self._in_place(w, i, u):
                yield Contender(label, _bound(function, x), lambda _: a.table)
        elif w.form == "elements":
            yield from self._elements(w, x, i, u)
        else:
            start = (lambda: self.torch.zeros(x.shape, dtype=x.dtype)) if w.form == "scatter_nd" else x.clone
            for label, function in self._in_place(w, i, u):
                yield Contender(f"{start.__name__ if w.form != 'scatter_nd' else 'zeros'}, {label}", _bound(function, start, True), _numpy)

    def _in_place(self, w: Workload, i: Any, u: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
        """Functions of the table. Index tuples go through index_put_, the only one that takes them."""
        index = tuple(i.unbind(-1)) if w.form == "nd" else (i,)
        if w.op in ("add", "update"):
            yield "index_put_", lambda x: x.index_put_(index, u, accumulate=w.op == "add")
        if w.form == "nd":
            return
        wide = i.reshape(-1, *[1] * (u.ndim - 1)).expand(u.shape)
        if w.op == "add":
            yield "index_add_", lambda x: x.index_add_(0, i, u)
            yield "scatter_add_", lambda x: x.scatter_add_(0, wide, u)
        elif w.op == "sub":
            yield "index_add_(alpha=-1)", lambda x: x.index_add_(0, i, u, alpha=-1)
        elif w.op == "update":
            yield "index_copy_", lambda x: x.index_copy_(0, i, u)
            yield "scatter_", lambda x: x.scatter_(0, wide, u)
        elif w.op in _REDUCE:
            reduce = _REDUCE[w.op]
            yield "index_reduce_", lambda x: x.index_reduce_(0, i, u, reduce)
            yield "scatter_reduce_", lambda x: x.scatter_reduce_(0, wide, u, reduce)

    def _elements(self, w: Workload, x: Any, i: Any, u: Any) -> Iterator[Contender]:
        axis, torch = w.axis, self.torch
        if w.op == "update":
            yield Contender("scatter", lambda: torch.scatter(x, axis, i, u), _numpy)
        elif w.op == "add":
            yield Contender("scatter_add", lambda: torch.scatter_add(x, axis, i, u), _numpy)
        if w.op != "update":
            reduce = _REDUCE.get(w.op, "sum")
            yield Contender("scatter_reduce", lambda: torch.scatter_reduce(x, axis, i, u, reduce), _numpy)


def _numpy(out: Any) -> Array:
    array: Array = out.numpy()
    return array


def _bound(function: Callable[[Any], Any], x: Any, made: bool = False) -> Callable[[], Any]:
    """The function on ``x``, or on what ``x()`` makes anew each time."""
    return (lambda: function(x())) if made else (lambda: function(x))


def load(threads: int) -> Peer:
    return Torch(threads)
