"""The group "lookup": sums, means and maxima of bags of rows, beside PyTorch's embedding_bag. A bag has as many ids as the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import paramstore as ps

from .arguments import Arguments
from .peers.base import Contender

if TYPE_CHECKING:
    from .goals import Check
    from .records import Row, Run
    from .workloads import Workload

__all__ = ["ours", "torch_contender", "checks"]

OVER_TORCH = 1.5


def ours(w: Workload, a: Arguments) -> Contender:
    """One call, as a user writes it."""
    p = ps.Parameter(a.table)
    return Contender("ours", lambda: ps.embedding_bag(p, a.ids, mode=w.op), lambda out: out)


def torch_contender(torch: Any, w: Workload, a: Arguments) -> Contender:
    """PyTorch's function, without a graph for the backward pass."""
    table, ids = torch.from_numpy(a.table), torch.from_numpy(a.ids)

    def call() -> Any:
        with torch.no_grad():
            return torch.nn.functional.embedding_bag(ids, table, mode=w.op)

    return Contender("embedding_bag", call, lambda out: out.numpy())


def checks(run: Run, row: Row, check: Callable[..., Check]) -> Iterator[Check]:
    """The goal of the group, held against a row."""
    best = row.best("torch") if row.group == "lookup" and row.ours else None
    if best and best.seconds and row.ours:
        yield check(f"embedding_bag: {OVER_TORCH}x torch", row.name, run.threads, best.seconds / row.ours, OVER_TORCH)
