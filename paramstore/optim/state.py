"""Where an optimizer's state lies: Parameters named after the one it trains, in its store if it has one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import locks
from ..convert import Array
from ..errors import DtypeError, ShapeError
from ..parameter import Parameter

__all__ = ["Slot", "State"]


@dataclass(frozen=True)
class Slot:
    """One array of state: its name, what a row that is new starts with, and whether a row has one number instead of many."""

    name: str
    initial: float = 0.0
    by_row: bool = False


class State:
    """The state of one optimizer for one Parameter.

    Attributes:
        step: how many steps have been applied; int64 of shape ().
        slots: the state that the update rule reads and writes.
        last: the step that each row has seen last, where rows are brought up to date later; else None.
    """

    def __init__(self, call: str, param: Parameter, name: str, slots: tuple[Slot, ...], catches_up: bool, before: State | None = None) -> None:
        self.lock = locks.made()  # of the count of steps and of what is known of them
        self._param_name, self._name, self._store = param.name, name, param._store()
        self._loose = {p.name.rsplit("/", 1)[-1]: p for p in before.parameters()} if before is not None and self._store is None else {}
        wide = np.dtype(np.float64 if param.dtype == np.float64 else np.float32)
        self.step = self._made(call, param, "step", (), np.dtype(np.int64), 0)
        self.specs = slots
        rows = param.shape[:1]
        self.slots = [self._made(call, param, s.name, rows if s.by_row else param.shape, wide, s.initial) for s in slots]
        self.last = self._made(call, param, "last", rows, np.dtype(np.int64), self.steps) if catches_up else None
        self._history = np.empty((0, 0))
        self._known = 0
        self.most, self.decays = 0.0, False

    @property
    def steps(self) -> int:
        """How many steps have been applied."""
        return int(self.step._array[()])

    def _made(self, call: str, param: Parameter, slot: str, shape: tuple[int, ...], dtype: np.dtype[Any], initial: float) -> Parameter:
        name = f"{param.name}/{self._name}/{slot}"
        found = self._store.get(name) if self._store is not None else self._loose.get(slot)
        if found is None:
            if self._store is not None:
                found = self._store.get_or_create(name, shape, dtype, initializer=initial, trainable=False)
            else:
                found = Parameter(np.full(shape, initial, dtype), name, trainable=False)
        if found.dtype != dtype:
            raise DtypeError(f"{call}: the state {name!r} has dtype {found.dtype}, which must be {dtype}")
        if found.shape[1:] != shape[1:] or found.ndim != len(shape):
            raise ShapeError(f"{call}: the state {name!r} has shape {found.shape}, which must be {shape}")
        if found.shape != shape:
            found.resize(shape[0], initial)
        return found

    def parameters(self) -> list[Parameter]:
        """All of it."""
        return [self.step, *self.slots, *([self.last] if self.last is not None else [])]

    def belongs(self, param: Parameter) -> bool:
        """Whether this is still the state of ``param`` where it is now: in its store, under its name, with its rows."""
        store = param._store()
        if store is not self._store or param.name != self._param_name:
            return False
        if any(p.shape[:1] != param.shape[:1] for p in self.parameters()[1:]):
            return False
        return store is None or all(store.get(p.name) is p for p in self.parameters())

    def move(self, param: Parameter) -> None:
        """Enters the state of a Parameter that was in no store into the store that it is in now."""
        store = param._store()
        if self._store is None and store is not None:
            for p in self.parameters():
                name = f"{param.name}/{self._name}/{p.name.rsplit('/', 1)[-1]}"
                if store.get(name) is None:
                    store.add(p, name)

    def resize(self, rows: int) -> None:
        """The same rows as the Parameter. A new row has missed nothing."""
        for spec, p in zip(self.specs, self.slots):
            if p.shape:
                p.resize(rows, spec.initial)
        if self.last is not None and self.last.shape:
            self.last.resize(rows, self.steps)

    def history(self, upto: int, scalars: Callable[[int], tuple[float, ...]]) -> Array:
        """The varying scalars of the steps 1 .. upto: what is not known is made by ``scalars(step - 1)``."""
        with self.lock:
            for step in range(self._known, upto):
                row = scalars(step)
                if step >= len(self._history):
                    grown = np.empty((max(64, 2 * upto), len(row)))
                    grown[:step] = self._history[:step] if step else 0.0
                    self._history = grown
                self._history[step] = row
                self._known = step + 1
                self.decays |= row[0] != 1.0
                self.most = max(self.most, row[1])
            return self._history[:upto]
