"""What the tests about threads share: functions run at once, and Python code run in a process of its own.

Whatever may end the process runs there, so that a crash is a failed test that names the signal.
"""

from __future__ import annotations

import contextvars
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import paramstore as ps

BACKENDS = sorted({k.backend for k in ps.kernels()} & {"reference", "cpu"})
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


SMALL = """
import sys
if "paramstore._cpu" in sys.modules:
    sys.modules["paramstore._cpu"].set_bytes_per_thread(1 << 14)
"""


def small_calls_take_threads() -> None:
    """Calls that are not worth several threads take them nevertheless, until the process ends."""
    exec(SMALL)


def together(*functions: Callable[[], Any], seconds: float = 60) -> None:
    """Runs the functions at once, each in a thread with this thread's context; raises the first exception."""
    start, errors = threading.Barrier(len(functions)), []

    def run(function: Callable[[], Any]) -> None:
        try:
            start.wait()
            function()
        except BaseException as error:  # noqa: BLE001  (handed to the caller)
            errors.append(error)

    threads = [threading.Thread(target=contextvars.copy_context().run, args=(run, f), daemon=True) for f in functions]
    for t in threads:
        t.start()
    stop = time.monotonic() + seconds
    for t in threads:
        t.join(max(0.0, stop - time.monotonic()))
    assert not any(t.is_alive() for t in threads), "a thread hangs"
    if errors:
        raise errors[0]


def script(tmp_path: Path, code: str, *arguments: str, seconds: int = 120) -> str:
    """Runs Python code in a process of its own; a signal is named."""
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", PRELUDE + SMALL + code, *arguments]
    try:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        pytest.fail(f"hangs: {error.stdout!r} {error.stderr!r}")
    if done.returncode < 0:
        pytest.fail(f"died of {signal.Signals(-done.returncode).name}: {done.stdout}{done.stderr}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


PRELUDE = """
import os, sys, threading, time
import numpy as np
import paramstore as ps
from paramstore import dispatch, normalize

def together(*functions):
    errors = []
    def run(f):
        try:
            f()
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=run, args=(f,), daemon=True) for f in functions]
    for t in threads: t.start()
    for t in threads: t.join()
    if errors: raise errors[0]
"""
