"""Clocks: contenders take turns, and what counts is the median; and the bandwidth of the memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from .peers.base import Contender

__all__ = ["Limits", "Timed", "take_turns", "bandwidth"]

SETTLE = 0.002  # seconds before a turn: thread pools of a peer spin for a while after its call, and `starting` may have woken somebody
LONG = 0.02  # seconds; a longer call is not disturbed by what ran before it
SHORT = 50e-6  # seconds; shorter calls are timed many in a row
LOOP = 500e-6  # seconds that such a row takes
FAR = 5.0  # times the fastest: its exact time matters to nobody


@dataclass(frozen=True)
class Limits:
    """How much to measure.

    Attributes:
        rounds: turns for each contender.
        seconds: after which a contender gets no further turn, if it has three samples. One that is far from the fastest gets a third
            of that, and one sample is enough.
        calls: timed calls in a turn, of those that are short.
    """

    rounds: int = 5
    seconds: float = 0.3
    calls: int = 2


@dataclass
class Timed:
    """A contender and its samples, in seconds a call."""

    peer: str
    contender: Contender
    yardstick: bool = False
    samples: list[float] = field(default_factory=list)
    spent: float = 0.0
    worked: float = 0.0  # processor seconds of the whole process in its turns
    error: str = ""

    @property
    def seconds(self) -> float | None:
        return median(self.samples) if self.samples and not self.error else None

    @property
    def cores(self) -> float | None:
        """Processors busy in its turns: shows whether it keeps to the number of threads."""
        return self.worked / self.spent if self.spent > 0.02 else None


def _once(call: Callable[[], Any], n: int = 1) -> float:
    clock = time.perf_counter
    start = clock()
    for _ in range(n):
        call()
    return (clock() - start) / n


def _turn(timed: Timed, calls: int) -> None:
    call = timed.contender.call
    estimate = min(timed.samples, default=0.0)
    if estimate < LONG:
        again = _once(call)  # warms the caches and wakes the threads
        if again >= LONG and not timed.samples:  # it needs no warming
            timed.samples.append(again)
            return
        estimate = min(estimate or again, again)
    if estimate >= LONG:
        calls = 1
    n = max(1, round(LOOP / max(estimate, 1e-7))) if estimate < SHORT else 1
    timed.samples += [_once(call, n) for _ in range(calls)]


def _enough(timed: Timed, limits: Limits, fastest: float) -> bool:
    far = min(timed.samples, default=0.0) > FAR * fastest
    return timed.spent >= limits.seconds / 3 if far else timed.spent >= limits.seconds and len(timed.samples) >= 3


def take_turns(contenders: Sequence[Timed], limits: Limits, starting: Callable[[Timed], None] = lambda _: None) -> None:
    """Times every contender, in turns whose order changes from round to round. A failure is noted and ends that contender's turns.

    Args:
        starting: told about each turn before it is taken.
    """
    for number in range(-1, limits.rounds):
        fastest = min((min(t.samples) for t in contenders if t.samples), default=float("inf"))
        first = number % len(contenders) if contenders else 0
        for timed in (*contenders[first:], *contenders[:first]):
            if timed.error or (number >= 0 and _enough(timed, limits, fastest)):
                continue
            starting(timed)
            time.sleep(SETTLE)
            start, busy = time.perf_counter(), time.process_time()
            try:
                if number < 0:  # compiles, allocates, touches: not counted
                    _once(timed.contender.call)
                else:
                    _turn(timed, limits.calls)
                    timed.spent += time.perf_counter() - start
                    timed.worked += time.process_time() - busy
            except Exception as error:  # whatever a peer raises is its own affair
                timed.error = f"{type(error).__name__}: {error}"


def bandwidth(threads: int, megabytes: int = 256, seconds: float = 0.5) -> dict[str, float]:
    """Bytes a second that stream through, for arrays too large for a cache: ``read``, ``copy`` (y = x) and ``add`` (y += x).

    A call that mostly reads its updates cannot be faster than ``read``. ``add`` is what a scatter would do if its rows came in order: two reads and a write of the same place, and nothing else moves.

    >>> sorted(bandwidth(1, megabytes=1, seconds=0.01))
    ['add', 'copy', 'read']
    """
    n = megabytes * (1 << 20) // 4
    x, y = np.ones(n, np.float32), np.zeros(n, np.float32)
    parts = [slice(n * t // threads, n * (t + 1) // threads) for t in range(threads)]

    def read(part: slice) -> None:
        np.dot(x[part], y[part])

    def copy(part: slice) -> None:
        np.copyto(y[part], x[part])

    def add(part: slice) -> None:
        np.add(y[part], x[part], out=y[part])

    found = {}
    with ThreadPoolExecutor(threads) as pool:
        for name, work, moved in (("read", read, 2 * x.nbytes), ("copy", copy, 2 * x.nbytes), ("add", add, 3 * x.nbytes)):
            best, end = float("inf"), time.perf_counter() + seconds
            while time.perf_counter() < end or best == float("inf"):
                best = min(best, _once(lambda work=work: list(pool.map(work, parts))))  # type: ignore[misc]
            found[name] = moved / best
    return found
