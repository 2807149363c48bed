"""The cases of CASES.md that need no optimizer, checkpoint or GPU; each number is the case's."""

import threading

import numpy as np
import pytest

import paramstore as ps
from paramstore import bounds, registry
from paramstore.errors import IndexOutOfBounds, ParameterCastError, ParamstoreError, ScalarRangeError, ShapeError, TargetError, ZeroDivisor

OPS = ["add", "sub", "mul", "div", "min", "max", "update"]
INPLACE = [getattr(ps, f"Scatter{nd}{op.capitalize()}") for nd in ("", "Nd") for op in OPS]


@pytest.mark.parametrize("dtype", ["int32", "int64", "int16", "uint8"])
def test_case_01_no_lost_tail(dtype):
    updates = np.zeros(8193)
    updates[0], updates[1], updates[8192] = 10, 5, 100
    assert ps.ScatterAdd()(ps.Parameter(np.zeros(1)), np.zeros(8193, dtype), updates).numpy().tolist() == [115.0]


def test_case_02_negative_indices():
    assert ps.scatter_elements(np.array([1.0]), np.array([-1]), np.array([1.0]), reduction="add").tolist() == [2.0]
    with pytest.raises(IndexOutOfBounds, match=r"indices\[0\] = -2 is not in \[-1, 1\)"):
        ps.scatter_elements(np.array([1.0]), np.array([-2]), np.array([1.0]), reduction="add")
    p = ps.Parameter(np.array([1.0]))
    with pytest.raises(IndexOutOfBounds, match=r"ScatterAdd: indices\[0\] = -1 is not in \[0, 1\)"):
        ps.ScatterAdd()(p, np.array([-1]), np.array([1.0]))
    assert p.numpy().tolist() == [1.0]


def test_case_03_uint64_beyond_int64():
    p = ps.Parameter(np.array([2**63], np.uint64))
    assert p.scatter_add([0], [1]).numpy().tolist() == [9223372036854775809] and p.dtype == np.uint64


def test_case_04_minus_one_into_uint8():
    p = ps.Parameter(np.zeros(1, np.uint8))
    with pytest.raises(ScalarRangeError, match=r"-1, which is not in \[0, 255\] of uint8"):
        p.scatter_add([0], [-1])
    assert p.numpy().tolist() == [0]


def test_case_05_float_into_int():
    p = ps.Parameter(np.zeros(1, np.int32))
    for update in (np.array([1.5]), [1.5]):
        with pytest.raises(TypeError) as error:
            p.scatter_add([0], update)
        assert isinstance(error.value, ParamstoreError)
    with pytest.raises(ParameterCastError):
        p.scatter_add([0], np.array([1.5]))
    assert p.numpy().tolist() == [0]


def _read_only():
    x = np.arange(4.0)
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("operator", INPLACE)
@pytest.mark.parametrize(
    "make",
    [_read_only, lambda: np.broadcast_to(np.arange(2.0), (4, 2)), lambda: np.frombuffer(np.arange(4.0).tobytes())],
    ids=["readonly", "broadcast", "frombuffer"],
)
def test_case_06_memory_that_must_not_be_written(operator, make):
    x = make()
    before = x.tobytes()
    with pytest.raises(TargetError):
        operator()(ps.Parameter(x, copy=False), [[0]], [1.0])
    with pytest.raises(TypeError):
        operator()(x, [[0]], [1.0])
    assert x.tobytes() == before


@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 2)])
def test_case_07_stride_0(shape):
    x = np.lib.stride_tricks.as_strided(np.zeros(3), shape, (0,) * len(shape))
    with pytest.raises(TargetError, match="overlap"):
        ps.Parameter(x, copy=False)


def test_case_08_empty_indices():
    p = ps.Parameter(np.arange(3.0))
    assert ps.ScatterNdUpdate()(p, np.zeros((0, 1), int), np.zeros(0)).numpy().tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ShapeError, match="at least 2 dimensions"):
        ps.ScatterNdUpdate()(p, np.zeros(0, int), np.zeros(0))


def test_case_09_both_shapes_are_shown():
    with pytest.raises(ValueError, match=r"updates.shape = \(4,\) must be .* = \(4, 1\)"):
        ps.scatter_nd(np.zeros((4, 1, 1), int), np.zeros(4), [8])


@pytest.mark.parametrize("backend", sorted({k.backend for k in ps.kernels(device="cpu")}))
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_case_10_offsets_are_int64(backend, dtype):
    out = np.empty(1, np.int64)
    with registry.only(backend):
        flatten = registry.find("test", "flatten", "tuples", np.dtype(dtype).name)
    assert flatten.function(np.array([[0, 46341, 0]], dtype), (1, 46342, 46341), out, bounds.RAISE, False) is None
    assert out.tolist() == [2147488281]


def test_case_11_the_position_is_named():
    x = np.zeros(3, np.int32)
    args = x, np.array([[0], [3]]), np.array([7, 9], np.int32)
    with pytest.raises(IndexOutOfBounds, match=r"tensor_scatter_update: indices\[1, 0\] = 3 is not in \[0, 3\)"):
        ps.tensor_scatter_update(*args)
    assert ps.tensor_scatter_update(*args, bounds="drop").tolist() == [7, 0, 0] and x.tolist() == [0, 0, 0]


def test_case_12_no_first_write():
    p = ps.Parameter(np.zeros(3))
    with pytest.raises(IndexOutOfBounds, match=r"ScatterAdd: indices\[1\] = 9 is not in \[0, 3\)"):
        ps.ScatterAdd()(p, np.array([0, 9]), np.ones(2))
    assert p.numpy().tobytes() == np.zeros(3).tobytes() and p.version == 0


def test_case_13_the_last_one_wins_every_time():
    for _ in range(100):
        p = ps.Parameter(np.arange(1, 10))
        ps.ScatterUpdate()(p, np.array([0, 1, 1, 1, 2]), np.arange(11, 16))
        assert p.numpy().tolist() == [11, 14, 15, 4, 5, 6, 7, 8, 9]


def test_case_14_duplicates_sum():
    out = ps.scatter_nd(np.array([[4], [3], [1], [1]]), np.array([9, 10, 11, 12]), [8])
    assert out.tolist() == [0, 23, 0, 10, 9, 0, 0, 0]


def test_case_15_half_rounds_each_step():
    p = ps.ScatterAdd()(ps.Parameter(np.zeros(1, np.float16)), np.zeros(4096, np.int32), np.ones(4096, np.float16))
    assert p.numpy().tolist() == [2048.0]


def test_case_16_multiplied_duplicates():
    p = ps.ScatterMul()(ps.Parameter(np.ones(4, np.int16)), np.array([0, 1, 0, 1, 2, 1]), np.arange(1, 7, dtype=np.int16))
    assert p.numpy().tolist() == [3, 48, 5, 1]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint64"])
def test_case_17_integer_division(dtype):
    p = ps.Parameter(np.array([6, 6], dtype))
    with pytest.raises(ZeroDivisor, match=r"ScatterDiv: updates\[0\] = 0"):
        ps.ScatterDiv()(p, np.array([0, 0]), np.array([0, 2], dtype))
    assert p.numpy().tolist() == [6, 6]
    if dtype.startswith("int"):
        low = np.iinfo(dtype).min
        p = ps.ScatterDiv()(ps.Parameter(np.array([low, -7, 7], dtype)), np.arange(3), np.array([-1, 2, -2], dtype))
        assert p.numpy().tolist() == [low, -3, -3]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_case_17_float_division(dtype):
    p = ps.ScatterDiv()(ps.Parameter(np.array([6, 6], dtype)), np.array([0, 0]), np.array([0, 2], dtype))
    assert p.numpy().tolist() == [np.inf, 6.0]
    p = ps.ScatterNdDiv()(ps.Parameter(np.array([6, 6], dtype)), np.array([[0], [0]]), np.array([0, 2], dtype))
    assert p.numpy().tolist() == [np.inf, 6.0]


def test_case_18_an_axis_longer_than_indices():
    out = ps.scatter(np.zeros((2, 3, 4)), np.ones((1, 3, 1), int), np.array([[[5.0], [6.0], [7.0]]]), axis=0)
    assert (out[1, 0, 0], out[1, 1, 0], out[1, 2, 0]) == (5.0, 6.0, 7.0) and np.count_nonzero(out) == 3


def test_case_21_no_lost_count():
    p, add = ps.Parameter(np.zeros(1, np.int64)), ps.ScatterAdd(use_locking=True)
    ids, one = np.zeros(1, np.int64), np.ones(1, np.int64)

    def work():
        for _ in range(10_000):
            add(p, ids, one)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert p.numpy().tolist() == [80_000] and p.version == 80_000
