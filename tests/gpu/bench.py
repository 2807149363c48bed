"""Times scatter-add on a GPU, beside CuPy's and PyTorch's, and judges the goals; prints one table.

    python tests/gpu/bench.py [--json FILE] [--seconds N]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
import numpy as np

import paramstore as ps

ROWS, UPDATES = 1_000_000, 1_000_000
WIDTHS = {"float32": (1, 16, 64, 256), "float16": (64,), "int32": (64,), "float64": (64,)}
SPREADS = ("uniform", "zipf 1.05")
# name -> columns of the table, microseconds each
COLUMNS = ("fast", "fast, drop", "ordered", "cupyx", "torch", "torch det.")


def microseconds(call: Callable[[], Any], budget: float) -> float:
    """The median of a call's time on the GPU, by events around each call."""
    for _ in range(2):
        call()
    cupy.cuda.Device().synchronize()
    times: list[float] = []
    until = time.monotonic() + budget
    while len(times) < 5 or (len(times) < 50 and time.monotonic() < until):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) * 1000)
    return float(np.median(times))


def ids_of(spread: str, n: int) -> Any:
    rng = np.random.default_rng(1)
    if spread == "uniform":
        return rng.integers(0, ROWS, n)
    weights = 1 / np.arange(1, ROWS + 1) ** 1.05
    ranks = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(n)).clip(0, ROWS - 1)
    return rng.permutation(ROWS)[ranks]


def peers(table: Any, ids: Any, updates: Any) -> dict[str, Callable[[], Any]]:
    """The other libraries' calls on the same memory; those that are there, and take the dtype."""
    found: dict[str, Callable[[], Any]] = {}
    try:
        import cupyx

        cupyx.scatter_add(table[:1], ids[:1] * 0, updates[:1])
        found["cupyx"] = lambda: cupyx.scatter_add(table, ids, updates)
    except Exception as problem:
        print(f"# cupyx.scatter_add on {table.dtype}: {problem}", file=sys.stderr)
    try:
        import torch

        t, i, u = (torch.from_dlpack(a) for a in (table, ids, updates))

        def deterministic() -> None:
            torch.use_deterministic_algorithms(True)
            try:
                t.index_add_(0, i, u)
            finally:
                torch.use_deterministic_algorithms(False)

        # Events are CuPy's, on its stream: torch must work there too.
        stream = torch.cuda.ExternalStream(cupy.cuda.get_current_stream().ptr)

        def on_stream(call: Callable[[], Any]) -> Callable[[], None]:
            def run() -> None:
                with torch.cuda.stream(stream):
                    call()

            return run

        found["torch"] = on_stream(lambda: t.index_add_(0, i, u))
        found["torch det."] = on_stream(deterministic)
    except Exception as problem:
        print(f"# torch: {problem}", file=sys.stderr)
    return found


def row(dtype: str, width: int, spread: str, copy_rate: float, budget: float) -> dict[str, Any]:
    """One workload: the times, and how many GB/s the fast call moves (updates and rows read, rows written, ids)."""
    host_ids = ids_of(spread, UPDATES)
    ids, updates = cupy.asarray(host_ids), cupy.ones((UPDATES, width), dtype)
    table = cupy.zeros((ROWS, width), dtype)
    p = ps.Parameter(table, copy=False)
    calls: dict[str, Callable[[], Any]] = {
        "fast": lambda: p.scatter_add(ids, updates),
        "fast, drop": lambda: p.scatter_add(ids, updates, bounds="drop"),
        "ordered": lambda: in_order(p, ids, updates),
        **peers(table, ids, updates),
    }
    times = {}
    for name, call in calls.items():
        try:
            times[name] = microseconds(call, budget)
        except Exception as problem:
            print(f"# {name} on {dtype} x {width}: {problem}", file=sys.stderr)
    moved = UPDATES * (3 * width * np.dtype(dtype).itemsize + 8)
    rate = moved / times["fast, drop"] / 1000
    return {
        "dtype": dtype, "width": width, "spread": spread, "us": times, "GB/s": rate, "of copy": rate / copy_rate,
        "hottest row": int(np.bincount(host_ids).max()),
    }  # fmt: skip


def in_order(p: ps.Parameter, ids: Any, updates: Any) -> None:
    with ps.deterministic():
        p.scatter_add(ids, updates)


def goals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each goal with whether every row meets it; None where nothing could be compared."""

    def judged(text: str, values: list[bool | None]) -> dict[str, Any]:
        known = [v for v in values if v is not None]
        return {"goal": text, "met": all(known) if known else None, "rows": f"{sum(known)} of {len(known)}"}

    def against(name: str, factor: float, other: tuple[str, ...], r: dict[str, Any]) -> bool | None:
        found = [r["us"][o] for o in other if o in r["us"]]
        return r["us"][name] * factor <= min(found) if found and name in r["us"] else None

    return [
        judged("fast at least as fast as the fastest of cupyx and torch", [against("fast", 1, ("cupyx", "torch"), r) for r in rows]),
        judged("fast, drop: 70 % of device copy bandwidth for W >= 64", [r["of copy"] >= 0.7 for r in rows if r["width"] >= 64]),
        judged("ordered at most 3x fast at Zipf 1.05", [r["us"]["ordered"] <= 3 * r["us"]["fast"] for r in rows if r["spread"] != "uniform"]),
        judged("ordered at least twice as fast as torch's deterministic index_add_", [against("ordered", 2, ("torch det.",), r) for r in rows]),
    ]


def copy_bandwidth(budget: float) -> float:
    """GB/s of a device-to-device copy, both ways counted."""
    source = cupy.ones(1 << 28, np.uint8)
    out = cupy.empty_like(source)
    return 2 * source.nbytes / microseconds(lambda: cupy.copyto(out, source), budget) / 1000


def table(rows: list[dict[str, Any]]) -> str:
    head = ["dtype", "W", "spread", *(f"{c} us" for c in COLUMNS), "GB/s", "of copy"]
    lines = [head]
    for r in rows:
        cells = [f"{r['us'][c]:.0f}" if c in r["us"] else "-" for c in COLUMNS]
        lines.append([r["dtype"], str(r["width"]), r["spread"], *cells, f"{r['GB/s']:.0f}", f"{r['of copy']:.0%}"])
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join("  ".join(c.rjust(w) for c, w in zip(line, widths)) for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write everything there")
    parser.add_argument("--seconds", type=float, default=90, help="about how long to measure")
    given = parser.parse_args()
    workloads = [(d, w, s) for d, ws in WIDTHS.items() for w in ws for s in SPREADS]
    budget = given.seconds / (len(workloads) * len(COLUMNS) + 1)
    rate = copy_bandwidth(budget)
    rows = [row(*workload, rate, budget) for workload in workloads]
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    found = {
        "gpu": properties["name"].decode(), "driver": cupy.cuda.runtime.driverGetVersion(), "cuda": cupy.cuda.runtime.runtimeGetVersion(),
        "cupy": cupy.__version__, "paramstore": ps.__version__, "rows": ROWS, "updates": UPDATES, "copy GB/s": rate, "table": rows,
        "goals": goals(rows),
    }  # fmt: skip
    print(f"{found['gpu']}: {UPDATES:,} updates of {ROWS:,} rows; device copy {rate:.0f} GB/s\n\n{table(rows)}\n")
    for goal in found["goals"]:
        print({True: "met    ", False: "NOT MET", None: "unknown"}[goal["met"]], goal["goal"], f"({goal['rows']} rows)")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
