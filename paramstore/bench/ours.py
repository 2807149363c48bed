"""paramstore's own calls, in the form that a user writes them."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

import paramstore as ps

from . import lookups, optimizers
from .arguments import Arguments
from .peers.base import Contender, Missing, together
from .workloads import Workload

__all__ = ["ours", "core", "REDUCTION"]

# ONNX's names of ops.
REDUCTION = {"update": "none", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def ours(w: Workload, a: Arguments) -> Contender:
    """What is measured. The Parameter owns its memory; functional forms read the arguments' table."""
    table, ids, updates = a.table, a.ids, a.updates
    if w.form == "rows":
        p = ps.Parameter(table)
        method = getattr(p, f"scatter_{w.op}")
        return Contender("ours", lambda: method(ids, updates), lambda _: p.value)
    if w.form == "locked":
        return _locked(w, a)
    if w.form == "frontend":
        return _through_frontend(w.op, a)
    if w.form == "optim":
        return optimizers.ours(w, a)
    if w.form == "bags":
        return lookups.ours(w, a)
    return Contender("ours", _functional(w, a), lambda out: out)


def _functional(w: Workload, a: Arguments) -> Callable[[], Any]:
    table, ids, updates, axis = a.table, a.ids, a.updates, w.axis
    column = ids.reshape(-1, 1)
    if w.form == "scatter_nd":
        return lambda: ps.scatter_nd(column, updates, table.shape)
    if w.form == "tensor_scatter":
        function = getattr(ps, f"tensor_scatter_{w.op}")
        return lambda: function(table, column, updates)
    if w.form == "elements":
        reduction = REDUCTION[w.op]
        return lambda: ps.scatter_elements(table, ids, updates, axis, reduction)
    if w.form == "nd":
        reduction = REDUCTION[w.op]
        return lambda: ps.scatter_nd_reduce(table, ids, updates, reduction)
    return lambda: ps.gather(table, ids)


def _locked(w: Workload, a: Arguments) -> Contender:
    p = ps.Parameter(a.table)
    parts = list(zip(np.array_split(a.ids, w.at_once), np.array_split(a.updates, w.at_once)))
    jobs = [lambda i=i, u=u: p.scatter_add(i, u, use_locking=True) for i, u in parts]
    return Contender("ours", together(jobs), lambda _: p.value)


# -- frontends ------------------------------------------------------------------------------------------------------------------


def _operator(path: str) -> Any:
    try:
        return attrgetter(path)(ps.frontends)
    except (ImportError, AttributeError) as error:
        raise Missing(f"paramstore.frontends has no {path} ({error})") from None


def _pair(operator: str, a: Arguments) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The call through the frontend, and the same in the core."""
    table, ids, updates = a.table, a.ids, a.updates
    column = ids.reshape(-1, 1)
    name = operator.rsplit(".", 1)[-1]
    if name == "scatter_nd":
        spelled, shape = _operator(operator), table.shape
        wide = np.array(shape, ids.dtype)
        return lambda: spelled(column, updates, wide), lambda: ps.scatter_nd(column, updates, shape)
    if name == "tensor_scatter_nd_update":
        spelled = _operator(operator)
        return lambda: spelled(table, column, updates), lambda: ps.tensor_scatter_update(table, column, updates)
    if name == "TensorScatterUpdate":
        spelled = _operator(operator)()
        return lambda: spelled(table, column, updates), lambda: ps.tensor_scatter_update(table, column, updates)
    if name == "ScatterElements":
        spelled, wide = _operator(operator), np.repeat(column, table.shape[1], axis=1)
        return lambda: spelled(table, wide, updates, 0), lambda: ps.scatter_elements(table, wide, updates, 0)
    if name == "ScatterND":
        spelled = _operator(operator)
        return lambda: spelled(table, column, updates), lambda: ps.scatter_nd_reduce(table, column, updates)
    p = ps.Parameter(table)
    if operator.endswith("Variable.scatter_add"):
        variable, slices = _operator(operator.rsplit(".", 1)[0])(table), _operator("tensorflow.IndexedSlices")(updates, ids)
        return lambda: variable.scatter_add(slices), lambda: p.scatter_add(ids, updates)
    spelled = _operator(operator)()
    if name.startswith("ScatterNd"):
        return lambda: spelled(p, column, updates), lambda: p.scatter_nd_add(column, updates)
    return lambda: spelled(p, ids, updates), lambda: p.scatter_add(ids, updates)


def _through_frontend(operator: str, a: Arguments) -> Contender:
    return Contender("ours", _pair(operator, a)[0], np.asarray)


def core(w: Workload, a: Arguments) -> Contender:
    """The core call behind a frontend's."""
    return Contender("core", _pair(w.op, a)[1], np.asarray)
