"""From whatever a caller passes to arrays that kernels take: native byte order, aligned, C-contiguous, of the right dtype.

Numbers, strings and (nested) lists of them are *literals*: they have no dtype of their own and take the target's, if it can hold
them. Arrays and NumPy scalars have a dtype and are converted only where the operator's rule says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes, places
from .errors import DeviceError, DtypeError, ParameterCastError, ParamstoreError, ScalarRangeError, ShapeError, TooLarge
from .places import Device, Place

# fmt: off
__all__ = [
    "a_bool", "anywhere", "array_of", "array_on", "exactly", "in_range", "is_literal", "literal", "plain", "indices_of", "on_host",
    "scaled", "short", "updates_of",
]
# fmt: on

Array = np.ndarray[Any, np.dtype[Any]]


def a_bool(call: str, argument: str, value: object) -> bool:
    """``value`` if it is a bool; 1 and 0 are not."""
    if not isinstance(value, bool):
        raise DtypeError(f"{call}: {argument} = {value!r} must be a bool, not {type(value).__name__}")
    return value


def is_literal(value: object) -> bool:
    """Whether a value has no dtype of its own."""
    return isinstance(value, (bool, int, float, complex, str, bytes, list, tuple)) and not isinstance(value, np.generic)


def array_of(call: str, argument: str, value: Any, dtype: Any = None) -> Array:
    """``value`` as a plain ndarray on the CPU, shared where it can be.

    Raises:
        DeviceError: the value lives on a GPU.
        ShapeError: nested lists of unequal lengths.
        DtypeError: nothing that can become an array.
    """
    if type(value) is np.ndarray and dtype is None:
        return value
    try:
        return _converted(call, argument, value, dtype)
    except ParamstoreError:
        raise
    except ValueError as error:
        raise ShapeError(f"{call}: {argument} is no regular array: {error}") from error
    except OverflowError as error:
        raise ScalarRangeError(f"{call}: {argument} does not fit into {dtype}: {error}") from error
    except MemoryError as error:
        raise TooLarge(f"{call}: {argument}: {error}") from error
    except Exception as error:  # whatever the value's own methods raise
        raise DtypeError(f"{call}: {argument} of type {type(value).__name__} is no array: {_told(error)}") from error


def _told(error: Exception) -> str:
    return str(error) if type(error) is TypeError else f"{type(error).__name__}: {error}"


def _converted(call: str, argument: str, value: Any, dtype: Any) -> Array:
    if isinstance(value, np.ma.MaskedArray):
        raise DtypeError(f"{call}: {argument} is a masked array; fill it first, its mask would be lost")
    own = not isinstance(value, type) and hasattr(value, "__array__")  # a class has only its instances' methods
    if places.on_gpu(value):
        raise DeviceError(f"{call}: {argument} is a {type(value).__name__} on a GPU, the call runs on the CPU; copy it over first")
    if not own and hasattr(value, "__dlpack__") and not isinstance(value, type):
        try:
            return np.from_dlpack(value)
        except Exception as error:
            raise DeviceError(f"{call}: {argument} cannot be read through DLPack: {_told(error)}") from error
    with np.errstate(all="ignore"):
        found = np.asarray(value, dtype=dtype)
    if found.dtype == object and not own and not is_literal(value) and not isinstance(value, np.ndarray):
        raise DtypeError(f"{call}: {argument} of type {type(value).__name__} is no array")
    return found


def anywhere(call: str, argument: str, value: Any) -> Array:
    """As `array_of`, but what lives on a GPU stays there: for the argument that says where a call runs."""
    return places.adopted(call, argument, value) if places.on_gpu(value) else array_of(call, argument, value)


def array_on(call: str, argument: str, value: Any, on: Place) -> Array:
    """As `array_of`, for a call that runs on ``on``; a GPU's call also takes arrays of that GPU, and no other's.

    Raises:
        DeviceError: the value lives on another device.
    """
    if on is None or not places.on_gpu(value):
        return array_of(call, argument, value)
    found = places.adopted(call, argument, value)
    if places.of(found) is not on:
        raise DeviceError(
            f"{call}: {argument} is on {places.name_of(places.of(found))}, the call runs on {on.name}, where its target is; copy it over first"
        )
    return found


def on_host(call: str, argument: str, value: Any) -> Array:
    """As `array_of`; what lives on a GPU is copied to the host, which waits for the GPU's stream."""
    return places.host(places.adopted(call, argument, value)) if places.on_gpu(value) else array_of(call, argument, value)


def _literal_array(call: str, argument: str, value: Any) -> Array:
    """A literal's array; integers of mixed size stay exact, where NumPy would make float64 of them."""
    array = array_of(call, argument, value)
    if array.dtype == np.float64:
        exact = array_of(call, argument, value, dtype=object)
        if exact.size and all(type(v) is int for v in exact.reshape(-1)):
            return exact
    return array


def plain(array: Array) -> Array:
    """``array``, or a copy of it in native byte order, aligned and C-contiguous, as a base-class ndarray (or a GPU's own)."""
    if type(array) is not np.ndarray and places.of(array) is not None:
        return places.plain(array)
    dtype = array.dtype
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    elif array.flags.c_contiguous and array.flags.aligned:
        return array if type(array) is np.ndarray else np.asarray(array)
    out = np.empty(array.shape, dtype)
    out[...] = array
    return out


def indices_of(
    call: str, argument: str, value: Any, widths: tuple[str, ...] | None = None, on: Place = None
) -> tuple[Array, Array | None]:
    """``value`` as int32 or int64 indices in the place ``on``; and the original in NumPy, where a value had to be clamped into int64.

    Args:
        widths: the dtypes that arrays may have; by default any integer dtype that converts without loss.

    Raises:
        DtypeError: bool, float or any other dtype.
    """
    if on is not None:
        return _indices_on(call, argument, value, widths, on)
    literal = is_literal(value)
    array = _literal_array(call, argument, value) if literal else array_of(call, argument, value)
    if literal and _holds_bool(value):
        raise DtypeError(f"{call}: {argument} = {short(value)} holds a bool, which is no index")
    allowed = widths or ("int32", "int64")
    if literal and array.size == 0:
        array = array.astype(np.int64)
    name = dtypes.name(array.dtype)
    if name in allowed:
        return (plain(array) if name in ("int32", "int64") else array.astype(np.int64, order="C")), None
    if literal and array.dtype == object and all(type(v) is int for v in array.reshape(-1)):
        return _clamped(array)
    if (widths is None or literal) and dtypes.kind(array.dtype) in ("int", "uint"):
        return _clamped(array) if name == "uint64" else (array.astype(np.int64, order="C"), None)
    raise _no_index(call, argument, array.dtype, widths)


def _no_index(call: str, argument: str, dtype: np.dtype[Any], widths: tuple[str, ...] | None) -> DtypeError:
    return DtypeError(f"{call}: {argument}.dtype = {dtype} must be {' or '.join(widths) if widths else 'an integer dtype'}")


def _indices_on(call: str, argument: str, value: Any, widths: tuple[str, ...] | None, on: Device) -> tuple[Array, Array | None]:
    """`indices_of` on a GPU. What comes from the host is looked at there, and then copied over."""
    if places.on_gpu(value):
        array = array_on(call, argument, value, on)
        name = dtypes.name(array.dtype)
        if name in ("int32", "int64") and name in (widths or (name,)):
            return places.plain(array), None
        if name not in widths if widths else dtypes.kind(array.dtype) not in ("int", "uint"):
            raise _no_index(call, argument, array.dtype, widths)
        if name != "uint64":
            return places.astype(array, np.dtype(np.int64)), None
        value = on.get(array)  # values past int64 must be clamped
    ids, original = indices_of(call, argument, value, widths)
    return places.put(on, ids), original


def _holds_bool(value: Any) -> bool:
    """Whether a bool is among the leaves, where NumPy would read it as 0 or 1."""
    return any(map(_holds_bool, value)) if isinstance(value, (list, tuple)) else isinstance(value, (bool, np.bool_))


def _clamped(array: Array) -> tuple[Array, Array | None]:
    """Values past int64 are past the end of every axis; they stay so when they are clamped to its ends."""
    low, high = -(2**63), 2**63 - 1
    if array.dtype == object:
        flat = [min(max(v, low), high) for v in array.reshape(-1)]
        return np.array(flat, np.int64).reshape(array.shape), array
    return np.asarray(np.minimum(array, np.uint64(high))).astype(np.int64, order="C"), array


def updates_of(
    call: str, argument: str, value: Any, target: np.dtype[Any], *, convert: bool, owner: str = "input_x", on: Place = None
) -> Array:
    """``value`` as an array of the dtype ``target`` in the place ``on``.

    Args:
        convert: whether arrays of another dtype may be converted by the table `paramstore.dtypes.converts` (in-place operators);
            otherwise they must have the target's dtype (functional operators).

    Raises:
        ParameterCastError: (``convert=True``) the table would convert the Parameter, not the updates.
        DtypeError: the dtypes differ, or a literal of another kind.
        ScalarRangeError: a literal that the dtype cannot hold.
    """
    if on is not None and not places.on_gpu(value):
        return places.put(on, updates_of(call, argument, value, target, convert=convert, owner=owner))
    if is_literal(value):
        return literal(call, argument, value, target, ParameterCastError if convert else DtypeError)
    if target.kind == "O" and (isinstance(value, type) or not hasattr(value, "__array__")):  # any object is a cell of such a target
        cell = np.empty((), object)
        cell[()] = value
        return cell
    array = array_on(call, argument, value, on)
    if array.dtype == target or (not array.dtype.isnative and array.dtype.newbyteorder("=") == target):
        return plain(array)
    same_string = array.dtype.kind in "US" and array.dtype.kind == target.kind
    if (convert or same_string) and dtypes.converts(array.dtype, target):
        return places.astype(array, target)
    if convert:
        raise ParameterCastError(
            f"{call}: {argument}.dtype = {array.dtype} does not convert to {owner}.dtype = {target}, and a Parameter is never converted"
        )
    raise DtypeError(f"{call}: {argument}.dtype = {array.dtype} must equal {owner}.dtype = {target}")


def exactly(call: str, argument: str, value: Any, target: np.dtype[Any], *, owner: str = "x", on: Place = None) -> Array:
    """``value`` in the dtype ``target`` if that loses nothing: the kind stays or rises (bool, integer, float, complex), and so do the values.

    Args:
        on: a GPU whose arrays are taken too, if they have that dtype.

    Raises:
        ParameterCastError: the kind would fall, or a value would change.
        ScalarRangeError: a literal that the dtype cannot hold.

    >>> exactly("demo", "b", np.array([1.0, 2.0]), np.dtype("float32")).dtype
    dtype('float32')
    """
    if type(value) is float and target.kind == "f" and abs(value) <= 65504:  # float16's largest
        return np.array(value, target)
    if is_literal(value):
        return updates_of(call, argument, value, target, convert=True, owner=owner)
    array = array_on(call, argument, value, on)
    if array.dtype == target:
        return plain(array)
    if type(array) is not np.ndarray and places.of(array) is not None:
        raise ParameterCastError(f"{call}: {argument}.dtype = {array.dtype} on a GPU must be {owner}.dtype = {target}")
    rises = array.dtype.newbyteorder("=") == target or _RANK.get(dtypes.kind(array.dtype), 9) <= _RANK.get(dtypes.kind(target), -1)
    if not rises:
        raise ParameterCastError(f"{call}: {argument}.dtype = {array.dtype} does not convert to {owner}.dtype = {target}")
    out, bad = _ranged(array, target)
    if bad is None:
        with np.errstate(all="ignore"):
            lost = ~((out.astype(array.dtype) == array) | (array != array))
        if lost.any():
            bad = array.reshape(-1)[int(np.argmax(lost.reshape(-1)))]
    if bad is not None:
        raise ParameterCastError(f"{call}: {argument} of dtype {array.dtype} holds {bad}, which {owner}.dtype = {target} cannot hold exactly")
    return out


def scaled(call: str, argument: str, value: Any, factor_name: str, factor: Any, target: np.dtype[Any]) -> Array:
    """``value`` times a number, in the dtype ``target``, which both must have or take."""
    values = updates_of(call, argument, value, target, convert=False, owner="the target")
    by = updates_of(call, factor_name, factor.item() if isinstance(factor, np.generic) else factor, target, convert=False, owner="the target")
    if by.ndim:
        raise ShapeError(f"{call}: {factor_name}.shape = {by.shape} must be ()")
    with np.errstate(all="ignore"):
        return np.asarray(np.logical_and(values, by) if target.kind == "b" else np.multiply(values, by))


def _ranged(array: Array, target: np.dtype[Any]) -> tuple[Array, Any]:
    """Numbers in the dtype ``target``, rounded; and one that it cannot hold: an integer that would wrap, a finite number that becomes infinite."""
    if array.size and dtypes.kind(target) in ("int", "uint"):
        low, high = dtypes.range_of(target)
        least, most = int(array.min()), int(array.max())
        if least < low or most > high:
            return array, least if least < low else most
    try:
        numbers = array.astype(np.float64) if array.dtype == object and target.kind not in "iu" else array
    except OverflowError:
        return array, max(array.reshape(-1), key=abs)
    with np.errstate(all="ignore"):
        out = numbers.astype(target, order="C")
        lost = np.isfinite(numbers) & ~np.isfinite(out) if numbers.dtype != object else np.False_
    return out, numbers.reshape(-1)[int(np.argmax(lost.reshape(-1)))] if lost.any() else None


def in_range(call: str, argument: str, array: Array, target: np.dtype[Any]) -> Array:
    """Numbers in the dtype ``target``, rounded.

    Raises:
        ScalarRangeError: an integer would wrap, or a finite number become infinite.
    """
    out, bad = _ranged(array, target)
    if bad is None:
        return out
    if dtypes.kind(target) in ("int", "uint"):
        low, high = dtypes.range_of(target)
        raise ScalarRangeError(f"{call}: {argument} holds {bad}, which is not in [{low}, {high}] of {target}")
    raise ScalarRangeError(f"{call}: {argument} holds {short(bad)}, which is out of the range of {target}")


_RANK = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}


def literal(call: str, argument: str, value: Any, target: np.dtype[Any], refused: type[DtypeError] = DtypeError) -> Array:
    """A literal's array in the dtype ``target``; ``refused`` is raised for one of another kind."""
    kind = dtypes.kind(target)
    if kind not in _RANK:
        return literals.array_of(call, argument, value, target, refused)
    array = _literal_array(call, argument, value)
    if array.size == 0:
        return array.astype(target)
    own = dtypes.kind(array.dtype)
    if array.dtype == object and all(type(v) is int for v in array.reshape(-1)):
        own = "int"
    if own not in _RANK or _RANK[own] > _RANK[kind] or (kind == "bool" and own != "bool"):
        raise refused(f"{call}: {argument} = {short(value)} is no {target} ({own})")
    return in_range(call, argument, array, target)


def short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


from . import literals  # noqa: E402  (which needs this module)
