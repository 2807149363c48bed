"""Locks that stay usable in the child of a fork.

The child has only the thread that forked. A lock that another thread held at that moment would stay held for ever, so it is made free
there; one that the forking thread held, it still holds.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

__all__ = ["made"]

_all: weakref.WeakSet[Any] = weakref.WeakSet()


def made() -> threading.RLock:
    """A new reentrant lock.

    >>> with made() as lock:
    ...     lock
    True
    """
    lock = threading.RLock()
    _all.add(lock)
    return lock


def _in_the_child() -> None:
    for lock in list(_all):
        if not lock._is_owned():
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_the_child)
