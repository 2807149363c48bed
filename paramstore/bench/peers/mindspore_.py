"""MindSpore in PyNative mode, set to return from a call when it is done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from ..arguments import Arguments
from ..workloads import Workload
from .base import Array, Contender, Peer

__all__ = ["load"]


class MindSpore:
    name, yardstick, copies = "mindspore", False, 2  # a Tensor and a Parameter

    def __init__(self, threads: int) -> None:
        self.ms: Any = import_module("mindspore")
        self.ms.set_device("CPU")
        self.ms.set_context(mode=self.ms.PYNATIVE_MODE)
        self.ms.device_context.cpu.op_tuning.threads_num(threads)
        # Without this a call only enqueues its work; it is faster than to call and then wait.
        self.ms.runtime.launch_blocking()
        self.version = str(self.ms.__version__)
        with contextlib.suppress(SystemError):  # built for NumPy 1.x: under 2.x the first method of a Tensor fails, once
            self.ms.Tensor(np.zeros(1, np.float32)).reshape(1, 1)

    def contenders(self, w: Workload, a: Arguments) -> Iterator[Contender]:
        ms, ops = self.ms, self.ms.ops
        if w.form not in ("rows", "scatter_nd", "tensor_scatter", "gather"):
            return
        i, u = ms.Tensor(a.ids), ms.Tensor(a.updates) if w.form != "gather" else None
        if w.form == "rows":
            p = ms.Parameter(ms.Tensor(a.table.copy()))  # from_numpy would share
            operator = getattr(ops, f"Scatter{w.op.capitalize()}")()
            yield Contender(f"ops.{operator.name}", lambda: operator(p, i, u), lambda _: _numpy(p))
            return
        column = ms.Tensor(a.ids.reshape(-1, 1))
        if w.form == "scatter_nd":
            shape = a.table.shape
            yield Contender("ops.scatter_nd", lambda: ops.scatter_nd(column, u, shape), _numpy)
            return
        x = ms.Tensor(a.table)
        if w.form == "gather":
            yield Contender("ops.gather", lambda: ops.gather(x, i, 0), _numpy)
        else:
            operator = getattr(ops, f"TensorScatter{w.op.capitalize()}")()
            yield Contender(f"ops.{operator.name}", lambda: operator(x, column, u), _numpy)


def _numpy(value: Any) -> Array:
    array: Array = value.asnumpy()
    return array


def load(threads: int) -> Peer:
    return MindSpore(threads)
