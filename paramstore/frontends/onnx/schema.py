"""Which versions of each operator ONNX has, and what each version allows. A test holds the table against the ``onnx`` package."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import convert, dtypes, normalize
from ...convert import Array
from ...errors import ArgumentError, DtypeError
from .. import _text

__all__ = ["LATEST_OPSET", "VERSIONS", "Version", "version_of"]

LATEST_OPSET = 28  # the newest opset these versions were checked against

_TYPES = frozenset(dtypes.KINDS) - {"bfloat16"} | {"string"}
_TYPES_13 = _TYPES | {"bfloat16"}
_INT64 = ("int64",)
_INT32_OR_INT64 = ("int32", "int64")
_ADD_MUL = ("none", "add", "mul")


@dataclass(frozen=True)
class Version:
    """One version of one operator.

    Attributes:
        op: the operator's name.
        since: the first opset with this version.
        types: the dtypes of its data, in NumPy's names.
        indices: the dtypes of its indices.
        attributes: its attributes with their defaults.
        reductions: what its attribute ``reduction`` may be.
        inputs: how many inputs it needs, and how many it can take.
        wraps: whether negative indices count from the end.
    """

    op: str
    since: int
    types: frozenset[str] = _TYPES
    indices: tuple[str, ...] = _INT32_OR_INT64
    attributes: tuple[tuple[str, Any], ...] = ()
    reductions: tuple[str, ...] = ("none",)
    inputs: tuple[int, int] = (3, 3)
    wraps: bool = True
    name: str = field(init=False, default="")  # operator and version, for messages

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", f"{self.op}-{self.since}")

    def data(self, argument: str, value: Any) -> Array:
        """``value`` as an array of a dtype that this version takes; strings become an array of str objects."""
        array: Array = value if type(value) is np.ndarray else convert.anywhere(self.name, argument, value)
        found = dtypes.name(array.dtype)
        if found in self.types and found != "string":
            return array
        if array.dtype.kind in "OUT" and _text.is_text(array, bytes_too=False):
            return array if array.dtype.kind == "O" else _text.objects(array)
        raise DtypeError(f"{self.name}: {argument}.dtype = {array.dtype} is none of {', '.join(sorted(self.types))}")

    def reduction(self, value: Any) -> str:
        """The op that a reduction names, if this version has it."""
        op = normalize.reduction_op(self.name, value)
        if value not in self.reductions:
            raise ArgumentError(f"{self.name}: reduction = {value!r} came later; this version has {', '.join(map(repr, self.reductions))}")
        return op


def _versions() -> dict[str, tuple[Version, ...]]:
    axis = (("axis", 0),)
    reduced = (*axis, ("reduction", "none"))
    v = Version
    listed = (
        v("Scatter", 9, attributes=axis),
        v("Scatter", 11, attributes=axis),  # deprecated in ONNX, which calls it ScatterElements from then on
        v("ScatterElements", 11, attributes=axis),
        v("ScatterElements", 13, _TYPES_13, attributes=axis),
        v("ScatterElements", 16, _TYPES_13, attributes=reduced, reductions=_ADD_MUL),
        v("ScatterElements", 18, _TYPES_13, attributes=reduced, reductions=(*_ADD_MUL, "min", "max")),
        v("ScatterND", 11, indices=_INT64),
        v("ScatterND", 13, _TYPES_13, _INT64),
        v("ScatterND", 16, _TYPES_13, _INT64, reduced[1:], _ADD_MUL),
        v("ScatterND", 18, _TYPES_13, _INT64, reduced[1:], (*_ADD_MUL, "min", "max")),
        v("Gather", 1, attributes=axis, inputs=(2, 2), wraps=False),
        v("Gather", 11, attributes=axis, inputs=(2, 2)),
        v("Gather", 13, _TYPES_13, attributes=axis, inputs=(2, 2)),
        v("GatherElements", 11, attributes=axis, inputs=(2, 2)),
        v("GatherElements", 13, _TYPES_13, attributes=axis, inputs=(2, 2)),
        v("GatherND", 11, indices=_INT64, inputs=(2, 2)),
        v("GatherND", 12, indices=_INT64, attributes=(("batch_dims", 0),), inputs=(2, 2)),
        v("GatherND", 13, _TYPES_13, _INT64, (("batch_dims", 0),), inputs=(2, 2)),
        v("TensorScatter", 24, _TYPES_13, _INT64, (("axis", -2), ("mode", "linear")), inputs=(2, 3), wraps=False),
    )
    table: dict[str, tuple[Version, ...]] = {}
    for row in listed:
        table[row.op] = (*table.get(row.op, ()), row)
    return table


VERSIONS: dict[str, tuple[Version, ...]] = _versions()
_found: dict[tuple[str, Any], Version] = {(op, None): rows[-1] for op, rows in VERSIONS.items()}


def version_of(op: str, opset: Any = None) -> Version:
    """The version that a model of that opset means; the latest for None.

    Raises:
        ArgumentError: an operator or opset that is unknown, or an opset from before the operator.

    >>> version_of("ScatterND", 17).name, version_of("GatherND").name
    ('ScatterND-16', 'GatherND-13')
    """
    if type(opset) is int or opset is None:
        known = _found.get((op, opset))
        if known is not None:
            return known
    rows = VERSIONS.get(op) if isinstance(op, str) else None
    if rows is None:
        raise ArgumentError(f"onnx: operator {op!r} is none of {', '.join(VERSIONS)}")
    if isinstance(opset, bool) or not hasattr(type(opset), "__index__"):
        raise DtypeError(f"{op}: opset = {opset!r} must be an integer")
    number = int(opset.__index__())
    if not rows[0].since <= number <= LATEST_OPSET:
        raise ArgumentError(f"{op}: opset = {number} is not in [{rows[0].since}, {LATEST_OPSET}]")
    row = [r for r in rows if r.since <= number][-1]
    _found[op, number] = row
    return row
