"""The same operators on paramstore's TensorFlow frontend."""

from __future__ import annotations

from typing import Any

from paramstore.frontends import tensorflow as tf


def _rows(method: str) -> Any:
    def run(x: Any, indices: Any, values: Any, numpy: bool = False) -> Any:
        v = tf.Variable(x)
        assert getattr(v, method)(tf.IndexedSlices(values, indices)) is v
        return v.numpy()

    return run


def _nd(method: str) -> Any:
    def run(x: Any, indices: Any, updates: Any, numpy: bool = False) -> Any:
        v = tf.Variable(x)
        assert getattr(v, method)(indices, updates) is v
        return v.numpy()

    return run


def _whole(method: str) -> Any:
    def run(x: Any, value: Any, numpy: bool = False) -> Any:
        v = tf.Variable(x)
        assert getattr(v, method)(value) is v
        return v.numpy()

    return run


def _read(method: str) -> Any:
    return lambda x, indices: getattr(tf.Variable(x), method)(indices)


def _v1(name: str) -> Any:
    def run(x: Any, indices: Any, updates: Any) -> Any:
        v = tf.Variable(x)
        getattr(tf.compat.v1, name)(v, indices, updates)
        return v.numpy()

    return run


def _function(function: Any) -> Any:
    return lambda numpy=False, **arguments: function(**arguments)


OPERATORS = {
    **{f"Variable.scatter_{op}": _rows(f"scatter_{op}") for op in ("add", "sub", "mul", "div", "min", "max", "update")},
    "Variable.batch_scatter_update": _rows("batch_scatter_update"),
    **{f"Variable.scatter_nd_{op}": _nd(f"scatter_nd_{op}") for op in ("add", "sub", "min", "max", "update")},
    **{f"Variable.{method}": _whole(method) for method in ("assign", "assign_add", "assign_sub")},
    **{f"Variable.{method}": _read(method) for method in ("sparse_read", "gather_nd")},
    **{
        f"compat.v1.{name}": _v1(name)
        for name in ("scatter_add", "scatter_update", "batch_scatter_update", "scatter_nd_add", "scatter_nd_update")
    },
    "scatter_nd": _function(tf.scatter_nd),
    **{f"tensor_scatter_nd_{op}": _function(getattr(tf, f"tensor_scatter_nd_{op}")) for op in ("add", "sub", "min", "max", "update")},
    "raw_ops.ScatterNdNonAliasingAdd": _function(tf.raw_ops.ScatterNdNonAliasingAdd),
    "gather": _function(tf.gather),
    "gather_nd": _function(tf.gather_nd),
    **{
        f"math.unsorted_segment_{kind}": _function(getattr(tf.math, f"unsorted_segment_{kind}"))
        for kind in ("sum", "prod", "min", "max", "mean", "sqrt_n")
    },
    **{f"math.segment_{kind}": _function(getattr(tf.math, f"segment_{kind}")) for kind in ("sum", "prod", "min", "max", "mean")},
    "convert_to_tensor": lambda values, indices, shape: tf.convert_to_tensor(tf.IndexedSlices(values, indices, shape)),
}
