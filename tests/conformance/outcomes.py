"""Cases, what came of them, and when two outcomes agree."""

from __future__ import annotations

import builtins
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import codec

__all__ = ["Case", "Outcome", "agree", "close", "outcome_of"]


@dataclass(frozen=True)
class Case:
    """One call: the arguments are plain arrays, numbers, strings, tuples of them."""

    original: str
    operator: str
    arguments: dict[str, Any] = field(hash=False)

    def __getitem__(self, argument: str) -> Any:
        return self.arguments[argument]

    def get(self, argument: str, default: Any = None) -> Any:
        return self.arguments.get(argument, default)

    def as_json(self) -> dict[str, Any]:
        return {"operator": self.operator, "arguments": {k: codec.encode(v) for k, v in self.arguments.items()}}

    def __str__(self) -> str:
        shown = ", ".join(f"{k}={_short(v)}" for k, v in self.arguments.items())
        return f"{self.original} {self.operator}({shown})"


@dataclass(frozen=True)
class Outcome:
    """A value, an error (its classes, from its own to `BaseException`, and its text), or the death of the process."""

    kind: str  # "value", "error" or "died"
    value: Any = None
    classes: tuple[str, ...] = ()
    text: str = ""

    @property
    def ok(self) -> bool:
        return self.kind == "value"

    def isa(self, *names: str) -> bool:
        """Whether it is an error of one of these classes."""
        return any(n in self.classes for n in names)

    def __str__(self) -> str:
        return _short(self.value) if self.ok else f"{self.classes[0]}: {self.text}" if self.kind == "error" else f"died: {self.text}"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}{np.array2string(value, threshold=24, separator=',')}".replace("\n", "")
    return repr(value)


def outcome_of(answer: dict[str, Any]) -> Outcome:
    """The outcome that a line of the child says."""
    if "value" in answer:
        return Outcome("value", codec.decode(answer["value"]))
    if "error" in answer:
        return Outcome("error", None, tuple(answer["error"]), answer["text"])
    return Outcome("died", None, (), answer["died"])


# What everybody's errors are; an ``except`` for one of these says nothing.
_TOO_WIDE = {"Exception", "BaseException", "LookupError", "ArithmeticError", "object"}


def _caught_by(outcome: Outcome) -> set[str]:
    """The builtin classes by which a caller would catch it; where there are none, its own class."""
    found = {c for c in outcome.classes if hasattr(builtins, c)} - _TOO_WIDE
    return found or {outcome.classes[0]}


def _same(theirs: Any, ours: Any) -> bool:
    if isinstance(theirs, (tuple, list)) or isinstance(ours, (tuple, list)):
        return type(theirs) is type(ours) and len(theirs) == len(ours) and all(map(_same, theirs, ours))
    if theirs is None or ours is None:
        return theirs is ours
    return codec.flat(theirs) == codec.flat(ours)


def agree(theirs: Outcome, ours: Outcome) -> bool:
    """The same dtype, shape and bits (any NaN for a NaN); or an error that every ``except`` for theirs catches here too."""
    if theirs.kind != ours.kind:
        return False
    if theirs.ok:
        return _same(theirs.value, ours.value)
    return theirs.kind == "error" and _caught_by(theirs) <= set(ours.classes)


def close(theirs: Outcome, ours: Outcome, relative: float, absolute: float = 0.0) -> bool:
    """For rows of the table: values of the same dtype and shape that differ by rounding only."""
    if not (theirs.ok and ours.ok):
        return False
    a, b = np.asarray(theirs.value), np.asarray(ours.value)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    return bool(np.allclose(a.astype(wide), b.astype(wide), rtol=relative, atol=absolute, equal_nan=True))


def as_line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, separators=(",", ":"))
