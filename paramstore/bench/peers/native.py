"""The C++ yardsticks of ``loops.cpp``: the plain loop on one thread, and as many threads as asked for, racing."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..arguments import Arguments
from ..workloads import Workload
from .base import Array, Contender, Missing, Peer

__all__ = ["load"]

_TYPE = {"float32": "float", "float64": "double", "int32": "int32_t", "int64": "int64_t"}
_FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-std=c++17", "-shared", "-fPIC", "-pthread")


class Native:
    name, yardstick, copies = "native", True, 0

    def __init__(self, library: ctypes.CDLL, version: str, threads: int) -> None:
        self.library, self.version, self.threads = library, version, threads

    def contenders(self, w: Workload, a: Arguments) -> Iterator[Contender]:
        if w.form != "rows" or w.op != "add" or w.dtype not in _TYPE:
            return
        function = getattr(self.library, f"add_{_TYPE[w.dtype]}_{_TYPE[w.index]}")
        function.restype = None

        def loop(threads: int) -> Any:
            sizes = (ctypes.c_int64(a.ids.size), ctypes.c_int64(w.width), threads)
            arguments = (_pointer(a.table), _pointer(a.ids), _pointer(a.updates), *sizes)
            return lambda: function(*arguments)

        yield Contender("C++ loop", loop(1), lambda _: a.table)
        # With few rows the start of a thread would be all that is seen.
        if self.threads > 1 and a.ids.size >= 1000:
            yield Contender("racing", loop(self.threads), lambda _: a.table, right=False)


def _pointer(array: Array) -> Any:
    return ctypes.c_void_p(array.ctypes.data)


def load(threads: int) -> Peer:
    """Compiles the loops.

    Raises:
        Missing: no compiler, or it fails.
    """
    compiler = shutil.which(os.environ.get("CXX", "")) or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise Missing("no C++ compiler")
    source = Path(__file__).with_name("loops.cpp")
    with tempfile.TemporaryDirectory() as folder:  # an open library needs its file no longer
        built = Path(folder) / "loops.so"
        made = subprocess.run([compiler, *_FLAGS, str(source), "-o", str(built)], capture_output=True, text=True)
        if made.returncode:
            raise Missing(f"{compiler} fails: {made.stderr.strip().splitlines()[-1:]}")
        version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
        return Native(ctypes.CDLL(str(built)), f"{Path(compiler).name} {version}", threads)
