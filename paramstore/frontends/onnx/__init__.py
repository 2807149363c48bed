"""ONNX's scatter and gather operators in every version, `run_node`, and a `Backend`.

Negative indices count from the end, nothing is converted, and NaN wins in every min and max.
"""

from __future__ import annotations

from .backend import Backend, BackendRep
from .node import run_node
from .operators import Gather, GatherElements, GatherND, Scatter, ScatterElements, ScatterND, TensorScatter

# fmt: off
__all__ = [
    "Backend", "BackendRep", "Gather", "GatherElements", "GatherND", "Scatter", "ScatterElements", "ScatterND", "TensorScatter", "run_node",
]
# fmt: on
