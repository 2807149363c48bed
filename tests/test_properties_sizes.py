"""Every op and dtype against the defining loop where calls are large enough for threads, and under each instruction set."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import loops
import numpy as np
import pytest
from drawn import BACKENDS, FORCE, RULES, Array, elements_on, ordinary, ways

import paramstore as ps

pytestmark = pytest.mark.usefixtures("plans_as_before")

@pytest.mark.parametrize(("op", "dtype"), loops.CELLS)
def test_the_loop_by_rows_is_the_loop(op: str, dtype: str) -> None:
    """`vector_step` on every pair of the pool against `step`; and the library against both."""
    x, u = (a.reshape(-1) for a in np.meshgrid(loops.pool(dtype), loops.pool(dtype, zero=op != "div"), indexing="ij"))
    expected = loops.loop(op, x, range(x.size), 1, u)
    loops.assert_same(loops.fold_rows(op, x[None], [0], u[None])[0], expected, "fold_rows")
    for way in ways():
        loops.assert_same(ps.Scatter(op)(ps.Parameter(x), np.arange(x.size), u).numpy(), expected, f"{way}, rows of 1")
        loops.assert_same(ps.Scatter(op)(ps.Parameter(x[None]), [0], u[None]).numpy()[0], expected, f"{way}, one row")
        out = x.copy()
        elements_on(op, out, np.arange(x.size), u, 0)
        loops.assert_same(out, expected, f"{way}, elements")


@pytest.mark.skipif("cpu" not in BACKENDS, reason="the extension is not there")
@pytest.mark.parametrize("isa", ("baseline", "avx2"))
def test_other_instruction_sets(isa: str, tmp_path: Path) -> None:
    """The builds for lesser processors give the same bits: the test above, and a few large calls, once more in a process that is held to one."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--tb=short", __file__]
    chosen = "loop_by_rows or (test_large and float16)"
    done = subprocess.run(
        [*command, "-k", chosen], cwd=tmp_path, env={**os.environ, "PARAMSTORE_ISA": isa}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


COUNTS = (1000, 5000, 30000)
WIDTHS = (1, 2, 3, 4, 7, 8, 16, 17, 32, 64, 65, 128, 300)
HEIGHTS = (1, 2, 7, 1000, 100000)
SPREADS = ("uniform", "zipf", "hot", "sorted")


def spread_ids(rng: np.random.Generator, how: str, n: int, r: int) -> Array:
    if how == "zipf":
        return np.minimum(rng.zipf(1.3, n) - 1, r - 1)
    ids = rng.integers(0, r, n)
    if how == "hot":
        ids[rng.random(n) < 0.9] = r // 2
    return np.sort(ids) if how == "sorted" else ids


def large_rows() -> list[tuple[str, str, int, int, int, str, str]]:
    """Op, dtype, N, W, R, spread, rule: every (op, dtype) and every width, height and spread, none with more cells than is quick."""
    rng = np.random.default_rng(11)
    out = []

    def add(op: str, dtype: str, w: int, spread: str, most: int) -> None:
        fitting = [n for n in COUNTS if n * w <= most and (n < 30000 or dtype in ("float32", "int32", "float64"))] or [1000]
        heights = [r for r in HEIGHTS if r * w <= 1 << 21]
        out.append((op, dtype, int(rng.choice(fitting)), w, int(rng.choice(heights)), spread, str(rng.choice(RULES))))

    for i, (op, dtype) in enumerate(loops.CELLS):
        add(op, dtype, WIDTHS[i * 5 % len(WIDTHS)], SPREADS[i % len(SPREADS)], 500_000)
    for i, w in enumerate(WIDTHS):
        for j, spread in enumerate(SPREADS):
            add(("add", "sub", "mul", "update")[(i + j) % 4], ("float32", "int32")[(i + j) % 3 == 0], w, spread, 1_000_000)
    for w in (1100, 6000):  # rows long enough to be cut into columns
        for op, dtype in (("add", "float32"), ("mul", "complex64"), ("update", "int8"), ("max", "float64")):
            out.append((op, dtype, 60, w, 7, "uniform", "drop"))
    return out


def stray(rng: np.random.Generator, ids: Array, rule: str) -> Array:
    """Some indices outside, where the rule takes them."""
    if rule != "raise":
        ids = ids.copy()
        ids[rng.random(ids.shape) < 0.05] = rng.choice(np.array([-1, -(2**31), 2**31 - 1], ids.dtype))
    return ids


@pytest.mark.parametrize(("op", "dtype", "n", "w", "r", "spread", "rule"), large_rows())
def test_large_rows(op: str, dtype: str, n: int, w: int, r: int, spread: str, rule: str) -> None:
    rng = np.random.default_rng(n * 31 + w * 7 + r)
    x, u = ordinary(rng, dtype, (r, w)), ordinary(rng, dtype, (n, w), zero=op != "div")
    ids = stray(rng, spread_ids(rng, spread, n, r).astype(("int32", "int64")[w % 2]), rule)
    expected = loops.fold_rows(op, x, loops.row_targets(x.shape, ids, rule), u)
    for way in ways(forced=True):
        loops.assert_same(ps.Scatter(op)(ps.Parameter(x), ids, u, bounds=rule).numpy(), expected, way)
        if r % 2 == 0:
            tuples = np.stack([ids // (r // 2), ids % (r // 2)], 1) if rule == "raise" else np.stack([np.zeros_like(ids), ids], 1)
            table = x.reshape(2, r // 2, w) if rule == "raise" else x.reshape(1, r, w)
            loops.assert_same(ps.tensor_scatter(table, tuples, u, op, bounds=rule).reshape(r, w), expected, f"{way}, tuples")


def large_elements() -> list[tuple[str, str, tuple[int, ...], tuple[int, ...], int]]:
    """Op, dtype, shape of data, shape of indices, axis: large in front of the axis, along it, and behind it."""
    layouts: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
        ((700,), (60000,), 0),
        ((50, 300), (900, 300), 0),
        ((40, 1200), (37, 1000), 0),
        ((600, 50), (590, 70), 1),
        ((8, 40, 150), (8, 60, 140), 1),
        ((3, 30, 500), (2, 40, 499), 1),
        ((64, 9, 9, 5), (60, 9, 12, 4), 2),
        ((2, 5000), (2, 20000), 1),
        ((1, 3, 2000), (1, 9, 1900), 1),
        ((16, 3, 1000), (16, 1, 1000), 1),
    ]
    out = []
    for i, (op, dtype) in enumerate(loops.CELLS):
        shape, id_shape, axis = layouts[i * 3 % len(layouts)]
        out.append((op, dtype, shape, id_shape, axis))
    for shape, id_shape, axis in layouts:
        for op, dtype in (("add", "float32"), ("mul", "float64"), ("add", "complex128"), ("sub", "int32")):
            out.append((op, dtype, shape, id_shape, axis))
    return out


@pytest.mark.parametrize(("op", "dtype", "shape", "id_shape", "axis"), large_elements())
def test_large_elements(op: str, dtype: str, shape: tuple[int, ...], id_shape: tuple[int, ...], axis: int) -> None:
    rng = np.random.default_rng(math.prod(id_shape) + len(op))
    rule = RULES[int(rng.integers(len(RULES)))]
    if math.prod(id_shape[:axis] + id_shape[axis + 1 :]) < 10:  # the fold goes one position at a time
        id_shape = tuple(min(m, 20000) if d == axis else m for d, m in enumerate(id_shape))
    x, u = ordinary(rng, dtype, shape), ordinary(rng, dtype, id_shape, zero=op != "div")
    size = shape[axis]
    ids = stray(rng, rng.integers(-size, size, id_shape).astype(("int32", "int64")[len(op) % 2]), rule)
    expected = loops.fold_elements(op, x, ids, u, axis, rule)
    for way in ways():
        out = x.copy()
        elements_on(op, out, ids, u, axis, rule)
        loops.assert_same(out, expected, way)


@pytest.mark.parametrize("dtype", ("bool", "int16", "float32", "float64", "complex128"))
@pytest.mark.parametrize("w", (1, 3, 16, 65, 3000))
def test_large_gathers(dtype: str, w: int) -> None:
    rng = np.random.default_rng(w)
    n, r = (20000, 1000) if w < 3000 else (40, 30)
    x = ordinary(rng, dtype, (r, w))
    ids = rng.integers(-3, r + 3, n)
    inside = np.clip(ids, 0, r - 1)
    dropped = x[inside]
    dropped[(ids < 0) | (ids >= r)] = np.zeros((), x.dtype)
    cells = rng.integers(-r, r, (n, w))
    for way in ways():
        loops.assert_same(ps.gather(x, inside), x[inside], way)
        loops.assert_same(ps.gather(x, ids, bounds="clip"), x[inside], way)
        loops.assert_same(ps.gather(x, ids.astype(np.int32), bounds="drop"), dropped, way)
        loops.assert_same(ps.gather(x.T, inside, 1), x.T[:, inside].copy(), way)
        loops.assert_same(ps.gather_nd(x, np.stack([inside, cells[:, 0] % w], 1)), x[inside, cells[:, 0] % w], way)
        loops.assert_same(ps.gather_elements(x, cells), np.take_along_axis(x, cells % r, 0), way)


@pytest.mark.skipif(not FORCE, reason="the extension is not there")
@pytest.mark.parametrize("plan", (-2, 4, 99, 2**31 - 1, 2**40, None, 1.5))
def test_a_plan_that_does_not_exist_is_refused(plan: Any) -> None:
    assert FORCE
    with pytest.raises((ValueError, TypeError)):
        FORCE(plan)
    p = ps.Parameter(np.zeros((100, 8), np.float32))
    ps.set_num_threads(4)
    assert p.scatter_add(np.arange(100), np.ones((100, 8), np.float32)).numpy().all()
