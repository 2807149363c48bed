"""The GPU gives the CPU's bits in ordered mode: every cell of the table, hard values, and skewed and large calls."""

from __future__ import annotations

import zlib
from typing import Any

import drawn
import loops
import numpy as np
import pytest

import paramstore as ps
from paramstore import dispatch, normalize

Array = np.ndarray[Any, np.dtype[Any]]
SHAPES = ((7, 1, 40), (300, 3, 4000), (50, 16, 1000), (20, 64, 300), (3, 1000, 50))  # rows, width, updates


def rng_of(*names: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(names).encode()))


def in_order(call: Any) -> Any:
    with ps.deterministic():
        return call()


def rows_on(where: str, op: str, x: Array, ids: Array, u: Array) -> Array:
    return ps.Scatter(op)(ps.Parameter(x, device=where), ids, u).numpy()


@pytest.mark.parametrize(("op", "dtype"), loops.CELLS)
def test_rows_and_tuples(op: str, dtype: str, machine: Any) -> None:
    for rows, width, n in SHAPES[: 3 if machine.small else None]:
        rng = rng_of(op, dtype, rows)
        x, u = drawn.ordinary(rng, dtype, (rows, width)), drawn.ordinary(rng, dtype, (n, width), zero=op != "div")
        ids = rng.integers(0, rows, n)
        wanted = rows_on("cpu", op, x, ids, u)
        loops.assert_same(in_order(lambda: rows_on(machine.at, op, x, ids, u)), wanted, (op, dtype, rows, width))
        tuples = np.stack([ids, rng.integers(0, width, n)], 1)
        wanted = ps.tensor_scatter(x, tuples, u[:, 0].copy(), op)
        found = in_order(lambda: ps.tensor_scatter(machine.put(x), machine.put(tuples), machine.put(u[:, 0].copy()), op))
        loops.assert_same(machine.get(found), wanted, (op, dtype, "tuples"))


@pytest.mark.parametrize(("op", "dtype"), loops.CELLS)
def test_elements(op: str, dtype: str, machine: Any) -> None:
    for shape, at, axis in (((9, 5), (60, 5), 0), ((4, 30, 6), (4, 70, 6), 1), ((500,), (3000,), 0), ((3, 400), (3, 1000), 1)):
        rng = rng_of(op, dtype, shape)
        x, u = drawn.ordinary(rng, dtype, shape), drawn.ordinary(rng, dtype, at, zero=op != "div")
        ids = rng.integers(-shape[axis], shape[axis], at)

        def run(data: Any, indices: Any, updates: Any) -> Any:
            dispatch.run(normalize.elements("elements", op, data, indices, updates, axis))  # noqa: B023
            return data

        found = in_order(lambda: run(machine.put(x), machine.put(ids), machine.put(u)))  # noqa: B023
        loops.assert_same(machine.get(found), run(x.copy(), ids, u), (op, dtype, shape))


@pytest.mark.parametrize("dtype", loops.DTYPES)
def test_gathers(dtype: str, machine: Any) -> None:
    rng = rng_of("gather", dtype)
    x, ids = drawn.ordinary(rng, dtype, (40, 7)), rng.integers(0, 40, (5, 9))
    for width in (1, 2, 3, 7):
        part = x[:, :width].copy()
        loops.assert_same(machine.get(ps.gather(machine.put(part), machine.put(ids))), ps.gather(part, ids))
    loops.assert_same(machine.get(ps.gather(machine.put(x), ids % 7, 1)), ps.gather(x, ids % 7, 1))
    tuples = np.stack([ids, ids % 7], -1)
    loops.assert_same(machine.get(ps.gather_nd(machine.put(x), machine.put(tuples))), ps.gather_nd(x, tuples))
    at = rng.integers(-40, 40, (30, 7))
    loops.assert_same(machine.get(ps.gather_elements(machine.put(x), machine.put(at))), ps.gather_elements(x, at))


def hard(values: str, dtype: str) -> Array:
    """Values at the edges of a float dtype."""
    info = np.finfo(dtype)
    tiny, most = info.smallest_subnormal, info.max
    if values == "subnormals":
        return np.array([1, -1, 7, 100, -3, 0, 5, -100], dtype) * tiny
    if values == "large":
        return np.array([most, -most, most / 2, 2.0**15 if dtype == "float16" else 2.0**31 + 512, -most / 4, 1, 0.5, 2.0**-10], dtype)
    return np.array([np.inf, -np.inf, np.nan, 1, -1, 0.0, -0.0, tiny], dtype)


@pytest.mark.parametrize("op", loops.OPS)
@pytest.mark.parametrize("values", ["subnormals", "large", "not finite"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_hard_values(op: str, values: str, dtype: str, machine: Any) -> None:
    pool = hard(values, dtype)
    rng = rng_of(op, values, dtype)
    x, u, ids = pool[rng.integers(0, 8, (30, 5))], pool[rng.integers(0, 8, (900, 5))], rng.integers(0, 30, 900)
    loops.assert_same(in_order(lambda: rows_on(machine.at, op, x, ids, u)), rows_on("cpu", op, x, ids, u))


@pytest.mark.parametrize("op", ["add", "mul", "update"])
def test_a_row_with_a_tenth_of_all_updates(op: str, machine: Any) -> None:
    n = 2000 if machine.small else 1_000_000
    rng = rng_of(op, "hot")
    ids = rng.integers(0, 100_000, n)
    ids[rng.random(n) < 0.1] = 77
    x = rng.standard_normal((100_000, 8), np.float32)
    u = 1 + rng.standard_normal((n, 8), np.float32) / 1000
    wanted = rows_on("cpu", op, x, ids, u)
    loops.assert_same(in_order(lambda: rows_on(machine.at, op, x, ids, u)), wanted)


@pytest.mark.parametrize("mode", ["fast", "ordered"])
def test_more_than_2_to_31_cells(mode: str, machine: Any) -> None:
    """The table and the updates have more cells than 32 bits count; every cell takes one update, or two."""
    width = 64
    rows = 2**8 + 5 if machine.small else 2**25 + 5
    if machine.free() < 4 * rows * width:
        pytest.skip("not enough memory on the GPU")
    table, updates = machine.full((rows, width), 1, np.uint8), machine.full((rows, width), 2, np.uint8)
    ids = np.arange(rows)[::-1].copy()
    ids[-1] = rows - 1
    p = ps.Parameter(table, copy=False)
    with ps.deterministic(mode == "ordered"):
        p.scatter_add(ids, updates)
    got = machine.get(p.gather(np.array([0, 1, rows // 2, rows - 2, rows - 1])))
    assert got.tolist() == [[1] * width, [3] * width, [3] * width, [3] * width, [5] * width]
    with pytest.raises(ps.errors.IndexOutOfBounds, match=rf"indices\[{rows - 1}\] = {rows} "):
        ids[-1] = rows
        p.scatter_add(ids, updates)
    assert machine.get(p.gather([rows - 1])).tolist() == [[5] * width]


def test_more_than_2_to_31_updates(machine: Any) -> None:
    n = 2**12 + 3 if machine.small else 2**31 + 3
    if machine.free() < 8 * n:
        pytest.skip("not enough memory on the GPU")
    rows = 2**8 if machine.small else 2**20
    ids, u = machine.repeated(np.arange(rows, dtype=np.int32), n), machine.full((n,), 1, np.uint8)
    p = ps.Parameter(np.zeros(rows, np.uint8), device=machine.at).scatter_add(ids, u)
    wanted = np.full(rows, n // rows % 256, np.uint8)
    wanted[:3] += 1
    assert p.numpy().tolist() == wanted.tolist()
