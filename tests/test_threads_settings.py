"""Threads: settings that belong to a thread or a task."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from concurrency import script

import paramstore as ps
from paramstore import registry

pytestmark = pytest.mark.usefixtures("often_switching")


@pytest.fixture
def _not_deterministic() -> Iterator[None]:
    before = ps.is_deterministic()
    ps.set_deterministic(False)
    yield
    ps.set_deterministic(before)


@pytest.mark.usefixtures("_not_deterministic")
def test_deterministic_is_per_thread() -> None:
    inside, checked = threading.Event(), threading.Event()
    seen: dict[str, bool] = {}

    def other() -> None:
        inside.wait(10)
        seen["before"] = ps.is_deterministic()
        with ps.deterministic():
            seen["within"] = ps.is_deterministic()
        seen["after"] = ps.is_deterministic()
        checked.set()

    thread = threading.Thread(target=other)
    thread.start()
    with ps.deterministic():
        inside.set()
        assert checked.wait(10)
        assert ps.is_deterministic()
        with ps.deterministic(False):
            assert not ps.is_deterministic()
        assert ps.is_deterministic()
    thread.join()
    assert not ps.is_deterministic()
    assert seen == {"before": False, "within": True, "after": False}


@pytest.mark.usefixtures("_not_deterministic")
def test_deterministic_is_per_task() -> None:
    async def task(enabled: bool, turns: int) -> list[bool]:
        seen = []
        with ps.deterministic(enabled):
            for _ in range(turns):
                await asyncio.sleep(0)
                seen.append(ps.is_deterministic())
        return seen

    async def main() -> None:
        results = await asyncio.gather(*(task(bool(k % 2), 5 + k) for k in range(8)))
        for k, seen in enumerate(results):
            assert seen == [bool(k % 2)] * (5 + k)
        assert not ps.is_deterministic()
        with ps.deterministic():
            assert await asyncio.create_task(task(False, 3)) == [False] * 3
            assert await asyncio.to_thread(ps.is_deterministic)  # it carries the context over
            assert ps.is_deterministic()

    asyncio.run(main())


@pytest.mark.usefixtures("_not_deterministic")
def test_set_deterministic_is_process_wide() -> None:
    seen: list[bool] = []
    ps.set_deterministic(True)
    thread = threading.Thread(target=lambda: seen.append(ps.is_deterministic()))
    thread.start()
    thread.join()
    with ps.deterministic(False):
        assert not ps.is_deterministic()
    assert seen == [True] and ps.is_deterministic()


def test_deterministic_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value, expected in (("1", "True"), ("0", "False"), ("", "False")):
        monkeypatch.setenv("PARAMSTORE_DETERMINISTIC", value)
        assert script(tmp_path, "print(ps.is_deterministic())").split() == [expected]


def test_only_is_per_thread() -> None:
    seen: list[str] = []
    explain = lambda: seen.append(ps.explain("scatter_add").kernel.backend)  # noqa: E731
    with registry.only("reference"):
        thread = threading.Thread(target=contextvars.Context().run, args=(explain,))
        thread.start()
        thread.join()
        explain()
    assert seen == [ps.explain("scatter_add").kernel.backend, "reference"]
