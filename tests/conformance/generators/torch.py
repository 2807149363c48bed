"""Calls of PyTorch's in-place scatters and gathers. Arguments go by name, as the original's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..cases import Draw

OPERATORS = (
    "index_add_",
    "index_copy_",
    "index_fill_",
    "index_put_",
    "index_reduce_",
    "put_",
    "scatter_",
    "scatter_add_",
    "scatter_reduce_",
    "gather",
    "index_select",
    "take",
    "take_along_dim",
)
DTYPES = ("float32", "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64")


def _dim(draw: Draw, rank: int) -> int:
    return draw.mostly(draw.integer(-max(rank, 1), max(rank, 1) - 1), rank + 1, -rank - 2, probability=0.03)


def _index_dtype(draw: Draw) -> str:
    return draw.mostly("int64", "int32", "int32", "int16", "uint8", "float32", "bool", probability=0.12)


def _index(draw: Draw, shape: tuple[int, ...], size: int, negative: float = 0.05) -> Any:
    return draw.indices(shape, size, "int64", negative).astype(_index_dtype(draw))


def _number(draw: Draw, dtype: str) -> Any:
    usual = True if dtype == "bool" else draw.integer(0, 9) if dtype[0] in "iu" else float(draw.values((), "float64"))
    return draw.mostly(usual, 2, 2.5, -1, 2**40, True, 1j, float("nan"), probability=0.15)


def _along(draw: Draw, x: Any, dtype: str, operator: str) -> dict[str, Any]:
    """One index a slice."""
    dim = _dim(draw, x.ndim)
    d = dim % x.ndim if x.ndim and -x.ndim <= dim < x.ndim else 0
    m = draw.integer(0, 4)
    index = draw.mostly((m,), (), (m, 1), probability=0.1)
    size = x.shape[d] if x.ndim else 1
    found: dict[str, Any] = {"dim": dim, "index": _index(draw, index, size, 0.4 if operator == "index_fill_" else 0.05)}
    if operator == "index_fill_":
        found["value"] = draw.mostly(_number(draw, dtype), draw.values((), dtype), draw.values((1,), dtype))
    elif operator != "index_select":
        many = int(np.prod(index))
        source = (*x.shape[:d], many, *x.shape[d + 1 :]) if x.ndim else draw.pick((), (many,))
        other = draw.mostly(dtype, "float64", "int64", probability=0.04)
        found["source"] = draw.values(draw.mostly(source, draw.other_shape(source), probability=0.06), other)
    if operator == "index_add_" and draw.chance(0.3):
        found["alpha"] = _number(draw, dtype)
    return found


def _elements(draw: Draw, x: Any, dtype: str, operator: str) -> dict[str, Any]:
    """One index an element."""
    dim = _dim(draw, x.ndim)
    d = dim % x.ndim if x.ndim and -x.ndim <= dim < x.ndim else 0
    shape = tuple(draw.integer(0 if draw.chance(0.1) else 1, 4) if k == d else draw.integer(min(n, 1), n) for k, n in enumerate(x.shape))
    if draw.chance(0.05):
        shape = draw.other_shape(shape)
    found: dict[str, Any] = {"dim": dim, "index": _index(draw, shape, x.shape[d] if x.ndim else 1)}
    if operator == "gather":
        return found
    larger = tuple(n + draw.pick(0, 0, 1) for n in shape)
    other = draw.mostly(dtype, "float64", "int64", probability=0.04)
    src = draw.values(draw.mostly(larger, draw.other_shape(shape), probability=0.06), other)
    if operator == "scatter_":
        found |= {"value": _number(draw, dtype)} if draw.chance(0.25) else {"src": src}
        if draw.chance(0.3):
            found["reduce"] = draw.mostly(draw.pick("add", "multiply"), "sum", "", probability=0.1)
        return found
    return {**found, "src": src}


def _others(draw: Draw, x: Any, dtype: str, operator: str) -> dict[str, Any]:
    shape = draw.shape(0, 2)
    if operator in ("take", "put_"):
        index = _index(draw, shape, x.size, 0.3)
        if operator == "take":
            return {"index": index}
        source = draw.mostly(shape, (int(np.prod(shape)),), draw.other_shape(shape), probability=0.15)
        return {
            "index": index,
            "source": draw.values(source, draw.mostly(dtype, "float64", probability=0.04)),
            "accumulate": draw.chance(0.5),
        }
    if operator == "take_along_dim":
        dim = draw.mostly(_dim(draw, x.ndim), None, probability=0.2)
        size = x.size if dim is None else x.shape[dim] if x.ndim and -x.ndim <= dim < x.ndim else 1
        near = (
            shape
            if dim is None
            else tuple(draw.integer(1, 3) if k == dim % x.ndim else draw.mostly(n, 1, probability=0.3) for k, n in enumerate(x.shape))
        )
        return {"indices": _index(draw, draw.mostly(near, draw.other_shape(near), probability=0.06), size, 0.3), "dim": dim}
    masks = x.ndim and draw.chance(0.2)
    if masks:
        k = draw.integer(1, x.ndim)
        mask = draw.rng.random(draw.mostly(x.shape[:k], draw.other_shape(x.shape[:k]), probability=0.1)) < 0.5
        if x.shape[0] == 1 and draw.chance(0.15):
            mask = np.zeros(0, bool)
        indices: tuple[Any, ...] = (np.asarray(mask, draw.mostly("bool", "uint8")),)
    else:
        k = draw.integer(1, x.ndim) if x.ndim and not draw.chance(0.04) else x.ndim + 1
        one = _index_dtype(draw)
        indices = tuple(
            draw.indices(
                draw.mostly(shape, shape[1:], (1, *shape[1:]), probability=0.15), x.shape[j] if j < x.ndim else 1, "int64", 0.3
            ).astype(one)
            for j in range(k)
        )
    try:
        with np.errstate(invalid="ignore"):
            result = x[tuple(i.astype(np.int64) if i.dtype.kind != "b" else i for i in indices)].shape
    except IndexError:
        result = shape
    if masks and draw.chance(0.05):
        return {"indices": indices, "values": draw.values((), "float64"), "accumulate": False}
    values = draw.mostly(result, result[1:], (), (1, *result[1:]), draw.other_shape(result), probability=0.4)
    return {
        "indices": indices,
        "values": draw.values(values, draw.mostly(dtype, "float64", probability=0.04)),
        "accumulate": draw.chance(0.5),
    }


def case(draw: Draw) -> tuple[str, dict[str, Any]]:
    operator = draw.pick(*OPERATORS)
    dtype = draw.pick(*DTYPES)
    if operator in ("index_add_", "index_reduce_", "index_put_") and draw.chance(0.1):
        dtype = "complex64"
    x = draw.values(draw.shape(0 if draw.chance(0.3) else 1, 3), dtype)
    if operator in ("index_add_", "index_copy_", "index_fill_", "index_reduce_", "index_select"):
        arguments = _along(draw, x, dtype, operator)
    elif operator in ("scatter_", "scatter_add_", "scatter_reduce_", "gather"):
        arguments = _elements(draw, x, dtype, operator)
    else:
        arguments = _others(draw, x, dtype, operator)
    if operator in ("scatter_reduce_", "index_reduce_"):
        kinds = ("sum", "prod", "mean", "amax", "amin") if operator == "scatter_reduce_" else ("prod", "mean", "amax", "amin")
        arguments["reduce"] = draw.mostly(draw.pick(*kinds), "add", "sum", "max", probability=0.05)
        arguments["include_self"] = draw.chance(0.5)
        if arguments["reduce"] in ("amin", "amax") and dtype == "float32" and draw.chance(0.3):
            for zeros in (x, arguments["src" if operator == "scatter_reduce_" else "source"]):
                zeros[...] = np.copysign(0, zeros) if zeros.dtype.kind == "f" else 0
    if operator.endswith("_"):
        arguments["layout"] = draw.pick("C", "Parameter", "step")
    return operator, {"x": x, **arguments}
