"""The CUDA kernels and their launch code on the stand-in for a GPU, against the defining loop: every op, dtype, layout and mode.

The stand-in runs the kernels' own sources, compiled by g++, on this machine's processor (`cuda_host`). No GPU is involved.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import drawn
import loops
import numpy as np
import pytest
from cuda_host import calls, executor
from hypothesis import given, settings
from hypothesis import strategies as st

import paramstore as ps
from paramstore.backends.cuda import cells, launch

Array = np.ndarray[Any, np.dtype[Any]]

pytestmark = pytest.mark.skipif(not executor.available(), reason=executor.missing())
MODES = ("fast", "ordered")
COMMON = settings(drawn.COMMON, max_examples=int(os.environ.get("PARAMSTORE_TEST_EXAMPLES", 150)))


@pytest.fixture(scope="module", autouse=True)
def _modules(request: pytest.FixtureRequest) -> None:
    if request.session.testscollected > 500:  # not for a few tests, which build what they need
        executor.build_all()


@pytest.fixture(autouse=True)
def _stand_in() -> Iterator[None]:
    with calls.standing_in():
        yield


@pytest.fixture(params=["lanes", "sorted"])
def plan(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which way an ordered elements call goes, whatever its size."""
    monkeypatch.setattr(launch, "ENOUGH_LANES", 0 if request.param == "lanes" else 2**62)
    monkeypatch.setattr(launch, "FEW_STEPS", 0)
    return str(request.param)


def values(op: str, dtype: str, shape: tuple[int, ...], salt: str, exact: bool = False) -> Array:
    """Values from the dtype's pool, or such that every order of the op gives the same bits; no zero where integers are divided."""
    rng = np.random.default_rng(zlib.crc32(f"{op}{dtype}{salt}".encode()))
    if exact and dtype in loops.FLOATS + loops.COMPLEX:
        powers = np.array([0.5, 1, 2, 4, 1, 1]).astype(loops.dtype_of(dtype))  # of one sign: that of a zero depends on the order
        few = np.arange(-3, 4).astype(loops.dtype_of(dtype))
        return (powers if op in ("mul", "div") else few)[rng.integers(0, 6, shape)]
    pool = loops.pool(dtype, zero=not (op == "div" and salt == "u"))
    return pool[rng.integers(0, len(pool), shape)]


def any_order(op: str, dtype: str, mode: str) -> bool:
    """Whether the order may show in a fast result on values from the pool."""
    methods = {m: cell.method for o, d, m, cell in cells.scatter_cells() if (o, d) == (op, dtype)}
    return mode == "fast" and methods == {"fast": "atomic", "ordered": "fold"}


CELLS = [(op, dtype, mode) for op, dtype in loops.CELLS for mode in MODES]


@pytest.mark.parametrize("width", [1, 3, 16])
@pytest.mark.parametrize(("op", "dtype", "mode"), CELLS)
def test_rows(op: str, dtype: str, mode: str, width: int) -> None:
    free = any_order(op, dtype, mode)
    ids = np.array([5, 0, 5, 5, 3, 0, 5, 2] * 3, np.int32)
    if free and op in ("div", "update"):
        ids = np.arange(8, dtype=np.int32)[::-1].copy()
    x, u = (values(op, dtype, (n, width), salt, free) for n, salt in ((8, "x"), (len(ids), "u")))
    loops.assert_same(calls.scatter_rows(op, mode, x, ids, u), loops.scatter_rows(op, x, ids, u), (op, dtype, mode))


@pytest.mark.parametrize(("op", "dtype"), loops.CELLS)
def test_elements(op: str, dtype: str, plan: str) -> None:
    for mode in MODES:
        free = any_order(op, dtype, mode)
        rows = np.array([5, 0, 5, 5, 3, 0, 5, 2] * 2)
        if free and op in ("div", "update"):
            rows = np.arange(6)
        at = np.stack([(rows + c) % 12 - 6 for c in range(11)], 1)
        if free and op in ("div", "update"):
            at = np.stack([(rows + c) % 6 for c in range(11)], 1)
        x, u = (values(op, dtype, shape, salt, free) for shape, salt in (((6, 12), "x"), (at.shape, "u")))
        expected = loops.scatter_elements(op, x, at, u, 0)
        loops.assert_same(calls.scatter_elements(op, mode, x, at, u, 0), expected, (op, dtype, mode, plan))


@pytest.mark.parametrize("dtype", loops.DTYPES)
def test_gathers(dtype: str) -> None:
    for width in (1, 2, 3, 5, 16):
        x = values("gather", dtype, (6, width), "x")
        ids = np.array([5, 0, -3, 2, 5, 1, 9, 0])
        loops.assert_same(calls.gather_rows(x, ids, "drop"), loops.gather(x, ids, 0, "drop"))
        loops.assert_same(calls.gather_rows(x, ids, "clip"), loops.gather(x, ids, 0, "clip"))
        at = np.stack([(ids + c) % 12 - 6 for c in range(width)], 1)
        loops.assert_same(calls.gather_elements(x, at, 0), loops.gather_elements(x, at, 0))


# ---- drawn calls --------------------------------------------------------------------------------------------------------------------


def held(expected: Callable[[], Array], call: Callable[[], Array], context: object) -> None:
    """The loop's bits, or its error at its position."""
    try:
        wanted = expected()
    except loops.BadIndex as error:
        with pytest.raises(calls.Failed) as caught:
            call()
        assert caught.value.args[0][0] == "index" and caught.value.args[0][2] == error.value, context
    except loops.ZeroDivisor:
        with pytest.raises(calls.Failed, match="zero"):
            call()
    else:
        loops.assert_same(call(), wanted, context)


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...], sizes: tuple[int, ...], wrap: bool) -> Array:
    return draw(drawn.indexing(shape, sizes, wrap, True))


@COMMON
@given(st.data())
def test_drawn_rows(data: st.DataObject) -> None:
    op, dtype = data.draw(drawn.cells())
    (r, w), n = data.draw(drawn.shapes(2, 2, 9)), data.draw(st.integers(0, 12))
    rule, wrap = data.draw(st.sampled_from(drawn.RULES)), data.draw(st.booleans())
    x, ids = data.draw(drawn.filled(dtype, (r, w))), data.draw(indices((n,), (r,), wrap))
    u = data.draw(drawn.filled(dtype, (n, w), drawn.divisors(data.draw, op)))
    held(lambda: loops.scatter_rows(op, x, ids, u, rule, wrap), lambda: calls.scatter_rows(op, "ordered", x, ids, u, rule, wrap), (op, dtype, rule))


@COMMON
@given(st.data())
def test_drawn_elements(data: st.DataObject) -> None:
    op, dtype = data.draw(drawn.cells())
    shape = data.draw(drawn.shapes(1, 5, 3))
    axis = data.draw(st.integers(0, len(shape) - 1))
    at = tuple(data.draw(st.integers(0, 9 if d == axis else s)) for d, s in enumerate(shape))
    rule, wrap = data.draw(st.sampled_from(drawn.RULES)), data.draw(st.booleans())
    x, ids = data.draw(drawn.filled(dtype, shape)), data.draw(indices(at, (shape[axis],), wrap))
    u = data.draw(drawn.filled(dtype, at, drawn.divisors(data.draw, op)))
    for enough in (0, 2**62):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(launch, "ENOUGH_LANES", enough)
            patch.setattr(launch, "FEW_STEPS", 0)
            held(
                lambda: loops.scatter_elements(op, x, ids, u, axis, rule, wrap),
                lambda: calls.scatter_elements(op, "ordered", x, ids, u, axis, rule, wrap),
                (op, dtype, rule, enough),
            )
    if rule != "clip" or shape[axis]:
        held(
            lambda: loops.read(x, loops.cell_targets(x.shape, ids, axis, rule, wrap), 1, ids.shape),
            lambda: calls.gather_elements(x, ids, axis, rule, wrap),
            (dtype, rule),
        )


@COMMON
@given(st.data())
def test_drawn_tuples(data: st.DataObject) -> None:
    dims = data.draw(drawn.shapes(1, 5, 4))
    rule, wrap = data.draw(st.sampled_from(drawn.RULES)), data.draw(st.booleans())
    tuples = data.draw(indices((data.draw(st.integers(0, 8)), len(dims)), dims, wrap))
    try:
        wanted: list[int] | None = [-1 if t is None else t for t in loops.tuple_targets(dims, tuples, rule, wrap)]
    except loops.BadIndex as error:
        with pytest.raises(calls.Failed) as caught:
            calls.flatten(tuples, dims, rule, wrap)
        position = int(np.ravel_multi_index(error.position, tuples.shape))
        assert caught.value.args[0] == ("index", position, error.value)
    else:
        assert calls.flatten(tuples, dims, rule, wrap).tolist() == wanted


@COMMON
@given(st.data())
def test_fast_results_are_those_of_some_order(data: st.DataObject) -> None:
    """For each cell (for each component, where a complex number is added): one of the results that the orders of its updates give."""
    op, dtype = data.draw(drawn.cells())
    w, ids = data.draw(st.sampled_from((1, 3, 16))), np.array(data.draw(st.lists(st.integers(0, 2), max_size=6)), np.int64)
    x, u = data.draw(drawn.filled(dtype, (3, w))), data.draw(drawn.filled(dtype, (len(ids), w), op != "div"))
    got = calls.scatter_rows(op, "fast", x, ids, u)
    results = [
        loops.scatter_rows(op, x, ids[list(order)], u[list(order)])
        for order in itertools.islice(itertools.permutations(range(len(ids))), 720)
    ]
    bits = [loops.bits(r) for r in results]
    assert (np.stack(bits) == loops.bits(got)).any(0).all(), (op, dtype)


# ---- sizes at which threads meet ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", ["uniform", "one hot row", "all one row"])
@pytest.mark.parametrize(("op", "dtype"), [c for c in loops.CELLS if c[1] in ("int8", "uint32", "bfloat16", "float32", "complex64")])
def test_many_rows(op: str, dtype: str, spread: str) -> None:
    rng = np.random.default_rng(7)
    n, r = 3000, 200
    uniform = rng.integers(0, r, n)
    ids = {"uniform": uniform, "one hot row": np.where(rng.random(n) < 0.3, 17, uniform), "all one row": np.full(n, 3)}[spread]
    for w in (1, 5, 16):
        x, u = drawn.ordinary(rng, dtype, (r, w)), drawn.ordinary(rng, dtype, (n, w), zero=False)
        expected = loops.fold_rows(op, x, ids.tolist(), u)
        loops.assert_same(calls.scatter_rows(op, "ordered", x, ids, u), expected, (op, dtype, spread, w))
        if not any_order(op, dtype, "fast"):
            loops.assert_same(calls.scatter_rows(op, "fast", x, ids, u), expected, (op, dtype, spread, w))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_no_addition_is_lost(dtype: str) -> None:
    """Whole numbers whose sums a dtype holds exactly come out exactly, in any order."""
    rng = np.random.default_rng(8)
    for w in (1, 5, 16):
        x, ids = np.zeros((4, w), loops.dtype_of(dtype)), rng.integers(0, 4, 400)
        u = np.where(rng.random((400, w)) < 0.5, 1, -1).astype(x.dtype)
        u[::2] = -u[1::2]  # in pairs, so that no partial sum is large
        ids[::2] = ids[1::2]
        for op in ("add", "sub"):
            loops.assert_same(calls.scatter_rows(op, "fast", x, ids, u), loops.fold_rows(op, x, ids.tolist(), u), (op, dtype, w))


SHAPES = [((3, 50, 40), (3, 300, 40), 1), ((4000,), (9000,), 0), ((60, 7), (60, 90), 1), ((20, 30, 4), (20, 30, 50), 2)]


@pytest.mark.parametrize(("shape", "at", "axis"), SHAPES)
def test_many_elements(shape: tuple[int, ...], at: tuple[int, ...], axis: int, plan: str) -> None:
    rng = np.random.default_rng(9)
    ids = rng.integers(-shape[axis], shape[axis], at)
    for op, dtype in (("add", "float32"), ("div", "float16"), ("update", "complex128"), ("mul", "complex64"), ("max", "int16")):
        x, u = drawn.ordinary(rng, dtype, shape), drawn.ordinary(rng, dtype, at, zero=False)
        expected = loops.fold_elements(op, x, ids, u, axis)
        loops.assert_same(calls.scatter_elements(op, "ordered", x, ids, u, axis), expected, (op, dtype, plan))


# ---- what is asked of the device -------------------------------------------------------------------------------------------------------


def seen(*kinds: str) -> list[Any]:
    return calls.device().seen(*kinds)


@pytest.mark.parametrize("mode", MODES)
def test_waits(mode: str) -> None:
    """A check is one copy of two numbers; dropping and clipping wait for nothing, unless integers are divided."""
    ids, x = np.array([0, 7, -1]), np.zeros((4, 4), np.float32)
    u = np.ones((3, 4), np.float32)
    for bounds in ("drop", "clip"):
        calls.scatter_rows("add", mode, x, ids, u, bounds)
        calls.scatter_elements("add", mode, x, ids[:, None], u[:, :1], 0, bounds)
        calls.gather_rows(x, ids, bounds)
        calls.flatten(ids[:, None], (4,), bounds)
    assert not seen("get", "synchronize")
    calls.scatter_rows("add", mode, x, ids % 4, u)
    assert seen("get") == [("get", 16)]
    calls.scatter_rows("div", mode, x.astype(np.int32), ids % 4, u.astype(np.int32), "drop")
    assert seen("get") == [("get", 16)] * 2


@pytest.mark.parametrize("mode", MODES)
def test_nothing_to_do_launches_nothing(mode: str) -> None:
    for op in ("add", "div", "update"):
        for r, w, n in ((3, 0, 0), (3, 2, 0), (0, 2, 0), (0, 0, 0)):
            calls.scatter_rows(op, mode, np.ones((r, w), np.int32), np.zeros(n, np.int32), np.ones((n, w), np.int32))
            calls.gather_rows(np.ones((r, w), np.int32), np.zeros(n, np.int32))
        empty = np.zeros((3, 0), np.int64)
        calls.scatter_elements(op, mode, np.ones((3, 2), np.int32), empty, empty.astype(np.int32), 1)
        calls.gather_elements(np.ones((3, 2), np.int32), empty, 1)
    calls.flatten(np.zeros((0, 2), np.int64), (3, 3))
    assert not seen("launch", "get")
    with pytest.raises(calls.Failed, match="7"):  # a row of no cells has an id all the same
        calls.scatter_rows("add", mode, np.ones((3, 0), np.int32), np.array([1, 7]), np.ones((2, 0), np.int32))
    with pytest.raises(calls.Failed, match="2"):  # nothing to clip to
        calls.scatter_rows("add", mode, np.ones((0, 3), np.int32), np.array([2]), np.ones((1, 3), np.int32), "clip")


def test_an_index_comes_before_a_divisor_and_nothing_is_written() -> None:
    x, u = np.full((4, 2), 9, np.int16), np.array([[1, 0], [0, 1], [1, 1]], np.int16)
    for ids, fault in (([0, 4, -1], ("index", 1, 4)), ([0, 1, 2], ("zero", 1, 0))):
        with pytest.raises(calls.Failed) as caught:
            calls.scatter_rows("div", "fast", x, np.array(ids), u)
        assert caught.value.args[0] == fault


def test_the_lowest_position_is_reported() -> None:
    ids = np.zeros(100_000, np.int32)
    ids[[99_999, 70_001, 70_000, 80_000]] = -5
    for _ in range(5):
        with pytest.raises(calls.Failed) as caught:
            calls.scatter_rows("add", "ordered", np.zeros((2, 1), np.float32), ids, np.zeros((100_000, 1), np.float32))
        assert caught.value.args[0] == ("index", 70_000, -5)


# ---- the list of kernels -----------------------------------------------------------------------------------------------------------------


def test_the_modules_have_the_kernels_of_the_registry() -> None:
    """What is registered is what is compiled, and nothing else is."""
    compiled = {name: family for family in cells.families() for name in executor.listed(family)}
    scattering = {name: family for name, family in compiled.items() if name.startswith(("atomic_", "fold_"))}
    assert scattering == cells.entries()
    listed = {(k.op, k.layout, k.dtype, k.mode) for k in ps.kernels(backend="cuda")}
    wanted = {(op, layout, dtype, mode) for op, dtype, mode, _ in cells.scatter_cells() for layout in ("rows", "elements")}
    gathers = {("gather", layout, dtype, "ordered") for layout in ("rows", "elements") for dtype in ps.dtypes.NUMERIC}
    assert listed == wanted | gathers | {(rule, "optim", dtype, "ordered") for rule in ps.ops.RULES for dtype in cells.STEPPED}
    assert {(op, d) for op, d, _, _ in cells.scatter_cells()} >= set(loops.CELLS)


def test_no_module_is_taken_before_a_call() -> None:
    assert set(cells.families()) >= {cell.family for _, _, _, cell in cells.scatter_cells()}
