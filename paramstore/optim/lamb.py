"""LAMB: Adam for large batches."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .base import Optimizer, Rate, number
from .state import Slot

__all__ = ["LAMB"]


@dataclass(frozen=True)
class LAMB(Optimizer):
    """LAMB: Adam's direction, as long as the row itself.

        m, v as `Adam`'s (lazy)
        u = m / (1 - beta1^t) / (sqrt(v) / sqrt(1 - beta2^t) + epsilon) + weight_decay * w
        w = w - lr * |w| / |u| * u              |w| / |u| is 1 where either is 0

    Args:
        lr, padding_idx, max_row_norm, name: see `Optimizer`.
        beta1, beta2: in [0, 1).
        epsilon: at least 0.
        weight_decay: part of u here, as in the paper.

    The norms are those of a row, as FBGEMM's are, where the paper takes a layer's: a row of an embedding table is used by itself. They
    are taken in float64.

    Source: You et al., Large batch optimization for deep learning, ICLR 2020.

    >>> import paramstore as ps
    >>> LAMB(0.5).apply(ps.Parameter([[3.0, 4.0]]), ps.IndexedSlices([0], [[1.0, 0.0]])).numpy().round(4).tolist()
    [[0.5, 4.0]]
    """

    lr: Rate = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    weight_decay: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("beta1", number("LAMB", "beta1", self.beta1, below=1.0))
        self._set("beta2", number("LAMB", "beta2", self.beta2, below=1.0))
        self._set("epsilon", number("LAMB", "epsilon", self.epsilon))

    @property
    def _rule(self) -> str:
        return "lamb"

    @property
    def _slots(self) -> tuple[Slot, ...]:
        return Slot("m"), Slot("v")

    @property
    def _constants(self) -> tuple[float, ...]:
        return (self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2, self.epsilon, self.weight_decay)

    def _varying(self, lr: float, step: int) -> tuple[float, ...]:
        t = step + 1
        return (lr, 1.0 / (1.0 - self.beta1**t), 1.0 / math.sqrt(1.0 - self.beta2**t))
