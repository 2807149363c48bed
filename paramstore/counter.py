"""A count that threads share."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable

from . import locks

__all__ = ["Counter"]

# With the GIL a count's next value is one step; so nobody pays for a lock, which costs more than a small update.
_ATOMIC = getattr(sys, "_is_gil_enabled", lambda: True)()


class Counter:
    """Counts without losing a step, from any number of threads.

    >>> counter = Counter(3)
    >>> counter.step()
    >>> counter.value
    4
    """

    __slots__ = ("_count", "_lock", "_next", "step")

    step: Callable[[], object]

    def __init__(self, start: int = 0) -> None:
        self._count = itertools.count(start)
        self._next = self._count.__next__
        self._lock = locks.made()
        self.step = self._next if _ATOMIC else self._locked_step

    def _locked_step(self) -> None:
        with self._lock:
            self._next()

    @property
    def value(self) -> int:
        """The steps so far."""
        return int(repr(self._count)[len("count(") : -1])  # the one way to look at a count without moving it
