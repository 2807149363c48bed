"""Every public operator on a stand-in for a GPU: the CPU's bits, the CPU's errors, nothing changed by them, and no wait that is not promised."""

from __future__ import annotations

from contextlib import nullcontext

import loops
import numpy as np
import pytest
from faults import CASES, WRITES, R, W, table

import paramstore as ps
from paramstore.errors import DeviceError, DtypeError, IndexOutOfBounds, ParamstoreError, ShapeError, ZeroDivisor

pytestmark = pytest.mark.usefixtures("gpu")
every = pytest.mark.parametrize("case", CASES, ids=repr)
every_write = pytest.mark.parametrize("case", WRITES, ids=repr)
AT = "cuda:1"


def on(runtime, value, ordinal=1):
    return runtime.devices[ordinal].put(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value


def target_of(case, runtime, array):
    return ps.Parameter(array, device=AT) if case.inplace else on(runtime, array)


def result_of(found):
    """The result on the host, which must have come from the device."""
    if isinstance(found, ps.Parameter):
        assert found.device == AT
        return found.numpy()
    assert found.device.id == 1
    return found.get()


def by_hand(case):
    return case.name in ("scatter_nd",)  # runs where its updates are: it has no target


def sample(case, dtype, n=40, seed=0, exact=False):
    """A table, ids that repeat, and updates; with ``exact``, those whose results no order changes."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, R, n)
    x, shape = table(dtype), None if case.update_shape is None else (n, *case.update_shape[1:])
    if shape is None:
        return x, rows, None
    if exact:
        if case.op == "update":
            rows = rng.permutation(R)
            shape = (R, *shape[1:])
        u = rng.choice(np.array([1, 2] if case.op in ("mul", "div") else [1, 2, 3], dtype), shape)
        if case.op in ("mul", "div"):
            u[6:] = 1
        return x, rows, u
    u = rng.standard_normal(shape) * 100 if np.dtype(dtype).kind == "f" else rng.integers(1, 100, shape)
    return x, rows, u.astype(dtype)


@every
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
@pytest.mark.parametrize("placed", ["device", "host", "int32 ids", "lists"])
def test_the_bits_of_the_cpu(case, dtype, placed, gpu):
    """Wherever the operands come from, in the order of the defining loop."""
    if placed != "device" and by_hand(case):
        pytest.skip("it would run on the CPU")
    x, rows, u = sample(case, dtype)
    ids = case.indices(*rows, dtype=np.int32 if placed == "int32 ids" else np.int64)
    wanted = case.call(ps.Parameter(x) if case.inplace else x, ids, u)
    wanted = wanted.numpy() if case.inplace else wanted
    if placed in ("device", "int32 ids"):
        ids, u = on(gpu, ids), on(gpu, u)
    elif placed == "lists":
        ids = ids.tolist()
    with ps.deterministic():
        found = result_of(case.call(target_of(case, gpu, x), ids, u))
    loops.assert_same(found, wanted)


@every_write
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_any_order(case, dtype, gpu):
    """Without the order, where no order changes the result."""
    x, rows, u = sample(case, dtype, exact=True)
    ids = case.indices(*rows)
    wanted = case.call(ps.Parameter(x) if case.inplace else x, ids, u)
    found = case.call(target_of(case, gpu, x), on(gpu, ids), on(gpu, u))
    loops.assert_same(result_of(found), wanted.numpy() if case.inplace else wanted)


@every
@pytest.mark.parametrize("bounds", ["drop", "clip"])
def test_other_bounds_neither_fail_nor_wait(case, bounds, gpu):
    x, ids = table(), case.indices(0, R, -R - 1, 4, 2**40, 1)
    u = None if case.update_shape is None else np.arange(1, 6 * W + 1, dtype=np.float32).reshape(6, W)
    wanted = case.call(ps.Parameter(x) if case.inplace else x, ids, u, bounds=bounds)
    target, there, updates = target_of(case, gpu, x), on(gpu, ids), on(gpu, u)
    gpu.devices[1].log.clear()
    with ps.deterministic():
        found = case.call(target, there, updates, bounds=bounds)
    assert not gpu.devices[1].seen("get", "synchronize")
    loops.assert_same(result_of(found), wanted.numpy() if case.inplace else wanted)


@every
def test_bounds_raise_reads_a_few_bytes(case, gpu):
    target, ids, u = target_of(case, gpu, table()), on(gpu, case.indices(0, 1, 4)), on(gpu, case.updates())
    gpu.devices[1].log.clear()
    case.call(target, ids, u)
    reads = gpu.devices[1].seen("get", "synchronize")
    assert len(reads) <= 1 and all(nbytes <= 16 for _, nbytes in reads)


def refused(case, runtime, ids, u, error, dtype=np.float32, **options):
    """The call fails as on the CPU, word for word, and leaves the target as it was."""
    x = table(dtype)
    with pytest.raises(error) as on_cpu:
        case.call(ps.Parameter(x) if case.inplace else x, ids, u, **options)
    for mode in (nullcontext(), ps.deterministic()):
        target = target_of(case, runtime, x)
        with mode, pytest.raises(error) as caught:
            case.call(target, on(runtime, ids), on(runtime, u), **options)
        assert type(caught.value) is type(on_cpu.value) and str(caught.value) == str(on_cpu.value)
        loops.assert_same(target.numpy() if case.inplace else target.get(), x)
        assert not case.inplace or target.version == 0
    return str(caught.value)


@every
@pytest.mark.parametrize("bad", [R, -R - 1, 2**31 - 1, 2**40, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64])
def test_an_index_outside(case, bad, dtype, gpu):
    if not np.iinfo(dtype).min <= bad <= np.iinfo(dtype).max:
        pytest.skip("the dtype does not hold it")
    if dtype is np.uint64:
        if case.narrow:
            pytest.skip("it takes no uint64")
        bad = 2**64 - 1
    message = refused(case, gpu, case.indices(0, 4, bad, dtype=dtype), case.updates(), IndexOutOfBounds)
    assert f"{case.shown} = {bad} is not in" in message


@every_write
def test_errors_of_updates(case, gpu):
    ids = case.indices(0, 4, 1)
    if case.op == "div":
        u = case.updates(dtype=np.int32)
        u[1, 2] = 0
        assert "updates[1, 2] = 0" in refused(case, gpu, ids, u, ZeroDivisor, np.int32)
    if not by_hand(case):
        refused(case, gpu, ids, case.updates(dtype=np.float64), DtypeError)
    refused(case, gpu, ids, case.updates(n=4), ShapeError)
    refused(case, gpu, ids, case.updates()[:, :2].copy(), ShapeError)


@every
def test_errors_of_indices(case, gpu):
    for dtype in (bool, np.float32, np.complex64):
        assert f"indices.dtype = {np.dtype(dtype)}" in refused(case, gpu, case.indices(0, 1, 1).astype(dtype), case.updates(), DtypeError)
    if case.narrow:
        refused(case, gpu, case.indices(0, 1, 1, dtype=np.int8), case.updates(), DtypeError)
    with pytest.raises(ParamstoreError):
        case.call(target_of(case, gpu, table()), None, on(gpu, case.updates()))


@every
def test_operands_of_another_device(case, gpu):
    x, ids, u = table(), case.indices(0, 1, 1), case.updates()
    with pytest.raises(DeviceError, match=f"{case.name}: indices is on cuda:0, the call runs on cuda:1"):
        case.call(target_of(case, gpu, x), on(gpu, ids, 0), on(gpu, u))
    if u is not None and not by_hand(case):
        with pytest.raises(DeviceError, match=f"{case.name}: updates is on cuda:0, the call runs on cuda:1"):
            case.call(target_of(case, gpu, x), on(gpu, ids), on(gpu, u, 0))
        with pytest.raises(DeviceError, match=f"{case.name}: updates is a HostArray on a GPU, the call runs on the CPU"):
            case.call(ps.Parameter(x) if case.inplace else x, ids, on(gpu, u))
    with pytest.raises(DeviceError, match=f"{case.name}: indices is a HostArray on a GPU, the call runs on the CPU"):
        case.call(ps.Parameter(x) if case.inplace else x, on(gpu, ids), u)


@every_write
def test_operands_inside_the_target(case, gpu):
    """Updates that are the target's own rows are copied first."""
    if not case.inplace:
        pytest.skip("its target is a copy")
    x, ids = table(np.int64), case.indices(1, 2, 0)
    wanted = case.call(ps.Parameter(x), ids, x[:3]).numpy()
    p = ps.Parameter(x, device=AT)
    with ps.deterministic():
        loops.assert_same(result_of(case.call(p, ids, p.value[:3])), wanted)
    columns = ps.Parameter(np.arange(5), device=AT)
    if case.index_shape == (3,):
        wanted = case.call(ps.Parameter(np.arange(5)), np.arange(5), np.ones(5, np.int64)).numpy()
        loops.assert_same(result_of(case.call(columns, columns.value, np.ones(5, np.int64))), wanted)


@every
def test_nothing_launches_nothing(case, gpu):
    ids = case.indices(0, 1, 1)[:0]
    target = target_of(case, gpu, table())
    updates = on(gpu, None if case.update_shape is None else case.updates()[:0])
    there = on(gpu, ids)
    gpu.devices[1].log.clear()
    case.call(target, there, updates)
    assert not gpu.devices[1].seen("launch", "get", "argsort")
    empty = ps.Parameter(np.zeros((R, 0), np.float32), device=AT)
    if case.inplace and case.index_shape == (3,):
        assert case.call(empty, [0, 1], np.zeros((2, 0), np.float32)).shape == (R, 0)
        with pytest.raises(IndexOutOfBounds):
            case.call(empty, [0, R], np.zeros((2, 0), np.float32))
