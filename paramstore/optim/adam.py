"""Adam."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import convert
from .base import Optimizer, Rate, number
from .state import Slot

__all__ = ["Adam"]


@dataclass(frozen=True)
class Adam(Optimizer):
    """Adam, for the rows that have a gradient or exactly for all.

    At step t = 1, 2, ...

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        w = (1 - lr * weight_decay) * w - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)

    Args:
        lr, weight_decay, padding_idx, max_row_norm, name: see `Optimizer`.
        beta1, beta2: in [0, 1).
        epsilon: at least 0.
        lazy: True: only rows that have a gradient change, and t counts the steps of the table. False: every row moves at every step, as
            dense Adam's do. What a row has missed is made up for, step by step and with the same bits, when it next has a gradient,
            and by `flush`: before the rows of a batch are read, ``flush(param, ids)`` brings them up to date, and ``flush(param)``
            the table. Each step costs a little memory (24 bytes) then.

    The paper's and PyTorch's Adam. PyTorch's SparseAdam and TensorFlow add epsilon to sqrt(v) before the correction ("epsilon hat");
    lazy=True is otherwise what PyTorch's SparseAdam and TensorFlow Addons' LazyAdam do.

    Source: Kingma, Ba, Adam: a method for stochastic optimization, ICLR 2015.

    >>> import paramstore as ps
    >>> p, adam = ps.Parameter([[1.0], [1.0]]), Adam(0.5, epsilon=0.0, lazy=False)
    >>> adam.apply(p, ps.IndexedSlices([0], [[2.0]])).numpy().tolist()
    [[0.5], [1.0]]
    >>> _ = adam.apply(p, ps.IndexedSlices([1], [[2.0]]))
    >>> bool(adam.flush(p).numpy()[0, 0] < 0.5)
    True
    """

    lr: Rate = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    lazy: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        call = type(self).__name__
        self._set("beta1", number(call, "beta1", self.beta1, below=1.0))
        self._set("beta2", number(call, "beta2", self.beta2, below=1.0))
        self._set("epsilon", number(call, "epsilon", self.epsilon))
        convert.a_bool(call, "lazy", self.lazy)

    @property
    def _rule(self) -> str:
        return "adam"

    @property
    def _slots(self) -> tuple[Slot, ...]:
        return Slot("m"), Slot("v")

    @property
    def _constants(self) -> tuple[float, ...]:
        return (self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2, self.epsilon)

    def _varying(self, lr: float, step: int) -> tuple[float, ...]:
        return (lr / (1.0 - self.beta1 ** (step + 1)), 1.0 / math.sqrt(1.0 - self.beta2 ** (step + 1)))

    @property
    def _catches_up(self) -> bool:
        return not self.lazy
