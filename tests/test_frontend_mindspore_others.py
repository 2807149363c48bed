"""The MindSpore frontend, the other operators: elements, along an axis, gathers, segments."""

from __future__ import annotations

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import ArgumentError, DtypeError, IndexOutOfBounds, ParameterCastError
from paramstore.frontends import mindspore as ops

F, I32 = np.float32, np.int32


def param(value, dtype=F):
    return ps.Parameter(np.array(value, dtype), name="x")


def idx(value, dtype=I32):
    return np.array(value, dtype)


# -- the elements layout ------------------------------------------------------------------------------------------------------------


def test_tensor_scatter_elements():
    x = np.array([[1, 2, 3], [4, 5, 6]], F)
    assert ops.TensorScatterElements(1)(x, idx([[2, 0]]), np.array([[8, 9]], F)).tolist() == [[9, 2, 8], [4, 5, 6]]
    assert ops.TensorScatterElements(0, "add")(x, idx([[1, 1, 7]]), np.ones((1, 3), F)).tolist() == [[1, 2, 3], [5, 6, 6]]  # 7 is dropped
    assert ops.tensor_scatter_elements(x, idx([[1]]), np.ones((1, 1), F), -1, "add").tolist() == [[1, 3, 3], [4, 5, 6]]
    for caught in (RuntimeError, ValueError, IndexError):
        with pytest.raises(caught, match=r"indices\[0, 1\] = -1 is not in \[0, 3\)"):
            ops.TensorScatterElements(1)(x, idx([[0, -1]]), np.ones((1, 2), F))
    for reduction in ("mul", "Add", "min"):
        with pytest.raises(ValueError, match="is none of 'none', 'add'"):
            ops.TensorScatterElements(0, reduction)
    for bad in (True, 1.0, "0", None):
        with pytest.raises(TypeError, match="axis"):
            ops.TensorScatterElements(bad)
    with pytest.raises(TypeError, match="reduction"):
        ops.TensorScatterElements(0, 1)
    for caught in (ValueError, RuntimeError):
        for arguments in ((idx([1]), np.ones(1, F)), (idx([[1]]), np.ones((1, 2), F)), (idx([[1]] * 3), np.ones((3, 1), F))):
            with pytest.raises(caught):
                ops.TensorScatterElements(1)(x, *arguments)
        with pytest.raises(caught, match="axis = 2"):
            ops.TensorScatterElements(2)(x, idx([[1]]), np.ones((1, 1), F))
    with pytest.raises(DtypeError):
        ops.TensorScatterElements(0, "add")(np.array([True]), idx([0]), np.array([True]))
    assert ops.TensorScatterElements()(np.array([True]), idx([0]), np.array([False])).tolist() == [False]
    with pytest.raises(TypeError, match="must equal"):
        ops.TensorScatterElements(0)(x, idx([[1]]), idx([[1]]))


def test_scatter_add_with_axis_and_scatter():
    x = np.array([[1, 2, 3]], F)
    assert ops.ScatterAddWithAxis(1)(x, idx([[0, 0]]), idx([[5, 6]])).tolist() == [[12, 2, 3]]
    for bad in (3, -1):
        with pytest.raises(ValueError, match="is not in"):
            ops.ScatterAddWithAxis(1)(x, idx([[bad]]), np.ones((1, 1), F))
        with pytest.raises(IndexOutOfBounds):
            ops.scatter(x, 1, idx([[bad]]), np.ones((1, 1), F))
    with pytest.raises(ParameterCastError):
        ops.ScatterAddWithAxis(0)(idx([1]), idx([0]), np.ones(1, F))
    assert ops.scatter(x, 1, idx([[0, 2]]), 7.5).tolist() == [[7.5, 2, 7.5]]
    for bad in (7, True, [[1.0]]):
        with pytest.raises(TypeError, match="src"):
            ops.scatter(x, 1, idx([[0]]), bad)
    with pytest.raises(TypeError):
        ops.scatter(idx([1, 2]), 0, idx([0]), 2.5)  # MindSpore cuts it to 2


def test_scatter_nd():
    assert ops.ScatterNd()(idx([[1], [1]]), np.array([2, 3], F), (3,)).tolist() == [0, 5, 0]
    assert ops.scatter_nd(idx([[1], [1]]), np.array([True, False]), (2,)).tolist() == [False, True]
    for dtype in (np.int16, np.int32, np.int64):
        assert ops.scatter_nd(idx([[1]], dtype), np.ones(1, "complex64"), (2,)).tolist() == [0, 1]
    for bad in ([3], 3, np.array([3]), (3.0,), (True,)):
        with pytest.raises(TypeError, match="shape"):
            ops.ScatterNd()(idx([[1]]), np.ones(1, F), bad)
    for bad in ((0,), (-1,), (3, 0)):
        with pytest.raises(ValueError, match="positive"):
            ops.ScatterNd()(idx([[1]]), np.ones(1, F), bad)
    for bad in (3, -1):
        with pytest.raises(RuntimeError, match=r"ScatterNd: indices\[0, 0\]"):
            ops.ScatterNd()(idx([[bad]]), np.ones(1, F), (3,))
    with pytest.raises(ValueError):
        ops.ScatterNd()(idx([1]), np.array(1, F), (3,))
    with pytest.raises(TypeError):
        ops.ScatterNd()(idx([[1]], np.uint32), np.ones(1, F), (3,))


# -- along an axis --------------------------------------------------------------------------------------------------------------------


def test_index_add():
    p = param(np.zeros((2, 3)))
    assert ops.IndexAdd(1)(p, idx([0, 2, 0]), np.ones((2, 3), F)) is p and p.numpy().tolist() == [[2, 0, 1]] * 2
    assert ops.index_add(p, idx([1]), np.ones((1, 3), bool), 0).numpy().tolist() == [[2, 0, 1], [3, 1, 2]]
    assert ops.IndexAdd(-1)(p, idx([], I32), np.ones((2, 0), F)).numpy().tolist() == [[2, 0, 1], [3, 1, 2]]
    assert ops.inplace_index_add(p, idx([0]), np.ones((1, 3), F), 0).numpy().tolist() == [[3, 1, 2], [3, 1, 2]]
    before = p.numpy()
    for bad, y, caught in (
        (idx([0], np.int64), np.ones((2, 1), F), TypeError),
        (idx([3]), np.ones((2, 1), F), RuntimeError),
        (idx([-1]), np.ones((2, 1), F), RuntimeError),
        (idx(0), np.ones((2, 1), F), ValueError),
        (idx([0]), np.ones((2, 2), F), ValueError),
        (idx([0]), np.ones((3, 1), F), ValueError),
        (idx([0]), np.ones(2, F), ValueError),
        (idx([0]), np.ones((2, 1), "float64"), RuntimeError),
        ([0], np.ones((2, 1), F), TypeError),
        (idx([0]), [[1.0], [1.0]], TypeError),
    ):
        for operator in (ops.IndexAdd(1, check_index_bound=False), ops.InplaceIndexAdd(1)):
            with pytest.raises(caught):
                operator(p, bad, y)
    assert p.numpy().tobytes() == before.tobytes()
    for axis, caught in ((2, ValueError), (-3, ValueError), (True, TypeError), (1.0, TypeError)):
        with pytest.raises(caught, match="axis"):
            ops.IndexAdd(axis)(p, idx([0]), np.ones((1, 3), F))
    with pytest.raises(IndexOutOfBounds, match=r"IndexAdd: indices\[1\] = 5 is not in \[0, 3\)"):
        ops.IndexAdd(1)(p, idx([0, 5]), np.ones((2, 2), F))
    for dtype in ("int64", "uint16", "bool", "complex64"):
        with pytest.raises(TypeError, match="dtype"):
            ops.IndexAdd(0)(param([1], dtype), idx([0]), np.ones(1, dtype))


def test_inplace_rows():
    x = np.zeros((3, 2), F)
    v = np.array([[1, 2], [3, 4]], F)
    assert ops.InplaceAdd((0, 0))(x, v).tolist() == [[4, 6], [0, 0], [0, 0]] and not x.any()
    assert ops.inplace_sub(x, v[:1], 2).tolist() == [[0, 0], [0, 0], [-1, -2]]
    assert ops.InplaceUpdateV2()(x, (1, 1), v).tolist() == [[0, 0], [3, 4], [0, 0]]
    assert ops.inplace_update(x, v[:1], idx([2])).tolist() == [[0, 0], [0, 0], [1, 2]]
    for bad in (3, -1, (0, 3)):
        with pytest.raises(ValueError, match="is not in"):
            ops.InplaceAdd(bad)(x, v[: len(bad) if isinstance(bad, tuple) else 1])
    for bad in ([1], True, (True,), (1.0,), "1"):
        with pytest.raises(TypeError, match="InplaceSub: indices"):
            ops.InplaceSub(bad)
        with pytest.raises(TypeError, match="indices"):
            ops.InplaceUpdateV2()(x, bad, v[:1])
    with pytest.raises(ValueError, match="updates.shape"):
        ops.InplaceAdd(1)(x, v[0])
    with pytest.raises(TypeError):
        ops.InplaceAdd(1)(x, idx([[1, 2]]))
    with pytest.raises(TypeError):
        ops.InplaceUpdateV2()(x.astype("float64"), 1, v[:1].astype("float64"))


def test_index_fill_and_put():
    x = np.arange(6, dtype=F).reshape(2, 3)
    assert ops.IndexFill()(x, 1, idx([0, -1]), np.array(9, F)).tolist() == [[9, 1, 9], [9, 4, 9]]
    assert ops.index_fill(x, np.array(0), idx(1), 9).tolist() == [[0, 1, 2], [9, 9, 9]]
    for bad in (3, -4):
        with pytest.raises(RuntimeError, match=rf"\[0\] = {bad} is not in \[-3, 3\)"):
            ops.IndexFill()(x, 1, idx([bad]), np.array(9, F))
    with pytest.raises(TypeError, match="value must be an array"):
        ops.IndexFill()(x, 1, idx([0]), 9.0)
    with pytest.raises(ValueError, match="value.shape"):
        ops.IndexFill()(x, 1, idx([0]), np.array([9], F))
    with pytest.raises(TypeError):
        ops.index_fill(idx([1]), 0, idx([0]), 2.5)
    put = ops.IndexPut()
    assert put(x, np.array([7, 8], F), (idx([0, 1]), idx([2]))).tolist() == [[0, 1, 7], [3, 4, 8]]
    assert put(x, np.array([7, 8, 9], F), [idx([-1])]).tolist() == [[0, 1, 2], [7, 8, 9]]
    assert put(x, np.array([7, 8], F), (idx([0, 0]), idx([1, 1]))).tolist() == [[0, 8, 2], [3, 4, 5]]
    assert ops.IndexPut(1)(x, np.array([7, 8], F), (idx([0, 0]), idx([1, 1]))).tolist() == [[0, 16, 2], [3, 4, 5]]
    assert put(x, np.array([7], F), (idx([]), idx([]))).tolist() == x.tolist()  # MindSpore dies
    one = (idx([1]), idx([0]))
    for make, caught in (
        (lambda: ops.IndexPut(2), ArgumentError), (lambda: ops.IndexPut(True), TypeError), (lambda: ops.IndexPut(1.0), TypeError),
        (lambda: put(x, np.array([7], F), (idx([2]), idx([0]))), ValueError), (lambda: put(x, np.array([7], F), (idx([-3]), idx([0]))), ValueError),
        (lambda: put(x, np.array(7, F), one), ValueError), (lambda: put(x, np.array([7, 8], F), one), ValueError),
        (lambda: put(x, np.array([7], F), (*one, idx([0]))), ValueError), (lambda: put(x, np.array([7], F), ()), RuntimeError),
        (lambda: put(x, np.array([7], F), (idx([[1]]), idx([[0]]))), ValueError), (lambda: put(x, idx([7]), one), TypeError),
        (lambda: put(x, np.array([7], F), (idx([1]), idx([0], np.int64))), TypeError), (lambda: put(x, np.array([7], F), idx([1])), TypeError),
        (lambda: put(x, np.array([7], F), (idx([1, 0]), idx([0, 0, 1]))), ValueError), (lambda: put(x, np.array([7], F), ([1], [0])), TypeError),
    ):  # fmt: skip
        with pytest.raises(caught):
            make()


# -- reading ------------------------------------------------------------------------------------------------------------------------


def test_gathers():
    x = np.arange(24, dtype=F).reshape(2, 3, 4)
    i = idx([[0, 2], [1, 1]])
    assert np.array_equal(ops.Gather()(x, i, 1), np.take(x, i, 1))
    assert np.array_equal(ops.Gather(1)(x, i, 1), np.stack([x[b][i[b]] for b in range(2)]))
    assert np.array_equal(ops.gather(x, i, 2, -1), np.stack([x[b][:, i[b]] for b in range(2)]))
    assert ops.gather(x, idx(1, np.int16), np.array(-1)).shape == (2, 3)
    for bad in (-1, 3):
        with pytest.raises(RuntimeError, match=r"Gather: indices\[0\] = "):
            ops.Gather()(x, idx([bad]), 1)
    for arguments, caught in (((x, i, 3), ValueError), ((x, i, True), TypeError), ((x, [1], 0), TypeError), ((x, i, 1.0), TypeError),
                              ((F(1), i, 0), ValueError), ((x, idx([1], np.uint8), 0), TypeError)):  # fmt: skip
        with pytest.raises(caught):
            ops.Gather()(*arguments)
    for batch, caught in ((2, ValueError), (5, ValueError), (True, TypeError), (1.0, TypeError)):
        with pytest.raises(caught):
            ops.Gather(batch)(x, i, 1)
    assert ops.GatherNd()(x, idx([[1, 2, 3]])).tolist() == [23] and ops.gather_nd(x, idx([1])).tolist() == x[1].tolist()
    for bad, caught in (
        (idx([[-1]]), RuntimeError),
        (idx([[2]]), RuntimeError),
        (idx([[0] * 4]), ValueError),
        (idx([[0]], bool), TypeError),
    ):
        with pytest.raises(caught):
            ops.GatherNd()(x, bad)
    y = np.array([[1, 2], [3, 4]])
    for gather in (ops.GatherD(), ops.gather_d, ops.gather_elements):
        assert gather(y, 1, idx([[-1, 0, 0]])).tolist() == [[2, 1, 1]]
        for dim, bad, caught in ((1, idx([[2]]), RuntimeError), (1, idx([[-3]]), RuntimeError), (1, idx([0]), ValueError), (1, idx([[0]] * 3), ValueError),
                                 (2, idx([[0]]), ValueError), (True, idx([[0]]), TypeError), (1, idx([[0]], np.int16), TypeError)):  # fmt: skip
            with pytest.raises(caught):
                gather(y, dim, bad)


@pytest.mark.parametrize(
    "kind, start, expected", [("Sum", 0, [5, 0]), ("Prod", 1, [6, 1]), ("Min", None, [2, None]), ("Max", None, [3, None])]
)
def test_segments(kind, start, expected):
    operator, function = getattr(ops, f"UnsortedSegment{kind}")(), getattr(ops, f"unsorted_segment_{kind.lower()}")
    for dtype in ("float32", "float16", "int8", "uint64"):
        info = np.finfo(dtype) if "float" in dtype else np.iinfo(dtype)
        empty = {"Min": info.max, "Max": info.min}.get(kind, start)
        for run in (operator, function):
            out = run(np.array([2, 9, 3], dtype), idx([0, -1, 0]), 2)
            assert out.dtype == dtype and out.tolist() == [expected[0], np.array(empty, dtype)]
    assert operator(np.ones((2, 2, 3), F), idx([[0, 1], [1, 0]]), 3).shape == (3, 3)
    for ids, count, caught in (
        (idx([0, 0, 2]), 2, RuntimeError), (idx([0, 0]), 2, ValueError), (idx(0), 2, ValueError), (idx([[[0]]]), 2, ValueError),
        (idx([0, 0, 0]), 0, ValueError), (idx([0, 0, 0]), -1, ValueError), (idx([0, 0, 0]), True, TypeError), (idx([0, 0, 0]), 2.0, TypeError),
        (idx([0, 0, 0]), np.array([2]), TypeError), ([0, 0, 0], 2, TypeError), (idx([0, 0, 0], np.uint8), 2, TypeError),
    ):  # fmt: skip
        with pytest.raises(caught):
            operator(np.ones(3, F), ids, count)
    with pytest.raises(TypeError):
        operator(np.array([True]), idx([0]), 1)
