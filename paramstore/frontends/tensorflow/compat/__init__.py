"""``tf.compat``: the functions of TensorFlow 1 on variables."""

from __future__ import annotations

from . import v1

__all__ = ["v1"]
