"""paramstore's own core calls, as the yardstick of its frontends."""

from __future__ import annotations

from collections.abc import Iterator

import paramstore

from ..arguments import Arguments
from ..workloads import Workload
from .base import Contender, Peer

__all__ = ["load"]


class Core:
    name, version, yardstick, copies = "core", paramstore.__version__, True, 1

    def contenders(self, w: Workload, a: Arguments) -> Iterator[Contender]:
        from ..ours import core

        if w.form == "frontend":
            yield core(w, a)


def load(threads: int) -> Peer:
    return Core()
