"""The same operators on paramstore's ONNX frontend."""

from __future__ import annotations

from .onnx import OPERATORS

__all__ = ["OPERATORS"]
