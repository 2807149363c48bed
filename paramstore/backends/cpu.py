"""The compiled extension's kernels: threads, both layouts, always in the order of the defining loop.

The arithmetic is in ``kernels/``; this file only enters what the extension says it has into the registry.
"""

from __future__ import annotations

import importlib
import os
import warnings
from functools import partial
from typing import Any

from .. import registry
from ..errors import ArgumentError, DtypeError

_cpu: Any = None
try:
    _cpu = importlib.import_module("paramstore._cpu")
except ImportError as error:
    warnings.warn(f"paramstore runs without its compiled extension, on slow reference kernels only ({error})", RuntimeWarning, stacklevel=2)

extension: Any = _cpu  # None where it was not built
OP_NUMBERS: dict[str, int] = {op: number for number, op in enumerate(_cpu.OPS)} if _cpu else {}


def _register_all() -> None:
    number = {dtype: k for k, dtype in enumerate(_cpu.DTYPES)}

    def add(op: str, dtype: str, rows: Any, elements: Any) -> None:
        for layout, function in (("rows", rows), ("elements", elements)):
            registry.register(op, layout, dtype, function, backend="cpu", priority=10, threads=True, checks=True, notes=f"{_cpu.isa()}")

    for op, dtype in _cpu.scatter_cells():
        key = (OP_NUMBERS[op], number[dtype])
        add(op, dtype, partial(_cpu.scatter_rows, *key), partial(_cpu.scatter_elements, *key))
    for dtype in _cpu.gather_cells():
        add("gather", dtype, partial(_cpu.gather_rows, number[dtype]), partial(_cpu.gather_elements, number[dtype]))
    for mode, op in enumerate(("bag_sum", "bag_mean", "bag_max")):  # BagMode in kernels/cpu/bags.h
        for dtype in _cpu.bag_cells():
            bags = partial(_cpu.reduce_bags, mode, number[dtype])
            registry.register(op, "bags", dtype, bags, backend="cpu", priority=10, threads=True, checks=True, notes=f"{_cpu.isa()}")
    for index in ("int32", "int64"):
        registry.register("flatten", "tuples", index, _cpu.flatten_tuples, backend="cpu", priority=10, threads=True, checks=True)

    def other(op: str, layout: str, dtype: str, function: Any) -> None:
        registry.register(op, layout, dtype, function, backend="cpu", priority=10, threads=True, checks=True, notes=f"{_cpu.isa()}")

    for dtype in _cpu.SLICE_DTYPES:
        other("coalesce", "slices", dtype, partial(_cpu.coalesce, number[dtype]))
    for dtype in _cpu.OPTIM_DTYPES:
        for code, rule in enumerate(_cpu.OPTIMS):
            other(rule, "optim", dtype, partial(_cpu.step_rows, code, number[dtype]))


if _cpu:
    _register_all()


_without_extension = 1
MOST_THREADS = 256  # kMaxThreads in kernels/cpu/pool.h


def _count(call: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise DtypeError(f"{call}: n = {value!r} must be an integer")
    if not 1 <= value.__index__() <= MOST_THREADS:
        raise ArgumentError(f"{call}: n = {value} is not in [1, {MOST_THREADS}]")
    return int(value.__index__())


def set_num_threads(n: int) -> None:
    """How many threads one call may use on the CPU; the results do not depend on it.

    ``PARAMSTORE_NUM_THREADS``, an integer of at least 1, sets it at import (a larger one than 256 counts as 256; anything else is ignored with
    a warning); by default it is the number of processors the process may run on.

    >>> set_num_threads(2)
    >>> get_num_threads()
    2
    """
    global _without_extension
    _without_extension = _count("set_num_threads", n)
    if _cpu:
        _cpu.set_num_threads(_without_extension)


def get_num_threads() -> int:
    """How many threads one call may use on the CPU."""
    return int(_cpu.get_num_threads()) if _cpu else _without_extension


def _default_threads() -> int:
    text = os.environ.get("PARAMSTORE_NUM_THREADS", "").strip()
    if text.isdecimal() and text.strip("0"):
        return int(text) if len(text) < 10 and int(text) < MOST_THREADS else MOST_THREADS
    if text:
        warnings.warn(f"PARAMSTORE_NUM_THREADS = {text!r} is ignored: it must be an integer of at least 1", RuntimeWarning, stacklevel=2)
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST_THREADS)


set_num_threads(_default_threads())
__all__ = ["extension", "OP_NUMBERS", "set_num_threads", "get_num_threads"]
