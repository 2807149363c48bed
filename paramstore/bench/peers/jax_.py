"""JAX: jitted ``x.at[i].add(u)``; in place by giving the old table away (donation), as a training loop does.

Its number of threads comes from the environment, which `paramstore.bench.parent` sets before this process starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from ..arguments import Arguments
from ..workloads import Workload
from .base import Contender, Peer

__all__ = ["load"]

_AT = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "min": "min", "max": "max", "update": "set"}


class Jax:
    name, yardstick, copies = "jax", False, 2  # the table, and a second one while a donated call was refused

    def __init__(self, threads: int) -> None:
        self.jax: Any = import_module("jax")
        self.jax.config.update("jax_enable_x64", True)  # or int64 indices would be narrowed
        self.numpy: Any = import_module("jax.numpy")
        self.version = str(self.jax.__version__)

    def contenders(self, w: Workload, a: Arguments) -> Iterator[Contender]:
        jax, jnp = self.jax, self.numpy
        if w.form not in ("rows", "scatter_nd", "tensor_scatter", "nd", "elements", "gather"):
            return
        i, u = jnp.array(a.ids), jnp.array(a.updates)
        if w.form == "gather":
            x = jnp.array(a.table)
            take = jax.jit(lambda x, i: x.at[i].get(mode="promise_in_bounds"))
            yield Contender("jit x.at[i].get", lambda: take(x, i).block_until_ready(), np.asarray)
            return
        step = self._step(w)
        label = f"jit x.at[i].{_AT[w.op]}"
        if w.form == "rows":
            state = [jnp.array(a.table)]
            donated = jax.jit(step, donate_argnums=0)

            def call() -> None:
                state[0] = donated(state[0], i, u)
                state[0].block_until_ready()

            yield Contender(f"{label}, donated", call, lambda _: np.asarray(state[0]))
        elif w.form == "scatter_nd":
            shape, dtype = a.table.shape, a.table.dtype
            fresh = jax.jit(lambda i, u: step(jnp.zeros(shape, dtype), i, u))
            yield Contender(label, lambda: fresh(i, u).block_until_ready(), np.asarray)
        else:
            x = jnp.array(a.table)
            copied = jax.jit(step)
            yield Contender(label, lambda: copied(x, i, u).block_until_ready(), np.asarray)

    def _step(self, w: Workload) -> Callable[[Any, Any, Any], Any]:
        """One update. Promising that the indices are inside gives JAX the most."""
        name = _AT[w.op]

        def index(i: Any) -> Any:
            if w.form == "nd":
                return tuple(i[:, k] for k in range(w.depth))
            if w.form == "elements":
                grid = list(self.numpy.ogrid[tuple(slice(s) for s in w.index_shape)])
                grid[w.axis] = i
                return tuple(grid)
            return i

        return lambda x, i, u: getattr(x.at[index(i)], name)(u, mode="promise_in_bounds")


def load(threads: int) -> Peer:
    return Jax(threads)
