"""Kernels for NVIDIA GPUs, compiled at run time and started through CuPy. Importing this registers them, and touches neither.

What they compute is in ``kernels/cuda`` and, for the arithmetic, in ``kernels/combine.h``, which the CPU's kernels are made of too.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ... import dtypes, ops, registry
from . import cells, launch, steps


def _register_all() -> None:
    def add(op: str, dtype: str, mode: str, rows: Any, elements: Any, notes: str) -> None:
        for layout, function in (("rows", rows), ("elements", elements)):
            registry.register(op, layout, dtype, function, device="cuda", mode=mode, backend="cuda", priority=10, checks=True, notes=notes)

    for op, dtype, mode, cell in cells.scatter_cells():
        add(op, dtype, mode, partial(launch.scatter_rows, cell), partial(launch.scatter_elements, cell), _NOTES[cell.method])
    for dtype in dtypes.NUMERIC:
        add("gather", dtype, "ordered", launch.gather_rows, launch.gather_elements, "")
    for dtype in cells.STEPPED:
        for rule in ops.RULES:
            function = partial(steps.step_rows, rule)
            registry.register(rule, "optim", dtype, function, device="cuda", backend="cuda", priority=10, checks=True, notes="")
    for index in ("int32", "int64"):
        registry.register("flatten", "tuples", index, launch.flatten_tuples, device="cuda", backend="cuda", priority=10, checks=True)


_NOTES = {"atomic": "atomic updates", "fold": "one thread folds each cell"}
_register_all()
