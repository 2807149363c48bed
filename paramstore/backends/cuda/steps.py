"""Steps of the optimizers on a GPU: rows that repeat are summed in C order, and each row that has a gradient moves once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import bounds as rule
from ...registry import Fault
from . import cells, geometry
from .calls import Array, Ids, check, device_of, i64, launch, require
from .launch import sorted_targets

__all__ = ["step_rows"]

_NULL = np.uint64(0)  # the address of an array that is not there


def step_rows(
    name: str,
    data: Array,
    state: tuple[Array, ...],
    last: Array | None,
    ids: Array | None,
    updates: Array | None,
    varying: np.ndarray[Any, Any],
    constants: np.ndarray[Any, Any],
    first: int,
    step: int,
    padding: int,
    max_norm: float,
    most: float,
) -> Fault | None:
    """See `paramstore.optim.base.Optimizer` for the arguments; ``varying`` and ``constants`` are on the host, all other arrays on the device."""
    arrays = {"data": data, "last": last, "ids": ids, "updates": updates, **{f"state[{k}]": s for k, s in enumerate(state)}}
    device = device_of(**{k: a for k, a in arrays.items() if a is not None})
    rows, width = data.shape
    n = rows if ids is None else int(ids.size)
    wide = np.dtype(np.float64 if data.dtype == np.float64 else np.float32)
    require(updates is None or (updates.shape == (n, width) and updates.dtype == data.dtype), "updates of another shape or dtype")
    require(all(s.dtype == wide and s.shape in ((rows, width), (rows,)) for s in state), "a state of another shape or dtype")
    require(last is None or (last.shape == (rows,) and last.dtype == np.int64), "steps of another shape or dtype")
    require(len(varying) == step - first + 1, f"scalars of {len(varying)} steps for the steps {first} to {step}")

    places: tuple[Any, ...] = (_NULL, _NULL, i64(n))
    if ids is not None:
        found = Ids(ids.reshape(n), rows, rule.RAISE, False)
        fault = check(device, found)
        if fault is not None:
            return fault
        if n and width:
            places = (*sorted_targets(device, found, rows, "rows"), i64(n))
    if not n or not width:
        return None

    by_cell, by_row = [s for s in state if s.ndim == 2], [s for s in state if s.ndim == 1]
    scalars = device.put(np.concatenate([np.asarray(constants, np.float64).ravel(), np.asarray(varying, np.float64).ravel()]))
    slots = [*by_cell, *[_NULL] * (3 - len(by_cell)), *by_row, *[_NULL] * (1 - len(by_row))]
    arguments = (
        data, i64(width), *slots, _NULL if last is None else last, _NULL if updates is None else updates,
        scalars, i64(first), i64(step), i64(padding), np.float64(max_norm), *places,
    )  # fmt: skip
    family = f"optim_{data.dtype.name}"
    if max_norm > 0 or name in cells.BY_ROW:
        room = device.empty((n if updates is not None else 1, width), wide)
        launch(device, family, f"step_rows_{name}_{data.dtype.name}", geometry.items(n), *arguments, room)
    else:
        launch(device, family, f"step_cells_{name}_{data.dtype.name}", geometry.rows(n, width), *arguments)
    if last is not None:
        launch(device, "ids", "mark_steps", geometry.items(n), last, i64(step), i64(padding), *places)
    return None
