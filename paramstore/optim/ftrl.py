"""Follow the regularized leader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError
from .base import Optimizer, Rate, number
from .state import Slot

__all__ = ["Ftrl"]


@dataclass(frozen=True)
class Ftrl(Optimizer):
    """FTRL-Proximal: Adagrad's rates with weights that become exactly 0 (l1).

        n' = n + g * g
        z = z + g - (sqrt(n') - sqrt(n)) / lr * w
        w = 0 where |z| <= l1, else (sign(z) * l1 - z) / ((beta + sqrt(n')) / lr + l2)

    Args:
        lr, padding_idx, max_row_norm, name: see `Optimizer`; lr must be above 0. There is no weight_decay: w is made anew from z and n at
            each step, and l2 pulls it to 0.
        l1, l2: at least 0.
        beta: at least 0; smooths the first rates.
        initial_accumulator_value: what n starts with, at least 0.

    The paper's. TensorFlow starts n at 0.1 and counts l2 twice: its l2 is half of this one; a learning_rate_power other than -0.5 is not
    supported.

    Source: McMahan et al., Ad click prediction: a view from the trenches, KDD 2013, algorithm 1.

    >>> import paramstore as ps
    >>> Ftrl(1.0, l1=1.0).apply(ps.Parameter([[0.0, 0.0]]), ps.IndexedSlices([0], [[0.5, 2.0]])).numpy().tolist()
    [[0.0, -0.5]]
    """

    lr: Rate = 0.01
    l1: float = 0.0
    l2: float = 0.0
    beta: float = 0.0
    initial_accumulator_value: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for argument in ("l1", "l2", "beta", "initial_accumulator_value"):
            self._set(argument, number("Ftrl", argument, getattr(self, argument)))
        if self.weight_decay:
            raise ArgumentError(f"Ftrl: weight_decay = {self.weight_decay!r} must be 0; l2 is what draws weights to 0")

    def _checked_rate(self, call: str, value: Any) -> float:
        return number(call, "lr", value, strict=True)

    @property
    def _rule(self) -> str:
        return "ftrl"

    @property
    def _slots(self) -> tuple[Slot, ...]:
        return Slot("n", self.initial_accumulator_value), Slot("z")

    @property
    def _constants(self) -> tuple[float, ...]:
        return (self.beta, self.l1, self.l2)

    def _varying(self, lr: float, step: int) -> tuple[float, ...]:
        return (1.0 / lr,)
