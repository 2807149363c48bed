"""Drawn calls on a stand-in for a GPU and on the CPU: the same bits, or the same error in the same words, with nothing changed by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import drawn
import loops
import numpy as np
import pytest
from cuda_host import executor
from cuda_host.array import HostArray
from cuda_host.calls import standing_in
from hypothesis import given, settings
from hypothesis import strategies as st

import paramstore as ps
from paramstore import axes, batched, dispatch, normalize, reductions, segments

pytestmark = pytest.mark.skipif(not executor.available(), reason="no g++ to build the kernels with")
COMMON = settings(drawn.COMMON, max_examples=max(60, drawn.COMMON.max_examples // 3))
DTYPES = ("float32", "int32", "bfloat16", "float16", "complex64", "uint8")
Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(autouse=True)
def _stand_in() -> Iterator[None]:
    with standing_in(2):
        yield


def put(array: Any) -> Any:
    from paramstore.backends.cuda import device

    runtime = device.loaded()
    assert runtime is not None
    return runtime.device(1).put(array)


def told(call: Callable[[], Any]) -> tuple[Any, str]:
    """What a call answers, or its error."""
    try:
        return call(), ""
    except ps.errors.ParamstoreError as error:
        return None, f"{type(error).__name__}: {error}"


def same(data: st.DataObject, call: Callable[..., Any], *operands: Any) -> None:
    """``call(target, *others)`` on the CPU and on the device. The others may stay on the host."""
    there = [operands[0], *(a for a in operands[1:])]
    placed = [put(there[0]), *(put(a) if isinstance(a, np.ndarray) and data.draw(st.booleans()) else a for a in there[1:])]
    own = [a.copy() if isinstance(a, np.ndarray) else a for a in operands]
    wanted, refused = told(lambda: call(*own))
    with ps.deterministic():
        found, error = told(lambda: call(*placed))
    assert error == refused
    if refused:
        loops.assert_same(placed[0].get(), operands[0], "after an error")
        return
    assert type(found) is HostArray and found.device.id == 1
    loops.assert_same(found.get(), np.asarray(wanted), "the result")


def written(form: Callable[..., Any], *fixed: Any, **rules: Any) -> Callable[..., Any]:
    """A call in normal form, run in place."""

    def call(x: Any, *arguments: Any) -> Any:
        dispatch.run(form("call", *fixed, x, *arguments, **rules))
        return x

    return call


@st.composite
def table(draw: st.DrawFn, least: int = 1, most: int = 4) -> tuple[str, str, Array]:
    op, dtype = draw(st.sampled_from([c for c in loops.CELLS if c[1] in DTYPES]))
    return op, dtype, draw(drawn.filled(dtype, draw(drawn.shapes(least, most))))


@COMMON
@given(st.data())
def test_rows_and_tuples(data: st.DataObject) -> None:
    op, dtype, x = data.draw(table())
    rule = data.draw(st.sampled_from(drawn.RULES))
    wrap, zero = data.draw(st.booleans()), drawn.divisors(data.draw, op)
    shape = data.draw(drawn.shapes(0, 3))
    ids = data.draw(drawn.indexing(shape, x.shape[:1], wrap, False))
    u = data.draw(drawn.filled(dtype, data.draw(st.sampled_from([shape + x.shape[1:]] * 6 + [shape, ()])), zero))
    broadcast = data.draw(st.booleans())
    same(data, written(normalize.rows, op, bounds=rule, wrap=wrap, broadcast=broadcast), x, ids, u)
    k = data.draw(st.integers(0, x.ndim))
    shape = data.draw(drawn.shapes(1, 2))
    tuples = data.draw(drawn.indexing((*shape, k), x.shape[:k] or (1,), wrap, False))
    u = data.draw(drawn.filled(dtype, shape + x.shape[k:], zero))
    same(data, written(normalize.nd, op, bounds=rule, wrap=wrap), x, tuples, u)


@COMMON
@given(st.data())
def test_elements_and_axes(data: st.DataObject) -> None:
    op, dtype, x = data.draw(table())
    rule = data.draw(st.sampled_from(drawn.RULES))
    axis, zero = data.draw(st.integers(-x.ndim, x.ndim - 1)), drawn.divisors(data.draw, op)
    shape = tuple(data.draw(st.integers(0, 5 if d == axis % x.ndim else s)) for d, s in enumerate(x.shape))
    ids = data.draw(drawn.indexing(shape, (x.shape[axis],), True, True))
    u = data.draw(drawn.filled(dtype, shape, zero))
    same(data, written(normalize.elements, op, axis=axis, bounds=rule), x, ids, u)
    m = data.draw(st.integers(0, 5))
    ids = data.draw(drawn.indexing((m,), (x.shape[axis],), True, False))
    u = data.draw(drawn.filled(dtype, (*x.shape[: axis % x.ndim], m, *x.shape[axis % x.ndim + 1 :]), zero))
    same(data, written(axes.along, op, axis=axis, bounds=rule, wrap=data.draw(st.booleans())), x, ids, u)


@COMMON
@given(st.data())
def test_reductions(data: st.DataObject) -> None:
    kind, dtype = data.draw(st.sampled_from(("sum", "prod", "amin", "amax"))), data.draw(st.sampled_from(("float32", "int32", "float16")))
    x = data.draw(drawn.filled(dtype, data.draw(st.sampled_from(((3,), (4, 2), (2, 3, 2))))))
    axis = data.draw(st.integers(0, x.ndim - 1))
    m, own = data.draw(st.integers(0, 5)), data.draw(st.booleans())
    ids = data.draw(drawn.indexing((m,), (x.shape[axis],), False, False))
    u = data.draw(drawn.filled(dtype, (*x.shape[:axis], m, *x.shape[axis + 1 :])))
    same(data, lambda t, i, v: reductions.reduce_into("call", kind, t, axes.along, i, v, axis, include_self=own), x, ids, u)


@COMMON
@given(st.data())
def test_gathers(data: st.DataObject) -> None:
    dtype, rule = data.draw(st.sampled_from(DTYPES)), data.draw(st.sampled_from(drawn.RULES))
    x = data.draw(drawn.filled(dtype, data.draw(drawn.shapes(1, 4, 3))))
    axis = data.draw(st.integers(0, x.ndim - 1))
    b = data.draw(st.integers(0, axis))
    ids = data.draw(drawn.indexing(x.shape[:b] + data.draw(drawn.shapes(0, 2, 3)), (x.shape[axis],), False, False))
    same(data, lambda t, i: batched.gather("call", t, i, axis, b, bounds=rule), x, ids)
    b = data.draw(st.integers(0, x.ndim - 1))
    k = data.draw(st.integers(0, x.ndim - b))
    tuples = data.draw(drawn.indexing((*x.shape[:b], *data.draw(drawn.shapes(0, 2, 3)), k), x.shape[b : b + k] or (1,), True, False))
    same(data, lambda t, i: batched.gather_nd("call", t, i, b, bounds=rule, wrap=True), x, tuples)
    shape = tuple(data.draw(st.sampled_from([s, 1, 2])) if d == axis else s for d, s in enumerate(x.shape))
    at = data.draw(drawn.indexing(shape, (x.shape[axis],), True, False))
    same(data, lambda t, i: batched.take_along("call", t, i, axis), x, at)


@COMMON
@given(st.data())
def test_segments(data: st.DataObject) -> None:
    dtype, kind = data.draw(st.sampled_from(DTYPES)), data.draw(st.sampled_from(list(segments.KINDS)))
    x = data.draw(drawn.filled(dtype, data.draw(drawn.shapes(1, 3))))
    count = data.draw(st.integers(0, 5))
    ids = np.array(data.draw(st.lists(st.integers(-1, count), min_size=len(x), max_size=len(x))), np.int64)
    same(data, lambda v, i: segments.unsorted("call", kind, v, i, count), x, ids)
    rising = np.sort(ids) if data.draw(st.integers(0, 5)) else ids
    same(data, lambda v, i: segments.sorted_("call", kind, v, i), x, rising)


@COMMON
@given(st.data())
def test_batches_and_slices(data: st.DataObject) -> None:
    op, dtype, x = data.draw(table(2, 4))
    rule = data.draw(st.sampled_from(drawn.RULES))
    b = data.draw(st.integers(0, x.ndim - 1))
    m = data.draw(st.integers(0, 4))
    ids = data.draw(drawn.indexing((*x.shape[:b], m), (x.shape[b],), False, False))
    u = data.draw(drawn.filled(dtype, (*ids.shape, *x.shape[b + 1 :]), drawn.divisors(data.draw, op)))
    same(data, lambda t, i, v: batched.scatter("call", op, ps.Parameter(t, copy=False), i, v, bounds=rule)._array, x, ids, u)
    axis = data.draw(st.integers(1, x.ndim - 1))
    length = data.draw(st.integers(0, x.shape[axis]))
    u = data.draw(drawn.filled(dtype, (*x.shape[:axis], length, *x.shape[axis + 1 :])))
    starts = data.draw(drawn.indexing(x.shape[:1], (x.shape[axis],), False, True)).astype(np.int64)
    circular = data.draw(st.booleans())

    def slices(t: Any, s: Any, v: Any) -> Any:
        batched.scatter_slices("call", t, v, s, axis, circular)
        return t

    same(data, slices, x, starts, u)
