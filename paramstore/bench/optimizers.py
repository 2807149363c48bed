"""Steps of optimizers, ours and the peers', and their goals.

PyTorch's sparse gradient is made outside the clock; FBGEMM does its step in the backward pass of a lookup of single rows, without the
forward pass in the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import paramstore as ps

from .arguments import Arguments
from .peers.base import Array, Contender

if TYPE_CHECKING:
    from .goals import Check
    from .records import Row, Run
    from .workloads import Workload

__all__ = ["LEARNING_RATE", "ours", "torch_contender", "fbgemm_contender", "checks"]

LEARNING_RATE = 1e-3
OVER_TORCH, OVER_FBGEMM, OVER_FLOOR = {"SGD": 2.0, "Adagrad": 5.0, "Adam": 5.0}, 1.5, 2.0


def ours(w: Workload, a: Arguments) -> Contender:
    """One step, as a user writes it."""
    optimizer = getattr(ps.optim, w.op)(LEARNING_RATE)
    p = ps.Parameter(a.table)
    gradient = ps.IndexedSlices(a.ids, a.updates, p.shape)
    return Contender("ours", lambda: optimizer.apply(p, gradient), lambda _: p.value)


def torch_contender(torch: Any, w: Workload, a: Arguments) -> Contender:
    """PyTorch's optimizer for sparse gradients."""
    table = torch.nn.Parameter(torch.from_numpy(a.table))
    name = "SparseAdam" if w.op == "Adam" else w.op
    optimizer = getattr(torch.optim, name)([table], lr=LEARNING_RATE)
    table.grad = torch.sparse_coo_tensor(torch.from_numpy(a.ids)[None], torch.from_numpy(a.updates), table.shape)
    return Contender(f"optim.{name}", optimizer.step, lambda _: a.table)


def fbgemm_contender(tbe: Any, torch: Any, w: Workload, a: Arguments) -> Contender:
    """FBGEMM's table-batched embedding with the optimizer in its backward pass."""
    kind = {"SGD": "EXACT_SGD", "Adagrad": "EXACT_ADAGRAD", "RowWiseAdagrad": "EXACT_ROWWISE_ADAGRAD"}[w.op]
    where, device = tbe.EmbeddingLocation.HOST, tbe.ComputeDevice.CPU
    spec = [(*w.table, where, device)]
    module = tbe.SplitTableBatchedEmbeddingBagsCodegen(spec, optimizer=tbe.OptimType[kind], learning_rate=LEARNING_RATE, eps=1e-10)
    weights = module.split_embedding_weights()[0]
    weights.data.copy_(torch.from_numpy(a.table))
    out = module(torch.from_numpy(a.ids), torch.arange(len(a.ids) + 1))
    gradient = torch.from_numpy(a.updates)

    def read(_: Any) -> Array:
        found: Array = weights.detach().numpy()
        return found

    return Contender(f"TBE {kind}", lambda: out.backward(gradient, retain_graph=True), read)


def checks(run: Run, row: Row, check: Callable[..., Check]) -> Iterator[Check]:
    """The goals of the group, held against a row."""
    if row.group != "optim" or not row.ours:
        return
    for peer, least in (("torch", OVER_TORCH.get(row.op)), ("fbgemm", OVER_FBGEMM)):
        best = row.best(peer)
        if least and best and best.seconds:
            yield check(f"{row.op}: {least}x {peer}", row.name, run.threads, best.seconds / row.ours, least)
    if row.over_floor:
        yield check(f"optimizers: within {OVER_FLOOR}x of the floor", row.name, run.threads, row.over_floor, OVER_FLOOR, least=False)
