"""The tests that need a GPU, and what they ask of it. Without one they are skipped, and say why.

``PARAMSTORE_GPU_TESTS=stand-in`` runs them, at small sizes, on the stand-in of the other tests: to see that they themselves work.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import paramstore as ps
from paramstore.backends.cuda import device

HERE = Path(__file__).resolve().parent
STAND_IN = os.environ.get("PARAMSTORE_GPU_TESTS") == "stand-in"


def missing() -> str | None:
    """Why there is no GPU, if there is none."""
    if STAND_IN:
        return None
    try:
        device.runtime("tests/gpu")
    except ps.errors.DeviceError as error:
        return str(error)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mine = [item for item in items if HERE in item.path.parents]
    reason = missing() if mine else None
    for item in mine:
        item.add_marker(pytest.mark.gpu)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


class Machine:
    """The current GPU: arrays to and from it, streams, and how much memory is free."""

    small = False

    def __init__(self) -> None:
        runtime = device.runtime("tests/gpu")
        self.device: Any = runtime.device(runtime.current())
        self.at = self.device.name

    def put(self, array: Any) -> Any:
        return self.device.put(np.asarray(array))

    def get(self, array: Any) -> Any:
        return self.device.get(array)

    def full(self, shape: Any, value: Any, dtype: Any) -> Any:
        import cupy

        return cupy.full(shape, value, dtype)

    def repeated(self, array: Any, n: int) -> Any:
        """The first n items of the array again and again."""
        import cupy

        return cupy.resize(cupy.asarray(array), n)

    def stream(self) -> Any:
        """A context with a new stream, which does not wait for the default one."""
        import cupy

        return cupy.cuda.Stream(non_blocking=True)

    def free(self) -> int:
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()
        return int(cupy.cuda.runtime.memGetInfo()[0])


class StandIn(Machine):
    small = True
    _streams = itertools.count(1)

    def full(self, shape: Any, value: Any, dtype: Any) -> Any:
        return self.put(np.full(shape, value, dtype))

    def repeated(self, array: Any, n: int) -> Any:
        return self.put(np.resize(array, n))

    def stream(self) -> Any:
        from cuda_host.device import stream

        return stream(next(self._streams))

    def free(self) -> int:
        return 1 << 24


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """What the test runs on. A dtype among its parameters must be one that this CuPy has."""
    dtype = getattr(request.node, "callspec", None) and request.node.callspec.params.get("dtype")
    if not STAND_IN:
        found = Machine()
        if dtype == "bfloat16":
            try:
                found.put(np.zeros(1, pytest.importorskip("ml_dtypes").bfloat16))
            except ps.errors.DtypeError as error:
                pytest.skip(str(error))
        yield found
        return
    from cuda_host.device import HostRuntime

    monkeypatch.setattr(device, "_runtime", HostRuntime(1))
    yield StandIn()
