"""Adam with decoupled weight decay."""

from __future__ import annotations

from dataclasses import dataclass, field

from .adam import Adam

__all__ = ["AdamW"]


@dataclass(frozen=True)
class AdamW(Adam):
    """`Adam` with a weight decay of 0.01: the decay is decoupled in both, so that only this default differs.

    With ``lazy=True`` a row decays at the steps that it has a gradient at; with ``lazy=False`` at every step, as dense AdamW's do.

    PyTorch's AdamW. Keras' has the same formula and a default of 0.004.

    Source: Loshchilov, Hutter, Decoupled weight decay regularization, ICLR 2019.

    >>> import paramstore as ps
    >>> AdamW(0.5, epsilon=0.0, weight_decay=0.5).apply(ps.Parameter([[1.0]]), ps.IndexedSlices([0], [[2.0]])).numpy().tolist()
    [[0.25]]
    """

    weight_decay: float = field(default=0.01, kw_only=True)
