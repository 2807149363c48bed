"""The operators and dtypes that the loop knows."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import ml_dtypes

    BFLOAT16: np.dtype[Any] | None = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    BFLOAT16 = None

OPS = ("add", "sub", "mul", "div", "min", "max", "update")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", *(("bfloat16",) if BFLOAT16 is not None else ()), "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX)
INTEGERS = (*SIGNED, *UNSIGNED)


def dtype_of(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        assert BFLOAT16 is not None
        return BFLOAT16
    return np.dtype(name)


def defined(op: str, dtype: str) -> bool:
    """Whether the operator exists for the dtype: bool has no sub and div, complex numbers have no order."""
    if dtype == "bool":
        return op not in ("sub", "div")
    return not (dtype in COMPLEX and op in ("min", "max"))


CELLS = [(op, dtype) for op in OPS for dtype in DTYPES if defined(op, dtype)]


_FLOAT_BITS = {  # name -> bits of an item or component, of infinity
    "float16": (16, 0x7C00), "bfloat16": (16, 0x7F80), "float32": (32, 0x7F800000), "float64": (64, 0x7FF0000000000000),
    "complex64": (32, 0x7F800000), "complex128": (64, 0x7FF0000000000000),
}  # fmt: skip
