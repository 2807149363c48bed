"""A bar chart of how many times as fast as the fastest peer ours is."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from .records import Run

__all__ = ["bars"]


def bars(runs: Sequence[Run], path: str) -> None:
    """Writes the chart; the file's ending names its format.

    Raises:
        ImportError: Matplotlib is not installed.
        ValueError: nothing to show.
    """
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("Agg")
    plt: Any = import_module("matplotlib.pyplot")
    names = list(dict.fromkeys(row.name for run in runs for row in run.rows if row.ratio))
    if not names:
        raise ValueError("no row has both a time of ours and one of a peer")
    height = 0.8 / len(runs)
    figure, axes = plt.subplots(figsize=(9, 1.5 + 0.25 * len(names) * max(1, len(runs) * 0.6)), layout="constrained")
    for number, run in enumerate(runs):
        rows = {row.name: row for row in run.rows if row.ratio}
        places = [k + (number - (len(runs) - 1) / 2) * height for k, name in enumerate(names) if name in rows]
        shown = [rows[name] for name in names if name in rows]
        lengths = [(row.ratio or 1.0) - 1.0 for row in shown]  # bars grow from 1, where both are equal
        drawn = axes.barh(places, lengths, height, left=1.0, label=f"{run.threads} thread{'s' * (run.threads > 1)}")
        axes.bar_label(drawn, [f"{row.ratio:.1f}  {row.fastest.peer}" for row in shown if row.ratio and row.fastest], padding=3, fontsize=6)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=1)
    axes.margins(x=0.15, y=0.01)
    axes.set_xlabel("time of the fastest peer / time of paramstore (longer is better; the peer is named)")
    axes.legend(fontsize=8)
    figure.savefig(path)
    plt.close(figure)
