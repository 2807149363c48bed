"""How a call would spread over more threads than this machine has: the plans of ``kernels/cpu``, simulated.

What is measured here, on one thread: the time of a row's update, of a tag, and of looking at a tag. What is simulated: who does what, by
the rules of ``plan.cpp`` and ``buckets.cpp``. What is assumed: that threads do not slow each other down. So it is a bound from above: the
memory ends the growth earlier, where `Scaling.bandwidth` says.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

import paramstore as ps

from .arguments import distributed

__all__ = ["Scaling", "shares", "table"]

BUCKETS_EACH, MOST_BUCKETS, STRIPE, TAGGING = 4, 255, 128, 4  # as in kernels/cpu
TAG, LOOK = 1.2e-9, 0.06e-9  # seconds an id: giving it a tag; looking at the tag (32 at a time)

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Scaling:
    """One call on many threads.

    Attributes:
        speedup: times as fast as one thread.
        largest: the largest share of the updates that one thread has, times the number of threads: 1 is even.
        bandwidth: bytes a second that all threads together would move.
    """

    threads: int
    speedup: float
    largest: float
    bandwidth: float


def _buckets(ids: Array, row_bytes: int, buckets: int) -> Array:
    """`owner_of` in kernels/cpu/types.h."""
    shift = 0
    while shift < 8 and (row_bytes << shift) < 256:
        shift += 1
    group = ids.astype(np.uint64) >> np.uint64(shift)
    spread = (group ^ (group >> np.uint64(32))).astype(np.uint32) * np.uint32(0x9E3779B1)
    found: Array = (spread.astype(np.uint64) * np.uint64(buckets)) >> np.uint64(32)
    return found


def shares(ids: Array, row_bytes: int, threads: int) -> Array:
    """The updates of each thread, in whole rows; those of a striped bucket count by their part of the row.

    >>> ids = np.arange(100_000) % 5000
    >>> round(float(shares(ids, 64, 8).sum()))
    100000
    """
    if threads < TAGGING or row_bytes >= STRIPE * threads:  # columns, or what comes close to them
        return np.full(threads, len(ids) / threads)
    buckets = min(threads * BUCKETS_EACH, MOST_BUCKETS)
    sizes = np.bincount(_buckets(ids, row_bytes, buckets).astype(np.int64), minlength=buckets)
    load = np.zeros(threads)
    fair = max(1.0, len(ids) / threads)
    for size in np.sort(sizes)[::-1]:
        stripes = int(max(1, min(threads, row_bytes // STRIPE, (size + fair / 2) // fair)))
        for _ in range(stripes):
            load[np.argmin(load)] += size / stripes
    return load


def _update_seconds(ids: Array, rows: int, width: int) -> float:
    """One thread's time for a row, measured."""
    p = ps.Parameter(np.ones((rows, width), np.float32))
    updates = np.ones((len(ids), width), np.float32)
    before = ps.get_num_threads()
    ps.set_num_threads(1)
    try:
        samples = []
        for _ in range(5):
            start = time.perf_counter()
            p.scatter_add(ids, updates)
            samples.append(time.perf_counter() - start)
    finally:
        ps.set_num_threads(before)
    return median(samples) / len(ids)


def table(distribution: str, rows: int, width: int, n: int, threads: Sequence[int] = (4, 8, 16, 32, 64)) -> list[Scaling]:
    """Simulates a ``scatter_add`` of ``n`` float32 rows.

    >>> [s.threads for s in table("uniform", 1000, 16, 2000, threads=(4, 8))]
    [4, 8]
    """
    ids = distributed(distribution, np.random.default_rng(0), n, rows)
    each = _update_seconds(ids, rows, width)
    found = []
    for count in threads:
        load = shares(ids, 4 * width, count)
        tagged = count >= TAGGING and 4 * width < STRIPE * count
        seconds = float(load.max()) * each + (n / count * TAG + n * LOOK if tagged else 0.0)
        bandwidth = n * (8 + 12 * width) / seconds
        found.append(Scaling(count, n * each / seconds, float(load.max()) * count / n, bandwidth))
    return found


def main() -> None:
    """Prints the table of docs/performance.md."""
    print("| ids | table | " + " | ".join(f"{t} threads" for t in (4, 8, 16, 32, 64)) + " |")
    print("|---|---|" + "---|" * 5)
    for name, what in (("uniform", "uniform"), ("zipf", "Zipf 1.2"), ("onehot", "10 % on one row")):
        for rows, width, n in ((1_000_000, 64, 200_000), (1_000_000, 16, 500_000), (1_000_000, 1, 2_000_000)):
            cells = " | ".join(f"{s.speedup:.1f} ({s.bandwidth / 1e9:.0f})" for s in table(name, rows, width, n))
            print(f"| {what} | {rows // 1000}k x {width}, {n // 1000}k | {cells} |", flush=True)


if __name__ == "__main__":
    main()
