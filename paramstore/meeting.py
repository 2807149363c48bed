"""What `Sequencer` and `Accumulator` share: waiting for other workers, with timeouts, and the poison that ends every wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .errors import ArgumentError, DtypeError, Poisoned, TimedOut

__all__ = ["STEPS", "Meeting", "integer"]

STEPS = 1 << 62


def integer(call: str, argument: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise DtypeError(f"{call}: {argument} = {value!r} must be an integer")
    if not low <= value.__index__() < high:
        raise ArgumentError(f"{call}: {argument} = {value} is not in [{low}, {high})")
    return int(value.__index__())


def _seconds(call: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise ArgumentError(f"{call}: timeout = {value!r} must be None or seconds, not negative")
    return min(float(value), threading.TIMEOUT_MAX)


class Meeting:
    """A lock with a condition for each worker, so that a change wakes those who can go on and nobody else; and the poison."""

    def __init__(self, workers: int, timeout: float | None) -> None:
        self._call = type(self).__name__
        self.workers = integer(self._call, "workers", workers, 1, 1 << 20)
        self._timeout = _seconds(self._call, timeout)
        self._lock = threading.Lock()
        self._waiting: dict[threading.Condition, Callable[[], bool]] = {}
        self._error: BaseException | None = None
        self._where = ""

    @property
    def error(self) -> BaseException | None:
        """What it was poisoned with, or None."""
        return self._error

    def poison(self, error: BaseException, where: str = "") -> None:
        """Ends every wait, now and later, with `Poisoned`, whose cause is ``error``. The first poison stays."""
        with self._lock:
            if self._error is None:
                self._error, self._where = error, where
            for condition in self._waiting:
                condition.notify()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Whatever is raised within the block poisons, too."""
        try:
            yield
        except BaseException as error:
            self.poison(error)
            raise

    def _check(self) -> None:
        if self._error is not None:
            text = f"{type(self._error).__name__}: {self._error}"
            raise Poisoned(f"{self._call}: another worker failed{self._where}: {text}") from self._error

    def _wait(self, call: str, is_open: Callable[[], bool], timeout: Any, missing: Callable[[], str]) -> None:
        """With the lock held: returns, still holding it, when ``is_open()``."""
        self._check()
        if is_open():
            return
        limit = self._timeout if timeout is None else _seconds(call, timeout)
        end = None if limit is None else time.monotonic() + limit
        condition = threading.Condition(self._lock)
        self._waiting[condition] = is_open
        try:
            while not is_open():
                if not condition.wait(None if end is None else end - time.monotonic()) and end is not None and not is_open():
                    self._check()
                    raise TimedOut(f"{call}: waited {limit:g} s for {missing()}")
                self._check()
        finally:
            del self._waiting[condition]

    def _wake(self) -> None:
        """With the lock held: tells those who wait for what is now so."""
        for condition, is_open in self._waiting.items():
            if is_open():
                condition.notify()
