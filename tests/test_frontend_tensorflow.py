"""The TensorFlow frontend: scatter_nd, variables, policies, errors. Against TensorFlow itself: ``python -m tests.conformance``."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import ParamstoreError
from paramstore.frontends import tensorflow as tf

F, INT = np.float32, np.int32
IAE = tf.errors.InvalidArgumentError
S = tf.IndexedSlices


class OnGpu(np.ndarray):
    """Stands for an array on a GPU: the frontend asks an operand only for its device."""

    device = "cuda:0"


def on_gpu(value):
    return np.asarray(value).view(OnGpu)


@pytest.fixture
def gpu_variable(monkeypatch):
    def make(value):
        v = tf.Variable(value)
        v.parameter._device = "cuda:0"
        return v

    return make


# -- scatter_nd's page ----------------------------------------------------------------------------------------------------------


def test_example_1():
    indices, updates, shape = np.array([[4], [3], [1], [7]]), np.array([9, 10, 11, 12]), np.array([8])
    assert tf.scatter_nd(indices, updates, shape).tolist() == [0, 11, 0, 10, 9, 0, 0, 12]


def test_example_2():
    block = [[5, 5, 5, 5], [6, 6, 6, 6], [7, 7, 7, 7], [8, 8, 8, 8]]
    out = tf.scatter_nd([[1], [3]], [block, block], [4, 4, 4])
    assert out.tolist() == [[[0] * 4] * 4, block, [[0] * 4] * 4, block] and out.dtype == INT


@pytest.mark.parametrize("policy", ["", "DEFAULT", "ERROR"])
def test_bad_indices_on_the_cpu(policy):
    for bad in (3, -1, 2**31 - 1):
        with pytest.raises(IAE, match=rf"scatter_nd: indices\[1, 0\] = {bad} is not in \[0, 3\)"):
            tf.scatter_nd([[0], [bad]], [1.0, 2.0], [3], bad_indices_policy=policy)


@pytest.mark.parametrize("policy", ["", "DEFAULT", "IGNORE"])
def test_bad_indices_on_a_gpu_are_ignored(policy):
    """The page: "On GPU, if an out of bound index is found, the index is ignored." The others are applied."""
    for indices, updates in (
        (on_gpu([[0], [3], [2], [-1]]), [1.0, 2.0, 3.0, 4.0]),
        ([[0], [3], [2], [-1]], on_gpu(np.array([1, 2, 3, 4], F))),
    ):
        assert tf.scatter_nd(indices, updates, [3], bad_indices_policy=policy).tolist() == [1, 0, 3]


def test_error_policy_on_a_gpu():
    with pytest.raises(IAE):
        tf.scatter_nd(on_gpu([[3]]), [1.0], [3], bad_indices_policy="ERROR")


def test_ignore_on_the_cpu():
    assert tf.scatter_nd([[3], [1]], [1.0, 2.0], [3], bad_indices_policy="IGNORE").tolist() == [0, 2, 0]
    assert tf.tensor_scatter_nd_max([1, 2], [[5], [0]], [9, 9], bad_indices_policy="IGNORE").tolist() == [9, 2]
    assert tf.gather_nd([[1, 2], [3, 4]], [[9], [1]], bad_indices_policy="IGNORE").tolist() == [[0, 0], [3, 4]]


def test_every_operator_follows_the_device(gpu_variable):
    at, one = [0, 7], np.array([1.0, 1.0], F)
    for op, expected in (("add", 4.0), ("sub", 2.0), ("mul", 3.0), ("div", 3.0), ("min", 1.0), ("max", 3.0), ("update", 1.0)):
        v = gpu_variable([3.0, 3.0])
        assert getattr(v, f"scatter_{op}")(S(one, at)).numpy().tolist() == [expected, 3.0]
        if op not in ("mul", "div"):
            v = gpu_variable([3.0, 3.0])
            assert getattr(v, f"scatter_nd_{op}")([[0], [7]], one).numpy().tolist() == [expected, 3.0]
            assert getattr(tf, f"tensor_scatter_nd_{op}")(on_gpu(np.array([3, 3], F)), [[0], [7]], one).tolist() == [expected, 3.0]
    v = gpu_variable([[3.0, 3.0]])
    assert v.batch_scatter_update(S([[5.0, 6.0]], [[1, 7]])).numpy().tolist() == [[3, 5]]
    assert v.sparse_read([7, 0]).tolist() == [[0, 0], [3, 5]] and v.gather_nd([[0, 7]]).tolist() == [0]
    with pytest.raises(IAE, match="must not contain 0"):  # on both devices
        v.scatter_div(S(0.0, [0]))


@pytest.mark.parametrize("policy", ["zz", "error", "CLIP"])
def test_unknown_policy(policy):
    for run in (lambda: tf.scatter_nd([[0]], [1.0], [1], policy), lambda: tf.gather_nd([1.0], [[0]], bad_indices_policy=policy)):
        with pytest.raises(IAE, match="bad_indices_policy"):
            run()


@pytest.mark.parametrize(
    "run",
    [
        lambda: tf.scatter_nd([0], [1.0], [3]), lambda: tf.scatter_nd(0, 1.0, [3]),
        lambda: tf.scatter_nd(np.zeros((1, 0), INT), [[1.0]], [1]),
        lambda: tf.scatter_nd([[0]], [1.0], 3), lambda: tf.scatter_nd([[0]], [1.0], [[3]]), lambda: tf.scatter_nd([[0]], [1.0], [-3]),
        lambda: tf.scatter_nd([[0]], [1.0], [3.0]), lambda: tf.scatter_nd([[0, 0]], [1.0], [3]), lambda: tf.scatter_nd([[0]], 1.0, [3]),
        lambda: tf.scatter_nd(np.array([[0]], np.int16), [1.0], [3]), lambda: tf.scatter_nd([[0.0]], [1.0], [3]),
        lambda: tf.scatter_nd(np.zeros((4, 1, 1), INT), np.ones(4, F), [8]),
    ],
)  # fmt: skip
def test_scatter_nd_refuses(run):
    with pytest.raises(IAE):
        run()


def test_bool_and_strings():
    assert tf.scatter_nd([[1], [1]], [True, True], [3]).tolist() == [False, True, False]
    out = tf.scatter_nd([[1], [1], [0]], np.array([b"a\xff", b"\0b", "c"], object), [3])
    assert out.tolist() == [b"c", b"a\xff\0b", b""]
    assert tf.tensor_scatter_nd_update(["a", "b"], [[0]], ["long"]).tolist() == [b"long", b"b"]
    assert tf.raw_ops.ScatterNdNonAliasingAdd([True, False], [[1]], [True]).tolist() == [True, True]
    for op in ("add", "sub", "min", "max"):
        with pytest.raises(IAE):
            getattr(tf, f"tensor_scatter_nd_{op}")(["a"], [[0]], ["b"])
        with pytest.raises(IAE):
            getattr(tf, f"tensor_scatter_nd_{op}")([True], [[0]], [True])


# -- variables ------------------------------------------------------------------------------------------------------------------


def test_rows():
    v = tf.Variable(np.arange(6, dtype=F).reshape(3, 2))
    assert v.scatter_add(S([[1.0, 1.0], [2.0, 2.0]], [1, 1])) is v
    assert v.numpy().tolist() == [[0, 1], [5, 6], [4, 5]]
    assert v.scatter_sub(S(1.0, [0, 0])).scatter_mul(S(2.0, 2)).numpy().tolist() == [[-2, -1], [5, 6], [8, 10]]
    assert v.scatter_max(S([0.0, 0.0], 0)).scatter_min(S(5.0, [1, 2])).numpy().tolist() == [[0, 0], [5, 5], [5, 5]]
    assert v.scatter_div(S(np.full((1, 2), 2, F), [1], dense_shape=[99])).scatter_update(S([[7, 8]], [0])).numpy().tolist() == [
        [7, 8],
        [2.5, 2.5],
        [5, 5],
    ]
    assert v.parameter.version == 7


def test_tuples():
    v = tf.Variable([[1, 2], [3, 4]])
    assert v.scatter_nd_add([[0, 0], [0, 0]], [10, 20]) is v and v.numpy().tolist() == [[31, 2], [3, 4]]
    assert v.scatter_nd_sub([[1]], [[1, 1]]).scatter_nd_update([0, 1], [[5, 5], [6, 6]]).numpy().tolist() == [[5, 5], [6, 6]]
    assert v.scatter_nd_min([[0, 1]], [1]).scatter_nd_max([[1, 0]], [9]).numpy().tolist() == [[5, 1], [9, 6]]
    assert tf.Variable([True, False]).scatter_nd_add([[1]], [True]).numpy().tolist() == [True, True]


def test_batches():
    v = tf.Variable(np.zeros((2, 3, 2), INT))
    v.batch_scatter_update(S(np.arange(8, dtype=INT).reshape(2, 2, 2), [[0, 2], [1, 1]]))
    assert v.numpy().tolist() == [[[0, 1], [0, 0], [2, 3]], [[0, 0], [6, 7], [0, 0]]]
    with pytest.raises(IAE, match=r"indices\[1, 0\] = 3 is not in \[0, 3\)"):
        v.batch_scatter_update(S(np.ones((2, 1, 2), INT), [[0], [3]]))
    for indices, shape in ((0, (2,)), ([[0]], (1, 1, 2)), (np.zeros((2, 3, 2, 1), INT), (2, 3, 2, 1)), ([[0], [0]], (2, 2))):
        with pytest.raises(IAE):
            v.batch_scatter_update(S(np.ones(shape, INT), indices))
    assert v.parameter.version == 1


def test_whole():
    v = tf.Variable([1.0, 2.0])
    assert v.assign([5, 6]) is v and v.assign_add([1.0, 1.0]).assign_sub(np.array([0, 2], F)).numpy().tolist() == [6, 5]
    assert v.assign([0.0, 0.0], read_value=False) is None and v.numpy().tolist() == [0, 0]
    for wrong in ([1.0], 1.0, [[1.0, 2.0]]):
        with pytest.raises(ValueError):
            v.assign(wrong)
    with pytest.raises(IAE):
        tf.Variable([True]).assign_add([True])


def test_what_a_variable_is():
    v = tf.Variable(lambda: [[1, 2]], name="emb", trainable=None)
    assert (v.name, v.shape, v.dtype, v.device, v.trainable, len(v)) == ("emb", (1, 2), INT, "cpu", True, 1)
    assert np.asarray(v).tolist() == v.value().tolist() == v.read_value().tolist() == [[1, 2]] and "emb" in repr(v)
    assert tf.Variable(np.ones(2), dtype="float32").dtype == F and tf.Variable([1], dtype=np.uint8).dtype == np.uint8
    taken = v.value()
    v.assign([[3, 4]])
    assert taken.tolist() == [[1, 2]]
    for twin in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert twin.assign([[0, 0]]) is twin and v.numpy().tolist() == [[3, 4]]
    with pytest.raises(ValueError):
        tf.Variable()


def test_a_variable_around_a_parameter():
    store = ps.ParamStore()
    p = store.create("user/emb", (4, 2), dtype="float32")
    v = tf.Variable.of(p)
    v.scatter_add(S(1.0, [3]))
    assert v.parameter is p and p.numpy()[3].tolist() == [1, 1] and p.version == 1
    assert tf.compat.v1.scatter_add(p, [3], [[1.0, 1.0]]).numpy()[3].tolist() == [2, 2]
    with pytest.raises(TypeError):
        tf.Variable.of(np.zeros(2))


@pytest.mark.parametrize(("op", "bad"), [("add", [0, 9]), ("update", [1, -1]), ("max", [0, 2**31 - 1])])
def test_all_or_nothing(op, bad):
    v = tf.Variable(np.zeros((3, 2), F))
    with pytest.raises(IAE) as error:
        getattr(v, f"scatter_{op}")(S(1.0, bad))
    assert isinstance(
        error.value, (IndexError, ValueError, RuntimeError, ParamstoreError)
    ) and f"scatter_{op}: indices[1] = {bad[1]}" in str(error.value)
    with pytest.raises(IAE):
        getattr(v, f"scatter_nd_{op}")([[0], [bad[1]]], np.ones((2, 2), F))
    assert not v.numpy().any() and v.parameter.version == 0


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
def test_division_by_zero(dtype):
    v = tf.Variable(np.full(3, 6, dtype))
    for values in (np.array([2, 0], dtype), np.zeros((), dtype)):
        with pytest.raises(IAE, match="must not contain 0") as error:
            v.scatter_div(S(values, [0, 1]))
        assert isinstance(error.value, ZeroDivisionError)
    assert v.numpy().tolist() == [6, 6, 6]
    assert v.scatter_div(S(np.array([2, 3], dtype), [0, 0])).numpy().tolist() == [1, 6, 6]


def test_lowest_integer_by_minus_one():
    v = tf.Variable(np.array([-(2**31), -7], INT))
    assert v.scatter_div(S([-1, 2], [0, 1])).numpy().tolist() == [-(2**31), -3]


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "min", "max"])
def test_bool_has_no_arithmetic(op):
    with pytest.raises(IAE):
        getattr(tf.Variable([True]), f"scatter_{op}")(S([True], [0]))
    assert tf.Variable([True]).scatter_update(S([False], [0])).numpy().tolist() == [False]


def test_strings_in_variables():
    v = tf.Variable(["a", "b"])
    assert v.dtype == object and v.scatter_update(S(["longer", b"\xff"], [1, 0])).numpy().tolist() == [b"\xff", b"longer"]
    assert tf.convert_to_tensor([b"a\0", "b"]).tolist() == [b"a\0", b"b"]
    with pytest.raises(IAE):
        v.scatter_add(S(["x"], [0]))
    with pytest.raises(IAE):
        v.scatter_update(S([1], [0]))


@pytest.mark.parametrize(
    ("x", "indices", "values"),
    [
        ((3, 2), [0], (1, 3)), ((3, 2), [0], (1, 1)), ((3, 2), [0, 1], (2,)), ((3, 2), [0], (2,)), ((3, 2), 0, (1, 2)), ((), 0, ()),
        ((3, 2), np.array([0], np.int16), (1, 2)), ((3, 2), np.array([0], np.uint8), (1, 2)), ((3, 2), [0.0], (1, 2)),
        ((3, 2), np.array([True]), (1, 2)),
    ],
)  # fmt: skip
def test_what_does_not_fit(x, indices, values):
    v = tf.Variable(np.zeros(x, F))
    with pytest.raises(IAE):
        v.scatter_add(S(np.ones(values, F), indices))
    assert not v.numpy().any()


@pytest.mark.parametrize("locking", [1, 0, "", "zz", np.True_])
def test_use_locking_is_a_bool(locking):
    with pytest.raises(TypeError, match="use_locking"):
        tf.Variable([1.0]).scatter_add(S([1.0], [0]), use_locking=locking)
    assert tf.Variable([1.0]).scatter_add(S([1.0], [0]), use_locking=None).numpy() == [2.0]
