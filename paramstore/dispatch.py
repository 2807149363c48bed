"""Runs a call in normal form: finds its kernel, lets it check and work, and turns a fault into an exception."""

from __future__ import annotations

import numpy as np

from . import bounds as rule
from . import ops, picking, registry
from .normalize import Call
from .registry import Fault, Kernel

__all__ = ["run"]


def run(call: Call) -> None:
    """Carries the call out on ``call.data`` (or fills ``call.updates``, for a gather).

    Raises:
        MissingKernel, IndexOutOfBounds, ZeroDivisor: nothing has been written then.
    """
    kernel = registry.find(call.name, call.op, call.layout, call.dtype, call.device)
    if not kernel.checks:
        fault = _run_unchecked(call, kernel)
    elif call.layout == "rows":
        fault = kernel.function(call.data, call.ids, call.updates, call.bounds, call.wrap)
    else:
        fault = kernel.function(call.data, call.axis, call.ids, call.updates, call.bounds, call.wrap)
    if fault is not None:
        raise call.error(fault)


def _run_unchecked(call: Call, kernel: Kernel) -> tuple[str, int, int] | None:
    """For a kernel that trusts its ids: only those that are inside, in a private array; cells are rows of width 1."""
    if call.layout == "rows":
        data, updates = call.data, call.updates
        ids = rule.resolve(call.ids, data.shape[0], call.bounds, call.wrap)
    else:
        data, updates = call.data.reshape(call.data.size, 1), call.updates.reshape(call.updates.size, 1)
        ids = rule.flat_elements(call.ids, call.data.shape, call.axis, call.bounds, call.wrap)
    if isinstance(ids, Fault):
        return ids
    gather = call.op == "gather"
    if not gather and ops.OPS[call.op].zero_divisor and updates.dtype.kind in "iu":
        zero = rule.first_zero(updates)
        if zero is not None:
            return zero
    inside = ids >= 0
    if inside.all():
        kernel.function(data, ids, updates)
    elif not gather:
        kernel.function(data, ids[inside], picking.taken(updates, (np.flatnonzero(inside),)))
    else:
        if inside.any():
            kernel.function(data, np.where(inside, ids, 0), updates)
        blank = np.zeros((), updates.dtype)
        for k in np.flatnonzero(~inside):
            updates[k] = blank
    return None
