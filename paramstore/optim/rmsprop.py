"""RMSProp."""

from __future__ import annotations

from dataclasses import dataclass

from .. import convert
from .base import Optimizer, Rate, number
from .state import Slot

__all__ = ["RMSProp"]


@dataclass(frozen=True)
class RMSProp(Optimizer):
    """RMSProp: gradients over the root of their running mean square.

        square = alpha * square + (1 - alpha) * g * g
        mean = alpha * mean + (1 - alpha) * g                   with centered
        d = g / (sqrt(square - mean * mean) + epsilon)          mean = 0 without centered
        m = momentum * m + d                                    m = d without momentum
        w = (1 - lr * weight_decay) * w - lr * m

    Args:
        lr, weight_decay, padding_idx, max_row_norm, name: see `Optimizer`.
        alpha: in [0, 1).
        epsilon: at least 0.
        momentum: in [0, 1).
        centered: divide by the standard deviation instead; where rounding makes the variance negative, it is 0.

    Only rows that have a gradient change, their state too. PyTorch's, except that weight decay is decoupled. TensorFlow puts epsilon
    under the root, folds lr into m, and has alpha = 0.9.

    Source: Tieleman, Hinton, Coursera lecture 6.5, 2012; Graves, Generating sequences with recurrent neural networks, 2013 (centered).

    >>> import paramstore as ps
    >>> RMSProp(0.1, alpha=0.75, epsilon=0.0).apply(ps.Parameter([[1.0], [1.0]]), ps.IndexedSlices([0], [[3.0]])).numpy().tolist()
    [[0.8], [1.0]]
    """

    lr: Rate = 0.01
    alpha: float = 0.99
    epsilon: float = 1e-8
    momentum: float = 0.0
    centered: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("alpha", number("RMSProp", "alpha", self.alpha, below=1.0))
        self._set("epsilon", number("RMSProp", "epsilon", self.epsilon))
        self._set("momentum", number("RMSProp", "momentum", self.momentum, below=1.0))
        convert.a_bool("RMSProp", "centered", self.centered)

    @property
    def _rule(self) -> str:
        return "rmsprop" + "_centered" * self.centered + "_momentum" * (self.momentum > 0)

    @property
    def _slots(self) -> tuple[Slot, ...]:
        return (Slot("square"), *(Slot("m") for _ in range(self.momentum > 0)), *(Slot("mean") for _ in range(self.centered)))

    @property
    def _constants(self) -> tuple[float, ...]:
        return (self.alpha, 1.0 - self.alpha, self.epsilon, *(self.momentum for _ in range(self.momentum > 0)))
