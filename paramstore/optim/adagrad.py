"""Adagrad."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Optimizer, Rate, number
from .state import Slot

__all__ = ["Adagrad"]


@dataclass(frozen=True)
class Adagrad(Optimizer):
    """Adagrad: each cell's rate falls with the gradients it has seen.

        sum = sum + g * g
        w = (1 - lr * weight_decay) * w - lr * g / (sqrt(sum) + epsilon)

    Args:
        lr, weight_decay, padding_idx, max_row_norm, name: see `Optimizer`.
        epsilon: at least 0.
        initial_accumulator_value: what ``sum`` starts with, at least 0.

    PyTorch's (a function for lr does what its lr_decay does). TensorFlow starts ``sum`` at 0.1 and puts epsilon (1e-7) under the root.

    Source: Duchi, Hazan, Singer, Adaptive subgradient methods, JMLR 12, 2011.

    >>> import paramstore as ps
    >>> Adagrad(1.0, epsilon=0.0).apply(ps.Parameter([[0.0], [0.0]]), ps.IndexedSlices([1, 1], [[1.0], [1.0]])).numpy().tolist()
    [[0.0], [-1.0]]
    """

    lr: Rate = 0.01
    epsilon: float = 1e-10
    initial_accumulator_value: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        call = type(self).__name__
        self._set("epsilon", number(call, "epsilon", self.epsilon))
        self._set("initial_accumulator_value", number(call, "initial_accumulator_value", self.initial_accumulator_value))

    @property
    def _rule(self) -> str:
        return "adagrad"

    @property
    def _slots(self) -> tuple[Slot, ...]:
        return (Slot("sum", self.initial_accumulator_value),)

    @property
    def _constants(self) -> tuple[float, ...]:
        return (self.epsilon,)
