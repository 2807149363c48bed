"""Errors leave a GPU usable and its arrays as they were; locks hold across streams and threads; other libraries' arrays are taken."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import DeviceError, IndexOutOfBounds, ZeroDivisor


@pytest.mark.parametrize("mode", ["fast", "ordered"])
@pytest.mark.parametrize("bad", [5, -1, 2**31 - 1, -(2**31), 2**40, -(2**63)])
def test_a_bad_index(bad: int, mode: str, machine: Any) -> None:
    """The error names it, nothing is written, and the next call works."""
    x = np.arange(15, dtype=np.float32).reshape(5, 3)
    p = ps.Parameter(x, device=machine.at)
    u = np.ones((400, 3), np.float32)
    ids = np.arange(400) % 5
    ids[321] = bad
    with ps.deterministic(mode == "ordered"):
        with pytest.raises(IndexOutOfBounds, match=rf"scatter_add: indices\[321\] = {bad} is not in \[0, 5\)"):
            p.scatter_add(ids, machine.put(u))
        with pytest.raises(IndexOutOfBounds, match=rf"indices\[321, 0\] = {bad} "):
            p.scatter_nd_add(ids[:, None], u)
        assert p.numpy().tolist() == x.tolist() and p.version == 0
        dropped = ps.Parameter(x).scatter_add(ids, u, bounds="drop").numpy()
        assert p.scatter_add(ids, u, bounds="drop").numpy().tolist() == dropped.tolist()
        assert p.assign(x).scatter_add([4, 4], u[:2]).numpy()[4].tolist() == [14.0, 15.0, 16.0]


def test_a_zero_divisor(machine: Any) -> None:
    x = np.arange(15).reshape(5, 3)
    p, u = ps.Parameter(x, device=machine.at), np.ones((400, 3), np.int64)
    u[399, 2] = 0
    with pytest.raises(ZeroDivisor, match=r"updates\[399, 2\] = 0"):
        p.scatter_div(np.arange(400) % 5, u)
    assert p.numpy().tolist() == x.tolist()
    lowest = ps.Parameter(np.array([np.iinfo(np.int32).min], np.int32), device=machine.at)
    assert lowest.scatter_div([0], np.array([-1], np.int32)).numpy()[0] == np.iinfo(np.int32).min


def test_fast_keeps_all_updates(machine: Any) -> None:
    """In any order, but each once: whole numbers show it."""
    n = 2000 if machine.small else 500_000
    ids = np.random.default_rng(0).integers(0, 50, n)
    for dtype in ("int8", "int32", "uint64", "float32", "float64", "complex64", "complex128"):
        p = ps.Parameter(np.zeros((50, 4), dtype), device=machine.at).scatter_add(ids, np.ones((n, 4), dtype))
        assert p.numpy().tolist() == np.bincount(ids, minlength=50)[:, None].repeat(4, 1).astype(np.int64).astype(dtype).tolist(), dtype


def test_locks_across_streams(machine: Any) -> None:
    """Each holder's work is done before the next one's begins, though nobody waits on the host: the multiplication comes last."""
    n = 200 if machine.small else 200_000
    p = ps.Parameter(np.zeros((4, 64), np.float64), device=machine.at)
    ids, ones = machine.put(np.zeros(n, np.int64)), machine.put(np.ones((n, 64)))
    zero, ten = machine.put(np.array([0])), machine.put(np.full((1, 64), 10.0))
    machine.device.synchronize()
    with machine.stream():
        p.scatter_add(ids, ones, use_locking=True, bounds="drop")
    with machine.stream():
        p.scatter_mul(zero, ten, use_locking=True, bounds="drop")
    with machine.stream():
        assert machine.get(p.read())[0].tolist() == [10.0 * n] * 64


def test_threads_with_streams_of_their_own(machine: Any) -> None:
    p = ps.Parameter(np.zeros((8, 16), np.float32), device=machine.at)
    rounds = 5 if machine.small else 200
    problems: list[BaseException] = []
    ids, u = np.arange(32) % 8, np.ones((32, 16), np.float32)

    def work() -> None:
        try:
            with machine.stream():
                for _ in range(rounds):
                    p.scatter_add(ids, u, use_locking=True)
                    with pytest.raises(IndexOutOfBounds):
                        p.scatter_add([8], u[:1], use_locking=True)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not problems
    assert machine.get(p.read()).tolist() == [[16.0 * rounds] * 16] * 8 and p.version == 4 * rounds


def test_torch_tensors(machine: Any) -> None:
    torch = pytest.importorskip("torch")
    if machine.small or not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    p = ps.Parameter(np.zeros((3, 2), np.float32), device=machine.at)
    p.scatter_add(torch.tensor([2, 0, 2], device="cuda"), torch.ones(3, 2, device="cuda"))
    assert p.numpy().tolist() == [[1, 1], [0, 0], [2, 2]]
    assert torch.from_dlpack(p).sum().item() == 6.0
    wrapped = ps.Parameter(torch.zeros(3, device="cuda"), copy=False)
    assert wrapped.scatter_add([1], [2.0]).numpy().tolist() == [0, 2, 0]
    with pytest.raises(DeviceError):
        p.scatter_add([0], torch.ones(1, 2, device="cuda", requires_grad=True))
    with pytest.raises(DeviceError, match="on a GPU, the call runs on the CPU"):
        ps.Parameter(np.zeros(3)).scatter_add([0], torch.ones(1, device="cuda", dtype=torch.float64))


def test_another_gpu(machine: Any) -> None:
    from paramstore.backends.cuda import device

    if device.runtime("test").count() < 2:
        pytest.skip("there is one GPU only")
    p = ps.Parameter(np.zeros(3), device="cuda:1")
    with pytest.raises(DeviceError, match="indices is on cuda:0, the call runs on cuda:1"):
        p.scatter_add(ps.Parameter(np.zeros(1, np.int64), device="cuda:0"), [1.0])
    assert p.scatter_add([1], [2.0]).to("cuda:0").numpy().tolist() == [0, 2, 0]
