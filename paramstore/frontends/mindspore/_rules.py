"""What the spellings share: which dtypes an operator takes, that tensors are arrays, and the docstrings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import convert, dtypes, ops
from ...convert import Array
from ...errors import DtypeError

# fmt: off
__all__ = [
    "INDEX", "WIDE_INDEX", "INT32", "NUMBERS", "ANY_NUMBER", "EVERYTHING", "BOOL", "EQUAL",
    "a_tensor", "an_int", "data_of", "refuse_dtype", "document",
]
# fmt: on

INDEX = ("int32", "int64")
WIDE_INDEX = ("int16", "int32", "int64")  # Gather, GatherNd, ScatterNd, scatter and UnsortedSegmentSum also take int16
INT32 = ("int32",)

_INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
BOOL = frozenset({"bool"})
NUMBERS = _INTEGERS | _FLOATS
ANY_NUMBER = NUMBERS | {"complex64", "complex128"}
EVERYTHING = ANY_NUMBER | BOOL

# The types that functional operators refuse, for their docstrings.
EQUAL = "an argument that is no array, or of a dtype that the operator does not take; nothing is converted"


def a_tensor(name: str, argument: str, value: Any) -> None:
    """MindSpore takes no lists or numbers where a Tensor is asked for. Here a Tensor is any array."""
    if type(value) is not np.ndarray and convert.is_literal(value):
        raise DtypeError(f"{name}: {argument} must be an array (MindSpore: a Tensor), not {type(value).__name__}")


def an_int(name: str, argument: str, value: Any) -> int:
    """An attribute that MindSpore checks to be an int and no bool."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise DtypeError(f"{name}: {argument} = {value!r} must be an int, not {type(value).__name__}")
    return int(value)


def refuse_dtype(name: str, argument: str, dtype: str, allowed: frozenset[str]) -> None:
    """The error for a dtype that the operator's page leaves out."""
    raise DtypeError(f"{name}: {argument}.dtype = {dtype} is none of {', '.join(d for d in dtypes.KINDS if d in allowed)}")


def data_of(name: str, argument: str, value: Any, allowed: frozenset[str]) -> Array:
    """A Tensor argument as an array, if the operator takes its dtype."""
    if type(value) is np.ndarray:
        array: Array = value
    else:
        a_tensor(name, argument, value)
        array = convert.anywhere(name, argument, value)
    dtype = dtypes.name(array.dtype)
    if dtype not in allowed:
        refuse_dtype(name, argument, dtype, allowed)
    return array


_DOC = """{first}

    {formula}

    Args:
{arguments}

    Raises:
        DtypeError: (a TypeError) {types}.
        ShapeError: (a ValueError and RuntimeError) {shapes}.
        IndexOutOfBounds: (a RuntimeError, ValueError and IndexError) {indices}.
{more}
    Source: mindspore.ops.{source}.

    >>> import numpy as np, paramstore as ps
    >>> from paramstore.frontends import mindspore as ops
    >>> {example}
    """


def document(
    thing: Any, op: str, formula: str, arguments: dict[str, str], example: str, *,
    types: str = "an argument that is no array, or of a dtype that the operator does not take",
    shapes: str = "the shapes do not fit",
    indices: str = "an index outside, negative ones included; nothing has been written",
    more: str = "",
    first: str = "",
    source: str = "",
) -> None:  # fmt: skip
    """Writes a docstring from a row of the op table; ``{step}`` in the formula is one step of its loop."""
    row = ops.OPS.get(op)
    if row and row.zero_divisor and not more:
        more = "ZeroDivisor: (a ValueError) an integer zero among the updates; nothing has been written."
    thing.__doc__ = _DOC.format(
        first=first or (row.doc if row else ""),
        formula=formula.format(step=row.formula if row else ""),
        arguments="\n".join(f"        {argument}: {text}." for argument, text in arguments.items()),
        types=types,
        shapes=shapes,
        indices=indices,
        more=f"        {more}\n" if more else "",
        source=source or thing.__name__,
        example=example.replace("\n", "\n    "),
    )
