"""Parameters on a stand-in for a GPU: memory, moving, reading and writing, copies, stores, and locks that order streams."""

import copy
import pickle
import threading

import numpy as np
import pytest
from cuda_host.array import HostArray
from cuda_host.device import on, stream

import paramstore as ps
from paramstore.errors import (
    ArgumentError,
    DeviceError,
    DtypeError,
    IndexOutOfBounds,
    MissingKernel,
    ParameterCastError,
    ScalarRangeError,
    ShapeError,
    TargetError,
    TooLarge,
)

pytestmark = pytest.mark.usefixtures("gpu")
DTYPES = [d for d in ps.dtypes.NUMERIC if d != "bfloat16"]


def table(rows=4, dtype=np.float32):
    return np.arange(rows * 2).reshape(rows, 2).astype(dtype)


def test_where_it_lives(gpu):
    p = ps.Parameter(table(), "emb", device="cuda")
    assert p.device == "cuda:0" and ps.Parameter(table(), device="cuda:1").device == "cuda:1" and ps.Parameter(table()).device == "cpu"
    with on(1):
        assert ps.Parameter(table(), device="cuda").device == "cuda:1"
    assert (p.shape, p.dtype, p.ndim, p.size, p.nbytes, len(p), p.version) == ((4, 2), np.float32, 2, 8, 32, 4, 0)
    assert repr(p) == "Parameter('emb', shape=(4, 2), dtype=float32, device='cuda:0', version=0)"
    assert p.numpy().tolist() == table().tolist() and [r.get().tolist() for r in p] == table().tolist()


@pytest.mark.parametrize(
    ("device", "text"),
    [("cuda:2", r"does not exist; there are cuda:0, cuda:1"), ("cuda:x", "unknown"), ("cuda:", "unknown"), ("cuda:-1", "unknown"), ("tpu", "unknown"), (0, "unknown"), (b"cuda", "unknown")],
)
def test_devices_that_are_none(device, text):
    for call, make in (("Parameter", lambda: ps.Parameter([1.0], device=device)), ("create", lambda: ps.ParamStore().create("x", (1,), device=device)), ("to", lambda: ps.Parameter([1.0]).to(device))):
        with pytest.raises(DeviceError, match=f"{call}: device = .*{text}"):
            make()


def test_the_value_decides_by_default(gpu):
    there = gpu.devices[1].put(table())
    p = ps.Parameter(there)
    assert p.device == "cuda:1" and p.numpy().tolist() == table().tolist() and p.value.data.ptr != there.data.ptr
    assert ps.Parameter(there, device="cpu").device == "cpu" and ps.Parameter(there, device="cuda:0").device == "cuda:0"
    assert ps.Parameter(p).device == "cuda:1" and ps.Parameter(there, dtype="float64").dtype == np.float64


def test_wraps_memory_of_the_device(gpu):
    there = gpu.devices[0].put(table())
    p = ps.Parameter(there, copy=False)
    p.scatter_add([1], np.ones((1, 2), np.float32))
    assert there.get()[1].tolist() == [3.0, 4.0] and p.value.data.ptr == there.data.ptr
    with pytest.raises(DeviceError, match="value is on cuda:0, not on cuda:1"):
        ps.Parameter(there, device="cuda:1", copy=False)
    with pytest.raises(DeviceError, match="value is on cpu, not on cuda:0"):
        ps.Parameter(table(), device="cuda", copy=False)
    with pytest.raises(DtypeError, match="must be float64"):
        ps.Parameter(there, copy=False, dtype="float64")
    with pytest.raises(TargetError, match="C-contiguous"):
        ps.Parameter(there[:, :1], copy=False)
    with pytest.raises(TargetError, match="not its own"):
        p.resize(9)

    class ReadOnly:
        __cuda_array_interface__ = {**there.__cuda_array_interface__, "data": (there.data.ptr, True)}

    with pytest.raises(TargetError, match="read-only"):
        ps.Parameter(ReadOnly(), copy=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    x = table(dtype=dtype)
    p = ps.Parameter(x, device="cuda")
    p.scatter_update([3, 0], x[:2])
    assert p.dtype == x.dtype and p.numpy().tolist() == np.concatenate([x[1:2], x[1:3], x[:1]]).tolist()
    assert p[[0, 1]].get().tolist() == x[[1, 1]].tolist() and p.gather_nd([[3, 1]]).get().tolist() == [x[0, 1].item()]


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([None]), np.array(["2020"], "M8[D]"), np.zeros(1, [("a", "i4")])], ids=repr)
def test_dtypes_that_live_on_the_cpu(value):
    with pytest.raises(DtypeError, match="cannot live on cuda:0"):
        ps.Parameter(value, device="cuda")
    with pytest.raises(DtypeError, match="cannot live on cuda:0"):
        ps.ParamStore().create("x", (1,), value.dtype, device="cuda")


def test_moving():
    p = ps.Parameter(table(), "emb", trainable=False)
    p.scatter_add([0], [[1.0, 1.0]])
    assert p.to("cpu") is p
    q = p.to("cuda:1")
    assert (q.device, q.name, q.trainable, q.version) == ("cuda:1", "emb", False, 1) and q.to("cuda:1") is q
    q.scatter_add([0], [[1.0, 1.0]])
    back = q.to("cuda:0").to("cpu")
    assert back.numpy()[0].tolist() == [2.0, 3.0] and p.numpy()[0].tolist() == [1.0, 2.0] and back.version == 2


def test_reading(gpu):
    p = ps.Parameter(table(), device="cuda")
    live, read, host = p.value, p.read(), p.numpy()
    p.assign(table() + 1)
    assert type(live) is type(read) is HostArray and type(host) is np.ndarray
    assert live.get().tolist() == (table() + 1).tolist() and read.get().tolist() == host.tolist() == table().tolist()
    with pytest.raises(DeviceError, match=r"Parameter 'x' is on cuda:0; ask for a copy with numpy\(\)"):
        np.asarray(ps.Parameter([1.0], "x", device="cuda"))
    assert not hasattr(ps.Parameter([1.0]), "__cuda_array_interface__") and p.__cuda_array_interface__["data"] == (live.data.ptr, False)


def test_writing_whole():
    p = ps.Parameter(table(), device="cuda")
    p.assign(table() + 1).assign_add(table()).assign_sub(np.ones((4, 2), np.float32), use_locking=True)
    assert p.numpy().tolist() == (2 * table()).tolist() and p.version == 3
    p.assign(ps.Parameter(table(), device="cuda"))
    assert p.assign_add([[1.0, 1.0]] * 4).numpy().tolist() == (table() + 1).tolist()
    scalar = ps.Parameter(2.0, device="cuda").assign_add(3.0)
    assert scalar.numpy() == 5.0 and scalar.shape == ()
    with pytest.raises(ShapeError):
        p.assign(np.zeros((2, 4), np.float32))
    with pytest.raises(ParameterCastError):
        p.assign(np.zeros((4, 2)))
    with pytest.raises(DeviceError, match="assign: value is on cuda:1"):
        p.assign(ps.Parameter(table(), device="cuda:1"))


def test_a_whole_write_does_not_wait(gpu):
    p, value = ps.Parameter(table(), device="cuda"), gpu.devices[0].put(table())
    gpu.devices[0].log.clear()
    p.assign(value).assign_add(value)
    assert not gpu.devices[0].seen("get", "synchronize")


def test_writing_rows():
    p = ps.Parameter(table(), device="cuda")
    p[1] = [7.0, 8.0]
    p[[0, 3]] = 5.0
    p[np.array([2])] = np.array([9.0, 9.0], np.float32)
    assert p.numpy().tolist() == [[5, 5], [7, 8], [9, 9], [5, 5]] and p.version == 3
    p[[0, 1]] = p[[2, 3]]
    assert p.numpy()[:2].tolist() == [[9, 9], [5, 5]]
    with pytest.raises(ShapeError, match="does not spread"):
        p[[0, 1]] = np.zeros((3, 2), np.float32)
    with pytest.raises(IndexOutOfBounds, match=r"ids\[0\]|indices\[0\] = 4"):
        p[[4]] = 0.0


def test_conversions(gpu):
    """Updates widen to the Parameter's dtype there; the Parameter never converts; literals must fit."""
    p = ps.Parameter(np.zeros(3, np.float32), device="cuda")
    p.scatter_add(gpu.devices[0].put(np.array([1], np.int16)), gpu.devices[0].put(np.array([2], np.int32)))
    p.scatter_add([2], np.array([True]))
    assert p.numpy().tolist() == [0.0, 2.0, 1.0]
    with pytest.raises(ParameterCastError):
        p.scatter_add([0], gpu.devices[0].put(np.array([2.0])))
    with pytest.raises(ScalarRangeError):
        ps.Parameter(np.zeros(3, np.uint8), device="cuda").scatter_add([0], [300])
    with pytest.raises(ArgumentError, match="bounds"):
        p.scatter_add([0], [1.0], bounds="wrap")


def test_operands_of_other_libraries(gpu):
    """Memory that shows __cuda_array_interface__ or DLPack is used where it is."""
    ids, u = np.array([2, 0]), np.array([1.0, 2.0], np.float32)

    class Interface:
        def __init__(self, array):
            self.held = HostArray(array, 0)
            self.__cuda_array_interface__ = self.held.__cuda_array_interface__

    class DLPack:
        def __init__(self, array, kind=2):
            self._host, self.kind = array, kind

        def __dlpack__(self, **options):
            raise AssertionError("NumPy must not ask for it")

        def __dlpack_device__(self):
            return self.kind, 0

    for wrap in (Interface, DLPack, lambda a: DLPack(a, 13)):
        p = ps.Parameter(np.zeros(3, np.float32), device="cuda")
        gpu.devices[0].log.clear()
        assert p.scatter_add(wrap(ids), wrap(u)).numpy().tolist() == [2.0, 0.0, 1.0]
        assert not gpu.devices[0].seen("put") or wrap is None
        assert ps.gather(wrap(u), wrap(ids % 2)).get().tolist() == [1.0, 1.0]
        with pytest.raises(DeviceError, match="scatter_add: updates is a .* on a GPU, the call runs on the CPU"):
            ps.Parameter(np.zeros(3, np.float32)).scatter_add(ids, wrap(u))
    with on(1), pytest.raises(DeviceError, match="indices is on cuda:1, the call runs on cuda:0"):
        ps.Parameter(np.zeros(3, np.float32), device="cuda:0").scatter_add(Interface(ids), u)


def test_what_cannot_be_taken_over(gpu):
    class Broken:
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("requires grad")

        def __dlpack_device__(self):
            return 2, 0

    with pytest.raises(DeviceError, match="updates of type Broken cannot be read on a GPU: requires grad|cannot be read on a GPU"):
        ps.Parameter(np.zeros(3), device="cuda").scatter_add([0], Broken())


def test_resize():
    p = ps.Parameter(table(), device="cuda:1")
    old = p.value
    assert p.resize(6, ps.init.constant(3)).numpy().tolist() == table().tolist() + [[3, 3], [3, 3]]
    assert p.resize(1).numpy().tolist() == [[0, 1]] and p.device == "cuda:1" and old.shape == (4, 2) and p.resize(2).numpy()[1].tolist() == [0, 0]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))], ids=["copy", "deepcopy", "pickle"])
def test_copies_stay_on_the_device(duplicate):
    p = ps.Parameter(table(), "emb", device="cuda:1", trainable=False).scatter_add([0], [[1.0, 1.0]])
    q = duplicate(p)
    assert (q.device, q.name, q.trainable, q.version) == ("cuda:1", "emb", False, 1) and q.value.data.ptr != p.value.data.ptr
    assert q.numpy().tolist() == p.numpy().tolist() and q.lock is not p.lock


def test_stores(gpu):
    store = ps.ParamStore()
    p = store.create("a", (1000, 8), initializer=ps.init.normal(seed=1), device="cuda:1")
    assert p.device == "cuda:1" and p.numpy().tolist() == ps.ParamStore().create("a", (1000, 8), initializer=ps.init.normal(seed=1)).numpy().tolist()
    assert store.create("b", (2,), "int32", device="cuda").numpy().tolist() == [0, 0] and store.num_bytes == 32008
    assert "on cuda:1" in repr(store) and store.get_or_create("a", (1000, 8), device="cuda:1") is p
    assert store.create("c", (), initializer=2.5, device="cuda").numpy() == 2.5
    with pytest.raises(TooLarge, match="Out of memory"):
        store.create("d", (1 << 40,), device="cuda")
    with pytest.raises(TooLarge):
        ps.scatter_nd(np.array([[0]]), gpu.devices[0].put(np.ones(1)), (1 << 40,))
    with pytest.raises(TooLarge):
        ps.gather(gpu.devices[0].put(np.ones((1, 1 << 10))), np.zeros(1 << 21, np.int64))


def test_a_lock_orders_streams(gpu):
    """Whoever takes the lock on another stream waits there for the last holder's work; the host waits for nothing."""
    device = gpu.devices[0]
    p = ps.Parameter(np.zeros(3, np.float32), device="cuda")
    device.log.clear()
    with stream(1):
        p.scatter_add([0], [1.0], use_locking=True)
    with stream(2):
        p.scatter_add([0], [1.0], use_locking=True)
        p.scatter_add([0], [1.0], use_locking=True)
    assert device.seen("record", "wait") == [("record", 1, 0), ("wait", 2, 0), ("record", 2, 1), ("record", 2, 2)]
    kinds = [entry[0] for entry in device.log if entry[0] in ("record", "wait", "launch")]
    assert kinds.index("record") > kinds.index("launch") and kinds[kinds.index("wait") + 1] == "launch"
    device.log.clear()
    with stream(3), p.lock, p.lock:
        p.scatter_add([0], [1.0], use_locking=True)
    assert device.seen("record", "wait") == [("wait", 3, 2), ("record", 3, 3)]
    device.log.clear()
    with stream(4):
        p.scatter_add([0], [1.0])
        assert not device.seen("record", "wait")
        assert p.read().get()[0] == 5 and device.seen("wait") == [("wait", 4, 3)]


def test_a_lock_is_a_lock():
    p = ps.Parameter(np.zeros(1, np.int64), device="cuda")
    with pytest.raises(RuntimeError):
        p.lock.release()
    taken = []

    def other():
        taken.append(p.lock.acquire(blocking=False))
        with pytest.raises(RuntimeError):
            p.lock.release()

    with p.lock:
        assert "held" in repr(p.lock)
        t = threading.Thread(target=other)
        t.start()
        t.join()
    assert taken == [False] and "free" in repr(p.lock)
    with pytest.raises(IndexOutOfBounds):
        p.scatter_add([5], [1], use_locking=True)
    assert p.lock.acquire(timeout=1) is True
    p.lock.release()


def test_no_locked_update_is_lost():
    p = ps.Parameter(np.zeros(2, np.int64), device="cuda")

    def work():
        for _ in range(20):
            p.scatter_mul([0], [1], use_locking=True).scatter_add([0, 1, 1], [1, 1, 1], use_locking=True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert p.read().get().tolist() == [80, 160] and p.version == 160


def test_explanations():
    fast, ordered = ps.explain("scatter_add", device="cuda:1").kernel, None
    with ps.deterministic():
        ordered = ps.explain("scatter_add", device="cuda").kernel
    assert fast.mode == "fast" and ordered.mode == "ordered" and fast.name.endswith("rows.add.float32.fast") and ordered.name.endswith("rows.add.float32")
    listed = ps.kernels(device="cuda", op="scatter_add", dtype="float32")
    assert {k.mode for k in listed} == {"fast", "ordered"} and "cuda" in str(listed)


def test_what_runs_on_the_cpu_only(gpu):
    p = ps.Parameter(table(), "emb", device="cuda")
    with pytest.raises(DeviceError, match="SGD.apply: emb is on cuda:0; optimizers run on the CPU only"):
        ps.optim.SGD(0.1).apply(p, ps.IndexedSlices([1], np.ones((1, 2), np.float32), p.shape))
    with pytest.raises(MissingKernel, match="device cuda:0"):
        ps.embedding_bag(p, [1, 2], [0])
    with pytest.raises(DeviceError, match="embedding: param is on a GPU, where lookups leave no ids out; padding_idx = 1"):
        ps.embedding(p, [1, 2], padding_idx=1)
    with pytest.raises(DeviceError, match="on a GPU, the call runs on the CPU"):
        ps.IndexedSlices(gpu.devices[0].put(np.array([1])), np.ones((1, 2), np.float32))
    assert p.numpy().tolist() == table().tolist() and ps.embedding(p, [1]).get().tolist() == [[2.0, 3.0]]
