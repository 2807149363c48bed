"""Reductions over bags of rows in NumPy: step j takes the j-th row of every bag that has one, so that each bag's rows come in C order."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import bounds, dtypes, registry
from .reference import Array, _float_max

__all__ = ["reduce_bags"]


def _present(ids: Array, size: int, rule: int, missing: int | None) -> Array | registry.Fault:
    """Rows in [0, size), -1 for ids that take no part."""
    if missing is None:
        return bounds.resolve(ids, size, rule, False)
    given = np.flatnonzero(ids != missing)
    found = bounds.resolve(ids[given], size, rule, False)
    if isinstance(found, registry.Fault):
        return found._replace(position=int(given[found.position]))
    rows = np.full(len(ids), -1, np.int64)
    rows[given] = found
    return rows


def reduce_bags(
    mode: str, data: Array, ids: Array, bags: int | Array, weights: Array | None, out: Array, winners: Array | None, rule: int, missing: int | None
) -> registry.Fault | None:
    """``out[b, :]`` = the sum, mean or maximum over k of bag b of ``weights[k] * data[ids[k], :]``.

    Args:
        data: (R, W).
        ids: (N,) int32 or int64; those that equal ``missing`` take no part.
        bags: the length of every bag, or their offsets (B + 1,).
        weights: (N,) of the dtype of data, for sums; or None.
        out: (B, W).
        winners: (B, W) int64 for "max": the first position in ids whose row holds the maximum, -1 in an empty bag; or None.
        rule: what an id outside does, a number of `paramstore.bounds`.
    """
    rows = _present(ids, data.shape[0], rule, missing)
    if isinstance(rows, registry.Fault):
        return rows
    edges = np.arange(len(out) + 1) * bags if isinstance(bags, int) else bags
    taken = np.flatnonzero(rows[: edges[-1]] >= 0)
    edges = np.searchsorted(taken, edges)
    lengths = np.diff(edges)
    half = data.dtype.itemsize == 2
    wide = np.dtype(np.float32) if half else data.dtype
    total = np.zeros(out.shape, wide)
    if winners is not None:
        winners[...] = -1
    with np.errstate(all="ignore"):
        for j in range(int(lengths.max(initial=0))):
            b = np.flatnonzero(lengths > j)
            k = taken[edges[b] + j]
            x = data[rows[k]].astype(wide, copy=False)
            if mode != "max":
                total[b] += x if weights is None else x * weights[k].astype(wide, copy=False)[:, None]
                continue
            if winners is not None:
                best = total[b]
                better = (x > best) | (np.isnan(x) & ~np.isnan(best)) | (j == 0)
                winners[b] = np.where(better, k[:, None], winners[b])
            total[b] = x if j == 0 else _float_max(total[b], x)
        if mode == "mean":
            total /= np.maximum(lengths, 1).astype(wide)[:, None]
        out[...] = total
    return None


def _register_all() -> None:
    for mode in ("sum", "mean", "max"):
        for dtype, kind in dtypes.KINDS.items():
            if kind == "float":

                def kernel(*arguments: Any, mode: str = mode) -> registry.Fault | None:
                    return reduce_bags(mode, *arguments)

                registry.register(f"bag_{mode}", "bags", dtype, kernel, backend="reference", priority=0, checks=True)


_register_all()
