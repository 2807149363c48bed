"""Kernels for the stand-in that call the CPU's: with them the Python around the GPU's kernels is tested without these."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import paramstore as ps
from paramstore import dispatch, normalize, registry

from .array import HostArray

BACKEND = "model"


@contextlib.contextmanager
def _any_backend() -> Iterator[None]:
    token = registry._forced.set(None)
    try:
        yield
    finally:
        registry._forced.reset(token)


def _run(op: str, layout: str, dtype: str, arrays: tuple[HostArray, ...], axis: int, bounds: int, wrap: bool) -> Any:
    assert all(type(a) is HostArray and a.flags.c_contiguous for a in arrays) and len({a.device.id for a in arrays}) == 1
    data, ids, updates = (a._memory for a in arrays)
    with _any_backend():
        kernel = registry.find("model", op, layout, dtype)
    if not kernel.checks:
        call = normalize.Call("model", op, layout, data, ids, updates, bounds, wrap, ids, (data.shape[axis],), updates.shape, axis)
        return dispatch._run_unchecked(call, kernel)
    return kernel.function(data, *((axis,) if layout == "elements" else ()), ids, updates, bounds, wrap)


def _kernel(op: str, layout: str, dtype: str) -> Any:
    if layout == "rows":
        return lambda data, ids, updates, bounds, wrap: _run(op, layout, dtype, (data, ids, updates), 0, bounds, wrap)
    return lambda data, axis, ids, updates, bounds, wrap: _run(op, layout, dtype, (data, ids, updates), axis, bounds, wrap)


def _flatten(tuples: HostArray, dims: Any, out: HostArray, bounds: int, wrap: bool) -> Any:
    assert type(tuples) is type(out) is HostArray
    with _any_backend():
        kernel = registry.find("model", "flatten", "tuples", tuples.dtype.name)
    return kernel.function(tuples._memory, dims, out._memory, bounds, wrap)


def register() -> None:
    """Enters them for the device "cuda", in both orders, with a priority that no other kernel has."""
    rules: dict[str, Any] = {"device": "cuda", "backend": BACKEND, "priority": 1000, "checks": True}
    for kernel in ps.kernels(device="cpu", backend="reference"):
        if kernel.dtype in ps.dtypes.NUMERIC:
            for mode in registry.MODES:
                function = _kernel(kernel.op, kernel.layout, kernel.dtype)
                registry.register(kernel.op, kernel.layout, kernel.dtype, function, mode=mode, **rules)
    for index in ("int32", "int64"):
        registry.register("flatten", "tuples", index, _flatten, **rules)
