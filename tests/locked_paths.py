"""What is promised to be free of data races, kept busy from many threads: locked calls on one Parameter, calls on Parameters of their
own through the one pool, reads of one array, and the first calls of a process. ``tests/sanitize.sh`` runs it under ThreadSanitizer.

    python tests/locked_paths.py [ROUNDS]

No call without a lock meets another on the same Parameter here: such calls may race (C7). Nearly every call moves more than 16 KiB,
so that it works without the GIL, which would keep the threads apart; most move enough for eight kernel threads.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import paramstore as ps
from paramstore import dispatch, normalize

Array = np.ndarray[Any, np.dtype[Any]]

R, W, N = 400, 64, 2500
THREADS = (1, 2, 3, 8)  # of the kernels


def together(functions: list[Callable[[], Any]]) -> None:
    """Runs the functions at once, each in a thread; raises the first exception."""
    start, errors = threading.Barrier(len(functions)), []

    def run(function: Callable[[], Any]) -> None:
        start.wait()
        try:
            function()
        except BaseException as error:  # noqa: BLE001  (handed to the caller)
            errors.append(error)

    threads = [threading.Thread(target=run, args=(f,)) for f in functions]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def repeat(rounds: int, function: Callable[[], Any]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(rounds):
            function()

    return run


def same(got: Array, wanted: Array, what: str) -> None:
    if got.dtype != wanted.dtype or got.shape != wanted.shape or got.tobytes() != wanted.tobytes():
        raise AssertionError(f"{what}: other bits than expected")


def refused(call: Callable[[], Any], error: type[Exception]) -> None:
    try:
        call()
    except error:
        return
    raise AssertionError(f"no {error.__name__}")


def elements_on(op: str, x: Array, ids: Array, updates: Array, axis: int) -> None:
    dispatch.run(normalize.elements("elements", op, x, ids, updates, axis))


# ---- the pool ---------------------------------------------------------------------------------------------------------------------------


def first_calls(rounds: int) -> None:
    """Whichever thread comes first makes the pool; all read one array."""
    x, ids = np.arange(R * W, dtype=np.float32).reshape(R, W), np.arange(N) % R
    expected = x[ids]
    together([lambda: same(ps.gather(x, ids), expected, "first calls")] * 4)


def pool_growth(rounds: int) -> None:
    """Several callers ask for more and more threads, and use at once what there is."""
    x, ids = np.arange(R * W, dtype=np.float32).reshape(R, W), np.arange(4 * N) % R
    expected = x[ids]

    def growing(first: int) -> Callable[[], None]:
        def run() -> None:
            for n in range(first, 17, 2):
                ps.set_num_threads(n)
                same(ps.gather(x, ids), expected, f"pool of {n}")

        return run

    together([growing(1), growing(2), growing(2)])


# ---- one Parameter ----------------------------------------------------------------------------------------------------------------------


def one_table(rounds: int) -> None:
    """Every way to write and to read a table with its lock: refused calls and changes of its buffer included."""
    p = ps.Parameter(np.zeros((R, W), np.float32))
    rows, ones = np.arange(R), np.ones((R, W), np.float32)
    square = np.repeat(rows[:, None], W, 1)
    cells = np.stack([square.reshape(-1), np.tile(np.arange(W), R)], 1)

    def elements() -> None:
        with p.lock:
            elements_on("add", p.value, square, ones, 0)

    def whole(snapshot: Callable[[], Array]) -> Callable[[], None]:
        def read() -> None:
            got = snapshot()
            if not (got == got[0, 0]).all():
                raise AssertionError(f"half of a call: {np.unique(got)}")

        return read

    writes: list[tuple[int, Callable[[], Any]]] = [  # what each adds to every number of the table
        (1, lambda: p.scatter_add(rows, ones, use_locking=True)),
        (-1, lambda: ps.ScatterSub(use_locking=True)(p, rows, ones)),
        (1, lambda: p.scatter_nd_add(rows[:, None], ones, use_locking=True)),
        (-1, lambda: p.scatter_nd_sub(cells, ones.reshape(-1), use_locking=True)),
        (1, lambda: p.assign_add(ones, use_locking=True)),
        (1, elements),
        (0, lambda: refused(lambda: p.scatter_sub(rows + 1, ones, use_locking=True), IndexError)),
        (0, lambda: p.resize(R)),
    ]
    reads = [
        whole(lambda: p.read()),
        whole(lambda: p.gather(rows, use_locking=True)),
        whole(lambda: p.gather_nd(rows[:, None], use_locking=True)),
    ]
    total = 0
    for threads in THREADS:
        ps.set_num_threads(threads)
        together([repeat(rounds, call) for call in [*(w for _, w in writes), *reads]])
        total += rounds * sum(step for step, _ in writes)
        same(p.read(), np.full((R, W), total, np.float32), f"one table at {threads} threads")


# ---- Parameters of their own ------------------------------------------------------------------------------------------------------------


def calls() -> dict[str, Callable[[], Array]]:
    """One call for each way in which the kernels share out their work; each makes its own target, and only reads what others read."""
    rng = np.random.default_rng(0)
    out: dict[str, Callable[[], Array]] = {}

    def rows(name: str, op: str, dtype: str, shape: tuple[int, int], n: int, bounds: str = "raise") -> None:
        x, u = (rng.integers(1, 100, s).astype(dtype) for s in (shape, (n, shape[1])))
        ids = rng.integers(0, shape[0] + (bounds != "raise"), n)
        out[name] = lambda: ps.Scatter(op)(ps.Parameter(x), ids, u, bounds=bounds).numpy()

    def elements(name: str, op: str, dtype: str, shape: tuple[int, ...], id_shape: tuple[int, ...], axis: int) -> None:
        x, u = (rng.integers(1, 100, s).astype(dtype) for s in (shape, id_shape))
        ids = rng.integers(-shape[axis], shape[axis], id_shape)

        def call() -> Array:
            p = ps.Parameter(x)
            elements_on(op, p.value, ids, u, axis)
            return p.numpy()

        out[name] = call
        out[f"gather {name}"] = lambda: ps.gather_elements(x, ids, axis)

    rows("rows, owners", "add", "float32", (R, W), N)
    rows("rows, owners, some dropped", "max", "float16", (R, W), 2 * N, "drop")
    rows("rows, buckets", "add", "float32", (8 * N, 40), N)
    rows("rows, buckets, some dropped", "mul", "int16", (N, 40), N, "drop")
    rows("rows, columns", "mul", "float64", (5, 3000), 40)
    rows("rows, columns, some clipped", "sub", "complex64", (5, 3000), 40, "clip")
    rows("rows, divisors", "div", "int32", (R, W), N)
    rows("rows, narrow", "update", "int8", (R, 1), 40000)
    elements("elements, outer", "add", "float32", (64, 20, 30), (60, 25, 28), 1)
    elements("elements, inner", "min", "int16", (30, 2000), (50, 1900), 0)
    elements("elements, owners", "div", "int64", (3000,), (40000,), 0)
    x, ids = rng.random((R, W)).astype(np.float32), rng.integers(0, R, N)
    wide, few = rng.random((4, 90000)).astype(np.float32), np.array([3, 1])
    tuples = np.stack([ids, ids % W], 1).repeat(10, 0)
    often = np.where(rng.random(30000) < 0.5, 7, rng.integers(0, R, 30000))  # threads share the columns of one sum
    slices = ps.IndexedSlices(often, rng.random((30000, W), np.float32), (R, W))
    out["optimizer"] = lambda: ps.optim.Adam(0.1).apply(ps.Parameter(x), slices).numpy()
    out["optimizer, all rows"] = lambda: ps.optim.Adagrad(0.1).apply(ps.Parameter(x), x).numpy()
    out["coalesce"] = lambda: np.asarray(slices.coalesce().values)
    out["gather"] = lambda: ps.gather(x, ids)
    out["gather, columns"] = lambda: ps.gather(wide, few)
    out["gather, tuples"] = lambda: ps.gather_nd(x, tuples)
    out["tuples"] = lambda: ps.tensor_scatter_add(x, tuples, np.ones(len(tuples), np.float32))
    return out


def own_tables(rounds: int) -> None:
    """All of them at once, while the thread count changes; the bits are those of one thread."""
    made = calls()
    ps.set_num_threads(1)
    expected = {name: call() for name, call in made.items()}
    for threads in THREADS[1:]:  # by turns: each call has the pool for itself
        ps.set_num_threads(threads)
        for name, call in made.items():
            same(call(), expected[name], f"{name} at {threads} threads")
    stop = threading.Event()

    def check(name: str) -> None:
        same(made[name](), expected[name], name)

    def change() -> None:
        k = 0
        while not stop.wait(0.001):
            k += 1
            ps.set_num_threads(THREADS[k % len(THREADS)])

    changer = threading.Thread(target=change)
    changer.start()
    try:
        together([repeat(rounds, partial(check, name)) for name in made])
    finally:
        stop.set()
        changer.join()


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    if not ps.kernels(backend="cpu"):
        sys.exit("locked_paths: the compiled extension is not there")
    sys.modules["paramstore._cpu"].set_bytes_per_thread(1 << 14)  # type: ignore[attr-defined]
    for part in (first_calls, pool_growth, one_table, own_tables):
        part(rounds)
        print(f"{part.__name__.replace('_', ' ')}: done", flush=True)


if __name__ == "__main__":
    main()
