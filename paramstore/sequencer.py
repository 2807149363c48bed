"""Turns for threads that train one table together, so that the result does not depend on how they are scheduled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import ArgumentError
from .meeting import STEPS, Meeting, integer

__all__ = ["Sequencer"]

_NEW, _READING, _READ, _QUEUED, _TURNING, _DONE = range(6)  # what a worker is doing in the step at hand


class Sequencer(Meeting):
    """Turns that give a loop over threads the bits of the same loop on one thread.

    In step s each worker does::

        with sequencer.read(s, worker):    # opens when every turn of step s - 1 is over
            rows = table.gather(ids)
        gradient = ...                     # in parallel
        with sequencer.turn(s, worker):    # opens when every worker has read in step s, and workers 0 .. worker - 1 have had their turns
            table.scatter_sub(ids, gradient)

    So every read of a step sees the table as the step before left it, and the updates of a step come in the order of the workers. What is
    computed between may depend on the worker and the step, but not on the thread.

    Args:
        workers: how many take part, numbered from 0.
        at_once: how many of them may be busy at a time (reading, computing or applying); by default all. It does not change the result.
        timeout: seconds that a wait may take, if the call does not say otherwise; None is for ever.

    An exception within a block poisons the sequencer: all who wait, or come to wait, get `Poisoned` with that exception as the cause.
    Wrap all of a worker in `guard()` so that an exception between the blocks does the same.

    >>> seq = Sequencer(1)
    >>> with seq.read(0, 0):
    ...     pass
    >>> with seq.turn(0, 0):
    ...     pass
    >>> seq.step
    1
    """

    def __init__(self, workers: int, *, at_once: int | None = None, timeout: float | None = None) -> None:
        super().__init__(workers, timeout)
        self._most = self.workers if at_once is None else integer(self._call, "at_once", at_once, 1, 1 << 20)
        self._busy = 0
        self._step = 0
        self._next = 0  # whose turn it is, or will be when all have read
        self._unread = self.workers  # how many are new or reading
        self._state = [_NEW] * self.workers
        self._skipped: list[set[int]] = [set() for _ in range(self.workers)]
        self._left = [STEPS] * self.workers  # the first step in which a worker no longer takes part
        self._own = [0] * self.workers  # the first step that a worker has not been through

    @property
    def step(self) -> int:
        """The step at hand: every turn of those before is over."""
        return self._step

    @contextmanager
    def read(self, step: int, worker: int, *, timeout: float | None = None) -> Iterator[None]:
        """The block in which a worker reads; see `Sequencer`.

        Raises:
            Poisoned: another worker failed.
            TimedOut: the step before was not over in time. Nothing has changed: the call may be tried again.
            ArgumentError: a step that this worker has been through, or that it would reach by leaving one out (`skip` says so).
        """
        call = "Sequencer.read"
        with self._lock:
            self._place(call, step, worker)
            self._wait(call, lambda: self._step == step and self._busy < self._most, timeout, lambda: self._missing(f"step {step}"))
            if self._state[worker] != _NEW:
                raise ArgumentError(f"{call}: worker {worker} has already read in step {step}")
            self._state[worker] = _READING
            self._busy += 1
        with self._poisoning(step, worker):
            yield
        with self._lock:
            self._state[worker] = _READ
            self._unread -= 1
            self._wake()

    @contextmanager
    def turn(self, step: int, worker: int, *, timeout: float | None = None) -> Iterator[None]:
        """The block in which a worker applies; see `Sequencer`. One that has not read in this step has then nothing to read.

        Raises:
            Poisoned, TimedOut, ArgumentError: as `read`.
        """
        call = "Sequencer.turn"
        with self._lock:
            self._place(call, step, worker)
            self._wait(call, lambda: self._step == step, timeout, lambda: self._missing(f"step {step}"))
            state = self._state[worker]
            if state in (_READING, _TURNING):
                raise ArgumentError(f"{call}: worker {worker} is still inside a block of step {step}")
            self._unread -= state == _NEW
            self._busy -= state == _READ  # another may be busy while it waits
            self._state[worker] = _QUEUED
            self._wake()
            self._wait(call, lambda: self._has_turn(step, worker), timeout, lambda: self._missing(f"the turn of worker {worker} in step {step}"))
            self._state[worker] = _TURNING
            self._busy += 1
        with self._poisoning(step, worker):
            yield
        with self._lock:
            self._busy -= 1
            self._over(worker, step)

    def skip(self, step: int, worker: int) -> None:
        """This worker takes no part (or, after its read, no further part) in that step. It does not wait, and may be said ahead.

        Raises:
            Poisoned, ArgumentError: as `read`.
        """
        call = "Sequencer.skip"
        with self._lock:
            self._place(call, step, worker, ahead=True)
            if step == self._step:
                self._leave_step(call, worker)
            self._skipped[worker].add(step)
            while self._own[worker] in self._skipped[worker]:
                self._own[worker] += 1
            self._wake()

    def finish(self, step: int, worker: int) -> None:
        """`skip`, if this worker has not been through that step."""
        if self._own[worker] == step:  # only the worker itself moves it
            self.skip(step, worker)

    def leave(self, worker: int) -> None:
        """This worker takes no part in any further step: it has run out of work. It does not wait."""
        call = "Sequencer.leave"
        with self._lock:
            self._check()
            worker = integer(call, "worker", worker, 0, self.workers)
            self._left[worker] = min(self._left[worker], self._own[worker])
            if self._own[worker] == self._step:
                self._leave_step(call, worker)
            self._wake()

    # -- with the lock held -----------------------------------------------------------------------------------------------------------

    def _place(self, call: str, step: int, worker: int, ahead: bool = False) -> None:
        self._check()
        integer(call, "worker", worker, 0, self.workers)
        integer(call, "step", step, 0, STEPS)
        own = self._own[worker]
        if step < own or step >= self._left[worker]:
            raise ArgumentError(f"{call}: worker {worker} has already been through step {step}")
        if step > own and not ahead:
            raise ArgumentError(f"{call}: worker {worker} asks for step {step} but has not been through step {own}; skip({own}, {worker}) leaves it out")

    def _has_turn(self, step: int, worker: int) -> bool:
        return self._step == step and self._unread == 0 and self._next == worker and self._busy < self._most

    def _leave_step(self, call: str, worker: int) -> None:
        state = self._state[worker]
        if state in (_READING, _TURNING):
            raise ArgumentError(f"{call}: worker {worker} is still inside a block of step {self._step}")
        self._unread -= state == _NEW
        self._busy -= state == _READ
        self._over(worker, self._step)

    def _over(self, worker: int, step: int) -> None:
        """A worker is through with the step at hand; the last one ends the step."""
        self._state[worker] = _DONE
        self._own[worker] = step + 1
        while self._own[worker] in self._skipped[worker]:
            self._own[worker] += 1
        while True:
            while self._next < self.workers and self._state[self._next] == _DONE:
                self._next += 1
            if self._next < self.workers or all(left <= self._step + 1 for left in self._left):
                break
            self._step, self._next = self._step + 1, 0
            for w in range(self.workers):
                absent = self._step in self._skipped[w] or self._step >= self._left[w]
                self._skipped[w].discard(self._step)
                self._state[w] = _DONE if absent else _NEW
            self._unread = self._state.count(_NEW)
        self._wake()

    def _missing(self, what: str) -> str:
        unread = [str(w) for w, state in enumerate(self._state) if state in (_NEW, _READING)]
        if unread:
            return f"{what}: in step {self._step} not all have read, missing: {', '.join(unread[:8])}{', ...' if len(unread) > 8 else ''}"
        return f"{what}: in step {self._step} it is the turn of worker {self._next}"

    @contextmanager
    def _poisoning(self, step: int, worker: int) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self.poison(error, f" (worker {worker} in step {step})")
            raise
