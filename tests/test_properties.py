"""Any op, layout, dtype, shape, stride, duplicates and values against the defining loop, bit for bit, under each backend and thread count;
and all or nothing on every injected error.

``PARAMSTORE_TEST_EXAMPLES=2000`` looks further, with fresh examples in every run.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import loops
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import paramstore as ps
from paramstore import dispatch, normalize, registry

Array = np.ndarray[Any, np.dtype[Any]]

BACKENDS = sorted({k.backend for k in ps.kernels()} & {"reference", "cpu"})
# Small calls stay on one thread, unless the extension is told which plan to follow for rows: 0 serial, 1 columns, 2 owners, 3 buckets.
FORCE: Callable[[int], None] | None = getattr(sys.modules.get("paramstore._cpu"), "force_plan", None)
WAYS = [(b, t, -1) for b in BACKENDS for t in ((1, 2, 3, 8) if b == "cpu" else (1,))]
FORCED_WAYS = [("cpu", t, plan) for t, plan in ((3, 1), (2, 2), (3, 3))] if FORCE else []
RULES = ("raise", "raise", "drop", "clip")
ASKED = os.environ.get("PARAMSTORE_TEST_EXAMPLES")
COMMON = settings(
    derandomize=ASKED is None,
    max_examples=int(ASKED or 250),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example],
    database=None,
)


@pytest.fixture(autouse=True)
def _threads_as_before() -> Iterator[None]:
    before = ps.get_num_threads()
    yield
    ps.set_num_threads(before)
    if FORCE:
        FORCE(-1)


def ways(forced: bool = False) -> Iterator[str]:
    """Each backend, at each thread count, in force while the loop body runs; and with each plan for rows, if it can be forced."""
    for backend, threads, plan in WAYS + FORCED_WAYS * forced:
        ps.set_num_threads(threads)
        if FORCE:
            FORCE(plan)
        with registry.only(backend):
            yield f"{backend} at {threads} threads" + (f", plan {plan}" if plan >= 0 else "")


# ---- what is drawn ------------------------------------------------------------------------------------------------------------------

STRIDES = ("plain", "reversed", "gaps", "fortran", "unaligned", "swapped", "inside", "readonly")


def laid_out(array: Array, how: str) -> Array:
    """The same values with other strides, another alignment or another byte order."""
    if how in ("reversed", "gaps", "inside") and not array.ndim:
        return array
    if how == "reversed":
        turned = array[(slice(None, None, -1),) * array.ndim].copy()
        return turned[(slice(None, None, -1),) * array.ndim]
    if how == "gaps":
        wide = np.zeros([2 * s + 1 for s in array.shape], array.dtype)
        view = wide[tuple(slice(1, None, 2) for _ in array.shape)]
        view[...] = array
        return view
    if how == "fortran":
        return np.array(array, order="F")
    if how == "unaligned":
        raw = np.zeros(array.nbytes + 1, np.uint8)
        view = raw[1:].view(array.dtype).reshape(array.shape)
        view[...] = array
        return view
    if how == "swapped" and array.dtype.kind != "V" and array.dtype.name != "bfloat16":
        return array.astype(array.dtype.newbyteorder(">" if array.dtype.newbyteorder("=").str[0] == "<" else "<"))
    if how == "inside":
        wide = np.zeros((*array.shape[:-1], array.shape[-1] + 3), array.dtype)
        wide[..., 2:-1] = array
        return wide[..., 2:-1]
    if how == "readonly":
        array = array.copy()
        array.flags.writeable = False
    return array


def shapes(least: int, most: int, size: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    return hnp.array_shapes(min_dims=least, max_dims=most, min_side=0, max_side=size)


@st.composite
def filled(draw: st.DrawFn, dtype: str, shape: tuple[int, ...], zero: bool = True) -> Array:
    """An array of values from the dtype's pool."""
    pool = loops.pool(dtype, zero)
    chosen = draw(hnp.arrays(np.uint8, shape, elements=st.integers(0, len(pool) - 1)))
    return np.asarray(pool[chosen], pool.dtype)


EXTREMES = (-1, 10**6, 2**31 - 1, -(2**31), 2**32, -(2**32), 2**33 + 1, 2**63 - 1, -(2**63), -(2**63) + 1)


@st.composite
def indexing(draw: st.DrawFn, shape: tuple[int, ...], sizes: tuple[int, ...], wrap: bool, narrow: bool) -> Array:
    """Indices, mostly inside; ``sizes`` cycle through the last axis."""
    dtype = np.dtype(draw(st.sampled_from(("int32", "int64") if narrow else ("int32", "int64", "int64", "int8", "uint16", "uint64"))))
    info = np.iinfo(dtype)
    stray = draw(st.booleans()) and draw(st.booleans())
    out = np.zeros(shape, dtype)
    for q in np.ndindex(shape):
        size = sizes[q[-1] % len(sizes) if len(sizes) > 1 else 0]
        low, high = (-size if wrap and info.min < 0 else 0), max(size - 1, 0)
        inside = st.integers(min(low, high), high)
        value = draw(st.one_of(inside, st.sampled_from(EXTREMES), st.integers(-size - 2, size + 2))) if stray else draw(inside)
        out[q] = min(max(value, info.min), info.max)
    return out


@st.composite
def cells(draw: st.DrawFn, ops: tuple[str, ...] = loops.OPS) -> tuple[str, str]:
    return draw(st.sampled_from([c for c in loops.CELLS if c[0] in ops]))


def divisors(draw: st.DrawFn, op: str) -> bool:
    """Whether zeros may be among the updates: seldom where they are an error."""
    return op != "div" or draw(st.integers(0, 7)) == 0


# ---- one call against the loop --------------------------------------------------------------------------------------------------------


def message_of(name: str, error: loops.BadIndex | loops.ZeroDivisor) -> str:
    at = f"[{', '.join(map(str, error.position))}]" if error.position else ""
    if isinstance(error, loops.BadIndex):
        return f"{name}: indices{at} = {error.value} is not in ["
    return f"{name}: updates{at} = 0"


def check(name: str, expected: Callable[[], Array], call: Callable[[], Array], unchanged: tuple[tuple[Array, Array], ...] = ()) -> None:
    """``call`` gives the loop's bits, or the loop's error at its position; ``unchanged`` pairs arrays with what they must hold afterwards."""
    try:
        wanted: Array | None = expected()
    except (loops.BadIndex, loops.ZeroDivisor) as error:
        wanted, text = None, message_of(name, error)
        kind: type[Exception] = ps.errors.IndexOutOfBounds if isinstance(error, loops.BadIndex) else ps.errors.ZeroDivisor
    for way in ways(forced=True):
        if wanted is not None:
            loops.assert_same(call(), wanted, way)
        else:
            with pytest.raises(kind) as caught:
                call()
            assert str(caught.value).startswith(text), (way, str(caught.value), text)
        for array, before in unchanged:
            loops.assert_same(array, before, way)


def in_place(x: Array, run: Callable[[ps.Parameter], Any]) -> Callable[[], Array]:
    """A call on a fresh Parameter: answers its value, and checks that an error leaves it alone."""

    def call() -> Array:
        p = ps.Parameter(x)
        before = p.numpy()
        try:
            assert run(p) is p
        except ps.errors.ParamstoreError:
            loops.assert_same(p.value, before, "after an error")
            assert p.version == 0
            raise
        assert p.version == 1
        return p.numpy()

    return call


@COMMON
@given(st.data())
def test_rows(data: st.DataObject) -> None:
    op, dtype = data.draw(cells())
    shape, id_shape = data.draw(shapes(1, 3)), data.draw(shapes(0, 3))
    x = data.draw(filled(dtype, shape))
    ids = data.draw(indexing(id_shape, shape[:1], False, False))
    updates = data.draw(filled(dtype, id_shape + shape[1:], divisors(data.draw, op)))
    rule, locking = data.draw(st.sampled_from(RULES)), data.draw(st.booleans())
    given_x, given_ids, given_u = (laid_out(a, data.draw(st.sampled_from(STRIDES))) for a in (x, ids, updates))
    title = f"Scatter{op.capitalize()}"
    name, run = data.draw(
        st.sampled_from(
            (
                (title, lambda p: getattr(ps, title)(locking)(p, given_ids, given_u, bounds=rule)),
                ("Scatter", lambda p: ps.Scatter(op, locking)(p, given_ids, given_u, bounds=rule)),
                (f"scatter_{op}", lambda p: getattr(p, f"scatter_{op}")(given_ids, given_u, use_locking=locking, bounds=rule)),
            )
        )
    )
    check(
        name,
        lambda: loops.scatter_rows(op, x, ids, updates, rule),
        in_place(given_x, run),
        ((given_x, np.asarray(given_x).copy()), (given_ids, given_ids.copy()), (given_u, given_u.copy())),
    )


@COMMON
@given(st.data())
def test_tuples(data: st.DataObject) -> None:
    way = data.draw(st.sampled_from(("class", "method", "function", "onnx")))
    onnx = way == "onnx"
    op, dtype = data.draw(cells(("update", "add", "mul", "min", "max") if onnx else loops.OPS))
    shape = data.draw(shapes(0, 4, 3))
    k = data.draw(st.integers(0, len(shape)))
    lead = data.draw(shapes(0 if onnx else 1, 2))
    x = data.draw(filled(dtype, shape))
    ids = data.draw(indexing((*lead, k), shape[:k] or (1,), onnx, way in ("function", "onnx")))
    updates = data.draw(filled(dtype, lead + shape[k:], divisors(data.draw, op)))
    rule = data.draw(st.sampled_from(RULES))
    given_x, given_ids, given_u = (laid_out(a, data.draw(st.sampled_from(STRIDES))) for a in (x, ids, updates))
    title = f"ScatterNd{op.capitalize()}"
    if way == "class":
        name, call = title, in_place(given_x, lambda p: getattr(ps, title)()(p, given_ids, given_u, bounds=rule))
    elif way == "method":
        name = f"scatter_nd_{op}"
        call = in_place(given_x, lambda p: getattr(p, name)(given_ids, given_u, bounds=rule))
    elif way == "function":
        name, call = f"tensor_scatter_{op}", lambda: getattr(ps, f"tensor_scatter_{op}")(given_x, given_ids, given_u, bounds=rule)
    else:
        reduction = "none" if op == "update" else op
        name, call = "ScatterND", lambda: ps.scatter_nd_reduce(given_x, given_ids, given_u, reduction, bounds=rule)
    check(
        name,
        lambda: loops.scatter_tuples(op, x, ids, updates, rule, onnx),
        call,
        ((given_x, given_x.copy()), (given_ids, given_ids.copy()), (given_u, given_u.copy())),
    )


@COMMON
@given(st.data())
def test_scatter_nd(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(loops.DTYPES))
    shape = data.draw(shapes(0, 4, 3))
    k, lead, rule = data.draw(st.integers(0, len(shape))), data.draw(shapes(1, 2)), data.draw(st.sampled_from(RULES))
    ids = data.draw(indexing((*lead, k), shape[:k] or (1,), False, False))
    updates = data.draw(filled(dtype, lead + shape[k:]))
    given_ids, given_u = (laid_out(a, data.draw(st.sampled_from(STRIDES))) for a in (ids, updates))
    zeros = np.zeros(shape, updates.dtype)
    check("scatter_nd", lambda: loops.scatter_tuples("add", zeros, ids, updates, rule), lambda: ps.scatter_nd(given_ids, given_u, shape, bounds=rule))


def elements_on(op: str, x: Array, ids: Array, updates: Array, axis: int, bounds: str = "raise") -> None:
    """`scatter_elements` in place and for any op: the ONNX operator has no sub and div, the kernels have."""
    dispatch.run(normalize.elements("elements", op, x, ids, updates, axis, bounds=bounds))


@COMMON
@given(st.data())
def test_elements(data: st.DataObject) -> None:
    op, dtype = data.draw(cells())
    shape = data.draw(shapes(1, 4, 4))
    axis = data.draw(st.integers(0, len(shape) - 1))
    id_shape = tuple(data.draw(st.integers(0, 6 if d == axis else s)) for d, s in enumerate(shape))
    x = data.draw(filled(dtype, shape))
    public = op not in ("sub", "div") and data.draw(st.booleans())
    ids = data.draw(indexing(id_shape, (shape[axis],), True, public))
    updates = data.draw(filled(dtype, id_shape, divisors(data.draw, op)))
    rule = data.draw(st.sampled_from(RULES))
    given_x, given_ids, given_u = (laid_out(a, data.draw(st.sampled_from(STRIDES))) for a in (x, ids, updates))
    at = axis - len(shape) if data.draw(st.booleans()) else axis

    def on_kernel() -> Array:
        out = np.array(x, order="C")
        try:
            elements_on(op, out, given_ids, given_u, at, rule)
        except ps.errors.ParamstoreError:
            loops.assert_same(out, x, "after an error")
            raise
        return out

    if not public:
        name, call = "elements", on_kernel
    elif op == "update" and data.draw(st.booleans()):
        name, call = "scatter", lambda: ps.scatter(given_x, given_ids, given_u, at, bounds=rule)
    else:
        reduction = "none" if op == "update" else op
        name, call = "scatter_elements", lambda: ps.scatter_elements(given_x, given_ids, given_u, at, reduction, bounds=rule)
    check(
        name,
        lambda: loops.scatter_elements(op, x, ids, updates, axis, rule),
        call,
        ((given_x, given_x.copy()), (given_ids, given_ids.copy()), (given_u, given_u.copy())),
    )


@COMMON
@given(st.data())
def test_gathers(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(("gather", "p.gather", "gather_nd", "gather_elements")))
    dtype = data.draw(st.sampled_from(loops.DTYPES))
    shape = data.draw(shapes(0 if kind == "gather_nd" else 1, 3))
    x = data.draw(filled(dtype, shape))
    rule = data.draw(st.sampled_from(RULES))
    how_x, how_ids = (data.draw(st.sampled_from(STRIDES)) for _ in range(2))
    given_x = laid_out(x, how_x)
    if kind == "gather_nd":
        k = data.draw(st.integers(0, len(shape)))
        ids = data.draw(indexing((*data.draw(shapes(0, 2)), k), shape[:k] or (1,), False, False))
        given_ids = laid_out(ids, how_ids)
        check(kind, lambda: loops.gather_tuples(x, ids, rule), lambda: ps.gather_nd(given_x, given_ids, bounds=rule), ((given_x, given_x.copy()),))
        return
    axis = data.draw(st.integers(0, len(shape) - 1))
    if kind == "gather_elements":
        id_shape = tuple(data.draw(st.integers(0, 6 if d == axis else s)) for d, s in enumerate(shape))
        ids = data.draw(indexing(id_shape, (shape[axis],), True, True))
        given_ids = laid_out(ids, how_ids)
        check(kind, lambda: loops.gather_elements(x, ids, axis, rule), lambda: ps.gather_elements(given_x, given_ids, axis, bounds=rule))
        return
    ids = data.draw(indexing(data.draw(shapes(0, 2)), (shape[axis],), False, False))
    given_ids = laid_out(ids, how_ids)
    if kind == "gather":
        check("gather", lambda: loops.gather(x, ids, axis, rule), lambda: ps.gather(given_x, given_ids, axis, bounds=rule))
    else:
        p = ps.Parameter(given_x)
        check("gather", lambda: loops.gather(x, ids, axis, rule), lambda: p.gather(given_ids, axis=axis, bounds=rule), ((p.value, x),))


@COMMON
@given(st.data())
def test_whole_and_rows_assignment(data: st.DataObject) -> None:
    """``assign*`` is one step for every cell; ``p[ids] = v`` is the update loop."""
    op = data.draw(st.sampled_from(("update", "add", "sub")))
    dtype = data.draw(st.sampled_from([d for d in loops.DTYPES if loops.defined(op, d)]))
    shape = data.draw(shapes(0, 3))
    x, u = data.draw(filled(dtype, shape)), data.draw(filled(dtype, shape))
    given_u = laid_out(u, data.draw(st.sampled_from(STRIDES)))
    method = {"update": "assign", "add": "assign_add", "sub": "assign_sub"}[op]
    check(method, lambda: loops.loop(op, x, [0], x.size, u), in_place(x, lambda p: getattr(p, method)(given_u)))
    if shape:
        ids = data.draw(indexing(data.draw(shapes(0, 2)), shape[:1], False, False))
        rows = data.draw(filled(dtype, ids.shape + shape[1:]))

        def set_rows(p: ps.Parameter) -> ps.Parameter:
            p[ids] = rows
            return p

        check("p[ids] = value", lambda: loops.scatter_rows("update", x, ids, rows), in_place(x, set_rows))


@COMMON
@given(st.data())
def test_updates_and_indices_that_are_part_of_the_target(data: st.DataObject) -> None:
    """They are read before the first write, as if they had been copied first."""
    op = data.draw(st.sampled_from(("add", "mul", "min", "max", "update", "sub")))
    x = data.draw(filled("int64", data.draw(st.sampled_from(((3, 2), (4, 1), (2, 3))))))
    rows = len(x)
    x[:, 0] = data.draw(hnp.arrays(np.int64, rows, elements=st.integers(0, rows - 1)))
    start, step = data.draw(st.sampled_from(((None, -1), (None, 1), (0, None))))
    for way in ways():
        p = ps.Parameter(x)
        p.scatter_update(p.value[start::step, 0], p.value[start::step])
        loops.assert_same(p.numpy(), loops.scatter_rows("update", x, x[start::step, 0], x[start::step]), way)
        p = ps.Parameter(x)
        ps.Scatter(op)(p, p.value[:, 0], p.value[start::step])
        loops.assert_same(p.numpy(), loops.scatter_rows(op, x, x[:, 0], x[start::step]), way)
        p = ps.Parameter(x)
        ps.ScatterNd(op)(p, p.value[:, :1], p.value[start::step])
        loops.assert_same(p.numpy(), loops.scatter_rows(op, x, x[:, 0], x[start::step]), way)
        out = x.copy()
        elements_on(op, out, out[:, :1], out[start::step, :1], 0)
        loops.assert_same(out, loops.scatter_elements(op, x, x[:, :1], x[start::step, :1], 0), way)


# ---- the two ways to write the loop ---------------------------------------------------------------------------------------------------


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


# ---- calls large enough for threads ---------------------------------------------------------------------------------------------------

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


def ordinary(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], zero: bool = True) -> Array:
    """Values near 1 for floats, so that long sums and products stay finite and rounding shows, with some of the pool strewn in."""
    pool = loops.pool(dtype, zero)
    if dtype in loops.FLOATS:
        out = (rng.random(shape) + 0.5).astype(np.float32).astype(loops.dtype_of(dtype)) * loops.dtype_of(dtype).type(1)
    elif dtype in loops.COMPLEX:
        out = (rng.random(shape) * 0.5 + 0.7 + 1j * (rng.random(shape) - 0.5)).astype(dtype)
    else:
        return pool[rng.integers(0, len(pool), shape)]
    strewn = rng.random(shape) < 0.002
    out[strewn] = pool[rng.integers(0, len(pool), int(strewn.sum()))]
    return out


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


# ---- all or nothing -------------------------------------------------------------------------------------------------------------------

SIZES = st.sampled_from((1, 9, 300, 9000, 60000))


@settings(COMMON, max_examples=int(ASKED or 120))
@given(st.data())
def test_all_or_nothing(data: st.DataObject) -> None:
    """One error, or two, anywhere in a call of any size: the first one is named, and nothing has been written."""
    layout, fault = data.draw(st.sampled_from(("rows", "nd", "elements"))), data.draw(st.sampled_from(("index", "zero")))
    op = "div" if fault == "zero" else data.draw(st.sampled_from(loops.OPS))
    dtype = data.draw(st.sampled_from(loops.INTEGERS if fault == "zero" else [d for d in loops.DTYPES if loops.defined(op, d)]))
    n, w = data.draw(SIZES), data.draw(st.sampled_from((1, 2, 5, 64)))
    w = min(w, 5) if n > 9000 else w
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    r = int(rng.integers(1, 2000))
    id_dtype = np.dtype(data.draw(st.sampled_from(("int32", "int64"))))
    x, u = ordinary(rng, dtype, (r, w)), ordinary(rng, dtype, (n, w), zero=op != "div")
    if layout == "rows":
        ids = rng.integers(0, r, n).astype(id_dtype)
        name, call = "Scatter", lambda p: ps.Scatter(op)(p, ids, u)
    elif layout == "nd":
        ids = np.stack([rng.integers(0, r, n), rng.integers(0, w, n)], 1).astype(id_dtype)
        u = u[:, 0].copy()
        name, call = "ScatterNd", lambda p: ps.ScatterNd(op)(p, ids, u)
    else:
        ids = rng.integers(-r, r, (n, w)).astype(id_dtype)
        name, call = "elements", lambda p: elements_on(op, p.value, ids, u, 0)
    bad = u if fault == "zero" else ids
    positions = sorted({bad.size - 1 if rng.random() < 0.2 else int(rng.integers(bad.size)) for _ in range(data.draw(st.integers(1, 2)))})
    for position in positions:
        at = np.unravel_index(position, bad.shape)
        size = w if layout == "nd" and at[-1] == 1 else r
        values = [size, size + 1, -size - 1, np.iinfo(id_dtype).max, np.iinfo(id_dtype).min]
        bad[at] = 0 if fault == "zero" else values[int(rng.integers(len(values)))]
    first = tuple(int(i) for i in np.unravel_index(positions[0], bad.shape))
    error = loops.ZeroDivisor(first) if fault == "zero" else loops.BadIndex(first, int(bad[first]))
    before, ids_before, u_before = x.copy(), ids.copy(), u.copy()
    for way in ways(forced=n < 9000):
        p = ps.Parameter(x)
        with pytest.raises(ps.errors.ZeroDivisor if fault == "zero" else ps.errors.IndexOutOfBounds) as caught:
            call(p)
        assert str(caught.value).startswith(message_of(name, error)), (way, str(caught.value))
        loops.assert_same(p.value, before, way)
        loops.assert_same(ids, ids_before, way)
        loops.assert_same(u, u_before, way)
        assert p.version == 0
        if fault == "index" and op != "div" and layout != "elements":  # the functions leave their arguments alone, too
            with pytest.raises(ps.errors.IndexOutOfBounds):
                ps.tensor_scatter(x, ids[:, None] if layout == "rows" else ids, u, op)
            loops.assert_same(x, before, way)
