"""The optimizers' update rules in NumPy, operation by operation as in ``kernels/optim.h``: the same bits, slowly.

A rule gets rows of the table and of its state in the type that it computes in (float64 for float64, float32 for all else), changes
the state in place and answers the new rows. Its scalars are in the order of ``kernels/optim.def``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import dtypes, ops, registry
from .reference import coalesce

Array = Any  # arrays and scalars of one dtype: NumPy's types do not say so
Rule = Callable[[Array, Array, Sequence[Array], Sequence[Any]], Array]


def squares(v: Array) -> Array:
    """The sum of squares of each row, in float64: column j goes to lane j % 8, in order, and the lanes are added as a fixed tree."""
    lane = np.zeros((len(v), 8))
    for j in range(0, v.shape[1], 8):
        part = v[:, j : j + 8].astype(np.float64)
        lane[:, : part.shape[1]] += part * part
    return ((lane[:, 0] + lane[:, 4]) + (lane[:, 2] + lane[:, 6])) + ((lane[:, 1] + lane[:, 5]) + (lane[:, 3] + lane[:, 7]))


def _sgd(x: Array, g: Array, state: Sequence[Array], h: Sequence[Any]) -> Array:
    decay, rate = h
    return x * decay - rate * g


def _momentum(x: Array, g: Array, state: Sequence[Array], h: Sequence[Any], nesterov: bool) -> Array:
    (decay, rate, momentum), (m,) = h, state
    m[...] = momentum * m + g
    return x * decay - rate * (g + momentum * m if nesterov else m)


def _adagrad(x: Array, g: Array, state: Sequence[Array], h: Sequence[Any]) -> Array:
    (decay, rate, epsilon), (total,) = h, state
    total += g * g
    return x * decay - rate * g / (np.sqrt(total) + epsilon)


def _rowwise_adagrad(x: Array, g: Array, state: Sequence[Array], h: Sequence[Any]) -> Array:
    (decay, rate, epsilon), (total,) = h, state
    total += (squares(g) / g.shape[1]).astype(total.dtype)
    return x * decay - (rate / (np.sqrt(total) + epsilon))[:, None] * g


def _rmsprop(x: Array, g: Array, state: Sequence[Array], h: Sequence[Any], centered: bool, heavy: bool) -> Array:
    decay, rate, alpha, rest, epsilon = h[:5]
    square = state[0]
    square[...] = alpha * square + rest * g * g
    variance = square
    if centered:
        mean = state[-1]
        mean[...] = alpha * mean + rest * g
        variance = square - mean * mean
        variance = np.where(variance < 0, variance.dtype.type(0), variance)
    scaled = g / (np.sqrt(variance) + epsilon)
    if heavy:
        state[1][...] = h[5] * state[1] + scaled
        scaled = state[1]
    return x * decay - rate * scaled


def _adam(x: Array, g: Array, state: Sequence[Array], h: Sequence[Any]) -> Array:
    decay, rate, correction, beta1, rest1, beta2, rest2, epsilon = h
    m, v = state
    m[...] = beta1 * m + rest1 * g
    v[...] = beta2 * v + rest2 * g * g
    return x * decay - rate * m / (np.sqrt(v) * correction + epsilon)


def _ftrl(x: Array, g: Array, state: Sequence[Array], h: Sequence[Any]) -> Array:
    _, inverse, beta, l1, l2 = h
    n, z = state
    before = np.sqrt(n)
    n += g * g
    after = np.sqrt(n)
    z[...] = z + g - (after - before) * inverse * x
    w = (np.where(z < 0, -l1, l1) - z) / ((beta + after) * inverse + l2)
    return np.where(np.abs(z) <= l1, w.dtype.type(0), w)


def _lamb(x: Array, g: Array, state: Sequence[Array], h: Sequence[Any]) -> Array:
    _, rate, correction1, correction2, beta1, rest1, beta2, rest2, epsilon, weight = h
    m, v = state
    m[...] = beta1 * m + rest1 * g
    v[...] = beta2 * v + rest2 * g * g
    u = correction1 * m / (np.sqrt(v) * correction2 + epsilon) + weight * x
    weights, updates = squares(x), squares(u)
    trust = np.where((weights > 0) & (updates > 0), np.sqrt(weights) / np.sqrt(updates), 1.0)
    return x - (rate * trust.astype(x.dtype))[:, None] * u


_RULES: dict[str, Rule] = {
    "sgd": _sgd,
    "sgd_momentum": partial(_momentum, nesterov=False),
    "sgd_nesterov": partial(_momentum, nesterov=True),
    "adagrad": _adagrad,
    "rowwise_adagrad": _rowwise_adagrad,
    "rmsprop": partial(_rmsprop, centered=False, heavy=False),
    "rmsprop_momentum": partial(_rmsprop, centered=False, heavy=True),
    "rmsprop_centered": partial(_rmsprop, centered=True, heavy=False),
    "rmsprop_centered_momentum": partial(_rmsprop, centered=True, heavy=True),
    "adam": _adam,
    "ftrl": _ftrl,
    "lamb": _lamb,
}


def _limited(rows: Array, max_norm: float, wide: Any) -> Array:
    values = rows.astype(wide)
    norm = np.sqrt(squares(values))
    over = norm > max_norm
    rows[over] = (values[over] * (max_norm / norm[over]).astype(wide)[:, None]).astype(rows.dtype)
    return rows


def _step(
    rule: Rule,
    data: Array,
    state: tuple[Array, ...],
    last: Array | None,
    ids: Array | None,
    updates: Array | None,
    varying: Array,
    constants: Array,
    first: int,
    step: int,
    padding: int,
    max_norm: float,
    most: float,
) -> tuple[str, int, int] | None:
    """See `paramstore.optim.base.Optimizer` for the arguments."""
    wide: Any = np.float64 if data.dtype == np.float64 else np.float32
    rows = np.arange(len(data))
    if ids is not None:
        found = coalesce(ids, np.empty((len(ids), 0), data.dtype) if updates is None else updates, len(data))
        if len(found) == 3:
            return found
        rows, sums = found
        updates = None if updates is None else sums
    moving = rows != padding
    rows = rows[moving]

    def move(which: Array, g: Array, at: int) -> None:
        h = [wide(v) for v in (*varying[at - first], *constants)]
        held = [s[which] for s in state]
        new = rule(data[which].astype(wide), g, held, h).astype(data.dtype)
        data[which] = _limited(new, max_norm, wide) if max_norm > 0 else new
        for whole, part in zip(state, held):
            whole[which] = part

    with np.errstate(all="ignore"):
        if last is not None and len(rows):
            target = step if updates is None else step - 1
            for at in range(max(first, int(last[rows].min()) + 1), target + 1):
                behind = rows[last[rows] < at]
                move(behind, np.zeros((len(behind), data.shape[1]), wide), at)
            last[rows] = step
        if updates is not None:
            move(rows, updates[moving].astype(wide), step)
    return None


def _register_all() -> None:
    for dtype, kind in dtypes.KINDS.items():
        for name in ops.RULES if kind == "float" else ():
            registry.register(name, "optim", dtype, partial(_step, _RULES[name]), backend="reference", priority=0, checks=True)


_register_all()
