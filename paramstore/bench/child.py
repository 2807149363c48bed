"""The measuring process: one number of threads, and every peer in it. It tells its parent what it does, one line of JSON at a time.

A line is ``{"event": ..., ...}``: "loading" and "peer" (or "missing"), "bandwidth", "turn" before each call into a peer, so that
the parent knows who killed the process, and "row".
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import paramstore as ps

from . import peers
from .arguments import Arguments, build
from .measure import Limits, Timed, bandwidth, take_turns
from .ours import ours
from .peers import Contender, Missing, Peer
from .records import Row, Time
from .workloads import TABLE, Workload, scaled

__all__ = ["main", "measured", "Session"]

COMPARED = 300  # rows in the small instance on which results are compared
# Sums of few values near 1, rounded at each step; half types keep three digits.
TOLERANCE = {"float16": 3e-2, "float32": 1e-4, "float64": 1e-9}

Tell = Callable[..., None]


class Session:
    """Peers, limits, and what has been compared so far."""

    def __init__(self, loaded: Sequence[Peer], limits: Limits, max_bytes: float, tell: Tell, bytes_a_second: float) -> None:
        self.peers, self.limits, self.max_bytes, self.tell, self.bytes_a_second = loaded, limits, max_bytes, tell, bytes_a_second
        self._compared: dict[tuple[Any, ...], str] = {}

    def difference(self, w: Workload, peer: Peer, label: str) -> str:
        """In what a peer's result differs from ours on a small instance; "" if it does not."""
        key = (peer.name, label, w.form, w.op, w.dtype, w.index, len(w.table), w.ids, w.axis, w.at_once)
        if key not in self._compared:
            self.tell("turn", workload=w.name, peer=peer.name, label=label)
            self._compared[key] = _difference(scaled(w, 1.0, most=32 if w.form == "elements" else COMPARED), peer, label)
        return self._compared[key]


def _result(contender: Contender) -> Any:
    return np.array(contender.read(contender.call()))


def _difference(small: Workload, peer: Peer, label: str) -> str:
    a = build(small, seed=1)
    expected = _result(ours(small, a.fresh()))
    found = _result(next(c for c in peer.contenders(small, a.fresh()) if c.label == label))
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"other result: {found.dtype}{list(found.shape)}, not {expected.dtype}{list(expected.shape)}"
    tolerance = TOLERANCE.get(small.dtype, 0.0)
    wrong = ~np.isclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    return f"other result in {np.count_nonzero(wrong)} of {wrong.size} cells" if wrong.any() else ""


def _contenders(session: Session, w: Workload, a: Arguments) -> Iterator[Timed | Time]:
    """Every peer's ways of doing the workload, or why there is none."""
    taken = 2 * w.table_bytes + 3 * w.argument_bytes
    for peer in session.peers:
        if peer.name not in w.peers:
            continue
        extra = peer.copies * (w.table_bytes + w.argument_bytes)
        if taken + extra > session.max_bytes:
            yield Time(peer.name, "", None, peer.yardstick, f"left out: {(taken + extra) / 1e9:.1f} GB is more than --max-bytes allows")
            continue
        taken += extra
        session.tell("turn", workload=w.name, peer=peer.name, label="preparing")
        try:
            for contender in peer.contenders(w, a):
                yield Timed(peer.name, contender, peer.yardstick)
        except Exception as error:
            yield Time(peer.name, "", None, peer.yardstick, _text(error))


def _text(error: Exception) -> str:
    """An error in one line of a table's notes."""
    if isinstance(error, Missing):
        return str(error)
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:200]


def _noted(session: Session, w: Workload, timed: Timed) -> str:
    by_name = {p.name: p for p in session.peers}
    if timed.error or not timed.contender.right:
        return timed.error[:200]
    try:
        return session.difference(w, by_name[timed.peer], timed.contender.label)
    except Exception as error:
        return _text(error)


def measured(session: Session, w: Workload) -> Row:
    """One row of the report."""
    row = Row(
        w.name, w.group, w.form, w.op, list(w.table), list(w.index_shape), w.dtype, w.index, w.ids, w.width,
        unique=0, floor_bytes=0, floor=0.0, ours=None,
    )  # fmt: skip
    if 2 * w.table_bytes + 3 * w.argument_bytes > session.max_bytes:
        row.note = "more memory than --max-bytes allows"
        return row
    session.tell("turn", workload=w.name, peer="ours", label="preparing")
    a = build(w)
    row.unique, row.floor_bytes = a.unique, w.floor(w, a.unique)
    row.floor = row.floor_bytes / session.bytes_a_second
    try:
        mine = Timed("ours", ours(w, a))
    except Exception as error:
        row.note = _text(error)
        return row
    found = list(_contenders(session, w, a))
    timed = [t for t in found if isinstance(t, Timed)]
    take_turns([mine, *timed], session.limits, lambda t: session.tell("turn", workload=w.name, peer=t.peer, label=t.contender.label))
    row.ours, row.samples, row.note = mine.seconds, mine.samples, mine.error
    for t in found:
        if isinstance(t, Timed):
            t = Time(t.peer, t.contender.label, t.seconds, t.yardstick, _noted(session, w, t), t.samples, t.cores)
        row.times.append(t)
    return row


def _loaded(names: Sequence[str], threads: int, tell: Tell) -> list[Peer]:
    loaded = []
    for name in names:
        tell("loading", peer=name)
        try:
            peer = peers.load(name, threads)
        except Exception as error:
            tell("missing", peer=name, reason=_text(error))
        else:
            loaded.append(peer)
            tell("peer", peer=name, version=peer.version)
    return loaded


def _own_output() -> Any:
    """The stream to the parent; whatever libraries print goes to stderr instead."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    return stream


def main(text: str) -> None:
    """Measures what the JSON in ``text`` asks for: threads, peers, workloads, scale, limits, max_bytes, bandwidth (None: measure it)."""
    asked = json.loads(text)
    stream = _own_output()

    def tell(event: str, **more: Any) -> None:
        stream.write(json.dumps({"event": event, **more}) + "\n")

    tell("turn", peer="ours", label="starting")
    ps.set_num_threads(asked["threads"])
    speed = asked["bandwidth"]
    if not speed:
        speed = bandwidth(asked["threads"], **asked["streaming"])
        speed["used"] = max(speed.values())
        tell("bandwidth", **speed)
    loaded = _loaded(asked["peers"], asked["threads"], tell)
    session = Session(loaded, Limits(**asked["limits"]), asked["max_bytes"], tell, speed["used"])
    by_name = {w.name: w for w in TABLE}
    for name in asked["workloads"]:
        row = measured(session, scaled(by_name[name], asked["scale"]))
        gc.collect()  # peers' arrays are in cycles: gigabytes must not wait for the next collection
        tell("row", row=row.to_json())
    with contextlib.suppress(OSError):
        stream.close()
    sys.stderr.flush()
    os._exit(0)  # libraries that were never made to live together must not hang or die while they are taken down
