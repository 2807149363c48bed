"""PEERS.md 2.1, item by item: ONNX Scatter, version 9."""

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import DtypeError, IndexOutOfBounds, ShapeError

LISTED = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128", "U3"]
EXAMPLE_INDICES = np.array([[1, 0, 2], [0, 2, 1]])


def loop(data, indices, updates, axis):
    """The rule of the page in plain Python."""
    out = data.copy()
    for q in np.ndindex(updates.shape):
        target = list(q)
        target[axis] = int(indices[q])
        out[tuple(target)] = updates[q]
    return out


def test_01_opset_9_superseded_from_11():
    """The later spelling, ScatterElements, means the same where nothing is reduced."""
    from paramstore.frontends import onnx

    assert "Source: ONNX operator Scatter, version 9." in ps.scatter.__doc__
    data, updates = np.zeros((3, 3), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    assert onnx.Scatter(data, EXAMPLE_INDICES, updates, axis=1).tolist() == onnx.ScatterElements(data, EXAMPLE_INDICES, updates, axis=1).tolist()


def test_02_data_rank_at_least_1():
    with pytest.raises(ShapeError, match=r"scatter: data.shape = \(\)"):
        ps.scatter(np.float32(1), np.array(0), np.float32(2))


@pytest.mark.parametrize("shape", [(), (2,), (1, 2, 3)])
def test_03_indices_rank_is_that_of_data(shape):
    with pytest.raises(ShapeError, match="rank"):
        ps.scatter(np.zeros((3, 3)), np.zeros(shape, int), np.zeros(shape))


@pytest.mark.parametrize("shape", [(3, 2), (2, 2), (1, 3), (6,), (2, 3, 1)])
def test_04_updates_shape_is_that_of_indices(shape):
    with pytest.raises(ShapeError, match=r"updates.shape"):
        ps.scatter(np.zeros((3, 3)), EXAMPLE_INDICES, np.zeros(shape))


@pytest.mark.parametrize("shape", [(5,), (1, 5), (2, 3, 4), (0, 3), (3, 0, 2)])
def test_05_output_has_the_shape_of_data(shape):
    data = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    none = np.zeros((0,) * len(shape), np.int64)
    out = ps.scatter(data, none, none.astype(np.float64))
    assert out.shape == shape and out.tolist() == data.tolist()


def test_06_axis_is_0_by_default():
    args = np.zeros((3, 3)), EXAMPLE_INDICES, np.ones((2, 3))
    assert ps.scatter(*args).tolist() == ps.scatter(*args, axis=0).tolist() != ps.scatter(*args, axis=1).tolist()


def test_07_axis_range():
    data, indices, updates = np.zeros((2, 3, 4)), np.array([[[1, 0]]]), np.array([[[5.0, 6.0]]])
    for axis in range(3):
        assert ps.scatter(data, indices, updates, axis=axis - 3).tolist() == ps.scatter(data, indices, updates, axis=axis).tolist()
    for axis in (3, -4, 2**70):
        with pytest.raises(ShapeError, match=rf"scatter: axis = {axis} is not in \[-3, 3\)"):
            ps.scatter(data, indices, updates, axis=axis)
    for axis in (1.0, True, None, "1", np.float32(0), np.bool_(True), [0]):
        with pytest.raises(DtypeError, match="axis"):
            ps.scatter(data, indices, updates, axis=axis)
    assert ps.scatter(data, indices, updates, axis=np.int8(-1)).tolist() == ps.scatter(data, indices, updates, axis=2).tolist()


def test_08_two_dimensions_axis_0():
    data, updates = np.arange(12.0).reshape(4, 3), np.array([[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]])
    indices = np.array([[3, 0, 2], [1, 3, 0]])
    out = ps.scatter(data, indices, updates, axis=0)
    for a in range(2):
        for b in range(3):
            assert out[indices[a][b]][b] == updates[a][b]
    assert (out != data).sum() == 6


def test_09_two_dimensions_axis_1():
    data, updates = np.arange(12.0).reshape(3, 4), np.array([[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]])
    indices = np.array([[3, 0, 2], [1, 3, 0]])
    out = ps.scatter(data, indices, updates, axis=1)
    for a in range(2):
        for b in range(3):
            assert out[a][indices[a][b]] == updates[a][b]
    assert (out != data).sum() == 6


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -2])
def test_10_the_index_replaces_one_coordinate(axis):
    rng = np.random.default_rng(axis + 10)
    data, updates = rng.normal(size=(3, 4, 2, 5)), rng.normal(size=(2, 3, 2, 4))
    indices = rng.integers(0, data.shape[axis], updates.shape)
    assert ps.scatter(data, indices, updates, axis=axis).tolist() == loop(data, indices, updates, axis).tolist()


def test_11_loops_run_over_the_sizes_of_updates():
    data = np.arange(24.0).reshape(4, 6)
    out = ps.scatter(data, np.array([[3, 3], [0, 0]]), np.array([[-1.0, -2.0], [-3.0, -4.0]]))
    assert out[3, :2].tolist() == [-1.0, -2.0] and out[0, :2].tolist() == [-3.0, -4.0]
    assert out[:, 2:].tolist() == data[:, 2:].tolist() and out[1:3].tolist() == data[1:3].tolist()
    with pytest.raises(ShapeError, match=r"indices.shape\[1\] = 7 must not exceed data.shape\[1\] = 6"):
        ps.scatter(data, np.zeros((1, 7), int), np.zeros((1, 7)))


def test_12_example_1():
    updates = np.array([[1.0, 1.1, 1.2], [2.0, 2.1, 2.2]], np.float32)
    out = ps.scatter(np.zeros((3, 3), np.float32), EXAMPLE_INDICES, updates)
    assert np.array_equal(out, np.array([[2.0, 1.1, 0.0], [1.0, 0.0, 2.2], [0.0, 2.1, 1.2]], np.float32))


def test_13_example_2():
    out = ps.scatter(np.array([[1.0, 2.0, 3.0, 4.0, 5.0]], np.float32), np.array([[1, 3]]), np.array([[1.1, 2.1]], np.float32), axis=1)
    assert np.array_equal(out, np.array([[1.0, 1.1, 3.0, 2.1, 5.0]], np.float32))


@pytest.mark.parametrize("dtype", LISTED)
def test_14_all_listed_types(dtype):
    """All 15 of the page. bfloat16 is not listed there; paramstore's own API takes it as well (opset 13 does), which is a superset."""
    data, updates = np.array([0, 1, 2, 3]).astype(dtype), np.array([1, 0]).astype(dtype)
    out = ps.scatter(data, np.array([3, 0], np.int32), updates)
    assert out.dtype == data.dtype and out.tolist() == [updates[1], data[1], data[2], updates[0]]


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "uint32", "uint64", "bool", "float32", "float64", "complex64", "U1", object])
def test_15_indices_are_int32_or_int64(dtype):
    for good in (np.int32, np.int64):
        assert ps.scatter(np.zeros(2), np.array([1], good), np.ones(1)).tolist() == [0.0, 1.0]
    with pytest.raises(TypeError) as error:
        ps.scatter(np.zeros(2), np.array([1]).astype(dtype), np.ones(1))
    assert isinstance(error.value, DtypeError) and "must be int32 or int64" in str(error.value)


@pytest.mark.parametrize(("data", "updates"), [("float32", "float64"), ("float64", "float32"), ("int64", "int32"), ("float32", "int32"), ("int8", "uint8"), ("float32", "bool")])
def test_16_one_type_and_no_cast(data, updates):
    with pytest.raises(DtypeError, match=f"updates.dtype = {updates} must equal data.dtype = {data}"):
        ps.scatter(np.zeros(2, data), np.array([0]), np.zeros(1, updates))
    assert ps.scatter(np.zeros(2, data), np.array([0]), np.ones(1, data)).dtype == data


def test_17_data_is_not_changed():
    data, indices, updates = np.arange(5.0), np.array([1, 2]), np.array([7.0, 8.0])
    before = data.tobytes(), indices.tobytes(), updates.tobytes()
    data.flags.writeable = False
    out = ps.scatter(data, indices, updates)
    assert (data.tobytes(), indices.tobytes(), updates.tobytes()) == before
    assert not np.shares_memory(out, data) and out.flags.writeable


def test_18_pure_assignment():
    """The page says nothing of negative, outside or repeated indices: these count from the end, are errors, and the last one wins."""
    with pytest.raises(TypeError):
        ps.scatter(np.zeros(2), np.array([0]), np.ones(1), reduction="add")
    assert ps.scatter(np.full(2, 9.0), np.array([0, 0, 0]), np.array([1.0, 2.0, 3.0])).tolist() == [3.0, 9.0]
    assert ps.scatter(np.zeros(3), np.array([-1]), np.ones(1)).tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(IndexOutOfBounds, match=r"scatter: indices\[0\] = -4 is not in \[-3, 3\)"):
        ps.scatter(np.zeros(3), np.array([-4]), np.ones(1))
