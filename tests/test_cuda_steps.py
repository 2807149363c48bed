"""Steps of the optimizers by the CUDA kernels on the stand-in for a GPU, against the reference kernels: every rule, dtype and option.

No GPU is involved: see `cuda_host`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import loops
import numpy as np
import pytest
from cuda_host import calls, executor

from paramstore import ops, registry
from paramstore.backends.cuda import cells

Array = np.ndarray[Any, np.dtype[Any]]

pytestmark = pytest.mark.skipif(not executor.available(), reason=executor.missing())
ROWS, WIDTHS = 9, (1, 7, 16)
CELLS = [(rule, dtype) for rule in ops.RULES for dtype in loops.FLOATS]


@pytest.fixture(autouse=True)
def _stand_in() -> Iterator[None]:
    with calls.standing_in():
        yield


def shape_of(rule: str) -> tuple[int, int, int, int]:
    """(cells, rows, varying, constants) of a rule, from kernels/optim.def."""
    from paramstore.backends.cuda import modules

    for line in (modules.folder() / "optim.def").read_text().splitlines():
        if line.startswith(f"PS_OPTIM({rule},"):
            return tuple(int(n) for n in line.rstrip(")").rsplit(",", 4)[1:])  # type: ignore[return-value]
    raise AssertionError(rule)


def both(rule: str, dtype: str, arrays: dict[str, Any], rest: tuple[Any, ...]) -> None:
    """One step by either kernel, on copies: the same bits everywhere."""
    reference = next(k for k in registry._table[rule, "optim", dtype, "cpu", "ordered"] if k.backend == "reference").function
    own = {k: tuple(a.copy() for a in v) if isinstance(v, tuple) else None if v is None else v.copy() for k, v in arrays.items()}
    put = calls.device().put
    there = {k: tuple(map(put, v)) if isinstance(v, tuple) else None if v is None else put(v) for k, v in arrays.items()}
    wanted = reference(*own.values(), *rest)
    got = calls.kernel(rule, "optim", dtype, "fast").function(*there.values(), *rest)
    assert (None if got is None else tuple(got)) == (None if wanted is None else tuple(wanted))
    for name, array in own.items():
        for k, one in enumerate(array if isinstance(array, tuple) else (array,)):
            if one is not None:
                found = there[name][k] if isinstance(array, tuple) else there[name]
                loops.assert_same(found.get(), one, (rule, dtype, name, k))


def arguments(rng: np.random.Generator, rule: str, dtype: str, w: int, steps: int) -> tuple[dict[str, Any], Array, Array]:
    per_cell, per_row, varying, constants = shape_of(rule)
    wide = np.float64 if dtype == "float64" else np.float32
    state = (*(rng.random((ROWS, w)).astype(wide) for _ in range(per_cell)), *(rng.random(ROWS).astype(wide) for _ in range(per_row)))
    x = (rng.random((ROWS, w)) - 0.5).astype(np.float32).astype(loops.dtype_of(dtype))
    return {"data": x, "state": state}, rng.random((steps, varying)) * 0.5 + 0.25, rng.random(constants) * 0.5 + 0.25


def gradient(rng: np.random.Generator, dtype: str, n: int, w: int) -> Array:
    return (rng.random((n, w)) - 0.5).astype(np.float32).astype(loops.dtype_of(dtype))


@pytest.mark.parametrize(("rule", "dtype"), CELLS)
def test_rows_that_repeat_and_options(rule: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    for w in WIDTHS:
        for ids in (np.array([4, 0, 4, 7, 4, 0, 8]), np.array([3], np.int32), np.zeros(0, np.int64)):
            for padding, max_norm in ((-1, 0.0), (4, 0.0), (-1, 0.4)):
                arrays, varying, constants = arguments(rng, rule, dtype, w, 1)
                given = {**arrays, "last": None, "ids": ids, "updates": gradient(rng, dtype, len(ids), w)}
                both(rule, dtype, given, (varying, constants, 5, 5, padding, max_norm, 0.0))


@pytest.mark.parametrize(("rule", "dtype"), CELLS)
def test_whole_tables(rule: str, dtype: str) -> None:
    rng = np.random.default_rng(4)
    for max_norm in (0.0, 0.3):
        arrays, varying, constants = arguments(rng, rule, dtype, 7, 1)
        given = {**arrays, "last": None, "ids": None, "updates": gradient(rng, dtype, ROWS, 7)}
        both(rule, dtype, given, (varying, constants, 2, 2, 1, max_norm, 0.0))


@pytest.mark.parametrize("dtype", loops.FLOATS)
@pytest.mark.parametrize("flush", [False, True])
def test_steps_that_rows_have_missed(flush: bool, dtype: str) -> None:
    rng = np.random.default_rng(5)
    for ids in (np.array([4, 0, 4, 7]), None):
        for max_norm in (0.0, 0.3):
            arrays, varying, constants = arguments(rng, "adam", dtype, 7, 6)
            updates = None if flush else gradient(rng, dtype, ROWS if ids is None else len(ids), 7)
            given = {**arrays, "last": rng.integers(0, 6, ROWS), "ids": ids, "updates": updates}
            both("adam", dtype, given, (varying, constants, 1, 6, 3, max_norm, 0.0))


def test_a_bad_id_changes_nothing() -> None:
    rng = np.random.default_rng(6)
    arrays, varying, constants = arguments(rng, "adagrad", "float32", 4, 1)
    for bad in (9, -1, 2**40):
        given = {**arrays, "last": None, "ids": np.array([1, bad, 2]), "updates": gradient(rng, "float32", 3, 4)}
        both("adagrad", "float32", given, (varying, constants, 1, 1, -1, 0.0, 0.0))


def test_the_modules_have_the_kernels() -> None:
    for dtype in cells.STEPPED:
        wanted = {f"step_rows_{rule}_{dtype}" for rule in ops.RULES} | {f"step_cells_{r}_{dtype}" for r in ops.RULES if r not in cells.BY_ROW}
        assert set(executor.listed(f"optim_{dtype}")) == wanted
