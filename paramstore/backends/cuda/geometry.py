"""Grids and blocks: how a kernel's loops are spread over threads. Every kernel covers any size with any grid."""

from __future__ import annotations

__all__ = ["THREADS", "items", "rows"]

THREADS = 256  # of a block; PS_THREADS in kernels/cuda/common.cuh
MOST_X, MOST_Y = 2**31 - 1, 65535  # blocks of a grid

Shape = tuple[tuple[int, int], tuple[int, int]]


def _parts(n: int, size: int) -> int:
    return -(-n // size)


def items(n: int) -> Shape:
    """(grid, block) for n > 0 items, a thread each."""
    return (min(_parts(n, THREADS), MOST_X), 1), (THREADS, 1)


def rows(n: int, columns: int) -> Shape:
    """(grid, block) for n > 0 rows of that many columns: along x of the grid and y of the block the rows, the other way the columns.

    >>> rows(1000, 16), rows(3, 100_000)
    (((63, 1), (16, 16)), ((3, 391), (256, 1)))
    """
    across = min(1 << max(columns - 1, 0).bit_length(), THREADS)
    down = THREADS // across
    return (min(_parts(n, down), MOST_X), min(_parts(columns, across), MOST_Y)), (across, down)
