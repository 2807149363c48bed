"""The table of workloads. A row says what is timed; `arguments.build` makes its arrays, ``peers/`` does it elsewhere.

>>> {w.group for w in TABLE} >= {"issue", "width", "dtype", "ids", "op", "functional", "elements", "nd", "gather", "growth", "locking"}
True
>>> len({w.name for w in TABLE}) == len(TABLE)
True
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

__all__ = ["Workload", "TABLE", "GROUPS", "FORMS", "DISTRIBUTIONS", "select", "scaled"]

# What a call does: in place on a Parameter's rows ("locked" from several threads at once), into zeros, into a copy by rows, by elements
# or by index tuples, reading, in place through a frontend, a step of an optimizer, or reading bags of rows.
FORMS = ("rows", "locked", "scatter_nd", "tensor_scatter", "elements", "nd", "gather", "frontend", "optim", "bags")
DISTRIBUTIONS = ("uniform", "zipf", "sorted", "onehot", "heavy")

_REAL = ("numpy", "torch", "jax", "tensorflow", "mindspore", "scipy", "onnxruntime")
_ANY = (*_REAL, "numba", "native")
_SHARING = ("numpy", "torch", "numba", "native")  # those that work on one array together: for tables of gigabytes


@dataclass(frozen=True)
class Workload:
    """One row of the table.

    Attributes:
        name: unique; what ``--only`` matches.
        group: what ``--group`` matches.
        form: one of `FORMS`.
        op: an op of `paramstore.ops.OPS`, "gather", or for the form "frontend" the frontend's operator, for "optim" the optimizer, for "bags" the mode.
        table: the target's shape.
        index_shape: of the indices; for "nd" the last size is the length of an index tuple.
        floor: the bytes that must move, given the number of different targets.
        peers: the peers that can do it.
        at_once: how many Python threads call at the same time, each with its part of the rows.
    """

    name: str
    group: str
    form: str
    op: str
    table: tuple[int, ...]
    index_shape: tuple[int, ...]
    floor: Callable[[Workload, int], int]
    peers: tuple[str, ...] = _ANY
    dtype: str = "float32"
    index: str = "int64"
    ids: str = "uniform"
    axis: int = 0
    at_once: int = 1

    @property
    def item(self) -> int:
        return np.dtype(self.dtype).itemsize

    @property
    def depth(self) -> int:
        """How many leading dimensions of the table an index stands for."""
        return self.index_shape[-1] if self.form == "nd" else 1

    @property
    def calls(self) -> int:
        """How many indices or index tuples a call has."""
        return prod(self.index_shape[:-1] if self.form == "nd" else self.index_shape)

    @property
    def width(self) -> int:
        """Cells of one row of the updates."""
        return 1 if self.form == "elements" else prod(self.table[self.depth :])

    @property
    def table_bytes(self) -> int:
        return prod(self.table) * self.item

    @property
    def argument_bytes(self) -> int:
        """Bytes of the indices and the updates."""
        return prod(self.index_shape) * np.dtype(self.index).itemsize + self.calls * self.width * self.item


# -- bytes that must move -------------------------------------------------------------------------------------------------------


def in_place(w: Workload, unique: int) -> int:
    """Indices and updates are read once; each row that is hit is read and written once: 8 + 4 W + 8 W u a row for float32."""
    return w.argument_bytes + 2 * w.item * w.width * unique


def assigned(w: Workload, unique: int) -> int:
    """As `in_place`, but rows are only written."""
    return w.argument_bytes + w.item * w.width * unique


def from_zeros(w: Workload, unique: int) -> int:
    """The new table is written once."""
    return w.argument_bytes + w.table_bytes


def one_copy(w: Workload, unique: int) -> int:
    """The table is read and written once."""
    return w.argument_bytes + 2 * w.table_bytes


def read_rows(w: Workload, unique: int) -> int:
    """Indices are read, rows that are hit are read once, and every row of the output (as large as updates would be) is written."""
    return w.argument_bytes + w.item * w.width * unique


# -- rows of the table ----------------------------------------------------------------------------------------------------------

M, K = 1_000_000, 1000
_BIG, _CALL = (M, 64), (200 * K,)


def _rows(name: str, group: str, table: tuple[int, ...], n: int, op: str = "add", **more: object) -> Workload:
    floor = assigned if op == "update" else in_place
    return Workload(name, group, "rows", op, table, (n,), floor, **more)  # type: ignore[arg-type]


def _issue() -> Iterator[Workload]:
    yield _rows("1M x 64, 200k rows, uniform", "issue", _BIG, 200 * K)
    yield _rows("1M x 64, 200k rows, Zipf 1.2", "issue", _BIG, 200 * K, ids="zipf")
    yield _rows("1000 x 64, 200k rows, heavy duplicates", "issue", (K, 64), 200 * K, ids="heavy")
    yield _rows("1-D, 1M cells, 2M updates", "issue", (M,), 2 * M)
    yield _rows("1-D, 1000 cells, 2M updates", "issue", (K,), 2 * M, ids="heavy")
    yield _rows("100k x 16, 500k rows, Zipf 1.2", "issue", (100 * K, 16), 500 * K, ids="zipf")
    yield _rows("one small call, 1000 x 16, 32 rows", "issue", (K, 16), 32)


def _width() -> Iterator[Workload]:
    """The same bytes at every width: a table of 256 MB, updates of 51 MB (for W = 1 fewer, since each needs an index of twice its size)."""
    for w in (1, 4, 8, 16, 32, 64, 128, 256, 512, 1000):
        yield _rows(f"W = {w}", "width", (64 * M // w, w), min(12_800 * K // w, 4 * M))


def _dtype() -> Iterator[Workload]:
    for dtype in ("float16", "float64", "int32", "int64"):
        yield _rows(f"{dtype}, 1M x 64, 200k rows", "dtype", _BIG, 200 * K, dtype=dtype)


def _ids() -> Iterator[Workload]:
    yield _rows("int32 indices, 1M x 64, 200k rows", "ids", _BIG, 200 * K, index="int32")
    yield _rows("sorted, 1M x 64, 200k rows", "ids", _BIG, 200 * K, ids="sorted")
    yield _rows("10 % on one row, 1M x 64, 200k rows", "ids", _BIG, 200 * K, ids="onehot")
    yield _rows("1M x 64, 200k rows on 1000 of them", "ids", _BIG, 200 * K, ids="heavy")


def _op() -> Iterator[Workload]:
    for op in ("sub", "mul", "div", "min", "max", "update"):
        yield _rows(f"{op}, 1M x 64, 200k rows", "op", _BIG, 200 * K, op)


def _functional() -> Iterator[Workload]:
    yield Workload("scatter_nd, 1M x 64, 200k rows", "functional", "scatter_nd", "add", _BIG, _CALL, from_zeros)
    yield Workload("scatter_nd, 1000 x 64, 200k rows", "functional", "scatter_nd", "add", (K, 64), _CALL, from_zeros, ids="heavy")
    yield Workload("scatter_nd, 1-D, 1M cells, 2M updates", "functional", "scatter_nd", "add", (M,), (2 * M,), from_zeros)
    yield Workload("tensor_scatter_update, 1M x 64, 200k rows", "functional", "tensor_scatter", "update", _BIG, _CALL, one_copy)
    yield Workload("tensor_scatter_update, 1M x 64, 2k rows", "functional", "tensor_scatter", "update", _BIG, (2 * K,), one_copy)
    yield Workload("tensor_scatter_add, 1M x 64, 200k rows", "functional", "tensor_scatter", "add", _BIG, _CALL, one_copy)


def _elements() -> Iterator[Workload]:
    shape = (64, 256, 256)
    for axis, where in ((0, "axis 0"), (1, "axis 1"), (2, "last axis")):
        for op in ("update", "add", "mul", "min", "max"):
            name = f"ScatterElements {op if op != 'update' else 'none'}, {where}, 4M cells"
            yield Workload(name, "elements", "elements", op, shape, shape, one_copy, axis=axis)


def _nd() -> Iterator[Workload]:
    for op in ("update", "add", "mul", "min", "max"):
        name = f"ScatterND {op if op != 'update' else 'none'}, 512 x 512 x 64, 100k pairs"
        yield Workload(name, "nd", "nd", op, (512, 512, 64), (100 * K, 2), one_copy)


def _gather() -> Iterator[Workload]:
    for table, n, ids, name in (
        (_BIG, 200 * K, "uniform", "1M x 64, 200k rows, uniform"),
        (_BIG, 200 * K, "zipf", "1M x 64, 200k rows, Zipf 1.2"),
        ((100 * K, 16), 500 * K, "uniform", "100k x 16, 500k rows"),
        ((M,), 2 * M, "uniform", "1-D, 1M cells, 2M reads"),
        ((K, 16), 32, "uniform", "1000 x 16, 32 rows"),
    ):
        yield Workload(f"gather, {name}", "gather", "gather", "gather", table, (n,), read_rows, ids=ids)


def _growth() -> Iterator[Workload]:
    for megabytes in (1, 16, 256, 1024, 4096):
        size = f"{megabytes} MB" if megabytes < 1024 else f"{megabytes // 1024} GB"
        yield _rows(f"table of {size}, 200k rows of 64", "growth", (megabytes * 4096, 64), 200 * K, peers=_SHARING)
    for n in (1, 10, 100, K, *(10 * K * 2**k for k in range(11))):
        yield _rows(f"call of {n} rows, 1M x 16", "growth", (M, 16), n, peers=_SHARING)


def _locking() -> Iterator[Workload]:
    for threads in (1, 2, 4):
        name = f"use_locking, {threads} thread{'s' * (threads > 1)} at once, 200k rows of 64"
        yield Workload(name, "locking", "locked", "add", _BIG, _CALL, in_place, ("numpy", "torch"), at_once=threads)


def _frontend() -> Iterator[Workload]:
    """The same small call through a frontend and through the core: what the spelling costs."""
    for operator in (
        "mindspore.ScatterAdd", "mindspore.ScatterNdAdd", "mindspore.TensorScatterUpdate", "tensorflow.Variable.scatter_add",
        "tensorflow.scatter_nd", "tensorflow.tensor_scatter_nd_update", "onnx.ScatterElements", "onnx.ScatterND",
    ):  # fmt: skip
        yield Workload(f"{operator}, small call", "frontend", "frontend", operator, (K, 16), (32,), in_place, ("core",))


def _optim() -> Iterable[Workload]:
    from .optim_workloads import rows

    return rows()


def _lookup() -> Iterable[Workload]:
    from .lookup_workloads import rows

    return rows()


_ALL: tuple[Callable[[], Iterable[Workload]], ...] = (
    _issue, _width, _dtype, _ids, _op, _functional, _elements, _nd, _gather, _growth, _locking, _frontend, _optim, _lookup,
)  # fmt: skip
TABLE: tuple[Workload, ...] = tuple(w for rows in _ALL for w in rows())
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(w.group for w in TABLE))


def select(only: Sequence[str] = (), groups: Sequence[str] = ()) -> list[Workload]:
    """The rows of those groups whose name holds one of the patterns (parts of names, or shell patterns for all of one).

    >>> [w.name for w in select(["*, uniform"], ["issue"])]
    ['1M x 64, 200k rows, uniform']
    """

    def wanted(w: Workload) -> bool:
        return any(part.lower() in w.name.lower() or fnmatch.fnmatch(w.name.lower(), part.lower()) for part in only)

    return [w for w in TABLE if (not groups or w.group in groups) and (not only or wanted(w))]


def scaled(w: Workload, scale: float, most: int | None = None) -> Workload:
    """The same row with fewer rows in the table and in the call, for tests of the bench itself and for comparing results.

    Args:
        most: no dimension (but the width of rows) is larger than this.
    """

    def less(size: int) -> int:
        size = max(1, round(size * scale))
        return size if most is None else min(size, most)

    if w.form == "elements":
        scale **= 1 / len(w.table)
        table = tuple(less(s) for s in w.table)
        return replace(w, table=table, index_shape=table)
    table = (*(less(s) for s in w.table[: w.depth]), *w.table[w.depth :])
    tail = w.index_shape[1:]
    return replace(w, table=table, index_shape=(less(w.index_shape[0]), *tail))
