"""Random cases for MindSpore's operators: good ones, and ones with one thing wrong.

``init`` are the constructor's attributes (None for a function), ``args`` the arguments; with ``target`` the first is a Parameter. The
answer is the result, and the target too if there is one; with ``afterwards`` only the target, whatever came of the call. With ``again`` the
call comes after one of the same operator with two axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..cases import Draw
from ._mindspore_corners import corners
from ._mindspore_values import (
    OPS,
    Param,
    Rng,
    bent,
    divisor,
    dtype_of,
    index_dtype,
    ints,
    pick,
    shape_of,
    updates_dtype,
    values,
)  # fmt: skip

__all__ = ["case"]


def rows(rng: Rng) -> dict[str, Any]:
    op, dtype = pick(rng, *OPS), dtype_of(rng)
    x = shape_of(rng)
    i = ints(rng, shape_of(rng, 0, 2), x[0])
    u = divisor(op, dtype, values(rng, bent(rng, i.shape + x[1:]), updates_dtype(rng, dtype), nonzero=op == "div"), rng)
    arguments: list[Any] = [Param(values(rng, x, dtype)), i, u]
    if rng.random() < 0.04:
        x, i = x[:1], ints(rng, (), x[0])
        arguments = [Param(values(rng, x, dtype)), i, pick(rng, 2.5, 300, -1, 10**12) if rng.fault(0.5) else pick(rng, 2, True)]
    return _inplace(rng, f"Scatter{op.capitalize()}", f"scatter_{op}", arguments, op == "update", lock=False)


def _inplace(rng: Rng, name: str, function: str, arguments: list[Any], locked: bool, lock: bool) -> dict[str, Any]:
    if rng.fault(0.02):
        arguments[0] = arguments[0].value  # a Tensor
    elif rng.fault(0.01):
        arguments[1] = arguments[1].tolist()
    elif rng.fault(0.01):
        arguments[2] = np.ones(np.shape(arguments[2])).tolist()
    elif rng.fault(0.01):
        arguments = [Param(np.float32(1.0)), np.array([0]), np.array([2], np.float32)]
    if rng.random() < 0.3 and function != "scatter_sub":  # 2.10 has none
        given = [pick(rng, True, False)] if lock and rng.random() < 0.5 else []
        return {"op": function, "init": None, "args": [*arguments, *given]}
    init = {} if rng.random() < 0.5 else {"use_locking": pick(rng, True, False, locked)}
    if rng.fault(0.01):
        init = {"use_locking": 1}
    return {"op": name, "init": init, "args": arguments}


def _tuples(rng: Rng, x: tuple[int, ...], dtype: str = "") -> np.ndarray[Any, Any]:
    k = int(rng.integers(1, len(x) + 1)) if not rng.fault(0.07) else int(pick(rng, 0, len(x) + 1))
    lead = shape_of(rng, 1, 2)
    columns = [ints(rng, lead, size, "int64") for size in (*x, 1)[:k]]
    found = np.stack(columns, -1) if columns else np.zeros((*lead, 0), np.int64)
    found = found.astype(dtype or index_dtype(rng))
    return found if not rng.fault(0.03) else np.asarray(found.reshape(-1))


def nd(rng: Rng) -> dict[str, Any]:
    op, dtype = pick(rng, *OPS), dtype_of(rng)
    x = shape_of(rng)
    i = _tuples(rng, x)
    u = divisor(op, dtype, values(rng, bent(rng, i.shape[:-1] + x[i.shape[-1] :]), updates_dtype(rng, dtype)), rng)
    if rng.random() < 0.03 and op == "add":
        return {"op": "ScatterNonAliasingAdd", "init": {}, "args": [Param(values(rng, x, dtype)), i, u]}
    lock = op != "update"
    return _inplace(rng, f"ScatterNd{op.capitalize()}", f"scatter_nd_{op}", [Param(values(rng, x, dtype)), i, u], not lock, lock)


def tensor(rng: Rng) -> dict[str, Any]:
    op, dtype = pick(rng, *OPS), dtype_of(rng)
    x = shape_of(rng)
    i = _tuples(rng, x)
    u = divisor(op, dtype, values(rng, bent(rng, i.shape[:-1] + x[i.shape[-1] :]), updates_dtype(rng, dtype)), rng)
    arguments: list[Any] = [values(rng, x, dtype), i, u]
    if rng.fault(0.02):
        k = rng.integers(3)
        arguments[k] = np.ones(np.shape(arguments[k])).tolist()
    spelled = (f"TensorScatter{op.capitalize()}", {}) if rng.random() < 0.7 else (f"tensor_scatter_{op}", None)
    return {"op": spelled[0], "init": spelled[1], "args": arguments}


def _axis(rng: Rng, rank: int) -> Any:
    return pick(rng, rank, -rank - 1, True, 1.0) if rng.fault(0.04) else int(rng.integers(-rank, rank))


def elements(rng: Rng) -> dict[str, Any]:
    dtype, x = dtype_of(rng), shape_of(rng)
    axis = _axis(rng, len(x))
    at = axis % len(x) if type(axis) is int else 0
    shape = tuple(int(rng.integers(1, 6)) if d == at else int(rng.integers(0, s + 1)) if rng.random() < 0.3 else s for d, s in enumerate(x))
    i = ints(rng, bent(rng, shape), x[at])
    data, u = values(rng, x, dtype), values(rng, bent(rng, i.shape), updates_dtype(rng, dtype))
    form = pick(rng, "class", "function", "with_axis", "scatter", "gather_d", "gather_elements", "GatherD")
    reduction = pick(rng, "mul", "Add", 1) if form in ("class", "function") and rng.fault(0.05) else pick(rng, "none", "add")
    if form == "class":
        return {"op": "TensorScatterElements", "init": {"axis": axis, "reduction": reduction}, "args": [data, i, u]}
    if form == "function":
        return {"op": "tensor_scatter_elements", "init": None, "args": [data, i, u, axis, reduction]}
    if form == "with_axis":
        return {"op": "ScatterAddWithAxis", "init": {"axis": axis}, "args": [data, i, u]}
    if form == "scatter":
        return {"op": "scatter", "init": None, "args": [data, axis, i, 2.5 if data.dtype.kind == "f" and rng.random() < 0.3 else u]}
    return {"op": form, "init": {} if form == "GatherD" else None, "args": [data, axis, i]}


def zeros(rng: Rng) -> dict[str, Any]:
    dtype, x = dtype_of(rng), shape_of(rng)
    i = _tuples(rng, x)
    u = values(rng, bent(rng, i.shape[:-1] + x[i.shape[-1] :]), dtype)
    shape: Any = x if not rng.fault(0.06) else pick(rng, list(x), x[0], tuple(float(s) for s in x), np.array(x))
    op, init = pick(rng, ("ScatterNd", {}), ("scatter_nd", None))
    return {"op": op, "init": init, "args": [i, u, shape]}


def along(rng: Rng) -> dict[str, Any]:
    name, dtype, x = pick(rng, "IndexAdd", "IndexAdd", "InplaceIndexAdd", "IndexFill", "index_fill"), dtype_of(rng), shape_of(rng)
    axis = _axis(rng, len(x))
    at = axis % len(x) if type(axis) is int else 0
    i = ints(rng, bent(rng, (int(rng.integers(1, 5)),)), x[at], "int32" if not rng.fault(0.1) else "int64")
    if name in ("IndexFill", "index_fill"):
        value: Any = values(rng, bent(rng, ()), updates_dtype(rng, dtype))
        if name == "index_fill" and rng.random() < 0.6:
            value = pick(rng, 1.5, 300, -1) if rng.fault(0.3) else pick(rng, 3, True)
        return {"op": name, "init": {} if name == "IndexFill" else None, "args": [values(rng, x, dtype), axis, i, value]}
    shape = tuple(i.size if d == at else s for d, s in enumerate(x))
    arguments: list[Any] = [Param(values(rng, x, dtype)), i, values(rng, bent(rng, shape), updates_dtype(rng, dtype))]
    if rng.fault(0.02):
        arguments[0] = arguments[0].value
    if rng.random() < 0.3:
        return {"op": "index_add" if name == "IndexAdd" else "inplace_index_add", "init": None, "args": [*arguments, axis]}
    init: dict[str, Any] = {"axis": axis}
    if name == "IndexAdd" and rng.random() < 0.3:
        init["use_lock"] = 1 if rng.fault(0.1) else pick(rng, True, False)
    return {"op": name, "init": init, "args": arguments}


def inplace_rows(rng: Rng) -> dict[str, Any]:
    dtype, x = dtype_of(rng), shape_of(rng)
    if rng.random() < 0.4:
        dtype = pick(rng, "float32", "float16", "int32")
    found = tuple(int(v) for v in ints(rng, (int(rng.integers(1, 5)),), x[0], "int64"))
    i: Any = found if rng.random() < 0.7 else found[0]
    m = len(i) if isinstance(i, tuple) else 1
    if rng.fault(0.04):
        i = pick(rng, [0], True, (0.5,), (True,))
    v = values(rng, bent(rng, (m, *x[1:])), updates_dtype(rng, dtype))
    data = values(rng, x, dtype)
    name = pick(rng, "InplaceAdd", "InplaceSub", "InplaceUpdateV2", "inplace_add", "inplace_sub", "inplace_update")
    if name == "InplaceUpdateV2":
        return {"op": name, "init": {}, "args": [data, i, v]}
    if name.startswith("inplace"):
        return {"op": name, "init": None, "args": [data, v, i]}
    return {"op": name, "init": {"indices": i}, "args": [data, v]}


def put(rng: Rng) -> dict[str, Any]:
    dtype, x = dtype_of(rng), shape_of(rng)
    k = int(rng.integers(1, len(x) + 1)) if not rng.fault(0.05) else len(x) + 1
    m = int(rng.integers(1, 5))
    kind = index_dtype(rng)
    vectors: list[Any] = [ints(rng, bent(rng, (m if rng.random() < 0.8 else 1,)), size, kind) for size in (*x, 1)[:k]]
    if kind in ("int32", "int64") and rng.fault(0.02):
        vectors[0] = vectors[0].astype("int64" if kind == "int32" else "int32")
    longest = max(v.size for v in vectors)
    n = 1 if rng.random() < 0.3 else longest if k >= len(x) else x[-1]
    sequence: Any = pick(rng, tuple, list)(vectors) if not rng.fault(0.03) else vectors[0]
    accumulate = pick(rng, 0, 1) if not rng.fault(0.05) else pick(rng, 2, True, 1.0)
    u = values(rng, bent(rng, (n,)), updates_dtype(rng, dtype))
    return {"op": "IndexPut", "init": {"accumulate": accumulate}, "args": [values(rng, x, dtype), u, sequence]}


def gathers(rng: Rng) -> dict[str, Any]:
    dtype, x = dtype_of(rng), shape_of(rng)
    data = values(rng, x, dtype)
    if rng.random() < 0.4:
        i = _tuples(rng, x)
        i = np.asarray(i.reshape(-1)[:1].reshape(())) if i.ndim == 1 and i.size else i
        op, init = pick(rng, ("GatherNd", {}), ("gather_nd", None))
        return {"op": op, "init": init, "args": [data, i]}
    axis = _axis(rng, len(x))
    at = axis % len(x) if type(axis) is int else 0
    b = int(rng.integers(0, at + 1)) if rng.random() < 0.4 else 0
    i = ints(rng, bent(rng, (*x[:b], *shape_of(rng, 0, 2))), x[at])
    batch: Any = b if not rng.fault(0.05) else pick(rng, len(x), -1, True, 1.0)
    if rng.random() < 0.5:
        return {"op": "gather", "init": None, "args": [data, i, axis, batch]}
    return {"op": "Gather", "init": {"batch_dims": batch}, "args": [data, i, axis]}


def segments(rng: Rng) -> dict[str, Any]:
    dtype, x = dtype_of(rng), shape_of(rng)
    n = int(rng.integers(1, len(x) + 1))
    count: Any = int(rng.integers(1, 6))
    ids = ints(rng, bent(rng, x[:n]), count)
    if rng.random() < 0.2 and ids.dtype.kind == "i" and ids.size:
        ids.reshape(-1)[rng.integers(ids.size)] = -1
    if rng.fault(0.05):
        count = pick(rng, 0, -1, True, 2.0, np.array(count, np.int32), np.array([count], np.int32))
    kind = pick(rng, "Sum", "Prod", "Min", "Max")
    op, init = pick(rng, (f"UnsortedSegment{kind}", {}), (f"unsorted_segment_{kind.lower()}", None))
    return {"op": op, "init": init, "args": [values(rng, x, dtype), ids, count]}


KINDS: tuple[tuple[Callable[[Rng], dict[str, Any]], int], ...] = (
    (rows, 5), (nd, 5), (tensor, 4), (elements, 4), (zeros, 1), (along, 2), (inplace_rows, 1), (put, 2), (gathers, 2), (segments, 2),
    (corners, 1),
)  # fmt: skip
_WEIGHTS = np.array([w for _, w in KINDS]) / sum(w for _, w in KINDS)


def case(draw: Draw) -> tuple[str, dict[str, Any]]:
    """One operator and its arguments."""
    found = KINDS[draw.rng.choice(len(KINDS), p=_WEIGHTS)][0](Rng(draw.rng))
    args = found["args"]
    target = isinstance(args[0], Param)
    arguments = {"init": found["init"], "args": (args[0].value, *args[1:]) if target else tuple(args), "target": target}
    if target and draw.chance(0.1):
        arguments["afterwards"] = True
    if found["op"] == "scatter again":
        arguments["again"] = True
    return found["op"].split()[0], arguments
