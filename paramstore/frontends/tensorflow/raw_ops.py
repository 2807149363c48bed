"""``tf.raw_ops``, the one that has no other public name."""

from __future__ import annotations

from .functions import non_aliasing_add as ScatterNdNonAliasingAdd

__all__ = ["ScatterNdNonAliasingAdd"]
