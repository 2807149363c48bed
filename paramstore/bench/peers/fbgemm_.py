"""FBGEMM: PyTorch's table-batched embeddings, which do the optimizer's step in the backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ..arguments import Arguments
from ..workloads import Workload
from .base import Contender, Peer

__all__ = ["load"]


class Fbgemm:
    name, yardstick, copies = "fbgemm", False, 2

    def __init__(self, threads: int) -> None:
        self.torch: Any = import_module("torch")
        self.torch.set_num_threads(threads)
        self.tbe: Any = import_module("fbgemm_gpu.split_table_batched_embeddings_ops_training")
        self.version = str(import_module("fbgemm_gpu").__version__)

    def contenders(self, w: Workload, a: Arguments) -> Iterator[Contender]:
        from ..optimizers import fbgemm_contender

        if w.form == "optim":
            yield fbgemm_contender(self.tbe, self.torch, w, a)


def load(threads: int) -> Peer:
    return Fbgemm(threads)
