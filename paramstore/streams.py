"""The lock of a Parameter on a GPU, which keeps the work of different streams apart too."""

from __future__ import annotations

import threading
from typing import Any

from . import locks
from .places import Device

__all__ = ["StreamLock"]


class StreamLock:
    """A reentrant lock. Whoever takes it makes its stream wait for the work that the last holder had given to the GPU.

    The host does not wait: the last holder records an event when it lets go, and the next one's stream waits for that. Work for the
    Parameter that a holder gives to another stream than the one that is current when it takes and leaves the lock is its own affair.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._lock = locks.made()
        self._holder: int | None = None
        self._depth = 0
        self._last: Any = None  # (stream, event) of the last release

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """As `threading.RLock.acquire`."""
        taken = self._lock.acquire(blocking, timeout)
        if taken:
            self._depth += 1
            if self._depth == 1:
                self._holder = threading.get_ident()
                if self._last is not None and self._last[0] != self._device.stream():  # a stream keeps its own order
                    self._device.wait(self._last[1])
        return taken

    def release(self) -> None:
        """As `threading.RLock.release`."""
        if self._holder != threading.get_ident():
            raise RuntimeError("cannot release un-acquired lock")
        try:
            if self._depth == 1:
                self._last = self._device.stream(), self._device.record()
        finally:
            self._depth -= 1
            if not self._depth:
                self._holder = None
            self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<StreamLock of {self._device.name}, {'held' if self._depth else 'free'}>"
