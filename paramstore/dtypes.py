"""The table of dtypes: names, kinds, and which updates a target accepts.

Names are NumPy's, and those of ``kernels/dtypes.def``; a test compares the two lists.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .errors import DtypeError

__all__ = ["KINDS", "ASSIGN_ONLY", "NUMERIC", "name", "kind", "resolve", "converts", "range_of"]

# Dtypes with arithmetic; name -> kind. The order is that of kernels/dtypes.def.
KINDS: dict[str, str] = {
    "bool": "bool",
    "int8": "int", "int16": "int", "int32": "int", "int64": "int",
    "uint8": "uint", "uint16": "uint", "uint32": "uint", "uint64": "uint",
    "float16": "float", "bfloat16": "float", "float32": "float", "float64": "float",
    "complex64": "complex", "complex128": "complex",
}  # fmt: skip
NUMERIC = tuple(KINDS)

# Dtypes that can be assigned and gathered, nothing else; the kind is also the name that kernels are registered under.
ASSIGN_ONLY = ("str", "bytes", "string", "object", "struct", "time")
_BY_CHAR = {"U": "str", "S": "bytes", "T": "string", "O": "object", "V": "struct", "M": "time", "m": "time"}

# What `name` found for the dtypes of KINDS: NumPy makes a dtype's name anew each time, in a microsecond.
_names: dict[np.dtype[Any], str] = {}

# MindSpore's order of implicit conversion (its `implicit conversion` operator list): an update is converted to the target's dtype
# where the target's comes later. int8 and uint8 share a place and do not convert into each other. The types that are not listed
# accept only themselves and bool.
_PRIORITY = {"bool": 0, "uint8": 1, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7}


@functools.lru_cache(maxsize=1024)  # NumPy puts a dtype's name together anew each time, in microseconds
def name(dtype: np.dtype[Any]) -> str:
    """The registry's name for a dtype.

    >>> name(np.dtype("float32")), name(np.dtype("<U5")), name(np.dtype([("a", int)]))
    ('float32', 'str', 'struct')
    """
    known = _names.get(dtype)
    if known is not None:
        return known
    found: str = dtype.name
    if found in KINDS:
        _names[dtype] = found
        return found
    return _BY_CHAR.get(dtype.kind, found)


def kind(dtype: np.dtype[Any]) -> str:
    """`bool`, `int`, `uint`, `float`, `complex`, one of `ASSIGN_ONLY`, or the name itself for a dtype paramstore does not know."""
    found = name(dtype)
    return KINDS.get(found, found)


def resolve(call: str, dtype: Any) -> np.dtype[Any]:
    """A NumPy dtype in native byte order from anything that names one, ``"bfloat16"`` included if `ml_dtypes` is installed."""
    if dtype is None:
        raise DtypeError(f"{call}: dtype = None is no data type")  # NumPy would read it as float64
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, OverflowError, SyntaxError):
        if not isinstance(dtype, str) or dtype != "bfloat16":
            raise DtypeError(f"{call}: dtype = {dtype!r} is no data type") from None
        try:
            import ml_dtypes
        except ImportError:
            raise DtypeError(f"{call}: dtype bfloat16 needs the package ml_dtypes") from None
        found = np.dtype(ml_dtypes.bfloat16)
    if found.subdtype is not None:
        raise DtypeError(f"{call}: dtype = {dtype!r} has dimensions of its own; give them to the shape")
    return found if found.isnative else found.newbyteorder("=")


def converts(update: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether an update of one dtype may be converted to the target's, by MindSpore's table.

    >>> converts(np.dtype("int32"), np.dtype("float32")), converts(np.dtype("float64"), np.dtype("float32"))
    (True, False)
    """
    u, x = name(update), name(target)
    if u == x:
        if u in ("str", "bytes"):  # a longer string would be cut
            return update.itemsize <= target.itemsize
        return u in KINDS or update == target
    if x in KINDS and u == "bool":
        return True
    return u in _PRIORITY and x in _PRIORITY and _PRIORITY[u] < _PRIORITY[x]


def range_of(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The lowest and highest finite value of an integer or real dtype."""
    if kind(dtype) in ("int", "uint"):
        info = np.iinfo(dtype)
        return int(info.min), int(info.max)
    if name(dtype) == "bfloat16":
        import ml_dtypes

        finfo: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    else:
        finfo = np.finfo(dtype)
    return finfo.min, finfo.max
