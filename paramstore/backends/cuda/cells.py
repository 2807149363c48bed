"""Which kernel does which cell of the table: the list that the registry, the modules and the tests share.

A kernel is named by its method. ``atomic`` sends every update to its target at once, in any order. ``fold`` gives each cell to one thread
that takes the cell's updates in C order. Where the order cannot show (integers modulo 2^n, bool, min and max), ``atomic`` serves both modes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ... import dtypes, ops

__all__ = ["Cell", "scatter_cells", "families", "entries", "STEPPED", "BY_ROW"]

# An assignment moves bits: one kernel for all dtypes of a size.
_MOVED_AS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "complex128"}
_SIZES = {"bfloat16": 2}
_INTEGER_KINDS = ("int", "uint", "bool")
STEPPED = tuple(dtype for dtype, kind in dtypes.KINDS.items() if kind == "float")  # what optimizers are for
BY_ROW = ("rowwise_adagrad", "lamb")  # the rules of kernels/optim.h that look at a whole row


class Cell(NamedTuple):
    """One kernel family's part for an op and a dtype."""

    method: str  # "atomic" or "fold"
    op: str
    dtype: str  # the dtype of the entry, which for an assignment is any of the same size

    @property
    def family(self) -> str:
        """The module that has the entries."""
        return "moves" if self.op == "update" else f"{self.method}_{self.dtype}"

    @property
    def macro(self) -> str:
        """The line of the module's source that makes the entries."""
        return f"PS_{self.method.upper()}({self.op}, {self.dtype})"

    def entry(self, layout: str) -> str:
        """The name of the kernel."""
        return f"{self.method}_{layout}_{self.op}_{self.dtype}"


def itemsize(dtype: str) -> int:
    return _SIZES.get(dtype) or np.dtype(dtype).itemsize


def _order_shows(op: ops.Op, dtype: str) -> bool:
    if op.name in ("add", "sub", "mul") and dtypes.KINDS[dtype] in _INTEGER_KINDS:
        return False
    return op.order_matters


def _whole(op: ops.Op, dtype: str) -> bool:
    """Whether an atomic update of a cell is possible: no GPU before the Hopper generation has one of more than 8 bytes, and only sums
    can go component by component."""
    return itemsize(dtype) <= 8 or op.name in ("add", "sub")


def scatter_cells() -> Iterator[tuple[str, str, str, Cell]]:
    """(op, dtype, mode, cell) for every cell of the table; a mode that is missing is served by ``ordered``."""
    for name in _OPS:
        op = ops.OPS[name]
        for dtype, kind in dtypes.KINDS.items():
            if kind not in op.kinds:
                continue
            stored = _MOVED_AS[itemsize(dtype)] if name == "update" else dtype
            if _whole(op, dtype):
                yield name, dtype, "fast", Cell("atomic", name, stored)
            yield name, dtype, "ordered", Cell("fold" if _order_shows(op, dtype) else "atomic", name, stored)


_OPS = tuple(ops.OPS)  # those of the package: the kernels of an op from outside are its own


def families() -> dict[str, list[str]]:
    """The lines of each module, by the module's name."""
    found: dict[str, list[str]] = {
        "ids": ["PS_CHECKS", "PS_MARKS", *(f"PS_KEYS(int{b})" for b in (32, 64)), *(f"PS_ZEROS(uint{b})" for b in (8, 16, 32, 64))],
        "moves": [f"PS_GATHER({size})" for size in _MOVED_AS],
    }
    for _, _, _, cell in scatter_cells():
        lines = found.setdefault(cell.family, [])
        if cell.macro not in lines:
            lines.append(cell.macro)
    for dtype in STEPPED:
        found[f"optim_{dtype}"] = [f"PS_STEP_{kind}({rule}, {dtype})" for rule in ops.RULES for kind in ("CELLS", "ROWS") if kind == "ROWS" or rule not in BY_ROW]
    return found


def entries(mode: str | None = None) -> dict[str, str]:
    """The names of all kernels that scatter (in a mode, if one is named), with their modules."""
    return {cell.entry(layout): cell.family for _, _, m, cell in scatter_cells() if mode in (None, m) for layout in ("rows", "elements")}
