"""The closed set of exceptions.

Each class is also the builtin exceptions that users of the original systems catch, so that an ``except`` written for one of them
still works: NumPy raises `IndexError` for a bad index, MindSpore `RuntimeError` or `ValueError`, TensorFlow an error of its own.
"""

from __future__ import annotations

__all__ = [
    "ParamstoreError",
    "ShapeError",
    "DtypeError",
    "ArgumentError",
    "IndexOutOfBounds",
    "IndexFormError",
    "ParameterCastError",
    "ScalarRangeError",
    "ZeroDivisor",
    "TargetError",
    "MissingKernel",
    "DeviceError",
    "TooLarge",
    "NameInUse",
    "UnknownName",
    "Poisoned",
    "TimedOut",
]


class ParamstoreError(Exception):
    """Every error that paramstore raises on purpose."""


class ShapeError(ParamstoreError, ValueError, RuntimeError):
    """A rank, shape or axis that the operator's rule forbids. PyTorch, and MindSpore in places, raise RuntimeError for it."""


class DtypeError(ParamstoreError, TypeError):
    """A dtype, or a Python type, that the operator does not take."""


class ArgumentError(ParamstoreError, ValueError):
    """An option whose value is none of those allowed (an unknown reduction, a bad name)."""


class IndexOutOfBounds(ParamstoreError, IndexError, ValueError, RuntimeError):
    """An index outside its range; nothing was written."""


class IndexFormError(DtypeError, ShapeError, IndexError):
    """What cannot index at all: a float, too many indices, a mask of another shape. NumPy and PyTorch raise IndexError for it."""


class ParameterCastError(DtypeError, RuntimeError):
    """The updates could only be applied by converting the Parameter itself."""


class ScalarRangeError(ParamstoreError, ValueError, OverflowError):
    """A Python number that the target's dtype cannot hold."""


class ZeroDivisor(ParamstoreError, ValueError, ZeroDivisionError):
    """Integer division by zero; found before anything was written."""


class TargetError(ParamstoreError, ValueError):
    """A target that must not be written: read-only, overlapping itself, or not contiguous."""


class MissingKernel(DtypeError, NotImplementedError):
    """No kernel exists for this op, layout, dtype, device and order."""


class DeviceError(ParamstoreError, RuntimeError):
    """A device that is unknown, not installed, or not the one the operands are on."""


class TooLarge(ParamstoreError, MemoryError):
    """An array that the memory of the device cannot hold."""


class NameInUse(ParamstoreError, ValueError):
    """The store already holds a Parameter of that name."""


class UnknownName(ParamstoreError, KeyError):
    """The store holds no Parameter of that name."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class Poisoned(ParamstoreError, RuntimeError):
    """Another worker failed, so that this one would wait for ever; ``__cause__`` is the other's error."""


class TimedOut(ParamstoreError, TimeoutError):
    """A wait for other workers took longer than was allowed."""
