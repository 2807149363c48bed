"""The memory behind Parameters: allocation, wrapping, filling."""

from __future__ import annotations

import weakref
from math import prod
from typing import Any

import numpy as np

from . import convert, dtypes, literals, places
from .convert import Array
from .errors import DeviceError, DtypeError, ShapeError, TargetError, TooLarge
from .init import Initializer
from .places import Place

__all__ = ["empty", "copied", "wrapped", "pinned", "fill"]

ALIGNMENT = 64  # bytes: a cache line, and the widest vector
CHUNK_BYTES = 1 << 26  # initializers write this much at a time


def empty(call: str, shape: tuple[int, ...], dtype: np.dtype[Any], on: Place = None) -> Array:
    """An uninitialized C-contiguous array that starts at a cache line. It is a view of the array that owns the memory; see `pinned`."""
    try:
        if on is not None:
            return places.empty(on, shape, dtype)
        if dtype.hasobject or dtype.kind == "T":
            return np.empty(shape, dtype).view()
        nbytes = prod(shape) * dtype.itemsize
        raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError) as error:  # ValueError: more bytes than an address can count
        raise TooLarge(f"{call}: shape = {shape} of {dtype}: {error}") from error
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + nbytes].view(dtype).reshape(shape) if nbytes else np.empty(shape, dtype).view()


def copied(value: Any, dtype: np.dtype[Any] | None, on: Place = None) -> Array:
    """An own buffer in the place ``on`` with the value, wherever that is."""
    source = _read("Parameter", value, dtype)
    wanted = dtype or (source.dtype if source.dtype.isnative else source.dtype.newbyteorder("="))
    if places.of(source) is not on:
        source = places.host(source)  # also from one GPU to another
    out = empty("Parameter", source.shape, wanted, on)
    try:
        places.assign(out, source)
    except (TypeError, ValueError) as error:
        raise DtypeError(f"Parameter: value of dtype {source.dtype} cannot become {wanted}: {error}") from error
    return out


def _read(call: str, value: Any, dtype: np.dtype[Any] | None = None) -> Array:
    if places.on_gpu(value):
        return places.adopted(call, "value", value)
    return convert.array_of(call, "value", value, dtype if convert.is_literal(value) else None)


def wrapped(value: Any, dtype: np.dtype[Any] | None, on: Place = None) -> Array:
    """A view of memory that somebody else owns, if it may be written in place."""
    call = "Parameter(copy=False)"
    if convert.is_literal(value):
        raise DtypeError(f"{call}: value must be an array, not {type(value).__name__}")
    array = _read(call, value)
    if places.of(array) is not on:
        raise DeviceError(f"{call}: value is on {places.name_of(places.of(array))}, not on {places.name_of(on)}")
    if on is None and not isinstance(value, np.ndarray) and not _share(array, convert.array_of(call, "value", value)):
        raise DtypeError(f"{call}: value must be an array, not {type(value).__name__}, whose memory NumPy cannot share")
    if dtype is not None and array.dtype != dtype:
        raise DtypeError(f"{call}: value.dtype = {array.dtype} must be {dtype}")
    if on is not None:
        return _wrapped_on_gpu(call, value, array)
    if not array.flags.writeable:
        raise TargetError(f"{call}: value is read-only")
    if not array.flags.c_contiguous:
        raise TargetError(f"{call}: value must be C-contiguous without overlap; its strides are {array.strides} for shape {array.shape}")
    if not array.flags.aligned:
        raise TargetError(f"{call}: value is not aligned to its items of {array.dtype.itemsize} bytes")
    if not array.dtype.isnative:
        raise TargetError(f"{call}: value is in foreign byte order ({array.dtype.str})")
    return array.view(np.ndarray)


def pinned(array: Array) -> Any:
    """What keeps anybody from resizing the memory behind ``array`` as long as it lives: NumPy refuses that for an owner with a weak reference."""
    if places.of(array) is not None:  # CuPy's arrays cannot be resized
        return None
    while isinstance(array.base, np.ndarray):
        array = array.base
    return weakref.ref(array)


def _share(one: Array, two: Array) -> bool:
    """Whether two conversions of a value gave the same memory: they do unless each is a copy."""
    return one.__array_interface__["data"] == two.__array_interface__["data"] or not one.size


def _wrapped_on_gpu(call: str, value: Any, array: Array) -> Array:
    shown = getattr(value, "__cuda_array_interface__", None)
    if isinstance(shown, dict) and shown["data"][1]:
        raise TargetError(f"{call}: value is read-only")
    if places.plain(array) is not array:
        raise TargetError(f"{call}: value must be C-contiguous and aligned; its strides are {array.strides} for shape {array.shape}")
    return array.view()


def fill(out: Array, initializer: Any, *, rows_at_a_time: int | None = None) -> None:
    """Writes an initializer's values into ``out``, a chunk of rows at a time.

    Args:
        initializer: None (zeros), a number, an array of the shape of ``out``, or a callable ``f(shape, dtype)`` that gives the next rows.
    """
    if initializer is None:
        places.assign(out, np.zeros((), out.dtype))
        return
    if not callable(initializer):
        places.assign(out, _fitting(initializer, out.shape, out.dtype, spread=True))
        return
    if not out.ndim or not out.size:
        if out.size:
            places.assign(out, _fitting(initializer(out.shape, out.dtype), out.shape, out.dtype))
        return
    draw = initializer.fresh() if isinstance(initializer, Initializer) else initializer
    row_bytes = max(1, out.nbytes // out.shape[0])
    step = rows_at_a_time or max(1, CHUNK_BYTES // row_bytes)
    for start in range(0, out.shape[0], step):
        rows = out[start : start + step]
        places.assign(rows, _fitting(draw(rows.shape, out.dtype), rows.shape, out.dtype))


def _fitting(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any], spread: bool = False) -> Array:
    """What an initializer gave, if it has the shape and does not lose its kind (floats do not become integers)."""
    literal = convert.is_literal(value)
    if literal:
        array = convert.updates_of("initializer", "result", value, dtype, convert=True)
    else:
        array = convert.array_of("initializer", "result", value)
    if array.shape != shape and not (spread and array.ndim == 0):
        raise ShapeError(f"initializer: result.shape = {array.shape} must be {shape}")
    if literal or array.dtype == dtype:
        return array
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise DtypeError(f"initializer: result.dtype = {array.dtype} does not become {dtype}")
    if dtypes.kind(dtype) in dtypes.KINDS.values():
        return convert.in_range("initializer", "result", array, dtype)
    return literals.unchanged("initializer", "result", array, dtype)
