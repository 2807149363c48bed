"""Starts a measuring process for each number of threads. If it dies, the peer it was in is left out, and the rest goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO

from .measure import Limits
from .peers import PEERS
from .records import Row, Run, Time
from .workloads import Workload

__all__ = ["Plan", "measure", "environment", "free_memory"]

_START = (
    "import json, sys; asked, sys.path[:] = sys.argv[1], json.loads(sys.argv[2]); from paramstore.bench.child import main; main(asked)"
)


@dataclass
class Plan:
    """What to measure.

    Attributes:
        max_bytes: of all arrays of one workload together.
        streaming: arguments of `measure.bandwidth`.
        silent_for: seconds without a word after which the measuring process counts as hung.
    """

    workloads: Sequence[Workload]
    peers: Sequence[str] = tuple(PEERS)
    limits: Limits = field(default_factory=Limits)
    scale: float = 1.0
    max_bytes: float = 20e9
    streaming: dict[str, float] = field(default_factory=dict)
    silent_for: float = 180.0


def environment(threads: int) -> dict[str, str]:
    """Variables that libraries read when they start, all set to the same number of threads."""
    n = str(threads)
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "PARAMSTORE_NUM_THREADS")
    return {
        **{name: n for name in names},
        "TF_NUM_INTEROP_THREADS": "1",
        "NPROC": n,  # the size of XLA's pool, for JAX
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}",
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "1",
        "GLOG_v": "4",  # MindSpore
        "PYTHONWARNINGS": "ignore",
    }


def free_memory() -> float:
    """Bytes that can be had without swapping, or infinity where nobody knows."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return float("inf")


def measure(plan: Plan, threads: int, progress: Callable[[Run, Row | None], None]) -> Run:
    """Everything with one number of threads.

    Args:
        progress: called once when the peers are loaded (with None) and then with every row.
    """
    run, started = Run(threads), time.monotonic()
    peers, left = list(plan.peers), list(plan.workloads)
    while left:
        last = _session(plan, run, peers, left, progress)
        if last is None:
            break
        culprit, why = last
        if culprit == "ours":
            _failed(run, left.pop(0), f"ours: {why}", progress)
        else:
            peers.remove(culprit)
            run.missing[culprit] = f"left out from {left[0].name!r} on: {why}" if culprit in run.peers else why
    run.seconds = time.monotonic() - started
    return run


def _failed(run: Run, w: Workload, note: str, progress: Callable[[Run, Row | None], None]) -> None:
    row = Row(w.name, w.group, w.form, w.op, list(w.table), list(w.index_shape), w.dtype, w.index, w.ids, w.width, 0, 0, 0.0, None, note=note)
    run.rows.append(row)
    progress(run, row)


def _session(
    plan: Plan, run: Run, peers: list[str], left: list[Workload], progress: Callable[[Run, Row | None], None]
) -> tuple[str, str] | None:
    """One measuring process; takes the workloads that it finishes off ``left``. Answers who killed it, and how.

    Raises:
        RuntimeError: it dies before it does anything.
    """
    asked = {
        "threads": run.threads, "peers": peers, "workloads": [w.name for w in left], "scale": plan.scale, "limits": asdict(plan.limits),
        "max_bytes": plan.max_bytes, "bandwidth": run.bandwidth, "streaming": plan.streaming,
    }  # fmt: skip
    command = [sys.executable, "-c", _START, json.dumps(asked), json.dumps(sys.path)]
    at = ""
    first = not run.rows
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **environment(run.threads)}) as process:
            assert process.stdout is not None
            for line in _lines(process, process.stdout, plan.silent_for):
                event = json.loads(line)
                kind = event.pop("event")
                if kind in ("loading", "turn"):
                    at = event["peer"]
                    if first and event.get("workload"):
                        first = False
                        progress(run, None)
                elif kind == "peer":
                    run.peers[event["peer"]] = event["version"]
                elif kind == "missing":
                    run.missing[event["peer"]] = event["reason"]
                    peers.remove(event["peer"])
                elif kind == "bandwidth":
                    run.bandwidth = event
                elif kind == "row":
                    row = Row.from_json(event["row"])
                    _note_the_left_out(run, row, left.pop(0))
                    run.rows.append(row)
                    progress(run, row)
        if not left:
            return None
        log.seek(0)
        tail = [line.strip() for line in log.read().splitlines() if line.strip()][-1:]
        ended = f"the process ended with status {process.returncode} in it" if process.returncode >= 0 else f"signal {-process.returncode}"
        if not at:
            raise RuntimeError(f"paramstore bench: the measuring process does not start: {ended}{': ' + tail[0] if tail else ''}")
        return at, f"{ended}{': ' + tail[0][:200] if tail else ''}"


def _note_the_left_out(run: Run, row: Row, w: Workload) -> None:
    for peer, why in run.missing.items():
        if peer in w.peers and peer in run.peers:
            row.times.append(Time(peer, "", None, False, why))


def _lines(process: subprocess.Popen[str], stream: IO[str], silent_for: float) -> Iterator[str]:
    """The stream's lines; a process that says nothing for too long is ended."""
    heard, over = [time.monotonic()], threading.Event()

    def watch() -> None:
        while not over.wait(1.0):
            if time.monotonic() - heard[0] > silent_for:
                process.kill()
                return

    watchdog = threading.Thread(target=watch, daemon=True)
    watchdog.start()
    try:
        for line in stream:
            heard[0] = time.monotonic()
            yield line
    finally:
        over.set()
