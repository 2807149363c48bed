"""Stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass

from .. import convert
from .base import Optimizer, Rate, number
from .state import Slot

__all__ = ["SGD"]


@dataclass(frozen=True)
class SGD(Optimizer):
    """Stochastic gradient descent, with momentum or Nesterov's.

        m = momentum * m + g
        w = (1 - lr * weight_decay) * w - lr * d        d = g without momentum, m with it, g + momentum * m with Nesterov's

    Args:
        lr, weight_decay, padding_idx, max_row_norm, name: see `Optimizer`.
        momentum: in [0, 1). A row's m changes only when the row has a gradient.
        nesterov: look ahead; needs momentum.

    PyTorch's (dampening 0), except that weight decay is decoupled. Keras folds lr into m, which differs when lr changes.

    Source: Sutskever et al., On the importance of initialization and momentum in deep learning, ICML 2013.

    >>> import paramstore as ps
    >>> p = ps.Parameter([[1.0], [1.0]])
    >>> SGD(0.5).apply(p, ps.IndexedSlices([1, 1], [[1.0], [2.0]])).numpy().tolist()
    [[1.0], [-0.5]]
    """

    lr: Rate = 0.01
    momentum: float = 0.0
    nesterov: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("momentum", number("SGD", "momentum", self.momentum, below=1.0))
        if convert.a_bool("SGD", "nesterov", self.nesterov):
            number("SGD", "momentum (with nesterov)", self.momentum, below=1.0, strict=True)

    @property
    def _rule(self) -> str:
        return "sgd_nesterov" if self.nesterov else "sgd_momentum" if self.momentum else "sgd"

    @property
    def _slots(self) -> tuple[Slot, ...]:
        return (Slot("m"),) if self.momentum else ()

    @property
    def _constants(self) -> tuple[float, ...]:
        return (self.momentum,) if self.momentum else ()
