"""What the property tests draw: operators, shapes, values, indices and layouts of memory; and one call held against the defining loop.

``PARAMSTORE_TEST_EXAMPLES=2000`` looks further, with fresh examples in every run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import loops
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
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


def ways(forced: bool = False) -> Iterator[str]:
    """Each backend, at each thread count, in force while the loop body runs; and with each plan for rows, if it can be forced."""
    for backend, threads, plan in WAYS + FORCED_WAYS * forced:
        ps.set_num_threads(threads)
        if FORCE:
            FORCE(plan)
        with registry.only(backend):
            yield f"{backend} at {threads} threads" + (f", plan {plan}" if plan >= 0 else "")


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


def elements_on(op: str, x: Array, ids: Array, updates: Array, axis: int, bounds: str = "raise") -> None:
    """`scatter_elements` in place and for any op: the ONNX operator has no sub and div, the kernels have."""
    dispatch.run(normalize.elements("elements", op, x, ids, updates, axis, bounds=bounds))


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
