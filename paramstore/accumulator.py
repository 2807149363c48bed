"""Gradients of several workers, merged in the workers' order and applied once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import DtypeError
from .meeting import STEPS, Meeting, integer
from .slices import IndexedSlices

__all__ = ["Accumulator"]


class Accumulator(Meeting):
    """Gradients of several workers, merged in the workers' order whatever the order of their arrival, and applied once.

    A worker pushes; whoever is to apply takes::

        accumulator.push(worker, slices, step)         # in each worker; waits while its last push has not been taken
        accumulator.take(n, lambda merged: optimizer.apply(table, merged))
        accumulator.wait(step + 1)                     # in each worker: until that has been applied

    Args:
        workers: how many push, numbered from 0.
        timeout: seconds that a wait may take, if the call does not say otherwise; None is for ever.

    Source: tf.compat.v1.ConditionalAccumulator and SparseConditionalAccumulator, which merge in the order of arrival and always average.

    >>> acc = Accumulator(2)
    >>> acc.push(1, IndexedSlices([0], [2.0])), acc.push(0, IndexedSlices([3], [1.0]))
    (True, True)
    >>> acc.take(2).indices.tolist(), acc.step
    ([3, 0], 1)
    """

    def __init__(self, workers: int, *, timeout: float | None = None) -> None:
        super().__init__(workers, timeout)
        self._pushed: dict[int, IndexedSlices] = {}  # in the order of arrival
        self._taking = False
        self._step = 0

    @property
    def step(self) -> int:
        """How many times `take` has been done."""
        return self._step

    def push(self, worker: int, slices: IndexedSlices, step: int | None = None, *, timeout: float | None = None) -> bool:
        """Hands in a worker's gradient. It waits while an earlier one of this worker is still there.

        Args:
            slices: kept as they are until they are taken; do not write to them.
            step: what `step` was when the worker read. A gradient of an earlier step is stale: it is dropped, and False returned.

        Raises:
            Poisoned: another worker failed. TimedOut: the earlier push was not taken in time.
            DtypeError: no IndexedSlices.
        """
        call = "Accumulator.push"
        worker = integer(call, "worker", worker, 0, self.workers)
        if not isinstance(slices, IndexedSlices):
            raise DtypeError(f"{call}: slices must be IndexedSlices, not {type(slices).__name__}")
        since = None if step is None else integer(call, "step", step, 0, STEPS)
        with self._lock:
            self._wait(call, lambda: worker not in self._pushed, timeout, lambda: f"a take of what worker {worker} pushed before")
            if since is not None and since < self._step:
                return False
            self._pushed[worker] = slices
            self._wake()
        return True

    def take(
        self, n: int | None = None, apply: Callable[[IndexedSlices], Any] | None = None, *, mean: bool = False, timeout: float | None = None
    ) -> IndexedSlices:
        """Waits for the gradients of ``n`` workers, merges them in the order of the workers, and applies the sum once.

        Args:
            n: by default all workers; then the result depends on nothing but what they pushed. With fewer, those that came first are taken.
            apply: called with the merged gradient; the step ends when it returns.
            mean: divide the sum by n (the rows are coalesced first).

        Returns: the merged gradient: the rows of the lowest worker first, in their order.

        Raises:
            Poisoned: a worker failed, or ``apply`` did. TimedOut: fewer than n pushed in time.
            ShapeError, DtypeError: gradients of different shapes or dtypes.
        """
        call = "Accumulator.take"
        count = self.workers if n is None else integer(call, "n", n, 1, self.workers + 1)
        with self._lock:
            self._wait(call, lambda: not self._taking and len(self._pushed) >= count, timeout,
                       lambda: f"{count} gradients; there are {len(self._pushed)}")  # fmt: skip
            chosen = sorted(list(self._pushed)[:count])
            parts = [self._pushed[w] for w in chosen]
            self._taking = True
        with self.guard():
            merged = self._merged(parts, count if mean else 1)
            if apply is not None:
                apply(merged)
        with self._lock:
            for w in chosen:
                del self._pushed[w]
            self._taking = False
            self._step += 1
            self._wake()
        return merged

    @staticmethod
    def _merged(parts: list[IndexedSlices], divisor: int) -> IndexedSlices:
        while len(parts) > 1:  # neighbours first: each row is copied log2(n) times
            parts = [a + b for a, b in zip(parts[::2], parts[1::2])] + parts[len(parts) & ~1 :]
        return parts[0] if divisor == 1 else parts[0].coalesce() / divisor

    def wait(self, step: int, *, timeout: float | None = None) -> None:
        """Returns when ``take`` has been done ``step`` times.

        Raises:
            Poisoned, TimedOut: as `push`.
        """
        call = "Accumulator.wait"
        wanted = integer(call, "step", step, 0, STEPS)
        with self._lock:
            self._wait(call, lambda: self._step >= wanted, timeout, lambda: f"step {wanted}; {self._step} are done")
