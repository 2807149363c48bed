"""Calls of the GPU's kernels as the registry has them, on the stand-in: NumPy arrays in, NumPy arrays out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from paramstore import bounds as rule
from paramstore import registry
from paramstore.backends.cuda import device as gpu

from .device import HostDevice, HostRuntime

Array = np.ndarray[Any, np.dtype[Any]]


@contextlib.contextmanager
def standing_in(count: int = 1) -> Iterator[HostRuntime]:
    """Within the block the stand-in is what there is of GPUs."""
    before, gpu._runtime = gpu._runtime, HostRuntime(count)
    try:
        yield gpu._runtime
    finally:
        gpu._runtime = before


def device() -> HostDevice:
    known = gpu.loaded()
    assert isinstance(known, HostRuntime), "only within standing_in()"
    return known.device(0)


def kernel(op: str, layout: str, dtype: str, mode: str) -> registry.Kernel:
    """The cuda backend's kernel for a cell, as `registry.find` would serve a request for that mode."""
    key = (op, layout, dtype, "cuda", mode, "cuda")
    found = registry._best(key)
    assert found is not None, key
    return found


class Failed(Exception):
    """What a kernel found wrong."""


_GUARD = 1024  # bytes before and after an array, which nothing may change


def _guarded(array: Array) -> tuple[Any, Any]:
    """A copy on the device, and the memory around it."""
    memory = np.full(array.nbytes + 2 * _GUARD, 0x5A, np.uint8)
    memory[_GUARD : _GUARD + array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
    around = device().put(memory)
    return around[_GUARD : _GUARD + array.nbytes].view(array.dtype).reshape(array.shape), around


def _run(function: Any, written: Array, *args: Any) -> Array:
    """Calls a kernel on copies; ``written`` is the array among the arguments that it may write. Faults raise, once nothing has been written."""
    pairs = [_guarded(a) if isinstance(a, np.ndarray) else (a, None) for a in args]
    placed = [array for array, _ in pairs]
    target = placed[next(k for k, a in enumerate(args) if a is written)]
    fault = function(*placed)
    for given, now in zip(args, placed):
        if isinstance(given, np.ndarray) and (now is not target or fault is not None):
            assert given.tobytes() == now.get().tobytes(), f"an argument has changed; the fault was {fault}"
    for memory in (around.get() for _, around in pairs if around is not None):
        assert (memory[:_GUARD] == 0x5A).all() and (memory[-_GUARD:] == 0x5A).all(), "memory beside an array has changed"
    if fault is not None:
        raise Failed(tuple(fault))
    result: Array = target.get()
    return result


def scatter_rows(op: str, mode: str, x: Array, ids: Array, updates: Array, bounds: str = "raise", wrap: bool = False) -> Array:
    """x (R, W), ids (N,), updates (N, W)."""
    return _run(kernel(op, "rows", x.dtype.name, mode).function, x, x, ids, updates, rule.BOUNDS[bounds], wrap)


def scatter_elements(op: str, mode: str, x: Array, ids: Array, updates: Array, axis: int, bounds: str = "raise", wrap: bool = True) -> Array:
    return _run(kernel(op, "elements", x.dtype.name, mode).function, x, x, axis, ids, updates, rule.BOUNDS[bounds], wrap)


def gather_rows(x: Array, ids: Array, bounds: str = "raise", wrap: bool = False) -> Array:
    out = np.empty((ids.size, x.shape[1]), x.dtype)
    return _run(kernel("gather", "rows", x.dtype.name, "fast").function, out, x, ids, out, rule.BOUNDS[bounds], wrap)


def gather_elements(x: Array, ids: Array, axis: int, bounds: str = "raise", wrap: bool = True) -> Array:
    out = np.empty(ids.shape, x.dtype)
    return _run(kernel("gather", "elements", x.dtype.name, "fast").function, out, x, axis, ids, out, rule.BOUNDS[bounds], wrap)


def flatten(tuples: Array, dims: tuple[int, ...], bounds: str = "raise", wrap: bool = False) -> Array:
    out = np.empty(len(tuples), np.int64)
    function = kernel("flatten", "tuples", tuples.dtype.name, "ordered").function
    placed, target = device().put(tuples), device().put(out)
    fault = function(placed, dims, target, rule.BOUNDS[bounds], wrap)
    if fault is not None:
        raise Failed(tuple(fault))
    result: Array = target.get()
    return result
