"""What the examples share: a progress line, options that are numbers, a digest of all tables, and a plot if matplotlib is there."""

from __future__ import annotations

import argparse
import hashlib
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import paramstore as ps


class Progress:
    """A line with a rate and a loss: rewritten in place on a terminal, twelve lines in all elsewhere. Any thread may show."""

    def __init__(self, total: int, unit: str) -> None:
        self.terminal, self.start, self.shown = sys.stdout.isatty(), time.perf_counter(), 0.0
        self.total, self.unit, self.done = total, unit, 0
        self.lock = threading.Lock()
        self.losses: list[tuple[float, float]] = []  # (done, mean loss since the last line)
        self._sum, self._count = 0.0, 0

    def add(self, done: int, loss: float = 0.0, count: int = 0, note: str = "") -> None:
        """``done`` more units; ``loss`` is a sum over ``count`` items."""
        with self.lock:
            self.done += done
            self._sum, self._count = self._sum + loss, self._count + count
            now, part = time.perf_counter(), min(1.0, self.done / self.total)
            due = now - self.shown > 0.2 if self.terminal else part >= self.shown
            if self.done < self.total and not (due and self._count):
                return
            self.shown = now if self.terminal else part + 1 / 12
            if self._count:
                self.losses.append((part, self._sum / self._count))
            mean = self.losses[-1][1] if self.losses else float("nan")
            bar = "#" * round(20 * part)
            line = f"{part:4.0%} [{bar:<20}] {self.done / (now - self.start):11,.0f} {self.unit}/s  loss {mean:.4f}{note}"
            print(f"\r{line}" if self.terminal else line, end="\n" if part == 1 or not self.terminal else "", flush=True)
            self._sum, self._count = 0.0, 0

    @property
    def rate(self) -> float:
        """Units a second so far."""
        return self.done / max(time.perf_counter() - self.start, 1e-9)


def number(kind: type, low: float, high: float) -> Any:
    """A type for argparse: a number in [low, high]."""

    def read(text: str) -> Any:
        try:
            if low <= kind(text) <= high:
                return kind(text)
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"{text!r} is not {'an integer' if kind is int else 'a number'} in [{low}, {high}]")

    return read


def add_options(parser: argparse.ArgumentParser, rows: Sequence[tuple[str, Any, Any, str]]) -> None:
    """Options that are numbers: (name, type, default, text)."""
    for name, kind, default, text in rows:
        shown = "" if default is None else " (default: %(default)s)"
        parser.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=f"{text}{shown}")


def digest(store: ps.ParamStore) -> str:
    """SHA-256 over the names, shapes and bytes of all tables."""
    sha = hashlib.sha256()
    for name, table in store.items():
        sha.update(f"{name} {table.shape} {table.dtype}\n".encode())
        sha.update(table.numpy().tobytes())
    return sha.hexdigest()


def plot(path: str, title: str, x: str, y: str, lines: dict[str, Sequence[tuple[float, float]]], level: float | None = None) -> bool:
    """Lines of (x, y) points to a PNG or SVG file; False if there is no matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4), layout="constrained")
    for name, points in lines.items():
        axes.plot([p[0] for p in points], [p[1] for p in points], marker="o", markersize=3, label=name)
    if level is not None:
        axes.axhline(level, color="grey", linestyle="--", label="optimum")
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.legend()
    figure.savefig(path)
    pyplot.close(figure)
    print(f"plot: {path}")
    return True
