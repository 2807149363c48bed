"""Lets the tests import their helper modules (``loops``): with pytest's importlib mode this folder is not on the path by itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_HERE = str(Path(__file__).resolve().parent)
if _HERE not in sys.path:
    sys.path.insert(0, _HERE)


@pytest.fixture(scope="session", autouse=True)
def small_calls_take_threads() -> None:
    """Calls that are not worth several threads take them nevertheless."""
    import concurrency

    concurrency.small_calls_take_threads()


@pytest.fixture
def often_switching() -> Iterator[None]:
    """Frequent switches between threads; afterwards the interval and the thread count are as they were."""
    import paramstore as ps

    interval, threads = sys.getswitchinterval(), ps.get_num_threads()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)
    ps.set_num_threads(threads)


@pytest.fixture
def plans_as_before() -> Iterator[None]:
    """Afterwards the thread count is as it was, and no plan is forced."""
    import drawn

    import paramstore as ps

    before = ps.get_num_threads()
    yield
    ps.set_num_threads(before)
    if drawn.FORCE:
        drawn.FORCE(-1)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two stand-ins for a GPU (`cuda_host`): the backend's own kernels where g++ can build them, else kernels that call the CPU's."""
    from cuda_host import executor, model
    from cuda_host.device import HostRuntime

    from paramstore import registry
    from paramstore.backends.cuda import device

    runtime = HostRuntime()
    monkeypatch.setattr(device, "_runtime", runtime)
    if not executor.available():
        model.register()
    yield runtime
    registry.unregister(model.BACKEND)
