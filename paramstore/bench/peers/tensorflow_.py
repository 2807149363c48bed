"""TensorFlow, eagerly: ``Variable.scatter_*`` and the functional forms."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ..arguments import Arguments
from ..workloads import Workload
from .base import Array, Contender, Peer

__all__ = ["load"]


class TensorFlow:
    name, yardstick, copies = "tensorflow", False, 1

    def __init__(self, threads: int) -> None:
        self.tf: Any = import_module("tensorflow")
        self.tf.config.set_visible_devices([], "GPU")
        self.tf.config.threading.set_intra_op_parallelism_threads(threads)
        self.tf.config.threading.set_inter_op_parallelism_threads(1)
        self.version = str(self.tf.__version__)

    def contenders(self, w: Workload, a: Arguments) -> Iterator[Contender]:
        tf = self.tf
        if w.form not in ("rows", "scatter_nd", "tensor_scatter", "nd", "gather"):
            return
        i, u = tf.constant(a.ids), tf.constant(a.updates)
        if w.form == "rows":
            variable = tf.Variable(a.table)
            scatter = getattr(variable, f"scatter_{w.op}")
            slices = tf.IndexedSlices(u, i)
            yield Contender(f"Variable.scatter_{w.op}", lambda: scatter(slices), lambda _: _numpy(variable))
            return
        column = i if w.form == "nd" else i[:, None]
        if w.form == "scatter_nd":
            shape = tf.constant(a.table.shape, i.dtype)
            yield Contender("scatter_nd", lambda: tf.scatter_nd(column, u, shape), _numpy)
            return
        x = tf.constant(a.table)
        if w.form == "gather":
            yield Contender("gather", lambda: tf.gather(x, i), _numpy)
            return
        function = getattr(tf, f"tensor_scatter_nd_{w.op}", None)
        if function is not None:  # there is none for mul and div
            yield Contender(f"tensor_scatter_nd_{w.op}", lambda: function(x, column, u), _numpy)


def _numpy(value: Any) -> Array:
    array: Array = value.numpy()
    return array


def load(threads: int) -> Peer:
    return TensorFlow(threads)
