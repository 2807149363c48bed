"""What the rows of the MindSpore table ask of a case and its two outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..outcomes import Case, Outcome, close


def given(case: Case) -> tuple[Any, ...]:
    found: tuple[Any, ...] = case["args"]
    return found


def array(case: Case, position: int) -> np.ndarray[Any, Any]:
    """An argument as an array; one that nothing is known of where there is no such argument."""
    values = given(case)
    return np.asarray(values[position] if position < len(values) and not isinstance(values[position], (tuple, list)) else None)


def last(outcome: Outcome) -> np.ndarray[Any, Any]:
    """The array that the call made; of an in-place call the target."""
    value = outcome.value
    return np.asarray(value[1] if isinstance(value, tuple) else value)


def both(theirs: Outcome, ours: Outcome) -> bool:
    return theirs.ok and ours.ok and last(theirs).shape == last(ours).shape and last(theirs).dtype == last(ours).dtype


def nan_or_zero(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Every cell that differs has a NaN on either side, or zeros on both."""
    if not both(theirs, ours) or last(ours).dtype.kind != "f":
        return False
    a, b = last(theirs), last(ours)
    same = (a == b) & (np.signbit(a) == np.signbit(b))
    return bool(np.all(same | np.isnan(a) | np.isnan(b) | ((a == 0) & (b == 0))))


def has(found: Any, value: int) -> bool:
    return isinstance(found, np.ndarray) and found.dtype.kind in "iub" and bool((found == np.array(value).astype(found.dtype)).any())


def int_zero(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    if not has(array(case, 2), 0):
        return False
    return ours.isa("ZeroDivisor") if not case.get("afterwards") else ours.ok and not theirs.kind == "error"


def int_min(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.kind == "died" and ours.ok and has(array(case, 2), -1)


def negative(found: Any) -> bool:
    return isinstance(found, np.ndarray) and found.dtype.kind == "i" and bool((found < 0).any())


def depth(case: Case) -> int:
    indices = given(case)[1]
    return int(indices.shape[-1]) if isinstance(indices, np.ndarray) and indices.ndim else -1


def duplicates(case: Case) -> bool:
    """Whether two updates may meet in one cell."""
    flat = np.concatenate(
        [np.asarray(a).reshape(-1) for a in given(case) if isinstance(a, np.ndarray) and a.dtype.kind == "i"] or [np.zeros(0)]
    )
    return len(flat) > 1


def large(case: Case) -> bool:
    """Arrays that MindSpore spreads over threads; random cases are smaller, a loop with 20000 rows of 64 shows it within ten runs."""
    return max(v.size for v in given(case) if isinstance(v, np.ndarray)) > 10000


def unordered(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Floats that differ by the rounding of another order; where there are infinities, by what they become."""
    if not both(theirs, ours) or not duplicates(case) or last(ours).dtype.kind != "f" or case.operator.lower().endswith(("min", "max")):
        return False
    finite = np.isfinite(last(theirs)) & np.isfinite(last(ours))
    a, b = (Outcome("value", np.where(finite, last(o), 0).astype(last(o).dtype)) for o in (theirs, ours))
    extreme = any(isinstance(v, np.ndarray) and v.dtype.kind == "f" and bool((~(np.abs(v) < 1e4)).any()) for v in given(case))
    return extreme or (bool(finite.all()) and close(a, b, 1e-3, 1e-3))


def inner(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """An index past the end of an inner axis that stays inside the array as a whole."""
    return depth(case) > 1 and theirs.ok and (ours.isa("IndexOutOfBounds") or case.get("afterwards"))


def finite(outcome: Outcome) -> Outcome:
    value = last(outcome)
    return Outcome("value", np.where(np.isfinite(value), value, 0).astype(value.dtype))


def float_zero(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    u = array(case, 2)
    if not both(theirs, ours) or u.dtype.kind not in "fb" or not (u == 0).any():
        return False
    a, b = last(theirs), last(ours)
    return bool(np.all(np.isclose(a, b, rtol=1e-3, equal_nan=True) | ~np.isfinite(a) | ~np.isfinite(b)))


def elements(case: Case) -> tuple[Any, Any, Any]:
    """x, the indices and the axis of a call in the layout of elements."""
    values = given(case)
    if case.operator == "scatter":
        return values[0], values[2], values[1]
    return values[0], values[1], case["init"].get("axis", 0) if case["init"] is not None else values[3]


def lost(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Every cell that differs holds what it held before, or another update. (A call with one axis keeps the stride of one before.)"""
    if case.operator != "scatter":
        return False
    a, b, x = last(theirs), last(ours), array(case, 0)
    equal = (a == b) | ((a != a) & (b != b))
    return bool(np.all(equal | (a == x) | ((a != a) & (x != x)) | np.isin(a, array(case, 3))))


def past_end(case: Case) -> bool:
    x, i, axis = elements(case)
    return bool((i >= x.shape[axis]).any())


def longer(case: Case) -> bool:
    x, i, axis = elements(case)
    return bool(i.shape[axis] > x.shape[axis])


def empty(case: Case) -> bool:
    every = [v for a in given(case) for v in (a if isinstance(a, (tuple, list)) else (a,))]
    return any(isinstance(v, np.ndarray) and v.size == 0 for v in every)
