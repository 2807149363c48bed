"""The common loop over threads: batches are shared out, and every worker has its own random numbers."""

from __future__ import annotations

import contextvars
import inspect
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .convert import a_bool
from .errors import ArgumentError, Poisoned
from .meeting import integer
from .sequencer import Sequencer

__all__ = ["Task", "run_threads"]

_END = object()


@dataclass
class Task:
    """One batch, for one worker in one step.

    Attributes:
        batch: the item of the batches.
        step, worker: its number in the batches is ``step * workers + worker``.
        seed: of the loop.
        sequencer: None where the loop is not ordered.
    """

    batch: Any
    step: int
    worker: int
    seed: int
    sequencer: Sequencer | None

    @cached_property
    def rng(self) -> np.random.Generator:
        """A generator of its own, from (seed, step, worker): which thread runs the task, and when, does not matter."""
        return np.random.default_rng([self.seed, self.step, self.worker])

    def read(self) -> AbstractContextManager[None]:
        """The block in which it reads: `Sequencer.read`, or nothing at all where the loop is not ordered."""
        return self.sequencer.read(self.step, self.worker) if self.sequencer else nullcontext()

    def turn(self) -> AbstractContextManager[None]:
        """The block in which it applies: `Sequencer.turn`, or nothing at all where the loop is not ordered."""
        return self.sequencer.turn(self.step, self.worker) if self.sequencer else nullcontext()


class _Batches:
    """The batches, numbered; any thread may ask for any number, or for the next."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._lock = threading.Lock()
        self._iterator = iter(batches)
        self._pulled = 0
        self._kept: dict[int, Any] = {}
        self._over = False
        self.stopped = False

    def _pull(self) -> Any:
        if self._over or self.stopped:
            return _END
        item = next(self._iterator, _END)
        self._over = item is _END
        self._pulled += not self._over
        return item

    def next(self) -> tuple[int, Any]:
        with self._lock:
            item = self._pull()
            return self._pulled - 1, item

    def number(self, k: int) -> Any:
        with self._lock:
            while self._pulled <= k and not self._over and not self.stopped:
                item = self._pull()
                if item is not _END:
                    self._kept[self._pulled - 1] = item
            return self._kept.pop(k, _END) if not self.stopped else _END


def run_threads(
    work: Callable[[Task], Any],
    batches: Iterable[Any],
    *,
    workers: int,
    threads: int | None = None,
    ordered: bool = True,
    seed: int = 0,
    done: Callable[[Task, Any], Any] | None = None,
    timeout: float | None = None,
) -> int:
    """Calls ``work(task)`` once for every batch, on several threads; batch k is for worker ``k % workers`` in step ``k // workers``.

    Ordered, with all reads of a task inside ``with task.read():`` and all its updates inside ``with task.turn():``, the result has the bits
    of one thread (see `Sequencer`), and it depends on ``workers`` but not on ``threads``. Not ordered, each free thread takes the next batch.

    Args:
        work: what one worker does with one batch. A generator function, which yields after its reads and again before its updates, needs no
            thread for each worker: a thread then serves several in turn, which saves most of the waiting where there are fewer threads than
            workers.
        batches: any iterable; it is read by one thread at a time, and not far ahead.
        workers: batches in a step.
        threads: how many may be busy at a time; by default ``workers``.
        ordered: whether steps and turns are kept.
        seed: of the tasks' generators.
        done: called after each task with what ``work`` returned, by one thread at a time; for a progress line.
        timeout: seconds that a worker may wait for others in an ordered loop.

    Returns: how many batches were done.

    Raises:
        whatever ``work``, ``done`` or ``batches`` raise, with its own traceback, after every thread has ended. The same for Ctrl-C.

    >>> total = []
    >>> def work(task):
    ...     with task.turn():
    ...         total.append(task.batch)
    >>> run_threads(work, range(5), workers=2), total
    (5, [0, 1, 2, 3, 4])
    """
    call = "run_threads"
    workers = integer(call, "workers", workers, 1, 1 << 20)
    threads = workers if threads is None else integer(call, "threads", threads, 1, 1 << 20)
    seed = integer(call, "seed", seed, 0, 1 << 62)
    if not callable(work):
        raise ArgumentError(f"{call}: work = {work!r} must be callable")
    several = inspect.isgeneratorfunction(work)
    sequencer = Sequencer(workers, at_once=None if several else threads, timeout=timeout) if a_bool(call, "ordered", ordered) else None
    shared, count, lock = _Batches(batches), [0], threading.Lock()

    def over(task: Task, result: Any) -> None:
        if sequencer is not None:
            sequencer.finish(task.step, task.worker)
        with lock:
            count[0] += 1
            if done is not None:
                done(task, result)

    def in_order(own: range) -> None:
        assert sequencer is not None
        with sequencer.guard():
            step, left = 0, list(own)
            while left:
                tasks = []
                for w in tuple(left):
                    batch = shared.number(step * workers + w)
                    if batch is _END:  # said at once: the others' turns must not wait for it
                        sequencer.leave(w)
                        left.remove(w)
                    else:
                        tasks.append(Task(batch, step, w, seed, sequencer))
                for task, result in _together(work, tasks) if several else ((t, work(t)) for t in tasks):
                    over(task, result)
                step += 1

    def in_any_order(own: range) -> None:
        while (found := shared.next())[1] is not _END:
            task = Task(found[1], *divmod(found[0], workers), seed, None)
            over(*next(iter(_together(work, [task])))) if several else over(task, work(task))

    if sequencer is None:
        _run(in_any_order, [range(t, t + 1) for t in range(threads)], shared, None)
    else:
        n = min(threads, workers) if several else workers
        _run(in_order, [range(workers * t // n, workers * (t + 1) // n) for t in range(n)], shared, sequencer)
    return count[0]


def _together(work: Callable[[Task], Generator[Any, Any, Any]], tasks: list[Task]) -> Iterable[tuple[Task, Any]]:
    """Advances the tasks' generators one after the other, each to its next yield, until all have ended."""
    alive = [(task, work(task)) for task in tasks]
    while alive:
        still = []
        for task, steps in alive:
            try:
                next(steps)
            except StopIteration as end:
                yield task, end.value
            else:
                still.append((task, steps))
        alive = still


def _run(loop: Callable[[range], None], shares: list[range], shared: _Batches, sequencer: Sequencer | None) -> None:
    """``loop`` for each share of the workers on a thread of its own, in the caller's context; the first error once all have ended."""
    with ThreadPoolExecutor(len(shares), thread_name_prefix="paramstore") as pool:
        try:
            futures = [pool.submit(contextvars.copy_context().run, loop, share) for share in shares]
            wait(futures, return_when=FIRST_EXCEPTION)
        except BaseException as error:  # Ctrl-C comes to the thread that waits here
            shared.stopped = True
            if sequencer is not None:
                sequencer.poison(error)
            raise
        shared.stopped = True
    errors = [e for e in (f.exception() for f in futures) if e is not None]
    if errors:
        first = sequencer.error if sequencer is not None else None
        raise first if first is not None else next((e for e in errors if not isinstance(e, Poisoned)), errors[0])
