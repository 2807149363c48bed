"""The TensorFlow frontend: conversions, gathers, segments, order, locks, names. Its operators: test_frontend_tensorflow.py."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import DtypeError, ParamstoreError, ScalarRangeError, ShapeError
from paramstore.frontends import tensorflow as tf

F, INT = np.float32, np.int32
IAE = tf.errors.InvalidArgumentError
S = tf.IndexedSlices


# -- conversions ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1, INT), (2**31, np.int64), (1.5, F), ([1, 2.5], F), (True, bool), (1j, np.complex128), ([], F), ([[1], [2]], INT),
     ("a", object), ([b"a"], object),
     ([np.float64(1)], np.float64), (np.int8(3), np.int8), (np.ones(2), np.float64), (-(2**31), INT), (-(2**31) - 1, np.int64)],
)  # fmt: skip
def test_dtypes_of_literals(value, dtype):
    assert tf.Variable(value).dtype == dtype == tf.convert_to_tensor(value).dtype


@pytest.mark.parametrize("value", [2**64, 1e60, [[1], [2, 3]], None, object(), [None]])
def test_what_is_no_tensor(value):
    with pytest.raises((ValueError, TypeError)) as error:
        tf.convert_to_tensor(value)
    assert isinstance(error.value, ParamstoreError)


def test_arrays_are_not_cast():
    v = tf.Variable(np.zeros(3, INT))
    for given in (np.array([1.5]), np.array([1], np.int64), np.array([1.5], F), np.array([True])):
        for run in (
            lambda g: v.scatter_add(S(g, [0])),
            lambda g: v.scatter_nd_add([[0]], g),
            lambda g: tf.tensor_scatter_nd_add(v, [[0]], g),
        ):
            for kind in (ValueError, TypeError, IAE):
                with pytest.raises(kind, match=f"dtype = {given.dtype} must equal"):
                    run(given)
    assert not v.numpy().any()


def test_literals_take_the_dtype():
    assert tf.Variable([0.0]).scatter_add(S([1], [0])).numpy().tolist() == [1.0]
    assert tf.tensor_scatter_nd_add(np.zeros(1, np.float16), [[0]], [1.5]).dtype == np.float16
    with pytest.raises(TypeError):
        tf.Variable([0]).scatter_add(S([1.5], [0]))
    for dtype, value in (("int8", 300), ("uint8", -1)):
        with pytest.raises(ScalarRangeError):
            tf.Variable(np.zeros(1, dtype)).scatter_add(S(value, [0]))


def test_slices():
    s = S(np.array([[1.0], [2.0], [4.0], [8.0]], F), [2, 0, 2, -1], [3, 1])
    assert tf.convert_to_tensor(s).tolist() == [[2], [0], [5]] and s.dtype == F and "dense_shape=[3, 1]" in repr(s)
    assert (s.indices, s.dense_shape) == ([2, 0, 2, -1], [3, 1]) and s.values.shape == (4, 1)
    with pytest.raises(ValueError, match="dense_shape"):
        tf.convert_to_tensor(S([1.0], [0]))
    with pytest.raises(ValueError, match="dtype"):
        tf.convert_to_tensor(s, dtype="float64")
    with pytest.raises(IAE):
        tf.convert_to_tensor(S([1.0], [3], [3]))
    for method in ("scatter_add", "scatter_update", "batch_scatter_update"):
        for wrong in ([1.0], None, np.ones(2)):
            with pytest.raises(TypeError, match="sparse_delta must be IndexedSlices"):
                getattr(tf.Variable([1.0]), method)(wrong)


# -- gathers and segments -------------------------------------------------------------------------------------------------------


def test_gather():
    data = np.arange(24, dtype=F).reshape(2, 3, 4)
    at = np.array([[0, 2, 2], [1, 1, 0]])
    assert tf.gather(data, 1).tolist() == data[1].tolist() and tf.gather(data, at, axis=1).tolist() == data[:, at].tolist()
    assert tf.gather(data, at, axis=-1).tolist() == data[..., at].tolist()
    expected = np.stack([data[b][at[b]] for b in range(2)])
    assert tf.gather(data, at, batch_dims=1).tolist() == tf.gather(data, at, batch_dims=-1, axis=1).tolist() == expected.tolist()
    assert tf.gather(data, at, axis=2, batch_dims=1).tolist() == np.stack([data[b][:, at[b]] for b in range(2)]).tolist()
    assert tf.gather(data, at.astype(np.int16), axis=2, batch_dims=1).shape == (2, 3, 3)
    for options in ({"axis": 0, "batch_dims": 1}, {"axis": 3}, {"batch_dims": 3}, {"axis": 1.0}, {"batch_dims": 1.0}, {"batch_dims": True}):
        with pytest.raises(IAE):
            tf.gather(data, at, **options)
    with pytest.raises(IAE, match=r"gather: indices\[1, 0\] = -1 is not in \[0, 3\)"):
        tf.gather(data, [[0], [-1]], batch_dims=1)


def test_gather_nd():
    data = np.arange(12).reshape(3, 4)
    assert tf.gather_nd(data, [[1], [2], [3]], batch_dims=1).tolist() == [1, 6, 11]
    assert tf.gather_nd(data, np.zeros((2, 0), INT)).tolist() == [data.tolist()] * 2 and tf.gather_nd(data, [2, 3]) == 11
    for batch_dims in (-1, 2, 5):
        with pytest.raises(ValueError):
            tf.gather_nd(data, [[1], [2], [3]], batch_dims=batch_dims)
    v = tf.Variable(data)
    assert v.gather_nd([[0, 1]]).tolist() == [1] and v.sparse_read([[2]]).tolist() == [[data[2].tolist()]]
    for read in (v.sparse_read, v.gather_nd):
        with pytest.raises(IAE):
            read(np.array([0], np.int16))


def test_segments():
    m = tf.math
    x, ids = np.array([1.0, 2.0, 3.0, 4.0], F), np.array([0, -1, 2, 2])
    expected = {"sum": [1, 0, 7, 0], "prod": [1, 1, 12, 1], "mean": [1, 0, 3.5, 0]}
    for kind, values in expected.items():
        assert getattr(m, f"unsorted_segment_{kind}")(x, ids, 4).tolist() == values
    assert m.unsorted_segment_min(x, ids, 3).tolist() == [1, np.finfo(F).max, 3] and m.unsorted_segment_max(x, ids, 3).tolist() == [
        1,
        np.finfo(F).min,
        4,
    ]
    assert m.unsorted_segment_sqrt_n(x, ids, 3).tolist() == [1, 0, F(7) / np.sqrt(F(2))]
    assert m.unsorted_segment_mean([1, 2, 4, -5], [1, 1, 3, 3], 4).tolist() == [0, 1.5, 0, -0.5]
    assert m.unsorted_segment_sum(np.ones((2, 2, 3)), [[0, 1], [1, 1]], 2).tolist() == [[1] * 3, [3] * 3]
    assert m.segment_max(x, [1, 1, 3, 3]).tolist() == [0, 2, 0, 4] and m.segment_prod(x, [1, 1, 3, 3]).tolist() == [1, 2, 1, 12]
    assert m.segment_mean([1, 2, 4, -5], [1, 1, 3, 3]).tolist() == [0, 1, 0, 0]
    assert (
        np.isnan(m.segment_min(np.array([np.nan, 1, 1, np.nan]), [0, 0, 1, 1])).all() and m.segment_max(np.array([-np.inf]), [0]) == -np.inf
    )
    assert m.segment_mean(np.full(300, 100, np.int64).astype(np.uint8), np.zeros(300, INT)).tolist() == [(300 * 100 % 256) // 300]


def test_segments_refuse():
    m, x = tf.math, np.ones(4, F)
    bad = [
        lambda: m.unsorted_segment_sum(x, [0, 1, 2, 3], 3),
        lambda: m.unsorted_segment_sum(x, [0, 1], 3),
        lambda: m.unsorted_segment_sum(x, [0] * 4, -1),
        lambda: m.unsorted_segment_sum(x, [0] * 4, [4]),
        lambda: m.unsorted_segment_sum(x, [0] * 4, 4.0),
        lambda: m.unsorted_segment_sum(x > 0, [0] * 4, 1),
        lambda: m.unsorted_segment_max(x, np.zeros(4, np.int16), 1),
        lambda: m.unsorted_segment_sqrt_n(x.astype(INT), [0] * 4, 1),
        lambda: m.unsorted_segment_min(x.astype("complex64"), [0] * 4, 1),
        lambda: m.segment_sum(x, [0, 1, 0, 1]),
        lambda: m.segment_sum(x, [-1, 0, 0, 0]),
        lambda: m.segment_sum(x, [[0, 0, 0, 0]]),
        lambda: m.segment_sum(x, [0, 1]),
        lambda: m.segment_sum(1.0, 0),
        lambda: m.segment_sum(["a"], [0]),
    ]
    for run in bad:
        with pytest.raises(IAE):
            run()
    with pytest.raises((tf.errors.ResourceExhaustedError, ShapeError)):
        m.segment_sum(np.ones((1, 2**20)), [2**38])
    assert issubclass(tf.errors.ResourceExhaustedError, MemoryError)


# -- order, locks, the rest -----------------------------------------------------------------------------------------------------


def test_enable_op_determinism():
    try:
        tf.config.experimental.enable_op_determinism()
        assert ps.is_deterministic()
    finally:
        ps.set_deterministic(False)


def test_the_order_is_that_of_the_indices():
    rng = np.random.default_rng(0)
    ids, u = rng.integers(0, 3, 3000), rng.normal(size=3000).astype(F)
    expected = np.zeros(3, F)
    for row, value in zip(ids, u):
        expected[row] += value
    for run in (
        lambda: tf.Variable(np.zeros(3, F)).scatter_add(S(u, ids)).numpy(), lambda: tf.scatter_nd(ids[:, None], u, [3]),
        lambda: tf.tensor_scatter_nd_add(np.zeros(3, F), ids[:, None], u), lambda: tf.math.unsorted_segment_sum(u, ids, 3),
        lambda: tf.convert_to_tensor(S(u, ids, [3])),
    ):  # fmt: skip
        assert run().tobytes() == expected.tobytes()


def test_locked_calls_lose_nothing():
    v = tf.Variable(np.zeros(1, np.int64))
    one = S(np.ones(1, np.int64), np.zeros(1, INT))
    threads = [threading.Thread(target=lambda: [v.scatter_add(one, use_locking=True) for _ in range(2000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert v.numpy().tolist() == [8000]


def test_the_lock_is_held_where_it_should_be():
    v1, held = tf.compat.v1, []

    class Lock:
        def __enter__(self):
            held.append(True)

        def __exit__(self, *error):
            pass

    v = tf.Variable(np.zeros((1, 2), F))
    v.parameter.lock = Lock()
    rows, u = [[0]], np.zeros((1, 1, 2), F)
    for name, default in (("scatter_add", False), ("scatter_update", True), ("scatter_div", False), ("batch_scatter_update", True),
                          ("scatter_nd_add", False), ("scatter_nd_sub", False), ("scatter_nd_update", True)):  # fmt: skip
        given = {"scatter_div": ([0], 1.0), "batch_scatter_update": ([[0]], [[0.0]])}.get(
            name, (rows, u) if "nd" not in name else ([[0]], u[0])
        )
        for options, locked in (({}, default), ({"use_locking": True}, True), ({"use_locking": False}, False)):
            held.clear()
            assert getattr(v1, name)(v, *given, **options) is v
            assert bool(held) == locked, name
    held.clear()
    v.assign([[0.0, 0.0]], use_locking=True)
    v.assign_add([[0.0, 0.0]])
    assert len(held) == 1
    with pytest.raises(DtypeError):
        v1.scatter_add(np.zeros(2), [0], [1.0])


def test_names_of_version_1():
    v1 = tf.compat.v1
    assert v1.tensor_scatter_add is tf.tensor_scatter_nd_add and v1.gather is tf.gather and v1.segment_sum is tf.math.segment_sum
    assert set(v1.__all__) <= set(dir(v1)) and set(tf.__all__) <= set(dir(tf)) and "tensorflow" in dir(ps.frontends)


def test_errors_are_paramstores_own():
    names = ("InvalidShape", "InvalidDtype", "InvalidOption", "InvalidIndex", "InvalidDivisor", "UnimplementedError")
    for name in names:
        kind = getattr(tf.errors, name)
        assert issubclass(kind, IAE) and issubclass(kind, ParamstoreError) and issubclass(kind, ValueError)
    assert issubclass(tf.errors.InvalidIndex, (IndexError, RuntimeError)) and issubclass(tf.errors.InvalidDtype, TypeError)


def test_tensorflow_is_not_imported():
    script = (
        "import sys, warnings; warnings.simplefilter('ignore'); import paramstore as ps\n"
        "assert 'paramstore.frontends.tensorflow' not in sys.modules\n"
        "ps.frontends.tensorflow.scatter_nd([[0]], [1.0], [1]); assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
