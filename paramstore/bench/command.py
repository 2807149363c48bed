"""The command ``paramstore bench``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import goals, report
from .measure import Limits
from .parent import Plan, free_memory, measure
from .peers import PEERS
from .plot import bars
from .records import Row, Run
from .workloads import GROUPS, Workload, select

__all__ = ["add_options", "run"]

LEAST_FREE = 20e9  # bytes: never plan for more, however much there is
QUICK_BYTES = 1.5e9


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    option = parser.add_argument
    default = sorted({1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1})
    option("--threads", nargs="+", type=_positive, default=default, metavar="N", help="threads of ours and of every peer, each number in turn")
    option("--only", nargs="+", default=[], metavar="PATTERN", help="only workloads whose name holds this, or matches it (* and ?)")
    option("--group", nargs="+", default=[], choices=GROUPS, metavar="GROUP", help=f"only these groups: {', '.join(GROUPS)}")
    option("--peers", nargs="*", default=list(PEERS), choices=PEERS, metavar="PEER", help=f"only these: {', '.join(PEERS)}; none given: only ours")
    option("--rounds", type=_positive, default=Limits.rounds, metavar="N", help="turns for each contender (default: %(default)s)")
    option("--max-bytes", type=float, metavar="BYTES", help="of all arrays of a workload (default: four fifths of the free memory, at most 20e9)")
    option("--quick", action="store_true", help="three rounds, and nothing that needs much memory: for a first look")
    option("--scale", type=float, default=1.0, metavar="F", help="that part of all rows: to try the bench, not to measure")
    option("--json", metavar="FILE", help="write everything, every sample included")
    option("--markdown", metavar="FILE", help="write the tables for docs/performance.md")
    option("--plot", metavar="FILE", help="write a bar chart (with Matplotlib)")
    option("--list", action="store_true", help="list the workloads and stop")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value


def _plan(options: argparse.Namespace, workloads: list[Workload]) -> Plan:
    limits = Limits(rounds=options.rounds)
    most = options.max_bytes or min(LEAST_FREE, 0.8 * free_memory())
    streaming: dict[str, Any] = {}
    if options.scale < 1:
        streaming = {"megabytes": max(1, int(256 * options.scale)), "seconds": 0.02}
    if options.quick:
        limits, most = replace(limits, rounds=min(3, options.rounds), seconds=0.1), min(most, QUICK_BYTES)
    return Plan(workloads, options.peers, limits, options.scale, most, streaming)


def _printer(group: list[str]) -> Callable[[Run, Row | None], None]:
    """Prints rows as they come."""

    def show(run: Run, row: Row | None) -> None:
        columns = report.Columns(replace(run, rows=[]))
        if row is None:
            print("\n" + "\n".join(report.heading(run)))
            print("\n" + columns.line("ms (µ: µs)", columns.headings))
            group.clear()
            return
        if row.group not in group:
            group[:] = [row.group]
            print(f"-- {row.group}")
        print(columns.line(row.name, columns.cells(row)), flush=True)

    return show


def _written(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"wrote {path}")


def run(options: argparse.Namespace) -> int:
    """Measures, prints, writes; answers the exit status."""
    workloads = select(options.only, options.group)
    if not workloads:
        print("paramstore bench: no workload matches; see --list", file=sys.stderr)
        return 2
    if options.list:
        for w in workloads:
            print(f"{w.group:<12}{w.name:<72}{w.form:<15}{w.dtype:<9}{w.index:<7}{w.ids:<9}{(w.table_bytes + w.argument_bytes) / 1e6:9.1f} MB")
        return 0
    about = report.machine()
    print(f"paramstore {about['paramstore']}, {about['cores']} cores, caches {about['caches']}, kernels: {about['kernel']}")
    if not about["extension"]:
        print("WITHOUT the compiled extension: these are the times of the reference kernels")
    plan, runs = _plan(options, workloads), []
    for threads in dict.fromkeys(options.threads):
        done = measure(plan, threads, _printer([]))
        runs.append(done)
        print("\n".join(["", *report.notes(done), f"{done.seconds:.0f} s"]), flush=True)
        if options.json:  # after each, so that an interrupted run leaves something
            _written(options.json, json.dumps(report.as_json(runs), indent=1) + "\n")
        if options.markdown:
            _written(options.markdown, report.markdown(runs))
    print("\n".join(["", *goals.summary(goals.check(runs))]))
    if options.plot:
        try:
            bars(runs, options.plot)
        except (ImportError, ValueError) as error:
            print(f"paramstore bench: no chart: {error}", file=sys.stderr)
            return 1
        print(f"wrote {options.plot}")
    return 0
