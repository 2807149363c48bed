"""The table of kernels: which function does (op, layout, dtype, device, mode).

Backends fill it when they are imported; users add to it with `register`. A call asks `find`, and nothing falls back silently: a
cell that no kernel fills is a `MissingKernel` error that names the nearest ones that exist.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from . import determinism, dtypes, locks, ops
from .errors import ArgumentError, MissingKernel

__all__ = ["Fault", "Kernel", "Explanation", "KernelTable", "register", "unregister", "find", "kernels", "explain", "only"]

LAYOUTS = ("rows", "elements", *dict.fromkeys(ops.LAYOUT_OF.values()))
MODES = ("fast", "ordered")
# What may serve a request, best first. A new mode is a new row here, in `MODES`, and in `determinism.mode`.
_SERVES = {"fast": ("fast", "ordered"), "ordered": ("ordered",)}


class Fault(NamedTuple):
    """What a kernel found wrong before it wrote anything."""

    kind: str  # "index" or "zero"
    position: int  # flat, in C order, in the indices (kind "index") or in the updates (kind "zero")
    value: int


KernelFunction = Callable[..., "tuple[str, int, int] | None"]


@dataclass(frozen=True)
class Kernel:
    """One registered function.

    ``checks=False`` marks a plain function that trusts its indices: it is then given only indices that are inside, in a private
    array. A kernel with ``checks=True`` gets the bounds rule too and answers a `Fault` without having written.
    """

    op: str
    layout: str
    dtype: str
    device: str
    mode: str
    backend: str
    function: KernelFunction = field(repr=False, compare=False)
    priority: int = 0
    threads: bool = False
    checks: bool = True
    notes: str = ""

    @property
    def name(self) -> str:
        """The kernel's full name, ``backend.layout.op.dtype``, and the mode where it is not ``ordered``."""
        return f"{self.backend}.{self.layout}.{self.op}.{self.dtype}" + (f".{self.mode}" if self.mode != "ordered" else "")

    @property
    def operators(self) -> tuple[str, ...]:
        """The public operators that this kernel serves."""
        return tuple(sorted(n for n, target in ops.OPERATORS.items() if target == (self.op, self.layout)))


class KernelTable(list[Kernel]):
    """A list of kernels that prints as a table, one line for each (backend, device, mode, layout, op)."""

    def __str__(self) -> str:
        groups: dict[tuple[str, ...], list[str]] = {}
        for k in self:
            groups.setdefault((k.backend, k.device, k.mode, k.layout, k.op), []).append(k.dtype)
        head = ("backend", "device", "mode", "layout", "op", "dtypes")
        lines = [head, *((*key, " ".join(names)) for key, names in groups.items())]
        widths = [max(len(line[i]) for line in lines) for i in range(5)]
        return "\n".join("  ".join((*(c.ljust(w) for c, w in zip(line, widths)), line[5])) for line in lines)


@dataclass(frozen=True)
class Explanation:
    """Which kernel a call takes, and why. ``kernel`` is None where there is none."""

    request: str
    kernel: Kernel | None
    reason: str

    def __str__(self) -> str:
        return f"{self.request}: {self.kernel.name if self.kernel else 'no kernel'} ({self.reason})"


_lock = locks.made()
_table: dict[tuple[str, str, str, str, str], list[Kernel]] = {}
_forced: contextvars.ContextVar[str | None] = contextvars.ContextVar("paramstore_only", default=None)
_found: dict[tuple[str, str, str, str, str, str | None], Kernel] = {}  # what `find` answered; emptied by every change
_native: set[tuple[str, str]] = set()  # the (op, dtype) whose kernels on the CPU are the extension's own, for the short cuts


def register(
    op: str,
    layout: str,
    dtype: str,
    function: KernelFunction | None = None,
    *,
    device: str = "cpu",
    mode: str = "ordered",
    backend: str = "user",
    priority: int = 100,
    threads: bool = False,
    checks: bool = False,
    notes: str = "",
) -> Any:
    """Adds a kernel; the highest priority wins. Also a decorator when ``function`` is left out.

    A kernel is ``function(data, ids, updates)`` with ``data`` of shape (R, W), ``ids`` int64 of shape (N,) and ``updates`` of shape (N, W)
    in both layouts: for "elements" the cells of ``data`` are rows of width 1, and the ids their flat offsets. A gather fills ``updates``.
    With ``checks=True`` it is ``function(data, ids, updates, bounds, wrap)`` for "rows" and ``function(data, axis, indices, updates,
    bounds, wrap)`` for "elements", gets the caller's indices as they are, and answers None or a `Fault`.

    Raises:
        ArgumentError: an unknown op, layout or mode, or a kernel for another device than the CPU that does not check.

    >>> def double_add(data, ids, updates):
    ...     for k, row in enumerate(ids):
    ...         data[row] += 2 * updates[k]
    >>> kernel = register("add", "rows", "float32", double_add, backend="demo")
    >>> explain("scatter_add", dtype="float32").kernel.backend
    'demo'
    >>> unregister("demo")
    1
    """
    if function is None:
        return lambda f: register(op, layout, dtype, f, device=device, mode=mode, backend=backend, priority=priority,
                                  threads=threads, checks=checks, notes=notes) and f  # fmt: skip
    if op != "gather" and op not in ops.LAYOUT_OF:
        ops.op_named("register", op)
    if layout not in LAYOUTS or ops.LAYOUT_OF.get(op, layout) != layout:
        raise ArgumentError(f"register: layout = {layout!r} is none of {', '.join(LAYOUTS)}")
    if mode not in MODES:
        raise ArgumentError(f"register: mode = {mode!r} is none of {', '.join(MODES)}")
    if device != "cpu" and not checks:
        raise ArgumentError(f"register: a kernel for device = {device!r} must check its indices itself (checks=True)")
    kernel = Kernel(op, layout, dtype, device, mode, backend, function, priority, threads, checks, notes)
    with _lock:
        row = _table.setdefault((op, layout, dtype, device, mode), [])
        row[:] = sorted([k for k in row if k.backend != backend] + [kernel], key=lambda k: -k.priority)
        _changed((op, dtype))
    return kernel


def unregister(backend: str) -> int:
    """Removes every kernel of that backend; answers how many there were."""
    with _lock:
        count = 0
        for row in _table.values():
            kept = [k for k in row if k.backend != backend]
            count += len(row) - len(kept)
            row[:] = kept
        _changed()
    return count


def _changed(*cells: tuple[str, str]) -> None:
    """Forgets what has been found, and looks anew which of these (op, dtype), or of all, are native."""
    _found.clear()
    if not all(_is_native("flatten", "tuples", index) for index in ("int32", "int64")):
        _native.clear()
        return
    for op, dtype in cells if cells and cells[0][0] != "flatten" else {(key[0], key[2]) for key in _table}:
        native = _is_native(op, "rows", dtype) and _is_native(op, "elements", dtype)
        (_native.add if native else _native.discard)((op, dtype))


def _is_native(op: str, layout: str, dtype: str) -> bool:
    ordered, fast = (_table.get((op, layout, dtype, "cpu", mode)) for mode in ("ordered", "fast"))
    return bool(ordered and ordered[0].backend == "cpu" and not fast)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_changed)  # another thread may have been at it


def is_native(op: str, dtype: str) -> bool:
    """Whether the extension's own kernels are those that a call on the CPU takes in this context."""
    return (op, dtype) in _native and _forced.get() in (None, "cpu")


def knows(op: str, dtype: str) -> bool:
    """Whether any kernel does that op on that dtype, wherever."""
    return any(row and key[0] == op and key[2] == dtype for key, row in list(_table.items()))


def find(call: str, op: str, layout: str, dtype: str, device: str = "cpu") -> Kernel:
    """The kernel for a call, in the order mode in force.

    Raises:
        MissingKernel: no kernel fills the cell; the message names the nearest ones.
    """
    key = (op, layout, dtype, device, determinism.mode(device), _forced.get())
    kernel = _found.get(key)
    if kernel is None:
        with _lock:  # so that no change of the table falls between the answer and its entry
            kernel = _best(key)
            if kernel is not None:
                _found[key] = kernel
    if kernel is None:
        raise MissingKernel(f"{call}: no kernel for {_request(key)}; {_nearest(key)}")
    return kernel


def _best(key: tuple[str, str, str, str, str, str | None]) -> Kernel | None:
    op, layout, dtype, device, mode, forced = key
    for served in _SERVES[mode]:
        for kernel in _table.get((op, layout, dtype, device, served), ()):
            if forced is None or kernel.backend == forced:
                return kernel
    return None


def _request(key: tuple[str, str, str, str, str, str | None]) -> str:
    op, layout, dtype, device, mode, forced = key
    return f"op {op}, layout {layout}, dtype {dtype}, device {device}, order {mode}" + (f", only backend {forced}" if forced else "")


def _nearest(key: tuple[str, str, str, str, str, str | None]) -> str:
    """The existing kernels that differ in the fewest parts of the key."""
    want = key[:5]
    scored: dict[int, list[Kernel]] = {}
    for found, row in list(_table.items()):
        if row and found[1] == want[1]:
            scored.setdefault(sum(a != b for a, b in zip(found, want)), []).extend(row[:1])
    if not scored:
        return "there is none like it"
    nearest = scored[min(scored)]
    shown = ", ".join(f"{k.name} on {k.device} ({k.mode})" for k in nearest[:6])
    return f"the nearest are {shown}" + (f" and {len(nearest) - 6} more" if len(nearest) > 6 else "")


def kernels(*, op: str | None = None, dtype: str | None = None, device: str | None = None, backend: str | None = None) -> KernelTable:
    """Every registered kernel, best first in its cell, optionally only those that match.

    >>> sorted({k.op for k in kernels(dtype="float32", backend="reference") if k.layout == "rows"})
    ['add', 'div', 'gather', 'max', 'min', 'mul', 'sub', 'update']
    """
    wanted = _op_and_layout(op)[0] if op else None
    with _lock:
        rows = [k for _, row in sorted(_table.items()) for k in row]
    return KernelTable(
        k for k in rows
        if k.layout != "tuples" and wanted in (None, k.op) and dtype in (None, k.dtype)
        and device in (None, k.device) and backend in (None, k.backend)
    )  # fmt: skip


def _op_and_layout(operator: str) -> tuple[str, str]:
    if operator in ops.OPERATORS:
        return ops.OPERATORS[operator]
    if operator != "gather" and operator not in ops.LAYOUT_OF:
        ops.op_named("explain", operator)
    return operator, ops.LAYOUT_OF.get(operator, "rows")


def explain(operator: str, *, dtype: Any = "float32", device: str = "cpu") -> Explanation:
    """Which kernel ``operator`` would take for a dtype on a device in the order mode in force, and why.

    ``operator`` is a public operator (``"scatter_add"``, ``"ScatterNdAdd"``, ``"scatter_elements[add]"``) or an op of the table (``"add"``).

    >>> with only("reference"):
    ...     print(explain("scatter_add", dtype="float32"))
    scatter_add float32 on cpu: reference.rows.add.float32 (forced to reference; keeps C order, asked for ordered)
    """
    op, layout = _op_and_layout(operator)
    name = dtype if isinstance(dtype, str) and dtype in (*dtypes.NUMERIC, *dtypes.ASSIGN_ONLY) else dtypes.name(dtypes.resolve("explain", dtype))
    family = device.split(":")[0]
    key = (op, layout, name, family, determinism.mode(family), _forced.get())
    request = f"{operator} {name} on {device}"
    kernel = _best(key)
    if kernel is None:
        return Explanation(request, None, f"no kernel for {_request(key)}; {_nearest(key)}")
    why = [f"forced to {key[5]}" if key[5] else f"first by priority of {len(_table[op, layout, name, family, kernel.mode])}"]
    why.append(f"{'keeps C order' if kernel.mode == 'ordered' else 'any order of duplicates'}, asked for {key[4]}")
    if kernel.notes:
        why.append(kernel.notes)
    return Explanation(request, kernel, "; ".join(why))


@contextlib.contextmanager
def only(backend: str) -> Iterator[None]:
    """Within the block (this thread, this async task) only that backend's kernels are found.

    Raises:
        ArgumentError: no kernel is registered under that backend.
    """
    if not any(k.backend == backend for row in list(_table.values()) for k in row):
        known = sorted({k.backend for row in list(_table.values()) for k in row})
        raise ArgumentError(f"only: no backend {backend!r}; known: {', '.join(known)}")
    with determinism.within("only", _forced, backend):
        yield
