"""PEERS.md 2.4, item by item: mindspore.ops.TensorScatterUpdate."""

import inspect

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import DtypeError, IndexOutOfBounds, ParamstoreError, ShapeError

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


def test_01_no_other_arguments():
    """A function, so there is no constructor; beyond the three inputs there is only the bounds rule."""
    assert list(inspect.signature(ps.tensor_scatter_update).parameters) == ["input_x", "indices", "updates", "bounds"]


def test_02_a_new_array():
    x, indices, updates = np.arange(4.0), np.array([[1], [2]]), np.array([8.0, 9.0])
    before = x.tobytes(), indices.tobytes(), updates.tobytes()
    x.flags.writeable = False
    out = ps.tensor_scatter_update(x, indices, updates)
    assert out.tolist() == [0.0, 8.0, 9.0, 3.0] and not np.shares_memory(out, x)
    assert (x.tobytes(), indices.tobytes(), updates.tobytes()) == before


def test_03_like_scatter_nd_on_top_of_input():
    rng = np.random.default_rng(3)
    cells = np.stack(np.unravel_index(rng.permutation(12)[:7], (3, 4)), axis=-1)
    updates = rng.normal(size=7)
    assert np.array_equal(ps.tensor_scatter_update(np.zeros((3, 4)), cells, updates), ps.scatter_nd(cells, updates, (3, 4)))


@pytest.mark.parametrize("indices", [np.array(0), np.array([0]), np.array([0, 1]), np.zeros(0, int)])
def test_04_indices_rank_at_least_2(indices):
    with pytest.raises(ShapeError, match="must have at least 2 dimensions"):
        ps.tensor_scatter_update(np.zeros((2, 2)), indices, np.zeros(2))


def test_05_one_update_for_each_index_vector():
    rng = np.random.default_rng(5)
    x, indices, updates = np.zeros((30, 30)), rng.permutation(900)[:24].reshape(2, 3, 4), rng.normal(size=(2, 3, 4))
    pairs = np.stack(np.unravel_index(indices, (30, 30)), axis=-1)
    out = ps.tensor_scatter_update(x, pairs, updates)
    for at in np.ndindex(2, 3, 4):
        assert out[tuple(pairs[at])] == updates[at]
    assert np.count_nonzero(out) == 24


def test_06_full_depth_writes_scalars():
    assert ps.tensor_scatter_update(np.zeros((2, 3)), np.array([[1, 2]]), np.array([5.0])).tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 5.0]]


def test_07_less_depth_writes_slices():
    out = ps.tensor_scatter_update(np.zeros((2, 2, 3)), np.array([[1, 0], [0, 1]]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert out.tolist() == [[[0.0] * 3, [4.0, 5.0, 6.0]], [[1.0, 2.0, 3.0], [0.0] * 3]]


def test_08_depth_at_most_the_rank_of_input():
    with pytest.raises(ValueError, match=r"last size 3 is more than the 2 dimensions of input_x.shape = \(2, 3\)"):
        ps.tensor_scatter_update(np.zeros((2, 3)), np.zeros((1, 3), int), np.zeros(1))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1), (2, 2), (1, 2, 3)])
def test_09_updates_shape(shape):
    with pytest.raises(ValueError, match=r"indices.shape\[:-1\] \+ input_x.shape\[indices.shape\[-1\]:\] = \(2, 3\)"):
        ps.tensor_scatter_update(np.zeros((2, 3)), np.array([[0], [1]]), np.zeros(shape))


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "uint32", "uint64", "bool", "float32", "float64", "complex128", "U1", object])
def test_10_indices_are_int32_or_int64(dtype):
    for good in ("int32", "int64"):
        assert ps.tensor_scatter_update(np.zeros(2), np.array([[1]], good), np.ones(1)).tolist() == [0.0, 1.0]
    with pytest.raises(TypeError, match="must be int32 or int64"):
        ps.tensor_scatter_update(np.zeros(2), np.array([[1]]).astype(dtype), np.ones(1))


@pytest.mark.parametrize(("x", "update"), [("float32", "float64"), ("float64", "float32"), ("int64", "int32"), ("float32", "bool"), ("uint8", "int8")])
def test_11_equal_types_only(x, update):
    with pytest.raises(TypeError, match=f"updates.dtype = {update} must equal input_x.dtype = {x}"):
        ps.tensor_scatter_update(np.zeros(2, x), np.array([[0]]), np.ones(1, update))


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
def test_12_numbers_and_bool(dtype):
    out = ps.tensor_scatter_update(np.zeros(3, dtype), np.array([[2]]), np.ones(1, dtype))
    assert out.dtype == dtype and out.tolist() == np.array([0, 0, 1], dtype).tolist()


@pytest.mark.parametrize("shape", [(1,), (3, 2), (2, 3, 4), (3, 0)])
def test_13_output_as_input(shape):
    for dtype in ("float16", "int64"):
        out = ps.tensor_scatter_update(np.zeros(shape, dtype), np.array([[0]]), np.ones((1, *shape[1:]), dtype))
        assert out.shape == shape and out.dtype == dtype


@pytest.mark.parametrize("builtin", [ValueError, RuntimeError, IndexError, ParamstoreError, IndexOutOfBounds])
def test_14_index_not_inside(builtin):
    with pytest.raises(builtin, match=r"tensor_scatter_update: indices\[1, 1\] = 3 is not in \[0, 3\)"):
        ps.tensor_scatter_update(np.zeros((2, 3)), np.array([[1, 2], [0, 3]]), np.ones(2))
    with pytest.raises(builtin, match=r"indices\[0, 0\] = -1 is not in \[0, 2\)"):
        ps.tensor_scatter_update(np.zeros((2, 3)), np.array([[-1, 2], [0, 3]]), np.ones(2))
    with pytest.raises(DtypeError):
        ps.tensor_scatter_update(np.zeros((2, 3)), np.array([[0.5, 2]]), np.ones(1))


def test_15_the_last_duplicate_wins():
    updates = np.arange(1000.0)
    for _ in range(20):
        assert ps.tensor_scatter_update(np.zeros(2), np.zeros((1000, 1), int), updates).tolist() == [999.0, 0.0]


def test_16_example():
    x = np.array([[-0.1, 0.3, 3.6], [0.4, 0.5, -3.2]], np.float32)
    out = ps.tensor_scatter_update(x, np.array([[0, 0], [1, 1]], np.int32), np.array([1.0, 2.2], np.float32))
    assert np.array_equal(out, np.array([[1.0, 0.3, 3.6], [0.4, 2.2, -3.2]], np.float32))
