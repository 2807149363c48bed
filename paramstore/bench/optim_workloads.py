"""The group "optim": a step of an optimizer on a table of embeddings, rows that repeat included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .workloads import Workload

__all__ = ["CELLS", "rows"]

# Arrays of the table's shape that a step reads and writes beside the table.
CELLS = {"SGD": 0, "Adagrad": 1, "RowWiseAdagrad": 0, "Adam": 2}


def floor(w: Workload, unique: int) -> int:
    """Ids and gradients are read once; each row that is hit, and its state, is read and written once."""
    return w.argument_bytes + (2 + 2 * CELLS[w.op]) * w.item * w.width * unique


def rows() -> Iterator[Workload]:
    """The rows of the table of workloads."""
    from .workloads import Workload

    for ids, shown in (("zipf", "Zipf 1.2"), ("uniform", "uniform")):
        for name in CELLS:
            peers = ("fbgemm",) if name == "RowWiseAdagrad" else ("torch",) if name == "Adam" else ("torch", "fbgemm")
            text = f"{name}, 1M x 64, 65,536 rows, {shown}"
            yield Workload(text, "optim", "optim", name, (1_000_000, 64), (65_536,), floor, peers, ids=ids)
