"""PEERS.md 2.2, item by item: tf.scatter_nd."""

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import DtypeError, IndexOutOfBounds, ShapeError

SLICES = np.array([[[5] * 4, [6] * 4, [7] * 4, [8] * 4]] * 2)


def test_01_output_shape():
    for shape in ([8], (2, 3), np.array([2, 3, 4]), (0, 3), (np.int64(2), 3)):
        sizes = tuple(int(s) for s in shape)
        out = ps.scatter_nd(np.zeros((0, 1), np.int32), np.zeros((0, *sizes[1:]), np.float32), shape)
        assert out.shape == sizes


@pytest.mark.parametrize("k", [1, 2, 3])
def test_02_inverse_of_gather_nd(k):
    rng = np.random.default_rng(k)
    shape = (5, 4, 3)
    cells = np.stack(np.unravel_index(rng.permutation(int(np.prod(shape[:k])))[:4], shape[:k]), axis=-1)
    updates = rng.normal(size=(4, *shape[k:]))
    assert np.array_equal(ps.gather_nd(ps.scatter_nd(cells, updates, shape), cells), updates)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "float64", "complex64"])
def test_03_equals_tensor_scatter_add_on_zeros(dtype):
    rng = np.random.default_rng(3)
    indices, updates = rng.integers(0, 4, (50, 2)), (rng.normal(size=(50, 3)) * 9).astype(dtype)
    expected = ps.tensor_scatter_add(np.zeros((4, 4, 3), dtype), indices, updates)
    assert ps.scatter_nd(indices, updates, (4, 4, 3)).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["bool", "int16", "uint32", "float16", "float64", "complex128"])
def test_04_untouched_cells_are_zero(dtype):
    out = ps.scatter_nd(np.array([[1]]), np.ones(1, dtype), [3])
    assert out.dtype == dtype and out.tolist() == np.array([0, 1, 0], dtype).tolist()


def test_05_duplicates_are_summed():
    assert ps.scatter_nd(np.array([[2], [2], [0], [2]]), np.array([1, 10, 5, 100]), [3]).tolist() == [5, 0, 111]
    assert ps.scatter_nd(np.array([[0], [0], [0]]), np.array([100, 100, 100], np.int8), [1]).tolist() == [44]


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint32"])
def test_06_integers_do_not_depend_on_the_order(dtype):
    rng = np.random.default_rng(6)
    indices, updates = rng.integers(0, 5, (300, 1)), rng.integers(0, 127, 300).astype(dtype)
    shuffled = rng.permutation(300)
    assert ps.scatter_nd(indices, updates, [5]).tobytes() == ps.scatter_nd(indices[shuffled], updates[shuffled], [5]).tobytes()


def test_07_deterministic_on_request():
    rng = np.random.default_rng(7)
    indices, updates = rng.integers(0, 3, (5000, 1)), rng.normal(size=5000).astype(np.float32)
    expected = np.zeros(3, np.float32)
    for (row,), u in zip(indices, updates):
        expected[row] += u
    before = ps.get_num_threads()
    try:
        for threads in (1, 2, 3):
            ps.set_num_threads(threads)
            with ps.deterministic():
                assert ps.is_deterministic() and ps.scatter_nd(indices, updates, [3]).tobytes() == expected.tobytes()
    finally:
        ps.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["bool", "float32", "float64", "complex64", "U1", object])
def test_08_indices_are_integers(dtype):
    for good in ("int32", "int64"):
        assert ps.scatter_nd(np.array([[1]], good), np.array([4]), [2]).tolist() == [0, 4]
    with pytest.raises(DtypeError, match="indices.dtype"):
        ps.scatter_nd(np.array([[1]]).astype(dtype), np.array([4]), [2])


def test_09_depth_at_most_the_rank_of_shape():
    with pytest.raises(ShapeError, match=r"last size 3 is more than the 2 dimensions"):
        ps.scatter_nd(np.zeros((4, 3), int), np.zeros(4), [5, 5])
    with pytest.raises(ShapeError):
        ps.scatter_nd(np.zeros((4, 1), int), np.zeros(4), [])


def test_10_scalars_or_slices():
    indices = np.array([[1, 2], [0, 0]])
    assert ps.scatter_nd(indices, np.array([7, 8]), [2, 3]).tolist() == [[8, 0, 0], [0, 0, 7]]
    out = ps.scatter_nd(indices, np.array([[7, 1], [8, 2]]), [2, 3, 2])
    assert out[1, 2].tolist() == [7, 1] and out[0, 0].tolist() == [8, 2] and out.sum() == 18


@pytest.mark.parametrize(
    ("indices", "updates", "shape"),
    [((4, 1), (3,), [8]), ((4, 1), (4, 1), [8]), ((2, 1), (2, 4), [4, 5]), ((2, 2), (2, 5), [4, 5]), ((2, 3, 1), (6,), [4]), ((4, 1), (), [8])],
)
def test_11_updates_shape(indices, updates, shape):
    with pytest.raises(ShapeError, match="updates.shape") as error:
        ps.scatter_nd(np.zeros(indices, int), np.zeros(updates), shape)
    assert str(updates) in str(error.value) and str((*indices[:-1], *shape[indices[-1] :])) in str(error.value)
    good = ps.scatter_nd(np.zeros((2, 3, 1), int), np.ones((2, 3, 5)), [4, 5])
    assert good.tolist() == [[6.0] * 5] + [[0.0] * 5] * 3


def test_12_example_1():
    out = ps.scatter_nd(np.array([[4], [3], [1], [7]]), np.array([9, 10, 11, 12]), np.array([8]))
    assert out.tolist() == [0, 11, 0, 10, 9, 0, 0, 12]


def test_13_example_2():
    out = ps.scatter_nd(np.array([[1], [3]]), SLICES, np.array([4, 4, 4]))
    nothing, block = [[0] * 4] * 4, [[5] * 4, [6] * 4, [7] * 4, [8] * 4]
    assert out.tolist() == [nothing, block, nothing, block]


@pytest.mark.parametrize("bad", [8, -1, 2**31 - 1, -(2**31)])
def test_14_outside_is_an_error_on_the_cpu(bad):
    with pytest.raises(IndexOutOfBounds, match=rf"scatter_nd: indices\[1, 0\] = {bad} is not in \[0, 8\)"):
        ps.scatter_nd(np.array([[1], [bad]], np.int32), np.array([1, 2]), [8])


def test_15_outside_is_ignored_where_asked_for(gpu):
    """The page has a GPU ignore what is outside. Here it must be asked for, ``bounds="drop"``; TensorFlow's spelling drops on a GPU by
    default (on a stand-in here; tests/gpu asks a GPU itself).
    """
    out = ps.scatter_nd(np.array([[1], [9], [-1], [1]]), np.array([1, 2, 3, 4]), [3], bounds="drop")
    assert out.tolist() == [0, 5, 0]
    assert ps.scatter_nd(np.array([[0, 5], [1, 1]]), np.array([1, 2]), [2, 2], bounds="drop").tolist() == [[0, 0], [0, 2]]
    assert ps.explain("scatter_nd", dtype="int64", device="cpu").kernel.device == "cpu"
    assert ps.explain("scatter_nd", dtype="int64", device="cuda").kernel.device == "cuda"
    put = gpu.devices[0].put
    indices, updates = put(np.array([[1], [9], [-1], [1]])), put(np.array([1, 2, 3, 4]))
    assert ps.scatter_nd(indices, updates, [3], bounds="drop").get().tolist() == [0, 5, 0]
    assert ps.frontends.tensorflow.scatter_nd(indices, updates, [3]).get().tolist() == [0, 5, 0]
    with pytest.raises(ps.errors.IndexOutOfBounds, match=r"indices\[1, 0\] = 9"):
        ps.scatter_nd(indices, updates, [3])
