"""PEERS.md 2.3, item by item: mindspore.ops.ScatterAdd, in paramstore's own spelling."""

import inspect
import threading

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import DtypeError, ParameterCastError, ShapeError

UPDATES = np.array([[[1.0] * 3, [3.0] * 3], [[7.0] * 3, [9.0] * 3]], np.float32)


def zeros(dtype=np.float32):
    return ps.Parameter(np.zeros((2, 3), dtype), name="x")


def example(indices):
    return ps.ScatterAdd()(zeros(), np.array(indices, np.int32), UPDATES).numpy().tolist()


def test_01_use_locking_is_false_by_default():
    assert inspect.signature(ps.ScatterAdd).parameters["use_locking"].default is False
    assert ps.ScatterAdd().use_locking is False and ps.ScatterAdd(use_locking=True).use_locking is True and ps.ScatterAdd(True).use_locking is True


def test_02_adds_each_update_to_its_row():
    rng = np.random.default_rng(2)
    start, indices, updates = rng.normal(size=(6, 2, 3)), rng.integers(0, 6, (4, 5)), rng.normal(size=(4, 5, 2, 3))
    p, expected = ps.Parameter(start), start.copy()
    for at in np.ndindex(indices.shape):
        expected[indices[at]] += updates[at]
    assert ps.ScatterAdd()(p, indices, updates).numpy().tobytes() == expected.tobytes()


def test_03_in_place():
    p = zeros()
    live = p.value
    ps.ScatterAdd()(p, np.array([1]), np.ones((1, 3), np.float32))
    assert live.tolist() == p.numpy().tolist() == [[0.0] * 3, [1.0] * 3] and p.version == 1


def test_04_output_is_the_updated_input():
    p = zeros()
    out = ps.ScatterAdd()(p, np.array([0]), np.ones((1, 3), np.float32))
    assert out is p and out.shape == (2, 3) and out.dtype == np.float32


@pytest.mark.parametrize("target", [np.zeros((2, 3), np.float32), [[0.0]], None, 3, "x"])
def test_05_input_is_a_parameter(target):
    with pytest.raises(DtypeError, match="ScatterAdd: input_x must be a Parameter"):
        ps.ScatterAdd()(target, [0], [[1.0, 1.0, 1.0]])
    with pytest.raises(ShapeError, match=r"x.shape = \(\)"):
        ps.ScatterAdd()(ps.Parameter(1.0), [0], [1.0])
    for shape in ((2,), (2, 1, 3), (2, 0)):
        p = ps.ScatterAdd()(ps.Parameter(np.zeros(shape)), [1], np.ones((1, *shape[1:])))
        assert p.numpy()[1:].tolist() == np.ones((1, *shape[1:])).tolist()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_06_indices_int32_or_int64(dtype):
    assert ps.ScatterAdd()(zeros(), np.array([1], dtype), np.ones((1, 3), np.float32)).numpy()[1].tolist() == [1.0] * 3


@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 3), (4, 3), (2, 2, 1), (2, 2, 4), (2, 2, 3, 1), (3, 2, 2), ()])
def test_07_updates_shape(shape):
    p = zeros()
    with pytest.raises(ValueError, match=r"updates.shape .* must be indices.shape \+ x.shape\[1:\] = \(2, 2, 3\)"):
        ps.ScatterAdd()(p, np.zeros((2, 2), np.int32), np.ones(shape, np.float32))
    assert not p.numpy().any()


@pytest.mark.parametrize(("update", "target"), [("int32", "float32"), ("float16", "float32"), ("uint8", "int16"), ("bool", "int8"), ("int64", "float16"), ("float32", "float64")])
def test_08_the_lower_type_becomes_the_higher(update, target):
    p = ps.ScatterAdd()(zeros(target), np.array([1, 1]), np.ones((2, 3), update))
    assert p.dtype == target and p.numpy()[1].tolist() == [2, 2, 2]


@pytest.mark.parametrize("value", [0, 1, "True", None, np.bool_(True), 1.0, []])
def test_09_use_locking_is_a_bool(value):
    with pytest.raises(TypeError, match="ScatterAdd: use_locking"):
        ps.ScatterAdd(use_locking=value)
    p = zeros()
    with pytest.raises(TypeError, match="scatter_add: use_locking"):
        p.scatter_add([0], [[1.0, 1.0, 1.0]], use_locking=value)
    assert not p.numpy().any()


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "float64", "complex64", "U1", object])
def test_10_other_indices_are_a_type_error(dtype):
    """The page has TypeError for all but int32 and int64; paramstore's own spelling also takes the other integers, which lose nothing."""
    p = zeros()
    with pytest.raises(TypeError, match="indices.dtype"):
        ps.ScatterAdd()(p, np.array([1]).astype(dtype), np.ones((1, 3), np.float32))
    assert not p.numpy().any()
    for other in ("int8", "uint8", "int16", "uint16", "uint32", "uint64"):
        assert ps.ScatterAdd()(zeros(), np.array([1], other), np.ones((1, 3), np.float32)).numpy()[1].tolist() == [1.0] * 3


def test_11_shape_mismatch_is_a_value_error():
    p = zeros()
    with pytest.raises(ValueError) as error:
        ps.ScatterAdd()(p, np.array([0, 1]), np.ones((2, 2), np.float32))
    assert isinstance(error.value, ShapeError) and not p.numpy().any() and p.version == 0


@pytest.mark.parametrize(("update", "target"), [("float64", "float32"), ("float32", "float16"), ("float16", "int64"), ("int16", "uint8"), ("uint8", "int8"), ("complex64", "float32")])
def test_12_the_parameter_is_never_converted(update, target):
    for builtin in (RuntimeError, TypeError, ParameterCastError):
        p = zeros(target)
        with pytest.raises(builtin, match=f"updates.dtype = {update} does not convert to x.dtype = {target}"):
            ps.ScatterAdd()(p, np.array([0]), np.ones((1, 3), update))
        assert not p.numpy().any()


def test_13_example_1():
    p = ps.ScatterAdd()(zeros(), np.array([[0, 1], [1, 1]], np.int32), np.ones([2, 2, 3], np.float32))
    assert p.numpy().tolist() == [[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]]


def test_14_example_2():
    assert example([[0, 1], [1, 1]]) == [[1.0, 1.0, 1.0], [19.0, 19.0, 19.0]]


def test_15_example_3():
    assert example([[1, 0], [1, 1]]) == [[3.0, 3.0, 3.0], [17.0, 17.0, 17.0]]


def test_16_example_4():
    assert example([[0, 1], [0, 1]]) == [[8.0, 8.0, 8.0], [12.0, 12.0, 12.0]]


def test_17_row_major_order():
    """Values that round differently in any other order."""
    updates = np.array([[1e8, 1.0], [-1e8, 1.0]], np.float32)
    assert ps.ScatterAdd()(ps.Parameter(np.zeros(1, np.float32)), np.zeros((2, 2), int), updates).numpy().tolist() == [1.0]
    assert ps.ScatterAdd()(ps.Parameter(np.zeros(1, np.float32)), np.zeros((2, 2), int), updates.T).numpy().tolist() == [2.0]


def test_18_state_persists():
    p, add = zeros(), ps.ScatterAdd()
    for count in (1, 2, 3):
        assert add(p, np.array([1]), np.ones((1, 3), np.float32)).numpy()[1].tolist() == [count] * 3 and p.version == count


def test_19_locked_updates_are_not_lost():
    p, add, ones = ps.Parameter(np.zeros((4, 8), np.int64)), ps.ScatterAdd(use_locking=True), np.ones((6, 8), np.int64)
    ids = np.array([0, 3, 3, 1, 0, 3])

    def work():
        for _ in range(200):
            add(p, ids, ones)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert p.numpy().tolist() == [[2400] * 8, [1200] * 8, [0] * 8, [3600] * 8] and p.version == 1200


def test_20_platforms(gpu):
    """The CPU, and the same bits for a Parameter on ``cuda``: here on a stand-in; tests/gpu asks a GPU itself."""
    for device, mode in (("cpu", "ordered"), ("cuda", "fast")):
        found = ps.explain("ScatterAdd", dtype="float32", device=device)
        assert found.kernel.device == device and found.kernel.mode == mode
    x, ids, u = np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3), np.array([1, 3, 1, 1]), np.linspace(-9, 9, 12, dtype=np.float32).reshape(4, 3)
    with ps.deterministic():
        on_cpu, on_gpu = (ps.ScatterAdd()(ps.Parameter(x, device=device), ids, u).numpy() for device in ("cpu", "cuda"))
    assert on_cpu.tobytes() == on_gpu.tobytes()
