"""The order of duplicates that calls ask for: ``fast`` (any order) or ``ordered`` (bit for bit the defining loop)."""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Iterator
from typing import TypeVar

from .errors import ArgumentError, DtypeError

__all__ = ["deterministic", "set_deterministic", "is_deterministic", "mode", "within"]

Value = TypeVar("Value")

# On the CPU keeping the order costs next to nothing, so it is always kept.
_ALWAYS_ORDERED = frozenset({"cpu"})
_process_wide = os.environ.get("PARAMSTORE_DETERMINISTIC", "") not in ("", "0")
_here: contextvars.ContextVar[bool | None] = contextvars.ContextVar("paramstore_deterministic", default=None)


def _a_bool(call: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise DtypeError(f"{call}: enabled = {value!r} must be a bool, not {type(value).__name__}")
    return value


@contextlib.contextmanager
def within(call: str, variable: contextvars.ContextVar[Value], value: Value) -> Iterator[None]:
    """Gives a context variable a value for the length of a block.

    Raises:
        ArgumentError: the block ends in another context than it began in, as that of a generator may that another task closes.
    """
    token = variable.set(value)
    try:
        yield
    finally:
        try:
            variable.reset(token)
        except ValueError as error:
            raise ArgumentError(f"{call}: the block must end in the thread, async task and context in which it began") from error


def set_deterministic(enabled: bool) -> None:
    """Asks for ordered kernels everywhere in the process, except where `deterministic` says otherwise.

    The environment variable ``PARAMSTORE_DETERMINISTIC=1`` does the same at import.
    """
    global _process_wide
    _process_wide = _a_bool("set_deterministic", enabled)


@contextlib.contextmanager
def deterministic(enabled: bool = True) -> Iterator[None]:
    """Asks for ordered kernels within the block, in this thread and this async task only.

    >>> with deterministic():
    ...     is_deterministic()
    True
    """
    with within("deterministic", _here, _a_bool("deterministic", enabled)):
        yield


def is_deterministic() -> bool:
    """Whether ordered kernels are asked for here. On the CPU they are used either way."""
    here = _here.get()
    return _process_wide if here is None else here


def mode(device: str = "cpu") -> str:
    """The order mode of a call on that device: ``"fast"`` or ``"ordered"``."""
    return "ordered" if device in _ALWAYS_ORDERED or is_deterministic() else "fast"
