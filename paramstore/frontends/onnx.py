"""ONNX spellings: Scatter, ScatterElements, ScatterND, GatherElements. Negative indices count from the end; nothing is converted."""

from __future__ import annotations

from ..functional import gather_elements as GatherElements
from ..functional import scatter as Scatter
from ..functional import scatter_elements as ScatterElements
from ..functional import scatter_nd_reduce as ScatterND

__all__ = ["Scatter", "ScatterElements", "ScatterND", "GatherElements"]
