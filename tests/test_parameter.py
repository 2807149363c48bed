"""What a Parameter is: its memory, reading and writing it whole and by rows, copies, lock and version."""

import copy
import pickle
import threading

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import ArgumentError, DeviceError, DtypeError, ParameterCastError, ScalarRangeError, ShapeError, TargetError

RECORD = np.dtype([("a", "i4"), ("b", "f8")])


def table(rows=4, dtype=np.float32):
    return np.arange(rows * 2).reshape(rows, 2).astype(dtype)


VALUES = {
    "bool": np.array([True, False, True]),
    "int8": np.array([-128, 0, 127], np.int8),
    "uint64": np.array([0, 1, 2**64 - 1], np.uint64),
    "float16": np.array([0, -0.0, np.inf], np.float16),
    "complex64": np.array([1j, 2, 3 - 1j], np.complex64),
    "str": np.array(["a", "bcd", ""]),
    "bytes": np.array([b"a", b"bcd", b""]),
    "string": np.array(["a", "a much longer string than fits inline", ""], np.dtypes.StringDType()),
    "object": np.array(["a", None, {"k": 1}], object),
    "struct": np.array([(1, 2.5), (3, 4.5), (5, 6.5)], RECORD),
    "time": np.array(["2020-01-01", "1970-01-01", "NaT"], "M8[D]"),
}
every_value = pytest.mark.parametrize("kind", VALUES)


def test_variable_is_parameter():
    assert ps.Variable is ps.Parameter


def test_attributes():
    p = ps.Parameter(table(), "emb", trainable=False)
    assert (p.name, p.shape, p.dtype, p.device, p.trainable, p.version, p.nbytes) == ("emb", (4, 2), np.float32, "cpu", False, 0, 32)
    assert (p.ndim, p.size, len(p)) == (2, 8, 4) and ps.Parameter(0.0).name == "" and ps.Parameter(0.0).trainable is True
    assert [row.tolist() for row in p] == table().tolist()
    with pytest.raises(ShapeError):
        len(ps.Parameter(1.0))


def test_a_useful_repr():
    assert repr(ps.Parameter(table(), "emb")) == "Parameter('emb', shape=(4, 2), dtype=float32, device='cpu', version=0)"
    assert "trainable=False" in repr(ps.Parameter(table(), "emb", trainable=False))


@pytest.mark.parametrize("value", [[1, 2], (1.5, 2), 3, np.arange(6)[::-2], np.asfortranarray(table()), table().T, np.float16(1), True, "text"], ids=repr)
def test_from_array_likes(value):
    p = ps.Parameter(value)
    assert p.dtype == np.asarray(value).dtype and p.numpy().tolist() == np.asarray(value).tolist()
    assert p.value.flags.c_contiguous and p.value.flags.writeable and p.value.flags.aligned and not p.value.flags.owndata


def test_copies_by_default():
    x = table()
    p = ps.Parameter(x)
    p.scatter_add([0], np.ones((1, 2), np.float32))
    assert x.tolist() == table().tolist() and not np.shares_memory(p.value, x)


def test_dtype_argument():
    assert ps.Parameter([1, 2], dtype="float16").dtype == np.float16 and ps.Parameter(np.array([1], ">i4")).dtype == np.dtype("=i4")
    assert ps.Parameter(["a"], dtype=np.dtypes.StringDType()).dtype == np.dtypes.StringDType()
    for bad in ("float99", object(), 5, "f4,(", ("f4", -1), "(2,)f4"):
        with pytest.raises(DtypeError, match="dtype"):
            ps.Parameter([1.0], dtype=bad)
    with pytest.raises(DtypeError):
        ps.Parameter(np.array(["a"]), dtype="float32")


@pytest.mark.parametrize(
    ("argument", "value", "error"),
    [("copy", 0, DtypeError), ("trainable", 1, DtypeError), ("name", None, DtypeError), ("device", "tpu", DeviceError), ("device", "cuda:x", DeviceError), ("device", 0, DeviceError)],
)
def test_bad_arguments(argument, value, error):
    with pytest.raises(error, match=argument):
        ps.Parameter([1.0], **{argument: value})


def test_wraps_another_array():
    x = table()
    p = ps.Parameter(x, copy=False)
    p.scatter_add([1], np.ones((1, 2), np.float32))
    assert x[1].tolist() == [3.0, 4.0] and np.shares_memory(x, p.value)
    x[0] = 9
    assert p.numpy()[0].tolist() == [9.0, 9.0]
    with pytest.raises(DtypeError, match="must be float64"):
        ps.Parameter(x, copy=False, dtype="float64")
    with pytest.raises(TargetError, match="not its own"):
        p.resize(9)


def test_wraps_a_memmap(tmp_path):
    np.save(tmp_path / "x.npy", table())
    mapped = np.lib.format.open_memmap(tmp_path / "x.npy", mode="r+")
    p = ps.Parameter(mapped, copy=False)
    p.scatter_add([1], np.ones((1, 2), np.float32))
    mapped.flush()
    assert np.load(tmp_path / "x.npy")[1].tolist() == [3.0, 4.0] and type(p.value) is np.ndarray
    with pytest.raises(TargetError, match="read-only"):
        ps.Parameter(np.lib.format.open_memmap(tmp_path / "x.npy", mode="r"), copy=False)


def test_value_is_live_and_numpy_and_read_are_not():
    p = ps.Parameter(table())
    live, one, other = p.value, p.numpy(), p.read(use_locking=True)
    p.assign(table() + 1)
    assert live.tolist() == (table() + 1).tolist() and one.tolist() == other.tolist() == table().tolist()
    live[0] = 7
    assert p.numpy()[0].tolist() == [7.0, 7.0] and p.version == 1


@every_value
def test_every_dtype(kind):
    x = VALUES[kind]
    p = ps.Parameter(x, "x")
    assert p.dtype == x.dtype and p.numpy().tolist() == x.tolist() and p.value.dtype == x.dtype
    assert p[[2, 0]].tolist() == x[[2, 0]].tolist() == p.gather([2, 0]).tolist() == p.gather_nd([[2], [0]]).tolist()
    p.scatter_update(np.array([0, 1, 0]), x[[1, 2, 2]])
    p.scatter_nd_update(np.array([[1]]), x[:1])
    assert p.numpy().tolist() == x[[2, 0, 2]].tolist() and p.version == 2
    p[1] = x[1]
    p.assign(p.numpy()[::-1].tolist() if kind != "time" else p.numpy()[::-1])
    assert p.numpy().tolist() == x[[2, 1, 2]].tolist()
    assert ps.tensor_scatter_update(x, [[2]], x[:1]).tolist() == x[[0, 1, 0]].tolist()
    assert ps.scatter(x, np.array([-1]), x[:1]).tolist() == x[[0, 1, 0]].tolist()
    assert pickle.loads(pickle.dumps(p)).numpy().tolist() == copy.deepcopy(p).numpy().tolist() == p.numpy().tolist()
    assert p.resize(4).shape == (4,) and p[[0, 1, 2]].tolist() == x[[2, 1, 2]].tolist()


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    p = ps.Parameter([0.0, 1.0], dtype="bfloat16")
    assert p.dtype == ml_dtypes.bfloat16
    p.scatter_add([0] * 300, np.ones(300, ml_dtypes.bfloat16))
    assert p.numpy().astype(float).tolist() == [256.0, 1.0]  # 256 + 1 rounds to 256
    assert pickle.loads(pickle.dumps(p)).dtype == ml_dtypes.bfloat16


def test_text_that_would_be_cut():
    p = ps.Parameter(np.array(["ab", "c"]))
    with pytest.raises(ScalarRangeError, match="longer"):
        p.scatter_update([0], ["abc"])
    with pytest.raises(ParameterCastError):
        p.scatter_update([0], np.array(["abc"]))
    assert p.scatter_update([1], np.array(["z"])).numpy().tolist() == ["ab", "z"]


def test_assign():
    p = ps.Parameter(table())
    live = p.value
    assert p.assign(table() * 2) is p and p.assign_add(table()) is p and p.assign_sub(np.ones((4, 2), np.float32), use_locking=True) is p
    assert live.tolist() == (table() * 3 - 1).tolist() and p.version == 3
    p.assign(p.value[::-1])  # reads what it writes
    assert live.tolist() == (table() * 3 - 1)[::-1].tolist()
    for bad, error in ((np.zeros(2, np.float32), ShapeError), (np.zeros((4, 2)), ParameterCastError), (0, ShapeError), (None, DtypeError), ("x", DtypeError)):
        for call in (p.assign, p.assign_add, p.assign_sub):
            before = p.numpy().tobytes(), p.version
            with pytest.raises(error, match="assign"):
                call(bad)
            assert (p.numpy().tobytes(), p.version) == before
    assert ps.Parameter(5).assign_add(2).numpy() == 7 and ps.Parameter(np.zeros((0, 3))).assign(np.zeros((0, 3))).size == 0


def test_rows_by_brackets():
    p = ps.Parameter(table())
    assert p[1].tolist() == [2.0, 3.0] and p[[3, 3]].tolist() == [[6.0, 7.0]] * 2 and p[np.array([[0], [1]])].shape == (2, 1, 2)
    p[1] = [8.0, 9.0]
    p[[0, 3]] = np.float32(5)
    p[[2, 2]] = np.array([[1, 1], [2, 2]], np.float32)
    assert p.numpy().tolist() == [[5.0, 5.0], [8.0, 9.0], [2.0, 2.0], [5.0, 5.0]] and p.version == 3
    got = p[[0]]
    got[...] = 0
    assert p[0].tolist() == [5.0, 5.0]


@pytest.mark.parametrize("ids", [4, -1, [0, 4], 2**63, slice(None), None, ..., True, 1.5, "a", [True, False, True, False], (0, slice(1))], ids=repr)
def test_bad_brackets(ids):
    p = ps.Parameter(table())
    inside = IndexError if isinstance(ids, (int, list)) and not isinstance(ids, bool) and ids != [True, False, True, False] else TypeError
    with pytest.raises(inside):
        p[ids]
    with pytest.raises(inside):
        p[ids] = 1
    for value, error in (([1.0, 2.0, 3.0], ShapeError), (np.zeros(2), ParameterCastError), (None, DtypeError)):
        with pytest.raises(error):
            p[0] = value
    assert p.numpy().tolist() == table().tolist() and p.version == 0


def test_gather():
    x = np.arange(24.0).reshape(2, 3, 4)
    p = ps.Parameter(x)
    assert p.gather([[1, 0]], axis=1).tolist() == x[:, [[1, 0]]].tolist() and p.gather(2, axis=-1, use_locking=True).tolist() == x[..., 2].tolist()
    assert p.gather_nd([[1, 2], [0, 0]]).tolist() == [x[1, 2].tolist(), x[0, 0].tolist()]
    assert p.gather([0, 9, -1], bounds="drop").tolist() == [x[0].tolist(), *np.zeros((2, 3, 4)).tolist()]
    assert p.gather([9, -1], axis=1, bounds="clip").tolist() == x[:, [2, 0]].tolist()
    with pytest.raises(IndexError, match=r"gather: indices\[1\] = 3 is not in \[0, 3\)"):
        p.gather([0, 3], axis=1)
    assert p.version == 0


def test_resize():
    p = ps.Parameter(table())
    old = p.value
    assert p.resize(6) is p and p.numpy().tolist() == table().tolist() + [[0.0, 0.0]] * 2 and p.version == 1
    p.scatter_update([5], [[1.0, 1.0]])
    assert old.tolist() == table().tolist() and p.resize(7, 3).numpy()[5:].tolist() == [[1.0, 1.0], [3.0, 3.0]]
    assert p.resize(2).numpy().tolist() == table()[:2].tolist() and p.resize(0).shape == (0, 2)
    assert p.resize(2, ps.init.constant(4)).numpy().tolist() == [[4.0, 4.0]] * 2
    for rows, error in ((-1, ShapeError), (1.0, DtypeError), (True, DtypeError), (None, DtypeError), (2**58, ps.errors.TooLarge)):
        with pytest.raises(error, match="resize"):
            p.resize(rows)
    with pytest.raises(ShapeError):
        p.resize(3, np.zeros((9, 9)))
    with pytest.raises(ShapeError):
        ps.Parameter(1.0).resize(2)
    assert p.shape == (2, 2)


def test_numpy_protocols():
    p = ps.Parameter(table())
    assert np.shares_memory(np.asarray(p), p.value) and not np.shares_memory(np.array(p), p.value)
    assert np.asarray(p, dtype=np.float64).dtype == np.float64 and (p.value + np.asarray(p)).tolist() == (2 * table()).tolist()
    with pytest.raises(ArgumentError):
        np.array(p, dtype=np.float64, copy=False)
    twin = np.from_dlpack(p)
    p.scatter_add([0], np.ones((1, 2), np.float32))
    assert np.shares_memory(twin, p.value) and twin[0].tolist() == [1.0, 2.0] and p.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))], ids=["copy", "deepcopy", "pickle"])
def test_copies_are_by_value(duplicate):
    p = ps.Parameter(table(), "emb", trainable=False)
    p.scatter_add([0], np.ones((1, 2), np.float32))
    twin = duplicate(p)
    assert (twin.name, twin.trainable, twin.dtype) == ("emb", False, p.dtype) and twin.value.tobytes() == p.value.tobytes()
    p.assign(0 * table())
    assert twin.numpy()[0].tolist() == [1.0, 2.0] and twin.lock is not p.lock
    twin.resize(1).scatter_add([0], [[1.0, 1.0]], use_locking=True)


def test_the_lock_is_public_and_reentrant():
    p, entered = ps.Parameter(table()), threading.Event()
    other = threading.Thread(target=lambda: (p.scatter_add([0], [[1.0, 1.0]], use_locking=True), entered.set()))
    assert p.lock.acquire(timeout=5) and p.lock.acquire(timeout=5)
    p.lock.release(), p.lock.release()
    with p.lock, p.lock:
        p.scatter_add([0], [[1.0, 1.0]], use_locking=True)
        p.assign(p.read(), use_locking=True)
        other.start()
        assert not entered.wait(0.1)
        p.scatter_add([1], [[1.0, 1.0]])
    assert entered.wait(5)
    other.join()
    assert p.numpy()[0].tolist() == [2.0, 3.0] and p.version == 4


def test_version_counts_calls_that_completed():
    p = ps.Parameter(table())
    p.scatter_add(np.zeros((0,), int), np.zeros((0, 2), np.float32))
    for bad in ([9], [-1], [0.5]):
        with pytest.raises(ps.errors.ParamstoreError):
            p.scatter_add(bad, [[1.0, 1.0]])
    assert p.version == 1


class Sharing:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


class Copying(Sharing):
    def __array__(self, dtype=None, copy=None):
        return self.array.copy()


@pytest.mark.parametrize("value", [range(3), np.float64(3), np.str_("a"), Copying(np.zeros(3)), {1, 2}, iter([1])], ids=repr)
def test_what_numpy_can_only_copy_is_not_wrapped(value):
    with pytest.raises(DtypeError, match=r"Parameter\(copy=False\): value"):
        ps.Parameter(value, copy=False)


def test_wraps_what_shares_its_memory():
    x = np.zeros(3)
    for value in (Sharing(x), memoryview(x), ps.Parameter(x, copy=False)):
        ps.Parameter(value, copy=False).scatter_add([1], [1.0])
    assert x.tolist() == [0, 3, 0] and ps.Parameter(np.zeros(0), copy=False).size == 0


def test_the_memory_under_a_parameter_stays_where_it_is():
    """Nobody can resize the array that owns it, neither ours nor one that is wrapped."""
    x = np.zeros((4, 2))
    store = ps.ParamStore()
    made = [ps.Parameter(x), ps.Parameter(x, copy=False), ps.Parameter(x[1:], copy=False), store.create("x", (4, 2)), ps.Parameter([0.0]).resize(9)]
    made += [ps.Parameter(VALUES[kind]) for kind in ("str", "string", "object", "struct", "time")]
    for p in made:
        owner = p.value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        with pytest.raises(ValueError, match="cannot resize"):
            owner.resize(10**6, refcheck=False)
    del made, p, owner
    x.resize(100, refcheck=False)  # no Parameter is left
    assert x.size == 100


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, *(lambda p, k=k: pickle.loads(pickle.dumps(p, k)) for k in range(pickle.HIGHEST_PROTOCOL + 1))])
def test_a_parameter_that_contains_itself(duplicate):
    for dtype in (object, [("a", "O"), ("b", "i4")]):
        p = ps.Parameter(np.zeros(3, dtype), "self", trainable=False)
        cells = p.value if dtype is object else p.value["a"]
        cells[0], cells[1] = p, [p, 1.5]
        twin = duplicate(p)
        got = twin.value if dtype is object else twin.value["a"]
        expected = p if duplicate is copy.copy else twin
        assert twin is not p and got[0] is expected and got[1][0] is expected and got[1][1] == 1.5
        assert (twin.name, twin.trainable, twin.version, twin.dtype) == ("self", False, 0, p.dtype)
