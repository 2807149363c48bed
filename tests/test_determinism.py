"""The order mode: context, setter and environment variable, and that nothing serves `ordered` out of order."""

import asyncio
import contextvars
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import paramstore as ps
from paramstore import determinism, registry
from paramstore.errors import ArgumentError, DtypeError, MissingKernel


@pytest.fixture(autouse=True)
def off_again():
    yield
    ps.set_deterministic(False)
    registry.unregister("careless")


def test_context_manager():
    assert not ps.is_deterministic()
    with ps.deterministic():
        assert ps.is_deterministic() and determinism.mode("cuda") == "ordered"
        with ps.deterministic(False):
            assert not ps.is_deterministic() and determinism.mode("cuda") == "fast"
        assert ps.is_deterministic()
    assert not ps.is_deterministic()
    with pytest.raises(KeyError), ps.deterministic():
        raise KeyError
    assert not ps.is_deterministic()


def test_setter():
    ps.set_deterministic(True)
    assert ps.is_deterministic() and determinism.mode("cuda") == "ordered"
    with ps.deterministic(False):
        assert not ps.is_deterministic()
    ps.set_deterministic(False)
    assert not ps.is_deterministic()
    with ps.deterministic():
        ps.set_deterministic(False)
        assert ps.is_deterministic()


@pytest.mark.parametrize("value", [1, 0, None, "yes", np.bool_(True)], ids=repr)
def test_only_a_bool(value):
    with pytest.raises(DtypeError, match="must be a bool"):
        ps.set_deterministic(value)
    with pytest.raises(DtypeError, match="must be a bool"), ps.deterministic(value):
        pass
    assert not ps.is_deterministic()


def test_the_context_is_of_one_thread_and_the_setter_of_all():
    def elsewhere():
        seen = []
        thread = threading.Thread(target=lambda: seen.append(ps.is_deterministic()))
        thread.start()
        thread.join()
        return seen[0]

    with ps.deterministic():
        assert elsewhere() is False
    ps.set_deterministic(True)
    assert elsewhere() is True
    with ps.deterministic(False):
        assert elsewhere() is True


def test_the_context_is_of_one_async_task():
    async def task(on, mine, others):
        if on:
            with ps.deterministic():
                mine.set()
                await others.wait()
                return ps.is_deterministic()
        await others.wait()
        seen = ps.is_deterministic()
        mine.set()
        return seen

    async def both():
        a, b = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(task(True, a, b), task(False, b, a))

    assert asyncio.run(both()) == [True, False]


@pytest.mark.parametrize(("text", "expected"), [("1", True), ("true", True), ("0", False), ("", False), (None, False)])
def test_environment_variable(text, expected, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "PARAMSTORE_DETERMINISTIC"}
    if text is not None:
        environment["PARAMSTORE_DETERMINISTIC"] = text
    code = "import paramstore as ps, threading; print(ps.is_deterministic()); ps.set_deterministic(False); print(ps.is_deterministic())"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == [str(expected), "False"], done.stderr


def test_the_cpu_is_always_ordered():
    assert determinism.mode("cpu") == "ordered"
    for kernel in ps.kernels(device="cpu"):
        assert kernel.mode == "ordered", kernel
    assert "keeps C order" in ps.explain("scatter_add").reason


def test_ordered_may_serve_fast_but_never_the_other_way_round():
    registry.register("add", "rows", "float32", print, device="imagined", mode="fast", backend="careless", checks=True)
    assert registry.find("test", "add", "rows", "float32", "imagined").mode == "fast"
    with ps.deterministic():
        with pytest.raises(MissingKernel, match=r"order ordered; the nearest are .*careless.rows.add.float32.fast on imagined \(fast\)"):
            registry.find("test", "add", "rows", "float32", "imagined")
        assert ps.explain("add", device="imagined").kernel is None
    registry.register("add", "rows", "float32", print, device="imagined", mode="ordered", backend="careless", checks=True)
    assert registry.find("test", "add", "rows", "float32", "imagined").mode == "fast"
    with ps.deterministic():
        assert registry.find("test", "add", "rows", "float32", "imagined").mode == "ordered"
    registry.unregister("careless")
    registry.register("add", "rows", "float32", print, device="imagined", mode="ordered", backend="careless", checks=True)
    assert registry.find("test", "add", "rows", "float32", "imagined").mode == "ordered"


def test_a_careless_kernel_on_the_cpu_is_not_taken():
    registry.register("add", "rows", "float32", print, mode="fast", backend="careless")
    assert registry.find("test", "add", "rows", "float32").backend != "careless"


@pytest.mark.parametrize("backend", sorted({k.backend for k in ps.kernels(device="cpu")}))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_the_same_bits_at_any_thread_count(backend, dtype):
    rng = np.random.default_rng(0)
    start, ids, updates = (rng.normal(size=s).astype(dtype) if i != 1 else rng.integers(0, 50, s) for i, s in enumerate([(50, 8), (4000,), (4000, 8)]))
    expected = start.copy()
    for i, u in zip(ids, updates):
        expected[i] += u
    before = ps.get_num_threads()
    try:
        with registry.only(backend):
            for threads in (1, 2, 3, 8):
                ps.set_num_threads(threads)
                for _ in range(3):
                    assert ps.Parameter(start).scatter_add(ids, updates).numpy().tobytes() == expected.tobytes()
    finally:
        ps.set_num_threads(before)


@pytest.mark.parametrize("block", [ps.deterministic, lambda: registry.only("reference")], ids=["deterministic", "only"])
def test_a_block_that_another_context_ends(block):
    def generator():
        with block():
            yield

    opened = generator()
    context = contextvars.copy_context()
    context.run(next, opened)
    with pytest.raises(ArgumentError, match="must end in the thread, async task and context in which it began"):
        opened.close()
    assert not ps.is_deterministic()
