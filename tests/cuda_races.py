"""Calls of the CUDA kernels on the stand-in in which many threads meet on few cells, for ThreadSanitizer: what a kernel does not do
atomically, and what two threads of an ordered kernel would both write, is a data race there. No GPU is involved.

    python tests/cuda_races.py [ROUNDS]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import drawn
import loops
from cuda_host import calls

from paramstore.backends.cuda import launch

DTYPES = ("int8", "int32", "bfloat16", "float16", "float32", "complex64", "complex128")


def rows(rng: np.random.Generator, op: str, dtype: str) -> int:
    for mode in ("fast", "ordered"):
        for w in (1, 3, 16):
            ids = rng.integers(-1, 6, 120)
            x, u = drawn.ordinary(rng, dtype, (5, w)), drawn.ordinary(rng, dtype, (120, w), zero=False)
            got = calls.scatter_rows(op, mode, x, ids, u, "drop")
            if mode == "ordered":
                loops.assert_same(got, loops.fold_rows(op, x, [int(i) if 0 <= i < 5 else None for i in ids], u), (op, dtype, w))
    return 6


def elements(rng: np.random.Generator, op: str, dtype: str) -> int:
    ids = rng.integers(-4, 4, (60, 5))
    x, u = drawn.ordinary(rng, dtype, (4, 7)), drawn.ordinary(rng, dtype, (60, 5), zero=False)
    for mode in ("fast", "ordered"):
        for launch.ENOUGH_LANES in (0, 2**62):
            got = calls.scatter_elements(op, mode, x, ids, u, 0)
            if mode == "ordered":
                loops.assert_same(got[:, :5], loops.fold_elements(op, x[:, :5], ids, u, 0), (op, dtype))
    return 4


def others(rng: np.random.Generator) -> int:
    ids = rng.integers(0, 9, 200)
    for bad in (ids, np.where(ids == 3, 99, ids)):
        try:
            calls.scatter_rows("add", "fast", np.zeros((9, 1), np.float32), bad, np.zeros((200, 1), np.float32))
            calls.flatten(np.stack([bad, bad], 1), (9, 9))
        except calls.Failed:
            pass
        calls.gather_rows(rng.random((9, 3)), bad, "drop")
        calls.gather_elements(rng.random((9, 3)), np.stack([bad] * 3, 1), 0, "drop")
    return 8


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    rng, count = np.random.default_rng(0), 0
    launch.FEW_STEPS = 0
    with calls.standing_in():
        for _ in range(rounds):
            for op, dtype in loops.CELLS:
                if dtype in DTYPES:
                    count += rows(rng, op, dtype) + elements(rng, op, dtype)
            count += others(rng)
    print(f"{count} calls")


if __name__ == "__main__":
    main()
