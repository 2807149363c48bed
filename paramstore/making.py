"""Which thread is making which Parameter of a store, and which thread waits for which."""

from __future__ import annotations

import os
import threading

from . import locks
from .errors import NameInUse

__all__ = ["Making"]


class Making:
    """A Parameter that a thread is making, in whatever store; and which thread waits for which.

    One condition serves them all, so that a chain of threads, each waiting for what the next one makes, is seen as a whole.
    """

    _turn = threading.Condition(locks.made())
    _running: set[Making] = set()
    _waits: dict[int, Making] = {}  # by thread

    def __init__(self) -> None:
        self.thread, self.ended = threading.get_ident(), False
        with self._turn:
            self._running.add(self)

    def end(self) -> None:
        with self._turn:
            self.ended = True
            self._running.discard(self)
            self._turn.notify_all()

    @classmethod
    def in_the_child(cls) -> None:
        """What other threads were making when the process forked, nobody makes any more."""
        me = threading.get_ident()
        for other in [making for making in cls._running if making.thread != me]:
            other.ended = True
            cls._running.discard(other)
        for thread in [thread for thread in cls._waits if thread != me]:
            del cls._waits[thread]

    def wait(self, call: str, name: str) -> None:
        """Until it is made, or has failed.

        Raises:
            NameInUse: the maker waits, at whatever remove, for this thread.
        """
        me = threading.get_ident()
        with self._turn:
            link: Making | None = self
            while link is not None and not link.ended:
                if link.thread == me:
                    who = "this very thread" if link is self else "a thread that waits for what this thread makes"
                    raise NameInUse(f"{call}: {name!r} is being made by {who}; its initializer must not ask for it")
                link = self._waits.get(link.thread)
            self._waits[me] = self
            try:
                while not self.ended:
                    self._turn.wait()
            finally:
                del self._waits[me]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Making.in_the_child)
