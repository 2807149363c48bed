"""`HostRuntime` and `HostDevice`: the surface of `paramstore.backends.cuda.device` over `HostArray`.

Everything is done at once, in the calling thread. The log says what a GPU would have been asked to do, so that tests can look for
copies, launches and waits; memory that the package allocates is filled with a pattern first, so that reading it before writing shows.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .array import HostArray

_current: contextvars.ContextVar[int] = contextvars.ContextVar("host_device", default=0)
_stream: contextvars.ContextVar[int] = contextvars.ContextVar("host_stream", default=0)


@contextlib.contextmanager
def on(ordinal: int) -> Iterator[None]:
    """Makes a device current, as ``with cupy.cuda.Device(ordinal)``."""
    token = _current.set(ordinal)
    try:
        yield
    finally:
        _current.reset(token)


@contextlib.contextmanager
def stream(number: int) -> Iterator[None]:
    """Makes a stream current, as ``with cupy.cuda.Stream()``."""
    token = _stream.set(number)
    try:
        yield
    finally:
        _stream.reset(token)


class HostDevice:
    """The surface `paramstore.backends.cuda.device.Device`."""

    def __init__(self, ordinal: int, capacity: int) -> None:
        self.ordinal, self.name, self.capacity = ordinal, f"cuda:{ordinal}", capacity
        self.log: list[tuple[Any, ...]] = []
        self._events = itertools.count()
        self._busy = threading.Lock()

    def seen(self, *kinds: str) -> list[tuple[Any, ...]]:
        """The entries of the log of those kinds: put, get, copy, argsort, launch, record, wait, synchronize."""
        return [entry for entry in self.log if entry[0] in kinds]

    def owns(self, value: object) -> bool:
        return isinstance(value, HostArray) and value.device.id == self.ordinal

    def _mine(self, array: Any) -> np.ndarray[Any, Any]:
        if not isinstance(array, HostArray):
            raise TypeError(f"Unsupported type {type(array)}")
        assert array.device.id == self.ordinal, f"an array of cuda:{array.device.id} in a call to {self.name}"
        return array._memory

    def empty(self, shape: tuple[int, ...], dtype: Any) -> HostArray:
        dtype = np.dtype(dtype)
        if dtype.kind not in "biufc" and dtype.name != "bfloat16":
            raise ValueError(f"Unsupported dtype {dtype}")
        nbytes = int(np.prod([int(s) for s in shape], dtype=object)) * dtype.itemsize
        if nbytes > self.capacity:
            raise MemoryError(f"Out of memory allocating {nbytes:,} bytes")
        return HostArray(np.full(nbytes, 0xA5, np.uint8).view(dtype).reshape(shape), self.ordinal)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> HostArray:
        out = self.empty(shape, dtype)
        out._memory[...] = 0
        return out

    def put(self, host: Any) -> HostArray:
        assert type(host) is np.ndarray
        out = self.empty(host.shape, host.dtype)
        out._memory[...] = host
        self.log.append(("put", host.nbytes))
        return out

    def copy(self, out: HostArray, source: HostArray) -> None:
        self._mine(out)[...] = self._mine(source)
        self.log.append(("copy", out.nbytes))

    def get(self, array: HostArray) -> np.ndarray[Any, Any]:
        self.log.append(("get", array.nbytes))
        return np.array(self._mine(array), order="C")

    def argsort(self, keys: HostArray) -> HostArray:
        memory = self._mine(keys)
        assert memory.ndim == 1 and memory.dtype.kind in "iu"
        self.log.append(("argsort", keys.size))
        return HostArray(np.argsort(memory, kind="stable").astype(np.int64), self.ordinal)

    def launch(self, family: str, entry: str, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]) -> None:
        from . import executor

        assert all(type(n) is int and n > 0 for n in (*grid, *block)) and len(grid) in (1, 2, 3) and len(block) in (1, 2, 3)
        for arg in args:
            if not isinstance(arg, np.generic):
                self._mine(arg)
        self.log.append(("launch", family, entry))
        executor.launch(family, entry, tuple(grid), tuple(block), tuple(args))

    def stream(self) -> Any:
        return _stream.get()

    def record(self) -> Any:
        event = next(self._events)
        self.log.append(("record", _stream.get(), event))
        return event

    def wait(self, event: Any) -> None:
        assert type(event) is int
        self.log.append(("wait", _stream.get(), event))

    def synchronize(self) -> None:
        self.log.append(("synchronize", _stream.get()))


class HostRuntime:
    """The surface `paramstore.backends.cuda.device.Runtime`, with as many devices as a test asks for."""

    array = HostArray

    def __init__(self, count: int = 2, capacity: int = 1 << 32) -> None:
        self.devices = [HostDevice(ordinal, capacity) for ordinal in range(count)]

    def count(self) -> int:
        return len(self.devices)

    def current(self) -> int:
        return _current.get()

    def device(self, ordinal: int) -> HostDevice:
        return self.devices[ordinal]

    def ordinal_of(self, array: HostArray) -> int:
        return array.device.id

    def adopt(self, value: Any) -> HostArray:
        if isinstance(value, HostArray):
            return value
        if hasattr(value, "__cuda_array_interface__"):
            shown = value.__cuda_array_interface__

            class Memory:
                __array_interface__ = {**shown, "version": 3}
                owner = value

            return HostArray(np.asarray(Memory()), _current.get())
        return HostArray(np.from_dlpack(value._host), value.__dlpack_device__()[1])
