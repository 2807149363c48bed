"""Lookups in embedding tables, and their backward passes as `IndexedSlices`.

Differences from PyTorch's functions of the same names: the default mode is "sum"; an id that equals ``padding_idx`` gives a row of zeros
(PyTorch reads the table's row, and only leaves out its gradient), and it need not be inside the table, so that -1 can stand for "missing".
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from . import bounds as rule
from . import convert, dtypes, functional, places, registry
from .convert import Array
from .errors import ArgumentError, DeviceError, DtypeError, IndexOutOfBounds, ShapeError
from .parameter import Parameter
from .slices import IndexedSlices

__all__ = ["embedding", "embedding_backward", "embedding_bag", "embedding_bag_backward", "embedding_bag_weights_backward"]

MODES = ("sum", "mean", "max")


def _table(call: str, param: Any) -> tuple[Array, str]:
    """The array behind a table, and its device."""
    if isinstance(param, Parameter):
        return param._array, param.device
    array = convert.plain(convert.array_of(call, "param", param))
    return array, "cpu"


def _rows_of(call: str, shape: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    if not shape:
        raise ShapeError(f"{call}: param.shape = () must have at least one dimension")
    return shape[0], shape[1:]


def _held(call: str, param: Any, use_locking: bool) -> Any:
    if not convert.a_bool(call, "use_locking", use_locking):
        return nullcontext()
    if not isinstance(param, Parameter):
        raise DtypeError(f"{call}: use_locking = True needs a Parameter, not {type(param).__name__}")
    return param.lock


def _missing(call: str, padding_idx: Any) -> int | None:
    if padding_idx is None:
        return None
    if isinstance(padding_idx, (bool, np.bool_)) or not hasattr(type(padding_idx), "__index__"):
        raise DtypeError(f"{call}: padding_idx = {padding_idx!r} must be an integer or None")
    value = int(padding_idx.__index__())
    if not -(2**63) <= value < 2**63:
        raise ArgumentError(f"{call}: padding_idx = {value} is no int64")
    return value


def _outside(call: str, argument: str, ids: Array, position: int, low: int, high: int) -> IndexOutOfBounds:
    where = ", ".join(str(int(i)) for i in np.unravel_index(position, ids.shape)) if ids.ndim else ""
    return IndexOutOfBounds(f"{call}: {argument}{f'[{where}]' if where else ''} = {int(ids.reshape(-1)[position])} is not in [{low}, {high})")


# -- one row an id ----------------------------------------------------------------------------------------------------------------------


def embedding(param: Any, ids: Any, padding_idx: int | None = None, *, bounds: str = "raise", use_locking: bool = False) -> Array:
    """The rows ``param[ids]``; zeros where an id equals ``padding_idx``.

    Args:
        param: a Parameter or an array of shape (R, ...).
        ids: integers of any shape.
        padding_idx: the id that means "missing"; any integer, inside the table or not. It is looked for before ``bounds``.
        bounds: what another id outside [0, R) does: "raise", "drop" (zeros), or "clip".

    Returns: an array of shape ``ids.shape + param.shape[1:]``.

    Raises:
        IndexOutOfBounds: with bounds="raise".
        ShapeError, DtypeError: a table without dimensions; ids or padding_idx that are no integers.

    Source: torch.nn.functional.embedding (which reads the row ``padding_idx``), tf.nn.embedding_lookup.

    >>> embedding([[1.0, 2.0], [3.0, 4.0]], [[1, -1]], padding_idx=-1).tolist()
    [[[3.0, 4.0], [0.0, 0.0]]]
    """
    call = "embedding"
    missing = _missing(call, padding_idx)
    with _held(call, param, use_locking):
        table, _ = _table(call, param)
        size, row = _rows_of(call, table.shape)
        found, original = convert.indices_of(call, "ids", ids)
        absent = None if missing is None else found == missing
        try:
            if absent is None or not absent.any():
                return functional.named_gather(call, table, found, bounds)
            if places.of(table) is not None:
                raise DeviceError(f"{call}: param is on a GPU, where lookups leave no ids out; padding_idx = {missing} occurs among the ids")
            # Any row will do for a missing id. Where there is none, every other id is outside.
            private = np.where(absent, 0, found)
            if not size:
                raise IndexOutOfBounds
            out = functional.named_gather(call, table, private, bounds)
        except IndexOutOfBounds:  # says where in the caller's own ids
            _present(call, found, original, size, bounds, missing)
            return np.zeros(found.shape + row, table.dtype)
        out[absent] = np.zeros((), out.dtype)
        return out


def embedding_backward(grad: Any, param: Any, ids: Any, padding_idx: int | None = None, *, bounds: str = "raise") -> IndexedSlices:
    """The gradient of `embedding` with respect to the table: ``grad[q]`` belongs to row ``ids[q]``; rows that repeat add up.

    Args:
        grad: shape ``ids.shape + param.shape[1:]``, dtype of the table.
        param, ids, padding_idx, bounds: as in `embedding`. Only the shape and the dtype of ``param`` are looked at.

    >>> embedding_backward([[1.0], [2.0], [3.0]], np.zeros((4, 1)), [2, 3, 2], padding_idx=3).to_dense().tolist()
    [[0.0], [0.0], [4.0], [0.0]]
    """
    call = "embedding_backward"
    table, _ = _table(call, param)
    size, row = _rows_of(call, table.shape)
    found, original = convert.indices_of(call, "ids", ids)
    values = _gradient(call, grad, found.shape + row, table.dtype)
    rows = _present(call, found, original, size, bounds, _missing(call, padding_idx)).reshape(-1)
    flat = values.reshape(len(rows), *row)
    taken = rows >= 0
    if not taken.all():
        rows, flat = rows[taken], flat[taken]
    return IndexedSlices(rows, flat, table.shape)


def _gradient(call: str, grad: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    values = convert.updates_of(call, "grad", grad, dtype, convert=False, owner="param")
    if values.shape != shape:
        raise ShapeError(f"{call}: grad.shape = {values.shape} must be {shape}")
    return values


def _present(call: str, ids: Array, original: Array | None, size: int, bounds: str, missing: int | None) -> Array:
    """A private int64 array of rows; -1 for ids that take no part."""
    code = rule.code(call, bounds)
    if missing is None:
        found = rule.resolve(ids, size, code, False)
        if isinstance(found, registry.Fault):
            raise _outside(call, "ids", ids if original is None else original, found.position, 0, size)
        return found
    absent = ids == missing
    given = ids[~absent]
    found = rule.resolve(given, size, code, False)
    if isinstance(found, registry.Fault):
        position = int(np.flatnonzero(~absent.reshape(-1))[found.position])
        raise _outside(call, "ids", ids if original is None else original, position, 0, size)
    rows = np.full(ids.shape, -1, np.int64)
    rows[~absent] = found
    return rows


# -- bags -------------------------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Bags:
    """A checked call: N ids in B bags of a table (R, W)."""

    call: str
    table: Array  # (R, W)
    row: tuple[int, ...]
    ids: Array  # (N,)
    shown: Array  # the caller's ids, for messages
    lead: tuple[int, ...]  # (B,)
    bags: int | Array  # the length of every bag, or their offsets (B + 1,)
    weights: Array | None  # (N,)
    mode: str
    bounds: int
    missing: int | None
    device: str

    @property
    def count(self) -> int:
        return self.lead[0]

    def bag_of(self) -> tuple[Array, Array]:
        """For each id the bag that it is in, and the row that it addresses, -1 if it takes no part."""
        lengths = np.full(self.count, self.bags) if isinstance(self.bags, int) else np.diff(self.bags)
        bag = np.repeat(np.arange(self.count), lengths)
        text = {rule.RAISE: "raise", rule.DROP: "drop", rule.CLIP: "clip"}[self.bounds]
        rows = _present(self.call, self.ids, self.shown.reshape(-1), self.table.shape[0], text, self.missing)
        return bag, rows[: len(bag)]


def _bags(
    call: str, param: Any, ids: Any, offsets: Any, mode: Any, weights: Any, padding_idx: Any, include_last_offset: bool, bounds: str
) -> _Bags:
    if mode not in MODES:
        raise ArgumentError(f"{call}: mode = {mode!r} is none of 'sum', 'mean', 'max'")
    code, missing = rule.code(call, bounds), _missing(call, padding_idx)
    table, device = _table(call, param)
    size, row = _rows_of(call, table.shape)
    if dtypes.kind(table.dtype) != "float":
        raise DtypeError(f"{call}: param.dtype = {table.dtype} must be a floating type")
    found, original = convert.indices_of(call, "ids", ids)
    edges, count = _edges(call, found, offsets, convert.a_bool(call, "include_last_offset", include_last_offset))
    by = None
    if weights is not None:
        if mode != "sum":
            raise ArgumentError(f"{call}: per_sample_weights are for mode = 'sum', not {mode!r}")
        by = convert.updates_of(call, "per_sample_weights", weights, table.dtype, convert=False, owner="param")
        if by.shape != found.shape:
            raise ShapeError(f"{call}: per_sample_weights.shape = {by.shape} must be ids.shape = {found.shape}")
        by = by.reshape(-1)
    return _Bags(
        call, table.reshape(size, prod(row)), row, found.reshape(-1), found if original is None else original, (count,), edges, by, mode,
        code, missing, device,
    )  # fmt: skip


def _edges(call: str, ids: Array, offsets: Any, include_last: bool) -> tuple[int | Array, int]:
    """The length of every bag or the offsets (B + 1,), private and checked; and B."""
    if offsets is None:
        if include_last:
            raise ArgumentError(f"{call}: include_last_offset = True needs offsets")
        if ids.ndim != 2:
            raise ShapeError(f"{call}: ids.shape = {ids.shape} must have 2 dimensions, a row for each bag, or 1 and offsets")
        return ids.shape[1], ids.shape[0]
    if ids.ndim != 1:
        raise ShapeError(f"{call}: ids.shape = {ids.shape} must have 1 dimension, because offsets are given")
    found, _ = convert.indices_of(call, "offsets", offsets)
    if found.ndim != 1 or (include_last and not len(found)):
        raise ShapeError(f"{call}: offsets.shape = {found.shape} must be {'(B + 1,)' if include_last else '(B,)'}")
    n = len(ids)
    edges = np.empty(len(found) + (not include_last), np.int64)
    edges[: len(found)] = found
    if not include_last:
        edges[-1] = n
    if not len(found):
        return edges, 0
    if edges[0] != 0:
        raise ArgumentError(f"{call}: offsets[0] = {edges[0]} must be 0")
    falls = np.flatnonzero(edges[1 : len(found)] < edges[: len(found) - 1])
    if len(falls):
        at = int(falls[0]) + 1
        raise ArgumentError(f"{call}: offsets[{at}] = {edges[at]} is less than offsets[{at - 1}] = {edges[at - 1]}")
    if edges[len(found) - 1] > n:
        at = int(np.argmax(edges[: len(found)] > n))
        raise IndexOutOfBounds(f"{call}: offsets[{at}] = {edges[at]} is not in [0, {n}], the number of ids")
    return edges, len(edges) - 1


def embedding_bag(
    param: Any,
    ids: Any,
    offsets: Any = None,
    mode: str = "sum",
    per_sample_weights: Any = None,
    padding_idx: int | None = None,
    *,
    include_last_offset: bool = False,
    bounds: str = "raise",
    use_locking: bool = False,
    return_winners: bool = False,
) -> Any:
    """The sum, mean or maximum of the rows of each bag of ids, without an array of the rows themselves.

    ``out[b] = sum over k of bag b, in C order, of per_sample_weights[k] * param[ids[k]]``. Sums are taken in the table's dtype from +0,
    those of float16 and bfloat16 in float32 and rounded once; a mean is the sum over the number of rows taken; a maximum propagates NaN.
    The bits do not depend on the number of threads. A bag without rows gives zeros.

    Args:
        param: a Parameter or an array of a floating type, shape (R, ...).
        ids: integers, shape (N,) with offsets, or (B, L): a row for each bag.
        offsets: where the bags begin in ids, shape (B,); rising from 0. The last bag ends with the ids.
        mode: "sum", "mean" or "max".
        per_sample_weights: factors in the table's dtype and the shape of ids; for "sum".
        padding_idx: the id that means "missing", inside the table or not: it takes no part, and a mean does not count it.
        include_last_offset: offsets have shape (B + 1,) and say where the last bag ends.
        bounds: what another id outside [0, R) does: "raise", "drop" (it takes no part), or "clip".
        return_winners: for "max", also the position in ids of the row that gave each cell (the first one; -1 in an empty bag), which
            `embedding_bag_backward` needs.

    Returns: an array of shape ``(B,) + param.shape[1:]``; with return_winners also an int64 array of that shape.

    Raises:
        IndexOutOfBounds: an id outside with bounds="raise", or an offset past the ids.
        ShapeError, DtypeError, ArgumentError: they do not fit.

    Source: torch.nn.functional.embedding_bag, whose default mode is "mean".

    >>> table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> embedding_bag(table, [0, 2, 1], offsets=[0, 2]).tolist()
    [[6.0, 8.0], [3.0, 4.0]]
    >>> embedding_bag(table, [[2, 1], [1, -1]], mode="mean", padding_idx=-1).tolist()
    [[4.0, 5.0], [3.0, 4.0]]
    """
    call = "embedding_bag"
    if convert.a_bool(call, "return_winners", return_winners) and mode != "max":
        raise ArgumentError(f"{call}: return_winners is for mode = 'max', not {mode!r}")
    with _held(call, param, use_locking):
        b = _bags(call, param, ids, offsets, mode, per_sample_weights, padding_idx, include_last_offset, bounds)
        kernel = registry.find(call, f"bag_{mode}", "bags", dtypes.name(b.table.dtype), b.device)
        shape = (b.count, b.table.shape[1])
        out = functional.allocated(call, lambda: np.empty(shape, b.table.dtype))
        winners = functional.allocated(call, lambda: np.empty(shape, np.int64)) if return_winners else None
        fault = kernel.function(b.table, b.ids, b.bags, b.weights, out, winners, b.bounds, b.missing)
    if fault is not None:
        raise _outside(call, "ids", b.shown, fault[1], 0, b.table.shape[0])
    result = out.reshape(b.count, *b.row)
    return result if winners is None else (result, winners.reshape(result.shape))


def embedding_bag_backward(
    grad: Any,
    param: Any,
    ids: Any,
    offsets: Any = None,
    mode: str = "sum",
    per_sample_weights: Any = None,
    padding_idx: int | None = None,
    *,
    winners: Any = None,
    include_last_offset: bool = False,
    bounds: str = "raise",
) -> IndexedSlices:
    """The gradient of `embedding_bag` with respect to the table, one row for each id that took part, in their order.

    Row k of bag b gets ``grad[b] * per_sample_weights[k]`` for "sum", ``grad[b] / rows taken`` for "mean", and for "max" the cells of
    ``grad[b]`` that it won.

    Args:
        grad: shape ``(B,) + param.shape[1:]``, dtype of the table.
        winners: for "max", what the forward call gave with return_winners.
        others: as in `embedding_bag`. Only the shape and the dtype of ``param`` are looked at.

    >>> g = embedding_bag_backward([[1.0], [4.0]], np.zeros((3, 1)), [0, 2, 2, 1], offsets=[0, 2], mode="mean")
    >>> g.indices.tolist(), g.values.tolist()
    ([0, 2, 2, 1], [[0.5], [0.5], [2.0], [2.0]])
    """
    call = "embedding_bag_backward"
    b = _bags(call, param, ids, offsets, mode, per_sample_weights, padding_idx, include_last_offset, bounds)
    values = _gradient(call, grad, (b.count, *b.row), b.table.dtype).reshape(b.count, b.table.shape[1])
    bag, rows = b.bag_of()
    taken = np.flatnonzero(rows >= 0)
    if mode == "max":
        return _won(call, b, values, rows, taken, winners)
    if winners is not None:
        raise ArgumentError(f"{call}: winners are for mode = 'max', not {mode!r}")
    wide = np.dtype(np.float32) if values.dtype.itemsize == 2 else values.dtype
    with np.errstate(all="ignore"):
        if mode == "mean":
            counts = np.maximum(np.bincount(bag[taken], minlength=b.count), 1).astype(wide)
            values = (values.astype(wide, copy=False) / counts[:, None]).astype(values.dtype, copy=False)
        spread = functional.gather(values, bag[taken])
        if b.weights is not None:
            factors = b.weights[taken, None]
            spread = (spread.astype(wide, copy=False) * factors.astype(wide, copy=False)).astype(values.dtype, copy=False)
    return IndexedSlices(rows[taken], spread.reshape(len(taken), *b.row), (b.table.shape[0], *b.row))


def _won(call: str, b: _Bags, grad: Array, rows: Array, taken: Array, winners: Any) -> IndexedSlices:
    if winners is None:
        raise ArgumentError(f"{call}: mode = 'max' needs winners; embedding_bag(..., return_winners=True) gives them")
    won, _ = convert.indices_of(call, "winners", winners)
    if won.shape != (b.count, *b.row):
        raise ShapeError(f"{call}: winners.shape = {won.shape} must be {(b.count, *b.row)}")
    won = won.reshape(grad.shape)
    bad = (won < -1) | (won >= len(rows))
    if bad.any():
        raise _outside(call, "winners", won.reshape(b.count, *b.row), int(np.argmax(bad.reshape(-1))), -1, len(rows))
    place = np.full(len(rows), -1)
    place[taken] = np.arange(len(taken))
    values = functional.allocated(call, lambda: np.zeros((len(taken), grad.shape[1]), grad.dtype))
    bag, column = np.nonzero(won >= 0)
    at = place[won[bag, column]]
    kept = at >= 0
    values[at[kept], column[kept]] = grad[bag[kept], column[kept]]
    return IndexedSlices(rows[taken], values.reshape(len(taken), *b.row), (b.table.shape[0], *b.row))


def embedding_bag_weights_backward(
    grad: Any,
    param: Any,
    ids: Any,
    offsets: Any = None,
    padding_idx: int | None = None,
    *,
    include_last_offset: bool = False,
    bounds: str = "raise",
) -> Array:
    """The gradient of `embedding_bag` with respect to ``per_sample_weights``: ``grad[b] . param[ids[k]]`` for k in bag b, 0 for missing ids.

    Returns: an array of the shape of ids, in the table's dtype (products are summed in float32 for float16 and bfloat16).

    >>> embedding_bag_weights_backward([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]], [[1, 0]]).tolist()
    [[17.0, 11.0]]
    """
    call = "embedding_bag_weights_backward"
    b = _bags(call, param, ids, offsets, "sum", None, padding_idx, include_last_offset, bounds)
    values = _gradient(call, grad, (b.count, *b.row), b.table.dtype).reshape(b.count, b.table.shape[1])
    bag, rows = b.bag_of()
    taken = np.flatnonzero(rows >= 0)
    wide = np.dtype(np.float32) if values.dtype.itemsize == 2 else values.dtype
    out = np.zeros(len(b.ids), b.table.dtype)
    left, right = functional.gather(values, bag[taken]), functional.gather(b.table, rows[taken])
    out[taken] = np.einsum("kw,kw->k", left.astype(wide, copy=False), right.astype(wide, copy=False))
    return out.reshape(b.shown.shape)
