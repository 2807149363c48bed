"""Threads: what locks promise, while others update, read and resize."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from concurrency import BACKENDS, script, together

import paramstore as ps
from paramstore import registry

pytestmark = pytest.mark.usefixtures("often_switching")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", ("rows", "nd"))
@pytest.mark.parametrize("size", (20, 2000))
def test_locked_totals_are_exact(layout: str, backend: str, size: int) -> None:
    """Eight threads that lock lose no update; counts in float32 are exact, and version counts every call."""
    p = ps.Parameter(np.zeros((50, 16), np.float32))
    rng = np.random.default_rng(size)
    calls = 40 if size == 20 else 12
    ids = rng.integers(0, 50, (8, calls, size))
    ones = np.ones((size, 16), np.float32)

    def adds(mine: np.ndarray[Any, Any]) -> Callable[[], None]:
        def run() -> None:
            for one in mine:
                if layout == "rows":
                    p.scatter_add(one, ones, use_locking=True)
                else:
                    ps.ScatterNdAdd(use_locking=True)(p, one[:, None], ones)

        return run

    ps.set_num_threads(2)
    with registry.only(backend):
        together(*(adds(mine) for mine in ids))
    counts = np.bincount(ids.reshape(-1), minlength=50)
    assert np.array_equal(p.numpy(), np.repeat(counts[:, None], 16, 1).astype(np.float32))
    assert p.version == 8 * calls


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("writes", ("scatter_update", "scatter_add", "assign"))
def test_locked_readers_see_no_half_of_a_call(writes: str, backend: str) -> None:
    """Each call of the writer leaves one number in the whole table: whoever reads with the lock finds one number."""
    rows = 4000 if backend == "cpu" else 1000
    p = ps.Parameter(np.zeros((rows, 64), np.float32))
    everything = np.random.default_rng(0).permutation(rows)
    stop = time.monotonic() + 0.8
    seen: set[float] = set()

    def write() -> None:
        k = 0
        while time.monotonic() < stop:
            k += 1
            values = np.full((rows, 64), 1 if writes == "scatter_add" else k, np.float32)
            if writes == "assign":
                p.assign(values, use_locking=True)
            else:
                getattr(p, writes)(everything, values, use_locking=True)

    def read(snapshot: Callable[[], np.ndarray[Any, Any]]) -> Callable[[], None]:
        def run() -> None:
            while time.monotonic() < stop:
                got = snapshot()
                assert (got == got[0, 0]).all(), np.unique(got)
                seen.add(float(got[0, 0]))

        return run

    ps.set_num_threads(2)
    with registry.only(backend):
        together(
            write,
            read(lambda: p.read(use_locking=True)),
            read(lambda: p.gather(everything, use_locking=True)),
            read(lambda: p.gather_nd(everything[:, None], use_locking=True)),
        )
    assert len(seen) > 1


def test_a_lock_held_elsewhere_stops_those_who_lock() -> None:
    p = ps.Parameter(np.zeros(3, np.float32))
    ended = threading.Event()

    def locked() -> None:
        p.scatter_add([0], [1.0], use_locking=True)
        ended.set()

    with p.lock:
        thread = threading.Thread(target=locked)
        thread.start()
        assert not ended.wait(0.1)
        together(lambda: p.scatter_add([1], [1.0]), lambda: p.gather([1]), seconds=5)  # those who do not lock go on
        p.scatter_add([2], [1.0], use_locking=True)  # and the lock is reentrant
        assert p.read().tolist() == [0, 1, 1]
    thread.join(10)
    assert ended.is_set() and p.read().tolist() == [1, 1, 1]


def test_an_error_lets_the_lock_go() -> None:
    p = ps.Parameter(np.zeros(3, np.float32))
    for _ in range(3):
        with pytest.raises(IndexError):
            p.scatter_add([3], [1.0], use_locking=True)
        with pytest.raises(TypeError):
            p.gather([0.5], use_locking=True)
    together(lambda: p.scatter_add([0], [1.0], use_locking=True), seconds=5)
    assert p.version == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_version_counts_every_unlocked_call(backend: str) -> None:
    p = ps.Parameter(np.zeros((10, 2), np.int64))
    ids, u = np.array([1, 2]), np.ones((2, 2), np.int64)

    def run() -> None:
        for _ in range(300):
            p.scatter_add(ids, u)
            with pytest.raises(IndexError):
                p.scatter_add([10], u[:1])

    with registry.only(backend):
        together(*[run] * 8)
    assert p.version == 2400


@pytest.mark.parametrize("backend", BACKENDS)
def test_resize_while_others_update_with_locks(backend: str) -> None:
    p = ps.Parameter(np.zeros((100, 8), np.float32))
    ids, ones = np.arange(100), np.ones((100, 8), np.float32)
    calls = 60

    def add() -> None:
        for _ in range(calls):
            p.scatter_add(ids, ones, use_locking=True)

    def slow_rows(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
        time.sleep(0.0005)  # by now the old rows have been copied: an update that came in between would be lost
        return np.zeros(shape, dtype)

    def resize() -> None:
        for k in range(100):
            p.resize(100 + k % 3 * 50, slow_rows)

    with registry.only(backend):
        together(*[add] * 4, resize)
    assert p.shape == (100, 8) and (p.numpy() == 4 * calls).all()
    assert p.version == 4 * calls + 100


def test_resize_while_others_update_without_locks(tmp_path: Path) -> None:
    code = """
p = ps.Parameter(np.zeros((3000, 64), np.float32))
ids, ones = np.random.default_rng(0).integers(0, 4000, 3000), np.ones((3000, 64), np.float32)
stop = time.monotonic() + 1

def update():
    while time.monotonic() < stop:
        p.scatter_add(ids, ones, bounds="drop")
        p.gather(ids, bounds="clip")
        try:
            p.scatter_update(ids, ones)
        except IndexError:
            pass
        p.scatter_nd_max(ids[:, None], ones, bounds="clip")

def resize():
    k = 0
    while time.monotonic() < stop:
        k += 1
        p.resize((10, 5000, 2500, 4000)[k % 4])
        assert len(p.value) in (10, 5000, 2500, 4000)

ps.set_num_threads(3)
together(resize, *[update] * 8)
"""
    script(tmp_path, code)
