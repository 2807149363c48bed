"""Threads: the pool of the process, across forks, at its end, and how many threads it has."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import loops
import numpy as np
import pytest
from concurrency import BACKENDS, needs_fork, script, together

import paramstore as ps
from paramstore import registry

pytestmark = pytest.mark.usefixtures("often_switching")


FORK = """
rng = np.random.default_rng(3)
x = rng.random((5000, 64)).astype(np.float32)
ids, u = rng.integers(0, 5000, 20000), rng.random((20000, 64)).astype(np.float32)
ps.set_num_threads(1)
expected = ps.Parameter(x).scatter_add(ids, u).numpy()
ps.set_num_threads(4)
assert np.array_equal(ps.Parameter(x).scatter_add(ids, u).numpy(), expected)

def right():
    for n in (4, 1, 3):
        ps.set_num_threads(n)
        if not np.array_equal(ps.Parameter(x).scatter_add(ids, u, use_locking=True).numpy(), expected):
            return False
    return np.array_equal(ps.gather(x, ids), x[ids])

def fork_and_wait(child):
    pid = os.fork()
    if not pid:
        try:
            os._exit(0 if child() else 3)
        finally:
            os._exit(4)
    stop = time.monotonic() + 30
    while time.monotonic() < stop:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0, f"the child ended with status {status}"
            return True
        time.sleep(0.002)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    raise AssertionError("the child hangs")
"""


@needs_fork
def test_fork_after_threads_have_worked(tmp_path: Path) -> None:
    """A child, and its child, have a pool of their own; the parent goes on with its."""
    script(tmp_path, FORK + "fork_and_wait(lambda: right() and fork_and_wait(right) and right())\nassert right()")


@needs_fork
def test_fork_while_another_thread_is_inside_a_call(tmp_path: Path) -> None:
    code = """
ended = threading.Event()
busy = ps.Parameter(x)

def work():
    while not ended.is_set():
        busy.scatter_add(ids, u, use_locking=True)

threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for t in threads: t.start()
for k in range(12):
    time.sleep(0.001 * k)
    fork_and_wait(right)
assert busy.version
ended.set()
for t in threads: t.join()
ps.set_num_threads(4)
assert right()
"""
    script(tmp_path, FORK + code)


def test_exit_while_a_daemon_thread_is_inside_a_call(tmp_path: Path) -> None:
    """The end of the process does not wait for it, and is not a crash."""
    code = """
x = np.zeros((5000, 64), np.float32)
ids, u = np.random.default_rng(0).integers(0, 5000, 20000), np.ones((20000, 64), np.float32)
p = ps.Parameter(x)
def work():
    while True:
        p.scatter_add(ids, u)
        p.gather(ids)
ps.set_num_threads(2)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
while p.version < 5: time.sleep(0.001)
"""
    for _ in range(3):
        script(tmp_path, code)


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_threads_on_different_parameters(backend: str) -> None:
    """One pool serves them all, the thread count changes while they run, and every result has the loop's bits."""
    rng = np.random.default_rng(4)
    n = 4000 if backend == "cpu" else 600
    work = []
    stop = threading.Event()
    for t in range(8):
        op, dtype = (("add", "float32"), ("mul", "float64"), ("max", "float16"), ("sub", "int32"))[t % 4]
        x = (rng.random((200, 33)) + 0.5).astype(dtype)
        ids, u = rng.integers(0, 200, n), (rng.random((n, 33)) + 0.5).astype(dtype)
        expected = loops.fold_rows(op, x, ids.tolist(), u)
        columns = loops.fold_elements(op, x, np.repeat(ids[:, None], 33, 1), u, 0)
        loops.assert_same(columns, expected)

        def run(op: str = op, x: Any = x, ids: Any = ids, u: Any = u, expected: Any = expected) -> None:
            for _ in range(6):
                loops.assert_same(ps.Scatter(op)(ps.Parameter(x), ids, u).numpy(), expected)
                if op != "sub":
                    loops.assert_same(ps.scatter_elements(x, np.repeat(ids[:, None], 33, 1), u, 0, op), expected)
                loops.assert_same(ps.gather(x, ids), x[ids])

        work.append(run)

    def change() -> None:
        k = 0
        while not stop.is_set():
            k += 1
            ps.set_num_threads((1, 2, 3, 8)[k % 4])
            time.sleep(0.0005)

    changer = threading.Thread(target=change)
    changer.start()
    try:
        with registry.only(backend):
            together(*work)
    finally:
        stop.set()
        changer.join()


@pytest.mark.skipif("cpu" not in BACKENDS, reason="the extension is not there")
def test_kernels_let_other_threads_run() -> None:
    """While one call works for long, the interpreter is free: another thread gets many turns within that time."""
    p = ps.Parameter(np.zeros((20000, 64), np.float32))
    ids, u = np.random.default_rng(0).integers(0, 20000, 200_000), np.ones((200_000, 64), np.float32)
    ps.set_num_threads(1)
    p.scatter_add(ids, u)
    best = 0
    for _ in range(10):
        span: list[float] = []

        def call(span: list[float] = span) -> None:
            begin = time.perf_counter()
            p.scatter_add(ids, u)
            span.extend((begin, time.perf_counter()))

        thread = threading.Thread(target=call)
        turns = []
        thread.start()
        while thread.is_alive():
            turns.append(time.perf_counter())
            time.sleep(0.0005)
        thread.join()
        third = (span[1] - span[0]) / 3
        best = max(best, sum(span[0] + third < t < span[1] - third for t in turns))
        if best >= 3:
            break
    assert best >= 3


@pytest.mark.parametrize("extension", (True, False))
@pytest.mark.parametrize(
    ("text", "count"),
    (("3", 3), (" 12 ", 12), ("007", 7), ("256", 256), ("257", 256), ("1" + "0" * 5000, 256), ("", None), (" ", None)),
)
def test_the_thread_count_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, count: int | None, extension: bool
) -> None:
    monkeypatch.setenv("PARAMSTORE_NUM_THREADS", text)
    expected = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 256) if count is None else count
    assert _count_and_warnings(tmp_path, extension) == [str(expected)]


@pytest.mark.parametrize("extension", (True, False))
@pytest.mark.parametrize("text", ("12abc", "none", "0", "-3", "2.5", "0x10", "1e3", "1 2"))
def test_a_thread_count_from_the_environment_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, extension: bool
) -> None:
    """It is ignored, and a warning says so; with and without the extension."""
    monkeypatch.setenv("PARAMSTORE_NUM_THREADS", "")
    default = _count_and_warnings(tmp_path, extension)
    monkeypatch.setenv("PARAMSTORE_NUM_THREADS", text)
    warning = f"PARAMSTORE_NUM_THREADS = {text!r} is ignored: it must be an integer of at least 1"
    assert _count_and_warnings(tmp_path, extension) == [*default, warning]


def _count_and_warnings(tmp_path: Path, extension: bool) -> list[str]:
    code = f"""
import sys, warnings
if not {extension}:
    sys.modules["paramstore._cpu"] = None
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import paramstore as ps
for line in (ps.get_num_threads(), *(w.message for w in seen if "NUM_THREADS" in str(w.message))):
    print(line)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("n", (0, -1, 257, 1024, 2**31, 2**70, 1.5, True, "2", None))
def test_bad_thread_counts(n: Any) -> None:
    before = ps.get_num_threads()
    with pytest.raises(ps.errors.ParamstoreError, match="set_num_threads: n = "):
        ps.set_num_threads(n)
    assert ps.get_num_threads() == before


def test_the_most_threads() -> None:
    """More threads than a call can use are allowed, up to 256."""
    rng = np.random.default_rng(6)
    x, ids, u = rng.random((3000, 64)), rng.integers(0, 3000, 40000), rng.random((40000, 64))
    ps.set_num_threads(1)
    expected = ps.Parameter(x).scatter_add(ids, u).numpy()
    ps.set_num_threads(256)
    assert ps.get_num_threads() == 256
    loops.assert_same(ps.Parameter(x).scatter_add(ids, u).numpy(), expected)


HELD = """
from paramstore import registry
from paramstore.making import Making
p, q, store = ps.Parameter(np.zeros((4, 2))), ps.Parameter([0.0]), ps.ParamStore()
store.add(p, "p"), store.add(q, "q")
held, go, making = threading.Event(), threading.Event(), threading.Event()

def hold(lock):
    with lock:
        held.set()
        go.wait()

def make(shape, dtype):
    making.set()
    go.wait()
    return np.ones(shape, dtype)

def child():
    signal.alarm(10)  # ends a child that hangs
    ps.registry.register("add", "rows", "float64", lambda data, ids, u: None, backend="mine", priority=-1)
    ps.registry.unregister("mine")
    p.scatter_add([1], [[1.0, 1.0]], use_locking=True)
    assert p.read().tolist()[1] == [1, 1] and p.version == 1
    assert store.get_or_create("made", (2,), initializer=2).numpy().tolist() == [2, 2]
    store.create("late", (1,))
    store.delete("late"), store.add(ps.Parameter([1.0]), "late")
    assert "q" in store and len(store.names()) == 4
    return True
"""


@needs_fork
@pytest.mark.parametrize("lock", ("p.lock", "store._lock", "registry._lock", "Making._turn"))
def test_fork_while_another_thread_holds_a_lock(tmp_path: Path, lock: str) -> None:
    """The child's locks are free, and a name that was being made there can be made; the parent's are as they were."""
    code = f"""
maker = threading.Thread(target=lambda: store.create("made", (2,), initializer=make))
maker.start()
assert making.wait(10)
thread = threading.Thread(target=hold, args=({lock},))
thread.start()
assert held.wait(10)
fork_and_wait(child)
assert not {lock}.acquire(blocking=False)
go.set()
thread.join()
maker.join()
assert store["made"].numpy().tolist() == [1, 1]
"""
    script(tmp_path, FORK + "import signal\n" + HELD + code)


@needs_fork
def test_fork_by_the_thread_that_holds_the_lock(tmp_path: Path) -> None:
    """It holds it in the child, too, as often as it took it; and goes on making what it was making."""
    code = """
def child():
    import signal
    signal.alarm(10)
    def other():
        got.append(p.lock.acquire(blocking=False))
    for _ in range(2):
        got = []
        together(other)
        assert got == [False]
        p.lock.release()
    together(other)
    assert got == [False, True]
    return True

p = ps.Parameter([0.0])
with p.lock, p.lock:
    fork_and_wait(child)

store = ps.ParamStore()
def make(shape, dtype):
    pid.append(os.fork())
    return np.ones(shape, dtype)
pid = []
made = store.create("x", (2,), initializer=make)
right = made is store["x"] and made.numpy().tolist() == [1, 1] and store.create("y", (1,)) is store["y"]
if not pid[0]:
    os._exit(0 if right else 3)
assert right and os.waitpid(pid[0], 0)[1] == 0
"""
    script(tmp_path, FORK + code)
