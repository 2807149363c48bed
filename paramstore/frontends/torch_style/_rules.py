"""What the spellings share: that a scalar is a vector of one, which errors there are, and the docstrings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ... import axes, normalize, ops, places
from ...convert import Array
from ...errors import ArgumentError, DtypeError, IndexFormError, ScalarRangeError, ShapeError, TargetError
from ...normalize import Call

__all__ = ["INT32_OR_INT64", "INT64", "along", "elements", "spelled", "vector"]

INT32_OR_INT64 = ("int32", "int64")
INT64 = ("int64",)

Function = TypeVar("Function", bound=Callable[..., Any])


def vector(value: Any) -> Any:
    """A number or an array without dimensions as a vector of one; anything else as it is."""
    if isinstance(value, np.ndarray) or places.on_gpu(value):
        return value if value.ndim else value.reshape(1)
    return [value] if isinstance(value, int) else np.asarray(value).reshape(1) if isinstance(value, np.generic) else value


def along(name: str, op: str, x: Array, index: Any, source: Any, dim: Any, *, same_rank: bool = False, **rules: Any) -> Call:
    """`axes.along`, in which x and the index may be without dimensions.

    Args:
        same_rank: whether the source must then be so too.
    """
    if not x.ndim:
        if same_rank and np.ndim(source):
            raise ShapeError(f"{name}: source.shape = {np.shape(source)} must be x.shape = ()")
        x, source = x.reshape(1), source if rules.get("spread_scalar") else vector(source)
    return axes.along(name, op, x, vector(index), source, dim, **rules)


def elements(name: str, op: str, x: Array, index: Any, src: Any, dim: Any, *, spread_scalar: bool = False, **rules: Any) -> Call:
    """`normalize.elements`, in which anything may be without dimensions."""
    data = x if x.ndim else x.reshape(1)
    src = src if spread_scalar else vector(src)
    return normalize.elements(name, op, data, vector(index), src, dim, spread_scalar=spread_scalar, corner=True, wrap=False, **rules)


_DOC = """{first}

    {formula}

    Args:
{arguments}

    Raises:
        IndexFormError: (a RuntimeError, IndexError, TypeError and ValueError) dtypes, shapes or options that do not fit.
        IndexOutOfBounds: (a RuntimeError, IndexError and ValueError) an index outside{wrap}; nothing has been written.

    Source: torch.Tensor.{source}.

    >>> import numpy as np
    >>> {example}
    """
_WRAPS = " (negative ones count from the end)"
_NOT = " (negative ones are)"


def spelled(
    op: str, formula: str, example: str, *, first: str = "", source: str = "", wrap: bool = False, **arguments: str
) -> Callable[[Function], Function]:
    """Gives a function its docstring, from the row of its op, and errors that PyTorch's callers catch."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            try:
                return function(*args, **options)
            except (ShapeError, DtypeError, ArgumentError, ScalarRangeError, TargetError) as error:
                if isinstance(error, IndexError):
                    raise
                raise IndexFormError(str(error)) from None

        row = ops.OPS.get(op)
        call.__doc__ = _DOC.format(
            first=first or (row.doc if row else ""),
            formula=formula.format(step=row.formula if row else ""),
            arguments="\n".join(f"        {argument}: {text}." for argument, text in arguments.items()),
            wrap=_WRAPS if wrap else _NOT,
            source=source or function.__name__,
            example=example.replace("\n", "\n    "),
        )
        return call  # type: ignore[return-value]

    return decorate
