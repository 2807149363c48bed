"""TensorFlow's side. Arrays become tensors, except where a case says ``numpy``: TensorFlow converts NumPy arrays, and never tensors."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf


def versions() -> dict[str, str]:
    return {"tensorflow": tf.__version__}


def _given(value: Any, numpy: bool = False) -> Any:
    return tf.constant(value) if isinstance(value, np.ndarray) and not numpy else value


def _slices(values: Any, indices: Any, shape: Any = None, numpy: bool = False) -> Any:
    return tf.IndexedSlices(_given(values, numpy), _given(indices), shape)


def _rows(method: str) -> Any:
    def run(x: Any, indices: Any, values: Any, numpy: bool = False) -> Any:
        v = tf.Variable(x)
        getattr(v, method)(_slices(values, indices, numpy=numpy))
        return v.numpy()

    return run


def _nd(method: str) -> Any:
    def run(x: Any, indices: Any, updates: Any, numpy: bool = False) -> Any:
        v = tf.Variable(x)
        getattr(v, method)(_given(indices), _given(updates, numpy))
        return v.numpy()

    return run


def _whole(method: str) -> Any:
    def run(x: Any, value: Any, numpy: bool = False) -> Any:
        v = tf.Variable(x)
        getattr(v, method)(_given(value, numpy))
        return v.numpy()

    return run


def _read(method: str) -> Any:
    return lambda x, indices: getattr(tf.Variable(x), method)(_given(indices)).numpy()


def _v1(name: str) -> Any:
    def run(x: Any, indices: Any, updates: Any) -> Any:
        v = tf.Variable(x)
        getattr(tf.compat.v1, name)(v, _given(indices), _given(updates))
        return v.numpy()

    return run


def _function(function: Any) -> Any:
    def run(**arguments: Any) -> Any:
        numpy = arguments.pop("numpy", False)
        return function(**{k: _given(v, numpy and k == "updates") for k, v in arguments.items()}).numpy()

    return run


def _plain(function: Any) -> Any:
    """The same with errors that begin with what they say."""

    def run(**arguments: Any) -> Any:
        try:
            return function(**arguments)
        except tf.errors.OpError as error:
            error._message = error.message.rpartition("}} ")[2]
            raise

    return run


_OPERATORS = {
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
    "convert_to_tensor": lambda values, indices, shape: tf.convert_to_tensor(_slices(values, indices, shape)).numpy(),
}
OPERATORS = {name: _plain(function) for name, function in _OPERATORS.items()}
