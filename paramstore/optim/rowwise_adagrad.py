"""Adagrad with one number of state a row."""

from __future__ import annotations

from dataclasses import dataclass

from .adagrad import Adagrad
from .state import Slot

__all__ = ["RowWiseAdagrad"]


@dataclass(frozen=True)
class RowWiseAdagrad(Adagrad):
    """Adagrad with one accumulator a row, the mean of its squares: almost no memory, and as good for embeddings.

        sum = sum + mean over the row of g * g
        w = (1 - lr * weight_decay) * w - lr / (sqrt(sum) + epsilon) * g

    Args:
        lr, weight_decay, padding_idx, max_row_norm, name: see `Optimizer`.
        epsilon: at least 0.
        initial_accumulator_value: what ``sum`` starts with, at least 0.

    FBGEMM's EXACT_ROWWISE_ADAGRAD (epsilon 1e-8 there). The mean is taken in float64.

    Source: Mudigere et al., Software-hardware co-design for fast and scalable training of deep learning recommendation models, ISCA 2022.

    >>> import paramstore as ps
    >>> RowWiseAdagrad(1.0, epsilon=0.0).apply(ps.Parameter([[0.0, 0.0]]), ps.IndexedSlices([0], [[1.0, 7.0]])).numpy().tolist()
    [[-0.2, -1.4000000000000001]]
    """

    @property
    def _rule(self) -> str:
        return "rowwise_adagrad"

    @property
    def _slots(self) -> tuple[Slot, ...]:
        return (Slot("sum", self.initial_accumulator_value, by_row=True),)
