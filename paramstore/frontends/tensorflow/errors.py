"""``tf.errors``: what TensorFlow raises, and at the same time paramstore's own errors and their builtins.

`InvalidArgumentError` is a `ValueError` here, which TensorFlow's is not: code that catches either goes on working.
"""

from __future__ import annotations

from ...errors import (
    ArgumentError,
    DtypeError,
    IndexOutOfBounds,
    MissingKernel,
    ParamstoreError,
    ShapeError,
    TooLarge,
    ZeroDivisor,
)

__all__ = ["InvalidArgumentError", "OpError", "ResourceExhaustedError", "UnimplementedError", "translated"]


class OpError(ParamstoreError):
    """What TensorFlow's operators raise."""


class InvalidArgumentError(OpError, ValueError):
    """An argument that the operator refuses; its kinds below are the matching errors of paramstore too."""


class InvalidShape(InvalidArgumentError, ShapeError):
    """Shapes that do not fit."""


class InvalidDtype(InvalidArgumentError, DtypeError):
    """A dtype that the operator does not take, or that differs from the target's; TensorFlow raises ValueError or TypeError for some."""


class InvalidOption(InvalidArgumentError, ArgumentError):
    """An unknown option, such as a ``bad_indices_policy``."""


class InvalidIndex(InvalidArgumentError, IndexOutOfBounds):
    """An index outside its range; nothing was written."""


class InvalidDivisor(InvalidArgumentError, ZeroDivisor):
    """A zero among the divisors; nothing was written."""


class UnimplementedError(InvalidArgumentError, MissingKernel):
    """No kernel does the operator for the dtype."""


class ResourceExhaustedError(OpError, TooLarge):
    """An array that the memory cannot hold."""


# A subclass stands before the class it is of.
_TWINS: tuple[tuple[type[ParamstoreError], type[OpError]], ...] = (
    (IndexOutOfBounds, InvalidIndex),
    (ShapeError, InvalidShape),
    (MissingKernel, UnimplementedError),
    (DtypeError, InvalidDtype),
    (ZeroDivisor, InvalidDivisor),
    (ArgumentError, InvalidOption),
    (TooLarge, ResourceExhaustedError),
)


def translated(error: ParamstoreError) -> ParamstoreError:
    """The same error under TensorFlow's name, with the same message; as it is where TensorFlow has none.

    >>> isinstance(translated(ShapeError("x")), InvalidArgumentError)
    True
    """
    if isinstance(error, OpError):
        return error
    for ours, theirs in _TWINS:
        if isinstance(error, ours):
            return theirs(*error.args)
    return error
