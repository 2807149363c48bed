"""Every cell op x layout x dtype x backend, with one small call that has duplicates and edge values, against the loop in `loops`."""

from __future__ import annotations

import zlib
from typing import Any

import loops
import numpy as np
import pytest

import paramstore as ps
from paramstore import bounds as rule
from paramstore import dispatch, normalize, registry

BACKENDS = sorted({k.backend for k in ps.kernels()} & {"reference", "cpu"})
LAYOUTS = ("rows", "nd", "elements")
TEXT_DTYPES = ("<U3", "S3", "T", "O", "M8[s]", "struct")


def values(dtype: str, op: str, shape: tuple[int, ...], salt: str) -> np.ndarray[Any, Any]:
    """Values from the dtype's pool; no zero where integers are divided."""
    rng = np.random.default_rng(zlib.crc32(f"{dtype}{op}{salt}".encode()))
    pool = loops.pool(dtype, zero=not (op == "div" and salt == "u"))
    return pool[rng.integers(0, len(pool), shape)]


def elements(op: str, x: np.ndarray[Any, Any], indices: Any, updates: Any, axis: int, bounds: str = "raise") -> np.ndarray[Any, Any]:
    """`scatter_elements` for any op, those without an ONNX reduction included."""
    out = x.copy()
    dispatch.run(normalize.elements("elements", op, out, indices, updates, axis, bounds=bounds))
    return out


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", loops.DTYPES)
@pytest.mark.parametrize("op", loops.OPS)
def test_cell(op: str, dtype: str, layout: str, backend: str) -> None:
    x = values(dtype, op if loops.defined(op, dtype) else "add", (6, 13), "x")
    ids = np.array([5, 0, 5, 5, 3, 0, 5, 2], np.int32)
    with registry.only(backend):
        if layout == "rows":
            u = values(dtype, op, (8, 13), "u")
            call = lambda: ps.Scatter(op)(ps.Parameter(x), ids, u).numpy()  # noqa: E731
            expected = (loops.scatter_rows, op, x, ids, u)
        elif layout == "nd":
            u = values(dtype, op, (8,), "u")
            tuples = np.stack([ids, ids[::-1] * 2], 1)
            call = lambda: ps.tensor_scatter(x, tuples, u, op)  # noqa: E731
            expected = (loops.scatter_tuples, op, x, tuples, u)
        else:
            u = values(dtype, op, (8, 12), "u")
            at = np.stack([(ids + c) % 12 - 6 for c in range(12)], 1)
            call = lambda: elements(op, x, at, u, 0)  # noqa: E731
            expected = (loops.scatter_elements, op, x, at, u, 0)
        if not loops.defined(op, dtype):
            with pytest.raises(ps.errors.DtypeError, match=rf"{op} is not defined for dtype {dtype} \((bool|complex)\)"):
                call()
            return
        found = ps.explain(op, dtype=dtype).kernel
        assert found is not None and found.backend == backend
        before = x.copy()
        loops.assert_same(call(), expected[0](*expected[1:]), (op, dtype, layout, backend))
        loops.assert_same(x, before)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", loops.DTYPES)
def test_gather_cell(dtype: str, backend: str) -> None:
    x = values(dtype, "gather", (6, 5), "x")
    ids = np.array([[5, 0, 5], [2, 5, 1]])
    tuples = np.array([[5, 4], [0, 0], [5, 4]], np.int32)
    at = np.array([[-1, 2, -6], [0, 5, 5]])
    with registry.only(backend):
        loops.assert_same(ps.gather(x, ids), loops.gather(x, ids))
        loops.assert_same(ps.gather(x, ids[:, :2] % 5, 1), loops.gather(x, ids[:, :2] % 5, 1))
        loops.assert_same(ps.gather_nd(x, tuples), loops.gather_tuples(x, tuples))
        loops.assert_same(ps.gather_elements(x, at, 0), loops.gather_elements(x, at, 0))


def text(dtype: str, size: int) -> np.ndarray[Any, Any]:
    """Distinct values of a dtype that can only be assigned."""
    if dtype == "struct":
        return np.array([(i, f"n{i}", i / 3) for i in range(size)], [("a", "i4"), ("b", "U3"), ("c", "f8")])
    if dtype == "O":
        return np.array([(i, "x") if i % 2 else None if i % 3 else i for i in range(size)] + [None], object)[:size]
    if dtype == "M8[s]":
        return np.arange(size).astype(dtype)
    words = [f"é{i}" if dtype in ("<U3", "T") else f"e{i}" for i in range(size)]
    return np.array(words, np.dtypes.StringDType() if dtype == "T" else dtype)


@pytest.mark.parametrize("dtype", TEXT_DTYPES)
def test_assignment_of_other_dtypes(dtype: str) -> None:
    """Strings, objects, records and times: the last update in C order wins, in every layout, and gather reads them back."""
    everything = text(dtype, 40)
    x, u = everything[:12].reshape(4, 3), everything[12:27].reshape(5, 3)
    ids = np.array([3, 0, 3, 1, 3])

    expected = x.copy()
    for k, i in enumerate(ids):
        expected[i] = u[k]
    assert ps.ScatterUpdate()(ps.Parameter(x), ids, u).numpy().tolist() == expected.tolist()
    assert ps.gather(expected, ids).tolist() == expected[ids].tolist()

    expected = x.copy()
    for i, v in zip(ids, u[:, 0]):
        expected[i, i % 3] = v
    tuples = np.stack([ids, ids % 3], 1)
    assert ps.tensor_scatter_update(x, tuples, u[:, 0]).tolist() == expected.tolist()
    assert ps.gather_nd(expected, tuples).tolist() == expected[ids, ids % 3].tolist()

    expected = x.copy()
    for m in range(5):
        for c in range(3):
            expected[ids[m] - c, c] = u[m, c]
    at = np.stack([ids - c for c in range(3)], 1)
    assert ps.scatter_elements(x, at, u).tolist() == expected.tolist()
    assert ps.gather_elements(expected, at).tolist() == np.take_along_axis(expected, at % 4, 0).tolist()

    assert ps.gather(x, [9], bounds="drop").tolist() == np.zeros((1, 3), x.dtype).tolist()
    for op in set(loops.OPS) - {"update"} - ({"add"} if dtype == "T" else set()):  # adding joins strings of any length
        with pytest.raises(ps.errors.DtypeError, match=f"{op} is not defined for dtype"):
            ps.Scatter(op)(ps.Parameter(x), ids, u)


def test_the_matrix_is_complete() -> None:
    """Both tables name the same cells, each listed by kernels(); and every public operator is one of them."""
    for op, row in ps.ops.OPS.items():
        assert [d for d in loops.DTYPES if ps.explain(op, dtype=d).kernel] == [d for d in loops.DTYPES if loops.defined(op, d)]
        assert row.kinds
    for backend in BACKENDS:
        listed = {(k.op, k.layout, k.dtype) for k in ps.kernels(backend=backend)}
        for layout in ("rows", "elements"):
            assert {(op, layout, d) for op, d in loops.CELLS} <= listed
            assert {("gather", layout, d) for d in loops.DTYPES} <= listed
    served = {name for k in ps.kernels() for name in k.operators}
    assert served == set(ps.ops.OPERATORS)


@pytest.mark.parametrize("bounds", list(rule.BOUNDS))
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bounds(layout: str, backend: str, bounds: str) -> None:
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    bad = np.array([1, 7, -2, 4, 2**40, -(2**63), 2**63 - 1, 0])
    u = np.arange(1, 33, dtype=np.float32).reshape(8, 4)
    with registry.only(backend):
        if layout == "rows":
            call = lambda: ps.ScatterAdd()(ps.Parameter(x), bad, u, bounds=bounds).numpy()  # noqa: E731
            expected = (loops.scatter_rows, "add", x, bad, u, bounds)
            message = r"ScatterAdd: indices\[1\] = 7 is not in \[0, 5\)"
        elif layout == "nd":
            tuples = np.stack([bad % 5, bad], 1)
            call = lambda: ps.tensor_scatter_add(x, tuples, u[:, 0], bounds=bounds)  # noqa: E731
            expected = (loops.scatter_tuples, "add", x, tuples, u[:, 0], bounds)
            message = r"tensor_scatter_add: indices\[1, 1\] = 7 is not in \[0, 4\)"
        else:
            at = np.stack([bad] * 4, 1)
            call = lambda: ps.scatter_elements(x, at, u, 0, "add", bounds=bounds)  # noqa: E731
            expected = (loops.scatter_elements, "add", x, at, u, 0, bounds)
            message = r"scatter_elements: indices\[1, 0\] = 7 is not in \[-5, 5\)"
        if bounds == "raise":
            with pytest.raises(ps.errors.IndexOutOfBounds, match=message):
                call()
        else:
            loops.assert_same(call(), expected[0](*expected[1:]))
