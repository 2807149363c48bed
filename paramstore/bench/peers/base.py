"""What a peer is: a name, a version, and for a workload the calls that do it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..arguments import Arguments
from ..workloads import Workload

__all__ = ["Contender", "Peer", "Missing", "Array", "together", "locked_parts"]

Array = np.ndarray[Any, np.dtype[Any]]


class Missing(Exception):
    """A peer or an operator that is not there; its text is the reason."""


@dataclass
class Contender:
    """One way of doing a workload.

    Attributes:
        label: what is called.
        call: does it once and returns when it is done.
        read: from what the call returned (or from what it changed) to a NumPy array.
        right: False for a loop that is known to give wrong results, which are then not compared.
    """

    label: str
    call: Callable[[], Any]
    read: Callable[[Any], Array]
    right: bool = True


class Peer(Protocol):
    """A library that can do (some of) the workloads.

    Attributes:
        name: as in ``--peers``.
        version: for the report.
        yardstick: a loop that nobody ships: it shows what the machine can do, and is not counted as the fastest peer.
        copies: how many copies of the table it makes while it is prepared.
    """

    name: str
    version: str
    yardstick: bool
    copies: int

    def contenders(self, w: Workload, a: Arguments) -> Iterator[Contender]:
        """The calls that do ``w``; none where it cannot. Those that work in place may write ``a.table``."""
        ...


def together(jobs: Sequence[Callable[[], Any]]) -> Callable[[], Any]:
    """A call that runs the jobs at once, one a thread, and waits for all. The threads live as long as the call does."""
    if len(jobs) == 1:
        return jobs[0]
    pool = ThreadPoolExecutor(len(jobs))

    def call() -> None:
        done, _ = wait([pool.submit(job) for job in jobs])
        for future in done:
            future.result()

    return call


def locked_parts(w: Workload, a: Arguments, add: Callable[[Array, Array], Any]) -> Callable[[], Any]:
    """``add(ids, updates)`` under one lock, from ``w.at_once`` threads: what a careful user of a library without locks writes."""
    lock = threading.Lock()

    def job(ids: Array, updates: Array) -> Callable[[], Any]:
        def run() -> None:
            with lock:
                add(ids, updates)

        return run

    return together([job(i, u) for i, u in zip(np.array_split(a.ids, w.at_once), np.array_split(a.updates, w.at_once))])
