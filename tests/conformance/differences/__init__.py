"""The one table of deliberate differences; ``docs/differences.md`` is made from it by ``python docs/generate.py``.

A row says for which cases theirs and ours may differ, and how. Its test must name both outcomes as narrowly as the reason allows: what it
lets pass is not looked at any further.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import NamedTuple

from ..outcomes import Case, Outcome

__all__ = ["Row", "rows", "row_for"]


class Row(NamedTuple):
    """One deliberate difference."""

    operators: str  # names or patterns, separated by spaces
    condition: str  # when, for people
    theirs: str  # what the original does
    ours: str  # what the frontend does
    reason: str
    test: Callable[[Case, Outcome, Outcome], bool]  # (case, theirs, ours)

    def covers(self, case: Case, theirs: Outcome, ours: Outcome) -> bool:
        return any(fnmatchcase(case.operator, p) for p in self.operators.split()) and self.test(case, theirs, ours)


def rows(original: str) -> list[Row]:
    """The rows of an original; the first that covers a case counts."""
    return list(importlib.import_module(f"{__name__}.{original}").ROWS)


def row_for(case: Case, theirs: Outcome, ours: Outcome) -> Row | None:
    """The row that lists the difference, if one does."""
    return next((row for row in rows(case.original) if row.covers(case, theirs, ours)), None)
