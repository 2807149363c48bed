"""Literals for dtypes that are no numbers: strings, raw bytes, records and times. NumPy cuts what does not fit; here it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import convert
from .convert import Array
from .errors import DtypeError, ScalarRangeError, ShapeError

__all__ = ["array_of", "unchanged"]


def array_of(call: str, argument: str, value: Any, target: np.dtype[Any], refused: type[DtypeError] = DtypeError) -> Array:
    """The literal's array in the dtype ``target``.

    Raises:
        DtypeError: a literal of another kind.
        ScalarRangeError: a value that would be cut.

    >>> array_of("demo", "updates", [(1, "ab")], np.dtype([("id", "i1"), ("name", "U2")])).tolist()
    [(1, 'ab')]
    """
    if target.kind in "UST":
        _check_text(call, argument, value, target, refused)
    elif target.kind in "mM":
        _check_time(call, argument, value, target, refused)
    elif target.kind == "V" and target.names is None:
        _check_raw(call, argument, value, target, refused)
    found = convert.array_of(call, argument, value, dtype=target)
    if target.names is not None:
        _check_record(call, argument, value, target, refused)
    elif target.kind in "mM":
        _check_moments(call, argument, value, found)
    return convert.plain(found)


def _leaves(call: str, argument: str, value: Any, inside: tuple[type, ...] = (list, tuple), depth: int = 0) -> Iterator[Any]:
    """What stands in nested sequences."""
    if not isinstance(value, inside):
        yield value
        return
    if depth == 64:  # NumPy's limit; a list may also contain itself
        raise ShapeError(f"{call}: {argument} is nested deeper than an array can be")
    items: Any = value
    for item in items:
        yield from _leaves(call, argument, item, inside, depth + 1)


def _check_text(call: str, argument: str, value: Any, target: np.dtype[Any], refused: type[DtypeError]) -> None:
    array = convert.array_of(call, argument, value)
    if not array.size:
        return
    if array.dtype.kind not in ("UT" if target.kind == "T" else target.kind):
        raise refused(f"{call}: {argument} = {convert.short(value)} is no {target}")
    if target.kind != "T" and array.dtype.itemsize > target.itemsize:
        raise ScalarRangeError(f"{call}: {argument} = {convert.short(value)} is longer than {target} holds")


def _check_raw(call: str, argument: str, value: Any, target: np.dtype[Any], refused: type[DtypeError]) -> None:
    for leaf in _leaves(call, argument, value):
        if not isinstance(leaf, (bytes, np.void)):
            raise refused(f"{call}: {argument} = {convert.short(value)} is no {target}")
        if (len(leaf) if isinstance(leaf, bytes) else leaf.nbytes) > target.itemsize:
            raise ScalarRangeError(f"{call}: {argument} holds {convert.short(leaf)}, which is longer than {target} holds")


def _check_record(call: str, argument: str, value: Any, target: np.dtype[Any], refused: type[DtypeError]) -> None:
    """Field by field, all records at once; a number in place of a record is for each of the fields."""
    records = list(_leaves(call, argument, value, (list,)))  # a tuple is a record
    for record in records:
        if isinstance(record, np.void) and record.dtype != target:
            raise refused(f"{call}: {argument} holds a record of dtype {record.dtype}, not {target}")
    assert target.names is not None and target.fields is not None
    for k, name in enumerate(target.names):
        field = target.fields[name][0]
        column = [r[k] if isinstance(r, tuple) else r for r in records if not isinstance(r, np.void)]
        if field.subdtype is not None:
            field = field.subdtype[0]
            spread = [item.reshape(-1) if isinstance(item, np.ndarray) else _leaves(call, argument, item) for item in column]
            column = [leaf for items in spread for leaf in items]
        if column and field.kind != "O":
            convert.literal(call, f"{argument}[{name!r}]", column, field, refused)


def _is_count(leaf: Any) -> bool:
    """Whether a leaf is a number of the target's own units, and no time with a unit of its own."""
    return isinstance(leaf, (int, np.integer)) and not isinstance(leaf, np.timedelta64)


def _check_time(call: str, argument: str, value: Any, target: np.dtype[Any], refused: type[DtypeError]) -> None:
    for leaf in _leaves(call, argument, value):
        if isinstance(leaf, (float, complex, np.inexact)):
            raise refused(f"{call}: {argument} = {convert.short(value)} is no {target}")
        if _is_count(leaf) and not -(2**63) < leaf < 2**63:  # the lowest is NaT
            raise ScalarRangeError(f"{call}: {argument} holds {leaf}, which is not in ({-(2**63)}, {2**63}) of {target}")


def _check_moments(call: str, argument: str, value: Any, found: Array) -> None:
    """Dates and spans, against what they are in units of their own."""
    leaves = list(_leaves(call, argument, value))
    own = [k for k, leaf in enumerate(leaves) if not _is_count(leaf)]
    if own:
        exact = convert.array_of(call, argument, [leaves[k] for k in own], dtype=f"{found.dtype.kind}8")
        _compare_times(call, argument, exact, found.reshape(-1)[own])


def _compare_times(call: str, argument: str, exact: Array, found: Array) -> None:
    if np.datetime_data(exact.dtype)[0] == "generic":  # nothing but NaT, or spans without a unit
        return
    lost = (found.astype(exact.dtype) != exact) & ~np.isnat(exact)
    if lost.any():
        bad = exact.reshape(-1)[int(np.argmax(lost.reshape(-1)))]
        raise ScalarRangeError(f"{call}: {argument} holds {bad}, which {found.dtype} cannot hold exactly")


def unchanged(call: str, argument: str, array: Array, target: np.dtype[Any]) -> Array:
    """``array`` in a dtype that is no number, if its values stay.

    Raises:
        ScalarRangeError: a string that would be cut, a time that would be rounded.
        DtypeError: records or raw bytes of another dtype that may lose something.
    """
    if array.dtype == target:
        return array
    out = array.astype(target)
    if target.kind in "mM":
        _compare_times(call, argument, array, out)
    elif target.kind in "US":
        lost = out != array
        if np.any(lost):
            bad = array.reshape(-1)[int(np.argmax(lost.reshape(-1)))]
            raise ScalarRangeError(f"{call}: {argument} holds {bad!r}, which is longer than {target} holds")
    elif not np.can_cast(array.dtype, target, "safe"):
        raise DtypeError(f"{call}: {argument}.dtype = {array.dtype} does not become {target} without loss")
    return out
