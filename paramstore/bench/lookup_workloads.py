"""The rows of the group "lookup"; see lookups.py."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .workloads import Workload

__all__ = ["rows"]


def floor(w: Workload, unique: int) -> int:
    """Ids are read once, rows that are hit are read once, and every row of the output is written."""
    return prod(w.index_shape) * np.dtype(w.index).itemsize + w.item * w.width * (unique + w.index_shape[0])


def rows() -> Iterator[Workload]:
    """The rows of the table of workloads."""
    from .workloads import Workload

    for mode in ("sum", "mean", "max"):
        for table, bags, ids, name in (
            ((1_000_000, 64), (10_000, 20), "zipf", "1M x 64, 10k bags of 20, Zipf 1.2"),
            ((1_000_000, 64), (10_000, 20), "uniform", "1M x 64, 10k bags of 20, uniform"),
            ((100_000, 16), (25_000, 20), "zipf", "100k x 16, 25k bags of 20, Zipf 1.2"),
            ((100_000, 300), (2_000, 50), "uniform", "100k x 300, 2k bags of 50, uniform"),
            ((1000, 16), (8, 4), "uniform", "1000 x 16, 8 bags of 4"),
        ):
            yield Workload(f"{mode}, {name}", "lookup", "bags", mode, table, bags, floor, ("torch",), ids=ids)
