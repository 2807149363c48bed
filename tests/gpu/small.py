"""One small call of every kind of kernel, for tools that slow a program down a hundredfold (compute-sanitizer)."""

from __future__ import annotations

import cupy
import numpy as np

import paramstore as ps

cupy.cuda.set_allocator(None)  # each array is an allocation of its own, so that a step outside of it shows


def main() -> None:
    rng = np.random.default_rng(0)
    calls = 0
    for mode in (False, True):
        with ps.deterministic(mode):
            for dtype in ("int8", "float16", "float32", "float64", "complex64"):
                for width in (1, 3, 16):
                    p = ps.Parameter(np.ones((11, width), dtype), device="cuda")
                    ids, u = rng.integers(0, 11, 70), np.ones((70, width), dtype)
                    for op in ("add", "mul", "update") if dtype != "complex64" else ("add", "update"):
                        ps.Scatter(op)(p, ids, u)
                        calls += 1
                    p.scatter_nd_add(np.stack([ids, ids % width], 1), u[:, 0].copy(), bounds="drop")
                    p.gather([0, 10, 10])
                    try:
                        p.scatter_add([0, 11], u[:2])
                    except ps.errors.IndexOutOfBounds:
                        calls += 3
                data = ps.Parameter(np.ones((11, 5), dtype), device="cuda").value
                at = rng.integers(-11, 11, (60, 5))
                ps.scatter_elements(data, at, np.ones((60, 5), dtype), reduction="add")
                ps.gather_elements(data, at)
                calls += 2
    cupy.cuda.Device().synchronize()
    print(f"{calls} calls")


if __name__ == "__main__":
    main()
