"""The defining loop in plain Python, scalar by scalar: what the kernels are held against, bit for bit.

Nothing here calls paramstore, and NumPy only holds the values: integers are Python integers cut to their width, floats are Python floats
that `rounded` brings to the format at hand. That is exact: with 24 bits or fewer, an operation in float64 that is rounded once more gives
the same bits as the operation itself (Figueroa, When is double rounding innocuous?, 1995), subnormal results included.

The `fold_*` functions are the same loop with one row of values at a time, for sizes at which threads work; a test compares the two.
"""

from __future__ import annotations

from .dtypes import BFLOAT16, CELLS, COMPLEX, DTYPES, FLOATS, INTEGERS, OPS, SIGNED, UNSIGNED, defined, dtype_of
from .rows import fold_elements, fold_rows, vector_step
from .scalars import ZeroDivisor, decode, encode, gather, gather_elements, gather_tuples, loop, read, scatter_elements, scatter_rows, scatter_tuples
from .steps import Format, Step, rounded, step
from .targets import BadIndex, cell_targets, place, row_targets, tuple_targets
from .values import assert_same, bits, pool

__all__ = [
    "BFLOAT16",
    "BadIndex",
    "CELLS",
    "COMPLEX",
    "DTYPES",
    "FLOATS",
    "Format",
    "INTEGERS",
    "OPS",
    "SIGNED",
    "Step",
    "UNSIGNED",
    "ZeroDivisor",
    "assert_same",
    "bits",
    "cell_targets",
    "decode",
    "defined",
    "dtype_of",
    "encode",
    "fold_elements",
    "fold_rows",
    "gather",
    "gather_elements",
    "gather_tuples",
    "loop",
    "place",
    "pool",
    "read",
    "rounded",
    "row_targets",
    "scatter_elements",
    "scatter_rows",
    "scatter_tuples",
    "step",
    "tuple_targets",
    "vector_step",
]
