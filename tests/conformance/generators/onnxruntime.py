"""As ONNX's reference evaluator, and Scatter."""

from __future__ import annotations

from typing import Any

from ..cases import Draw
from . import onnx


def case(draw: Draw) -> tuple[str, dict[str, Any]]:
    return onnx.scatter(draw) if draw.chance(0.12) else onnx.case(draw)
