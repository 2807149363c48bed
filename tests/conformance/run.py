"""Runs a case on an original, in a child process, and on paramstore."""

from __future__ import annotations

import contextlib
import importlib
import json
import select
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

from . import HERE, codec
from .outcomes import Case, Outcome, as_line, outcome_of

__all__ = ["Original", "Missing", "ours"]

SECONDS = 60.0  # for one case; a first call may compile or load something


class Missing(Exception):
    """The original cannot be imported in that Python."""


class Original:
    """An original in its child process, which is started again after it died."""

    def __init__(self, name: str, python: str) -> None:
        self.name, self.python = name, python
        self.process: subprocess.Popen[str] | None = None
        self.versions: dict[str, str] = {}
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed with the object)
        self._start()

    def _start(self) -> None:
        self.process = subprocess.Popen([self.python, str(HERE / "child.py"), self.name], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log)  # fmt: skip
        hello = self._line(300.0)
        if hello is None or "missing" in hello:
            self.close()
            self.log.seek(0)
            raise Missing(hello["missing"] if hello else self.log.read()[-500:])
        self.versions = hello["versions"]

    def _line(self, seconds: float) -> dict[str, Any] | None:
        assert self.process is not None and self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if ready else ""
        return json.loads(line) if line.endswith("\n") else None

    def answer(self, case: Case) -> dict[str, Any]:
        """Its answer as JSON; what kills it, or keeps it for longer than `SECONDS`, is ``{"died": ...}``."""
        if self.process is None:
            self._start()
        assert self.process is not None and self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(as_line(case.as_json()) + "\n")
            self.process.stdin.flush()
        found = self._line(SECONDS)
        if found is not None:
            return found
        running = self.process.poll() is None
        with contextlib.suppress(subprocess.TimeoutExpired):
            running = self.process.wait(5) is None
        code = self.process.poll()
        self.close()
        return {"died": f"no answer in {SECONDS:.0f} s" if running else f"signal {-code}" if code and code < 0 else f"exit {code}"}

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def ours(case: Case) -> Outcome:
    """The same case on paramstore. The arguments are copied, as the pipe copies them for the original."""
    function = importlib.import_module(f"{__package__}.ours.{case.original}").OPERATORS[case.operator]
    arguments = {k: codec.decode(codec.encode(v)) for k, v in case.arguments.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Outcome("value", function(**arguments))
    except Exception as error:
        return Outcome("error", None, tuple(c.__name__ for c in type(error).__mro__[:-1]), str(error)[:300])


@contextlib.contextmanager
def started(name: str, python: str) -> Iterator[Original]:
    original = Original(name, python)
    try:
        yield original
    finally:
        original.close()


def recorded(entry: dict[str, Any], original: str) -> tuple[Case, Outcome]:
    """A case of ``recorded/NAME.json`` and what the original answered."""
    arguments = {k: codec.decode(v) for k, v in entry["arguments"].items()}
    return Case(original, entry["operator"], arguments), outcome_of(entry["theirs"])
