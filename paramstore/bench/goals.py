"""What the table must show: the project's goals for its speed, held against a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from . import lookups, optimizers
from .records import Row, Run

__all__ = ["Check", "check", "summary"]

FASTER, MUCH_FASTER, OVER_FLOOR, DOUBLING, MORE_THREADS, OVER_RACING = 2.0, 4.0, 1.5, 1.15, 1.05, 1.3
SMALL = 1000  # rows; a shorter call is judged as a small one


@dataclass
class Check:
    """One number against one goal: it is met where the value is at least (or at most) the limit."""

    goal: str
    row: str
    threads: int
    value: float
    limit: float
    least: bool = True

    @property
    def met(self) -> bool:
        return self.value >= self.limit if self.least else self.value <= self.limit


def _calls(row: Row) -> int:
    return row.index_shape[0]


def _speed(run: Run, row: Row) -> Iterator[Check]:
    ratio, name, t = row.ratio, row.name, run.threads
    if row.group == "issue" and ratio:
        if _calls(row) < SMALL:
            yield Check("small calls: no slower than the fastest peer", name, t, ratio, 1.0)
        else:
            yield Check(f"the issue's rows: {FASTER}x the fastest peer", name, t, ratio, FASTER)
            if row.ids in ("zipf", "heavy") and row.width >= 16:
                yield Check(f"Zipf and heavy duplicates, W >= 16: {MUCH_FASTER}x the fastest peer", name, t, ratio, MUCH_FASTER)
    numba = row.best("numba")
    if row.group == "issue" and t == 1 and numba and numba.seconds and row.ours:
        yield Check("one thread: no slower than a Numba loop", name, t, numba.seconds / row.ours, 1.0)
    if row.form == "gather" and row.ours:
        found = [x.seconds for x in row.times if x.peer in ("numpy", "torch") and x.counts and x.seconds]
        if found:
            yield Check("gather: no slower than NumPy and torch", name, t, min(found) / row.ours, 1.0)


def _bounds(run: Run, row: Row) -> Iterator[Check]:
    if row.form != "rows" or not row.ours or _calls(row) < SMALL:
        return
    if row.width >= 64 and row.over_floor:
        yield Check(f"W >= 64: within {OVER_FLOOR}x of the floor", row.name, run.threads, row.over_floor, OVER_FLOOR, least=False)
    racing = row.best("native", "racing")
    if row.ids == "uniform" and racing and racing.seconds:
        value = row.ours / racing.seconds
        yield Check(f"uniform ids: within {OVER_RACING}x of racing threads", row.name, run.threads, value, OVER_RACING, least=False)


def _growth(run: Run) -> Iterator[Check]:
    rows = sorted((r for r in run.rows if r.group == "growth" and r.name.startswith("call of") and r.ours), key=_calls)
    for less, more in zip(rows, rows[1:]):
        if _calls(less) >= 10 * SMALL and _calls(more) == 2 * _calls(less) and less.ours and more.ours:
            value = more.ours / less.ours / 2
            goal = f"twice the work, at most {DOUBLING} times twice the time"
            yield Check(goal, more.name, run.threads, value, DOUBLING, least=False)


def _threads(runs: Sequence[Run]) -> Iterator[Check]:
    one = {row.name: row for run in runs if run.threads == 1 for row in run.rows}
    for run in runs:
        for row in run.rows:
            alone = one.get(row.name)
            if run.threads > 1 and row.ours and alone and alone.ours:
                value = row.ours / alone.ours
                yield Check(f"more threads: at most {MORE_THREADS} times one thread's time", row.name, run.threads, value, MORE_THREADS, least=False)


def check(runs: Sequence[Run]) -> list[Check]:
    """Every number that a goal speaks of."""
    found: list[Check] = []
    for run in runs:
        for row in run.rows:
            found += [*_speed(run, row), *_bounds(run, row), *optimizers.checks(run, row, Check), *lookups.checks(run, row, Check)]
        found += _growth(run)
    return [*found, *_threads(runs)]


def summary(checks: Iterable[Check]) -> list[str]:
    """A line a goal, and a line a miss."""
    by_goal: dict[str, list[Check]] = {}
    for one in checks:
        by_goal.setdefault(one.goal, []).append(one)
    lines = []
    for goal, all_ in by_goal.items():
        missed = sorted((c for c in all_ if not c.met), key=lambda c: c.value, reverse=not all_[0].least)
        lines.append(f"{'met ' if not missed else 'MISS'} {len(all_) - len(missed)}/{len(all_)}  {goal}")
        lines += [f"           {c.value:.2f}  {c.row}, {c.threads} thread{'s' * (c.threads > 1)}" for c in missed]
    return lines
