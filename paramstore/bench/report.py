"""The report: a table on the terminal, Markdown, JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import paramstore

from . import goals
from .parent import free_memory
from .peers import YARDSTICKS
from .records import SCHEMA, Row, Run

__all__ = ["Columns", "machine", "heading", "as_json", "markdown", "notes", "duration"]

# Heading -> (peer, label): yardsticks that one peer gives under several names have a column each.
_YARDSTICKS = {"numba": [("numba", "numba", "")], "native": [("C++", "native", "C++ loop"), ("racing", "native", "racing")], "core": [("core", "core", "")]}
_NAME = 48


def duration(seconds: float | None) -> str:
    """Milliseconds with three digits, or microseconds.

    >>> duration(0.0123), duration(2.6e-6), duration(None)
    ('12.3', '2.60µ', '-')
    """
    if seconds is None:
        return "-"
    value, unit = (seconds * 1e3, "") if seconds >= 1e-4 else (seconds * 1e6, "µ")
    return f"{value:.{max(0, 2 - len(str(int(value))) + 1)}f}{unit}"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


class Columns:
    """The columns of a run's table: ours, the peers' best, the ratio, the yardsticks, the floor."""

    def __init__(self, run: Run) -> None:
        there = [p for p in run.peers if any(t.peer == p for row in run.rows for t in row.times) or not run.rows]
        self.peers = [p for p in there if p not in YARDSTICKS]
        self.yardsticks = [column for p in there for column in _YARDSTICKS.get(p, ()) if column[0] != "racing" or run.threads > 1]

    @property
    def headings(self) -> list[str]:
        return ["ours", *self.peers, "fastest/ours", *(c[0] for c in self.yardsticks), "floor", "ours/floor"]

    def cells(self, row: Row) -> list[str]:
        peers = [self._cell(row, p) for p in self.peers]
        yardsticks = [self._cell(row, p, label) for _, p, label in self.yardsticks]
        ratio = _times(row.ratio)
        return [duration(row.ours), *peers, ratio, *yardsticks, duration(row.floor or None), _times(row.over_floor)]

    @staticmethod
    def _cell(row: Row, peer: str, label: str = "") -> str:
        best = row.best(peer, label)
        if best is None:
            return "-"
        if best.seconds is None:
            return "x"
        return duration(best.seconds) + ("!" if best.note else "")

    def line(self, name: str, cells: Sequence[str]) -> str:
        widths = [max(8, len(h) + 1) for h in self.headings]
        return f"{name[:_NAME]:<{_NAME}}" + "".join(f"{c:>{w}}" for c, w in zip(cells, widths))


def machine() -> dict[str, Any]:
    """The machine in general terms: no names, no serial numbers."""
    cache = Path("/sys/devices/system/cpu/cpu0/cache")
    caches = {}
    for entry in sorted(cache.glob("index*")) if cache.is_dir() else ():
        kind = (entry / "type").read_text().strip()
        if kind != "Instruction":
            caches[f"L{(entry / 'level').read_text().strip()}"] = (entry / "size").read_text().strip()
    memory = free_memory()
    return {
        "architecture": platform.machine(),
        "system": platform.system(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "caches": caches,
        "free_memory": None if memory == float("inf") else int(memory),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "paramstore": paramstore.__version__,
        "kernel": str(paramstore.explain("scatter_add", dtype="float32")),
        "extension": any(k.backend == "cpu" for k in paramstore.kernels()),
    }


def heading(run: Run) -> list[str]:
    """What a run's table starts with."""
    speeds = ", ".join(f"{name} {value / 1e9:.1f} GB/s" for name, value in run.bandwidth.items() if name != "used")
    there = ", ".join(f"{name} {version}".strip() for name, version in run.peers.items())
    lines = [
        f"{run.threads} thread{'s' * (run.threads > 1)}; memory bandwidth: {speeds} (floors use the higher)",
        f"peers: {there or 'none'}",
    ]
    return lines + [f"without {name}: {why}" for name, why in run.missing.items()]


def notes(run: Run) -> Iterator[str]:
    """Everything that failed, did not fit or gave another result: once for each reason, with the rows it is about."""
    found: dict[str, list[str]] = {}
    for row in run.rows:
        if row.note:
            found.setdefault(f"ours: {row.note}", []).append(row.name)
        for t in row.times:
            name = f"{t.peer} {t.label}".strip()
            if t.note:
                found.setdefault(f"{name}: {t.note}", []).append(row.name)
            if t.cores and t.cores > run.threads + 0.3:
                found.setdefault(f"{name}: kept more than {run.threads} cores busy", []).append(row.name)
    for note, rows in found.items():
        yield f"{note} [{rows[0]}{f' and {len(rows) - 1} more' if len(rows) > 1 else ''}]"


def as_json(runs: Sequence[Run]) -> dict[str, Any]:
    """The whole report; ``runs[k]`` is `Run.from_json` of itself."""
    checks = goals.check(runs)
    return {
        "schema": SCHEMA,
        "machine": machine(),
        "runs": [run.to_json() for run in runs],
        "goals": [{**vars(c), "met": c.met} for c in checks],
    }


def markdown(runs: Sequence[Run]) -> str:
    """Tables for docs/performance.md, one for each number of threads."""
    about = machine()
    caches = ", ".join(f"{level} {size}" for level, size in about["caches"].items())
    lines = [
        f"{about['cores']} cores ({about['architecture']}; caches {caches}); Python {about['python']}, NumPy {about['numpy']}. "
        "Times in ms (µ: µs), medians; the best of a peer's ways. `fastest/ours`: how many times as fast as the fastest peer; "
        "yardsticks after it do not count. `!`: other result; `x`: failed; `-`: cannot.",
    ]
    for run in runs:
        columns = Columns(run)
        first, *rest = heading(run)
        lines += ["", f"### {first.split(';')[0]}", "", first.split("; ", 1)[1] + ".", "", *(f"{line}.  " for line in rest), ""]
        lines += ["| workload | " + " | ".join(columns.headings) + " |", "|---|" + "---:|" * len(columns.headings)]
        lines += [f"| {row.name} | " + " | ".join(_bold(columns, row)) + " |" for row in run.rows]
        lines += ["", *(f"- {note}" for note in notes(run))]
    lines += ["", "### Goals", "", "```", *goals.summary(goals.check(runs)), "```", ""]
    return "\n".join(lines)


def _bold(columns: Columns, row: Row) -> list[str]:
    cells = columns.cells(row)
    return [f"**{c}**" if c != "-" and h in ("ours", "fastest/ours") else c for h, c in zip(columns.headings, cells)]
