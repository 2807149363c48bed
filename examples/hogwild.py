"""Four ways for threads to train one table, side by side: how fast each is, how many updates it loses, and whether its bits repeat.

Every task reads some rows of a table, computes, and updates them; and it counts, in a second table, how often each row was updated. Ids
follow Zipf's law, so that threads meet on the same rows all the time: the worst case for Hogwild (Niu et al. 2011, arXiv:1106.5730), whose
promise is that an update that is lost now and then does no harm where rows are many.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from show import Progress, add_options, digest, number, plot  # the file beside this one

import paramstore as ps

MODES = ("sequencer", "accumulator", "locked", "hogwild")
Array = np.ndarray[Any, np.dtype[Any]]


def batches(options: argparse.Namespace) -> list[Array]:
    """The ids of each task."""
    rng = np.random.default_rng(options.seed)
    part = 1 / np.arange(1, options.rows + 1)
    drawn = np.searchsorted(np.cumsum(part / part.sum()), rng.random((options.tasks, options.batch)))
    return list(np.minimum(drawn, options.rows - 1))


def run(mode: str, work: list[Array], options: argparse.Namespace, progress: Progress) -> tuple[float, int, str]:
    """Seconds, updates that were lost, and the SHA-256 of the trained table."""
    store, counters = ps.ParamStore(), ps.ParamStore()
    table = store.create("table", (options.rows, options.dim), initializer=ps.init.normal(std=1.0, seed=options.seed))
    counts = counters.create("counts", (options.rows, options.dim), dtype="int64")
    ones = np.ones((options.batch, options.dim), np.int64)
    workers, locked = options.workers, mode == "locked"
    accumulator = ps.Accumulator(workers) if mode == "accumulator" else None

    def add(slices: ps.IndexedSlices) -> None:
        table.scatter_sub(slices.indices, slices.values)
        counts.scatter_add(slices.indices, np.ones(slices.values.shape, np.int64))

    def task_of(task: ps.Task) -> Any:
        ids = task.batch
        with task.read():
            rows = table.gather(ids, use_locking=locked)
        yield
        step = np.tanh(rows) * np.float32(0.01)  # pulls every row to zero
        yield
        if accumulator is not None:
            accumulator.push(task.worker, ps.IndexedSlices(ids, step, table.shape))
        with task.turn():
            if accumulator is None:
                table.scatter_sub(ids, step, use_locking=locked)
                counts.scatter_add(ids, ones, use_locking=locked)
            elif task.worker == workers - 1 or task.step * workers + task.worker == options.tasks - 1:
                accumulator.take(task.worker + 1, add)
        return float(np.abs(step[0]).mean())

    start = time.perf_counter()
    ps.run_threads(task_of, work, workers=workers, threads=options.threads, ordered=mode in MODES[:2],
                   done=lambda task, loss: progress.add(options.batch, loss, 1, f"  {mode}"))  # fmt: skip
    seconds = time.perf_counter() - start
    lost = options.tasks * options.batch * options.dim - int(counts.value.sum())
    return seconds, lost, digest(store)


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hogwild", description=(__doc__ or "").split("\n")[0])
    count = number(int, 1, 10**8)
    add_options(parser, (
        ("threads", number(int, 1, 64), 2, "threads that work"), ("workers", number(int, 1, 64), 4, "tasks in a step of the ordered modes"),
        ("rows", count, 1000, "of the table"), ("dim", count, 64, "cells of a row"), ("batch", count, 2048, "rows that a task updates"),
        ("tasks", count, 200, "in a run"), ("runs", count, 3, "of each mode"), ("seed", number(int, 0, 10**9), 1, "of everything random"),
    ))  # fmt: skip
    parser.add_argument("--plot", metavar="FILE", default="hogwild.png",
                        help='PNG or SVG for the speeds, written if matplotlib is there; "" for none (default: %(default)s)')  # fmt: skip
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    ps.set_num_threads(1)  # the threads of the loop are enough
    work = batches(options)
    progress = Progress(len(MODES) * options.runs * options.tasks * options.batch, "rows")
    results = {mode: [run(mode, work, options, progress) for _ in range(options.runs)] for mode in MODES}
    print(f"\n{'mode':12} {'rows/s':>12} {'lost updates':>14}  bits of {options.runs} runs")
    rates: dict[str, list[tuple[float, float]]] = {}
    for mode, found in results.items():
        rates[mode] = [(k + 1, options.tasks * options.batch / seconds) for k, (seconds, _, _) in enumerate(found)]
        lost = max(lost for _, lost, _ in found) / (options.tasks * options.batch * options.dim)
        shas = sorted({sha for _, _, sha in found})
        bits = f"the same, {shas[0][:12]}" if len(shas) == 1 else f"{len(shas)} different results"
        print(f"{mode:12} {max(rate for _, rate in rates[mode]):12,.0f} {lost:13.4%}  {bits}")
    if options.plot:
        plot(options.plot, f"{options.threads} threads on one table", "run", "rows updated a second", rates)


if __name__ == "__main__":
    main()
