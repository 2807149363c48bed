"""What the optimizers share: options and their checks, the way of a gradient to its kernel, and the state."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from math import prod
from typing import Any, Union

import numpy as np

from .. import convert, dtypes, places, registry
from ..convert import Array
from ..errors import ArgumentError, DeviceError, DtypeError, IndexOutOfBounds, ShapeError, TargetError, TooLarge
from ..parameter import Parameter
from ..slices import IndexedSlices, bad_id
from .state import Slot, State

__all__ = ["Optimizer", "Rate"]

Rate = Union[float, Callable[[int], float]]
_NO_SCALARS = np.empty(0)


def number(call: str, argument: str, value: Any, least: float = 0.0, below: float = math.inf, strict: bool = False) -> float:
    """``value`` as a float in [least, below), or above ``least`` where ``strict``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise DtypeError(f"{call}: {argument} = {value!r} must be a number")
    found = float(value)
    if not (least < found if strict else least <= found) or not found < below:
        raise ArgumentError(f"{call}: {argument} = {value!r} is not in {'(' if strict else '['}{least}, {below})")
    return found


@dataclass(frozen=True)
class Optimizer:
    """The options that all optimizers take.

    Args:
        lr: the learning rate: a number of at least 0, or a function of the number of steps applied before (0 at first).
        weight_decay: decoupled: a row that moves is first multiplied by ``1 - lr * weight_decay``. At a step that gives rows, the others
            do not decay.
        padding_idx: a row that never moves.
        max_row_norm: a row whose Euclidean norm is larger after its step is scaled to it.
        name: the state of the Parameter ``emb`` is ``emb/name/...``.

    Raises:
        ArgumentError, DtypeError: an option that is no number, or outside its range: a learning rate that is negative, infinite or NaN.
    """

    lr: Rate
    weight_decay: float = field(default=0.0, kw_only=True)
    padding_idx: int | None = field(default=None, kw_only=True)
    max_row_norm: float | None = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        call = type(self).__name__
        if not callable(self.lr):
            self._set("lr", self._checked_rate(call, self.lr))
        self._set("weight_decay", number(call, "weight_decay", self.weight_decay))
        if self.padding_idx is not None:
            if isinstance(self.padding_idx, (bool, np.bool_)) or not isinstance(self.padding_idx, (int, np.integer)):
                raise DtypeError(f"{call}: padding_idx = {self.padding_idx!r} must be an integer or None")
            self._set("padding_idx", int(number(call, "padding_idx", self.padding_idx)))
        if self.max_row_norm is not None:
            self._set("max_row_norm", number(call, "max_row_norm", self.max_row_norm, strict=True))
        if not isinstance(self.name, str):
            raise DtypeError(f"{call}: name = {self.name!r} must be a str")
        self._set("name", self.name or call.lower())
        if "/" in self.name or self.name in (".", "..") or not self.name.isprintable() or "\\" in self.name:
            raise ArgumentError(f"{call}: name = {self.name!r} must be one printable segment, without '/'")

    def _set(self, attribute: str, value: Any) -> None:
        object.__setattr__(self, attribute, value)

    def _checked_rate(self, call: str, value: Any) -> float:
        return number(call, "lr", value)

    # -- what an optimizer says of itself ---------------------------------------------------------------------------------------

    @property
    def _rule(self) -> str:
        """Its update rule, a name of ``ops.RULES``."""
        raise NotImplementedError

    @property
    def _slots(self) -> tuple[Slot, ...]:
        """Its state, in the order of ``kernels/optim.def``."""
        return ()

    @property
    def _constants(self) -> tuple[float, ...]:
        """The rule's scalars that are the same at every step."""
        return ()

    def _varying(self, lr: float, step: int) -> tuple[float, ...]:
        """The rule's other scalars, behind the factor of the decay; ``step`` counts from 0."""
        return (lr,)

    @property
    def _catches_up(self) -> bool:
        """Whether rows without a gradient move too, though later."""
        return False

    # -- applying ---------------------------------------------------------------------------------------------------------------

    def apply(self, param: Parameter, grad: Any, *, use_locking: bool = False) -> Parameter:
        """One step, in place: rows that repeat are summed first (`IndexedSlices.coalesce`), and each row that has a gradient moves once.

        Args:
            param: a Parameter of a floating dtype.
            grad: `IndexedSlices`, or an array of the Parameter's shape, of its dtype or one that converts to it. Slices without any row
                are no step: nothing changes. NaN and infinity go through.
            use_locking: hold the Parameter's lock from the first look to the last write.

        Returns: the Parameter.

        Raises:
            IndexOutOfBounds: an id outside the table; nothing has been written, and no step counted.
            ShapeError, DtypeError, ParameterCastError: the gradient or an existing state does not fit.
            ArgumentError: a function for lr gave a number that is no learning rate.
            TargetError: the Parameter is not trainable.
            DeviceError: the Parameter is on a GPU.
        """
        call = f"{type(self).__name__}.apply"
        convert.a_bool(call, "use_locking", use_locking)
        self._check_target(call, param)
        with param.lock if use_locking else nullcontext():
            x = param._array
            ids, shown, updates = self._gradient(call, param, x, grad)
            if updates.size:
                self._run(call, param, x, ids, shown, updates)
        return param

    def flush(self, param: Parameter, ids: Any = None, *, use_locking: bool = False) -> Parameter:
        """Brings rows up to date whose moves were put off (`Adam` with ``lazy=False``); for all others there is nothing to do.

        Args:
            ids: only these rows, for example those that are read next; by default all.
        """
        call = f"{type(self).__name__}.flush"
        convert.a_bool(call, "use_locking", use_locking)
        self._check_target(call, param)
        if self._catches_up and param.size:
            with param.lock if use_locking else nullcontext():
                shown = None if ids is None else convert.indices_of(call, "ids", ids)[0]
                if self._state(call, param).steps and (shown is None or shown.size):
                    self._run(call, param, param._array, None if shown is None else shown.reshape(-1), shown, None)
        return param

    def steps(self, param: Parameter) -> int:
        """How many steps have been applied to ``param``."""
        self._check_target(f"{type(self).__name__}.steps", param)
        return self._state(f"{type(self).__name__}.steps", param).steps

    def state(self, param: Parameter) -> dict[str, Parameter]:
        """The state of ``param`` by name (``"m"``, ``"v"``, ``"step"``), made if there is none yet."""
        call = f"{type(self).__name__}.state"
        self._check_target(call, param)
        return {p.name.rsplit("/", 1)[-1]: p for p in self._state(call, param).parameters()}

    def _check_target(self, call: str, param: Any) -> None:
        if not isinstance(param, Parameter):
            raise DtypeError(f"{call}: param must be a Parameter, not {type(param).__name__}")
        if places.of(param._array) is not None:
            raise DeviceError(f"{call}: {param.name or 'the Parameter'} is on {param.device}; optimizers run on the CPU only")
        if dtypes.kind(param.dtype) != "float":
            raise DtypeError(f"{call}: {param.name or 'the Parameter'} has dtype {param.dtype}, which must be a real floating type")
        if not param.trainable:
            raise TargetError(f"{call}: {param.name or 'the Parameter'} is not trainable")
        if self.padding_idx is not None and param.shape and self.padding_idx >= param.shape[0]:
            raise IndexOutOfBounds(f"{call}: padding_idx = {self.padding_idx} is not in [0, {param.shape[0]})")
        if self._catches_up and not param.shape:
            raise ShapeError(f"{call}: {param.name or 'the Parameter'} has no rows to bring up to date")

    def _gradient(self, call: str, param: Parameter, x: Array, grad: Any) -> tuple[Array | None, Array | None, Array]:
        """Flat ids or None, the ids as they were given, and updates of shape (N, W)."""
        w = prod(x.shape[1:])
        ids = shown = None
        given = grad
        if isinstance(grad, IndexedSlices):
            if not x.shape:
                raise ShapeError(f"{call}: {param.name or 'the Parameter'} has no rows")
            given = grad._values
            shape = grad._shape(call)
            if shape is not None and shape != x.shape:
                raise ShapeError(f"{call}: grad.dense_shape = {shape} must be {x.shape}")
            shown, _ = convert.indices_of(call, "grad.indices", grad._indices)
            if np.may_share_memory(shown, x):
                shown = shown.copy()
            ids = shown.reshape(-1)
        updates = convert.updates_of(call, "grad", given, x.dtype, convert=True, owner=param.name or "the Parameter")
        expected = x.shape if shown is None else shown.shape + x.shape[1:]
        if updates.shape != expected:
            raise ShapeError(f"{call}: grad{'' if shown is None else '.values'}.shape = {updates.shape} must be {expected}")
        if np.may_share_memory(updates, x):
            updates = updates.copy()
        return ids, shown, updates.reshape((len(x) if x.shape else 1) if ids is None else len(ids), w)

    def _state(self, call: str, param: Parameter) -> State:
        found = param._states.get(self.name)
        if found is None or found.specs != self._slots or (found.last is None and self._catches_up) or not found.belongs(param):
            with param.lock:
                if found is not None:
                    found.move(param)
                found = param._states[self.name] = State(call, param, self.name, self._slots, self._catches_up, found)
        return found

    def _scalars(self, step: int) -> tuple[float, ...]:
        lr = self.lr(step) if callable(self.lr) else self.lr
        rate = self._checked_rate(f"{type(self).__name__}, step {step}", lr)
        return (1.0 - rate * self.weight_decay, *self._varying(rate, step))

    def _run(self, call: str, param: Parameter, x: Array, ids: Array | None, shown: Array | None, updates: Array | None) -> None:
        """The step, or without updates only what rows have missed."""
        state = self._state(call, param)
        step = state.steps + (updates is not None)
        kernel = registry.find(call, self._rule, "optim", param._dtype_name, param._device)
        if self._catches_up:
            varying, first = state.history(step, self._scalars), 1
            still = self.max_row_norm is None and not state.decays
        else:
            varying, first, still = np.array([self._scalars(step - 1)]), step, False
        constants = np.array(self._constants, np.float64) if self._constants else _NO_SCALARS
        rows = len(x) if x.shape else 1
        slots = tuple(s._array.reshape(rows, -1) if not spec.by_row else s._array.reshape(rows) for s, spec in zip(state.slots, state.specs))
        if updates is not None and any(np.may_share_memory(s, updates) for s in slots):
            updates = updates.copy()
        last = state.last._array if state.last is not None and self._catches_up else None
        padding = -1 if self.padding_idx is None else self.padding_idx
        try:
            fault = kernel.function(
                x.reshape(rows, -1), slots, last, ids, updates, varying, constants, first, step,
                padding, self.max_row_norm or 0.0, state.most if still else 0.0,
            )  # fmt: skip
        except MemoryError as error:
            raise TooLarge(f"{call}: no memory for the order of {0 if ids is None else len(ids)} ids") from error
        if fault is not None:
            assert shown is not None
            raise bad_id(call, shown, fault, len(x))
        if updates is not None:
            with state.lock:
                state.step._array[...] += 1
            if state.last is not None and last is None:  # a lazy step: what rows had missed before is forgiven
                state.last._array[...] = step
        for p in (param, *(state.parameters() if updates is not None else state.parameters()[1:])):
            p._changed()
