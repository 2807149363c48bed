"""Where the MindSpore frontend differs from MindSpore 2.10 on the CPU, on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..outcomes import Case, Outcome, close
from . import Row

_ROWS_OPS = "Scatter[ASMDU]* scatter_[asmdu]* ScatterNd[ASMDU]* scatter_nd_*"  # in place by rows and by tuples: all that a lock is for
_IN_PLACE = f"{_ROWS_OPS} IndexAdd index_add InplaceIndexAdd inplace_index_add"
_MIN_MAX = "*Min *Max *_min *_max"
_DIV = "*Div *_div"
_AXIS = "TensorScatterElements tensor_scatter_elements scatter ScatterAddWithAxis"


def _args(case: Case) -> tuple[Any, ...]:
    found: tuple[Any, ...] = case["args"]
    return found


def _array(case: Case, position: int) -> np.ndarray[Any, Any]:
    """An argument as an array; one that nothing is known of where there is no such argument."""
    args = _args(case)
    return np.asarray(args[position] if position < len(args) and not isinstance(args[position], (tuple, list)) else None)


def _last(outcome: Outcome) -> np.ndarray[Any, Any]:
    """The array that the call made; of an in-place call the target."""
    value = outcome.value
    return np.asarray(value[1] if isinstance(value, tuple) else value)


def _both(theirs: Outcome, ours: Outcome) -> bool:
    return theirs.ok and ours.ok and _last(theirs).shape == _last(ours).shape and _last(theirs).dtype == _last(ours).dtype


def _nan_or_zero(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Every cell that differs has a NaN on either side, or zeros on both."""
    if not _both(theirs, ours) or _last(ours).dtype.kind != "f":
        return False
    a, b = _last(theirs), _last(ours)
    same = (a == b) & (np.signbit(a) == np.signbit(b))
    return bool(np.all(same | np.isnan(a) | np.isnan(b) | ((a == 0) & (b == 0))))


def _has(array: Any, value: int) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in "iub" and bool((array == np.array(value).astype(array.dtype)).any())


def _int_zero(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    if not _has(_array(case, 2), 0):
        return False
    return ours.isa("ZeroDivisor") if not case.get("afterwards") else ours.ok and not theirs.kind == "error"


def _int_min(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.kind == "died" and ours.ok and _has(_array(case, 2), -1)


def _negative(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind == "i" and bool((array < 0).any())


def _depth(case: Case) -> int:
    indices = _args(case)[1]
    return int(indices.shape[-1]) if isinstance(indices, np.ndarray) and indices.ndim else -1


def _duplicates(case: Case) -> bool:
    """Whether two updates may meet in one cell."""
    flat = np.concatenate([np.asarray(a).reshape(-1) for a in _args(case) if isinstance(a, np.ndarray) and a.dtype.kind == "i"] or [np.zeros(0)])
    return len(flat) > 1


def _large(case: Case) -> bool:
    """Arrays that MindSpore spreads over threads; random cases are smaller, a loop with 20000 rows of 64 shows it within ten runs."""
    return max(v.size for v in _args(case) if isinstance(v, np.ndarray)) > 10000


def _unordered(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Floats that differ by the rounding of another order; where there are infinities, by what they become."""
    if not _both(theirs, ours) or not _duplicates(case) or _last(ours).dtype.kind != "f":
        return False
    finite = np.isfinite(_last(theirs)) & np.isfinite(_last(ours))
    a, b = (Outcome("value", np.where(finite, _last(o), 0).astype(_last(o).dtype)) for o in (theirs, ours))
    extreme = any(isinstance(v, np.ndarray) and v.dtype.kind == "f" and bool((~(np.abs(v) < 1e4)).any()) for v in _args(case))
    return extreme or (bool(finite.all()) and close(a, b, 1e-3, 1e-3))


def _inner(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """An index past the end of an inner axis that stays inside the array as a whole."""
    return _depth(case) > 1 and theirs.ok and (ours.isa("IndexOutOfBounds") or case.get("afterwards"))


def _finite(outcome: Outcome) -> Outcome:
    value = _last(outcome)
    return Outcome("value", np.where(np.isfinite(value), value, 0).astype(value.dtype))


def _float_zero(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    u = _array(case, 2)
    if not _both(theirs, ours) or u.dtype.kind not in "fb" or not (u == 0).any():
        return False
    a, b = _last(theirs), _last(ours)
    return bool(np.all(np.isclose(a, b, rtol=1e-3, equal_nan=True) | ~np.isfinite(a) | ~np.isfinite(b)))


def _elements(case: Case) -> tuple[Any, Any, Any]:
    """x, the indices and the axis of a call in the layout of elements."""
    args = _args(case)
    if case.operator == "scatter":
        return args[0], args[2], args[1]
    return args[0], args[1], case["init"].get("axis", 0) if case["init"] is not None else args[3]


def _lost(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Every cell that differs holds what it held before, or another of the updates. (A call with one axis keeps the stride of one before.)"""
    if case.operator != "scatter":
        return False
    a, b, x = _last(theirs), _last(ours), _array(case, 0)
    equal = (a == b) | ((a != a) & (b != b))
    return bool(np.all(equal | (a == x) | ((a != a) & (x != x)) | np.isin(a, _array(case, 3))))


def _past_end(case: Case) -> bool:
    x, i, axis = _elements(case)
    return bool((i >= x.shape[axis]).any())


def _longer(case: Case) -> bool:
    x, i, axis = _elements(case)
    return bool(i.shape[axis] > x.shape[axis])


def _empty(case: Case) -> bool:
    given = [v for a in _args(case) for v in (a if isinstance(a, (tuple, list)) else (a,))]
    return any(isinstance(v, np.ndarray) and v.size == 0 for v in given)


ROWS = [
    Row(_MIN_MAX, "a NaN, or zeros of both signs",
        "depends on the side and the kernel: a NaN in x stays or is replaced, one in the updates is ignored or kept; of two zeros one is kept",
        "NaN wins; -0 is below +0", "the result must not depend on the order of the updates (C4)", _nan_or_zero),
    Row("TensorScatterDiv tensor_scatter_div", "an integer zero among the updates", "the process dies of SIGFPE", "ZeroDivisor",
        "no input ends the process (C8)", lambda c, t, o: t.kind == "died" and o.isa("ZeroDivisor")),
    Row("ScatterNdDiv scatter_nd_div", "an integer zero among the updates",
        "the largest or smallest integer by the sign of x, and 0 for 0 / 0", "ZeroDivisor; nothing is written",
        "integer division by zero is an error (C4)", _int_zero),
    Row(_DIV, "the smallest integer divided by -1", "the process dies of SIGFPE", "wraps to the smallest integer", "no input ends the process (C8)", _int_min),
    Row(_IN_PLACE, "the call fails: what the target is afterwards", "the updates before the fault have been applied", "the target is as it was", "all or nothing (C1)",
        lambda c, t, o: c.get("afterwards") and t.ok and o.ok and np.array_equal(o.value, _array(c, 0), equal_nan=o.value.dtype.kind in "fc")),
    Row("ScatterNd[ASMD]* scatter_nd_[asmd]*", "indices whose last size is 0", "nothing happens", "each update is for the whole of x",
        "one rule for all depths, as in ScatterNdUpdate and TensorScatter*", lambda c, t, o: _depth(c) == 0 and _both(t, o)),
    Row("ScatterNdUpdate scatter_nd_update TensorScatterUpdate tensor_scatter_update",
        "an index past the end of an inner axis", "not noticed: another cell is written", "IndexOutOfBounds", "every index is checked (C1)", _inner),
    Row(_ROWS_OPS, "x is an array and no Parameter", "it is changed in place", "DtypeError",
        "its page asks for a Parameter; an array has no lock and may be read-only or shared", lambda c, t, o: not c["target"] and t.ok and o.isa("DtypeError") and "Axis" not in c.operator),
    Row("IndexAdd index_add InplaceIndexAdd inplace_index_add", "x is an array and no Parameter", "it is changed in place", "DtypeError",
        "as for the other in-place operators", lambda c, t, o: not c["target"] and t.ok and o.isa("DtypeError") and "Axis" not in c.operator),
    Row(_ROWS_OPS, "x has no dimensions", "taken as one row", "ShapeError", "its page: x has the shape (N, ...)",
        lambda c, t, o: np.ndim(_array(c, 0)) == 0 and o.isa("ShapeError")),
    Row("ScatterNonAliasingAdd", "always", "no kernel on the CPU", "works", "its meaning is that of ScatterNdAdd",
        lambda c, t, o: (t.isa("RuntimeError", "TypeError") or c.get("afterwards"))),
    Row("InplaceAdd InplaceSub inplace_add inplace_sub", "floats that round, and duplicates", "added in another order", "in C order",
        "the same bits every time (C3)", lambda c, t, o: _both(t, o) and _last(o).dtype.kind == "f" and close(*map(_finite, (t, o)), 1e-2, 1e-2)),
    Row("scatter_nd_* ScatterNd[ASMD]*", "floats that round, and duplicates", "applied in any order by several threads", "in C order",
        "the same bits every time (C3)", _unordered),
    Row("scatter TensorScatterElements tensor_scatter_elements ScatterAddWithAxis InplaceIndexAdd inplace_index_add",
        "now and then: in `scatter` after calls with more axes, in the others with duplicates in large arrays (threads race)",
        "written elsewhere, in and beyond the array; lost",
        "all are applied",
        "the defining loop (C2)", lambda c, t, o: _large(c) or _lost(c, t, o) if _both(t, o) else False),
    Row("TensorScatterElements tensor_scatter_elements scatter ScatterAddWithAxis", "a negative index", "counts from the end, or is left out",
        "IndexOutOfBounds", "its page: illegal, undefined behaviour", lambda c, t, o: t.ok and o.isa("IndexOutOfBounds") and any(map(_negative, _args(c)))),
    Row("scatter", "an index past the end", "left out", "IndexOutOfBounds", "its page: illegal, undefined behaviour",
        lambda c, t, o: t.ok and o.isa("IndexOutOfBounds")),
    Row("TensorScatterElements tensor_scatter_elements", "add on bool", "or", "DtypeError", "MindSpore's other operators refuse bool too",
        lambda c, t, o: o.isa("DtypeError") and _array(c, 0).dtype == bool),
    Row("TensorScatterElements tensor_scatter_elements", "a reduction in another case, such as \"Add\"", "taken", "ArgumentError", "its page names two",
        lambda c, t, o: t.ok and o.isa("ArgumentError")),
    Row("Gather gather", "a negative index", "counts from the end", "IndexOutOfBounds", "its page: in [0, s)",
        lambda c, t, o: t.ok and o.isa("IndexOutOfBounds") and _negative(_array(c, 1))),
    Row("InplaceUpdateV2 inplace_update", "a negative index", "counts from the end", "IndexOutOfBounds", "its page: in [0, N)",
        lambda c, t, o: t.ok and o.isa("IndexOutOfBounds")),
    Row("GatherNd gather_nd", "indices without dimensions", "taken as one index", "ShapeError", "its page: K is the last size of indices",
        lambda c, t, o: t.ok and o.isa("ShapeError") and np.ndim(_array(c, 1)) == 0),
    Row("index_fill", "a number that the dtype of x does not hold", "cut or wrapped", "DtypeError or ScalarRangeError", "nothing is cast silently (C6)",
        lambda c, t, o: t.ok and o.isa("DtypeError", "ScalarRangeError") and not isinstance(_args(c)[3], np.ndarray)),
    Row("IndexFill index_fill", "value is an array of another dtype", "converted for some pairs of dtypes", "DtypeError", "nothing is cast silently (C6)",
        lambda c, t, o: t.ok and o.isa("DtypeError") and isinstance(_args(c)[3], np.ndarray) and _args(c)[3].dtype != _args(c)[0].dtype),
    Row("GatherD gather_d gather_elements", "index without dimensions, and x of one", "taken", "ShapeError", "its page: the same number of dimensions",
        lambda c, t, o: t.ok and o.isa("ShapeError") and _array(c, 2).ndim == 0),
    Row("Scatter[ASMDU]* scatter_[asmdu]*", "a Python int for an unsigned x", "TypeError", "taken, if it fits; else ScalarRangeError",
        "a number has no dtype that could be lost", lambda c, t, o: (t.isa("TypeError") or c.get("afterwards")) and type(_args(c)[2]) is int and _array(c, 0).dtype.kind == "u"),
    Row("Scatter[ASMDU]* scatter_[asmdu]*", "a Python number that the dtype of x does not hold", "wrapped", "ScalarRangeError",
        "nothing is cast silently (C6)", lambda c, t, o: t.ok and o.isa("ScalarRangeError")),
    Row("IndexAdd", "use_lock is 1", "taken", "DtypeError", "a lock is asked for by a bool, as everywhere",
        lambda c, t, o: t.ok and o.isa("DtypeError") and c["init"].get("use_lock") == 1),
    Row("*", "a size of 0", "in many operators a RuntimeError or ValueError", "nothing to do: no error",
        "an empty batch is no fault", lambda c, t, o: t.isa("RuntimeError", "ValueError") and _empty(c) and (o.ok or o.isa("DtypeError"))),
    Row("*", "x has a size of 0, and there are indices all the same", "in many operators nothing happens", "IndexOutOfBounds",
        "every index is checked (C1)", lambda c, t, o: t.ok and o.isa("IndexOutOfBounds", "ZeroDivisor") and np.size(_array(c, 0)) == 0),
    Row("ScatterNdDiv scatter_nd_div", "a float zero among the updates", "the sign of the zero is not looked at", "IEEE division", "C4", _float_zero),
    Row("TensorScatterElements tensor_scatter_elements", "an index past the end", "others are left out with it", "only that one is left out",
        "its page: the corresponding update is not made", lambda c, t, o: _both(t, o) and _past_end(c)),
    Row(_AXIS, "indices longer than x along the axis", "nothing is done, or a RuntimeError", "done",
        "nothing on its page is against it; ONNX has the same rule", lambda c, t, o: o.ok and not t.kind == "died" and _longer(c)),
    Row("UnsortedSegment* unsorted_segment_*", "num_segments is an array without dimensions", "only taken by UnsortedSegmentSum", "taken", "its page",
        lambda c, t, o: o.ok and isinstance(_args(c)[2], np.ndarray) and _array(c, 2).ndim == 0),
    Row("UnsortedSegmentSum unsorted_segment_sum", "num_segments is an array of shape (1,)", "taken", "DtypeError", "its page: an int or 0-D",
        lambda c, t, o: t.ok and o.isa("DtypeError") and np.ndim(_array(c, 2)) == 1),
    Row("UnsortedSegmentProd unsorted_segment_prod", "complex numbers that are not finite", "C's product, which mends some NaNs", "NumPy's product", "C4",
        lambda c, t, o: _both(t, o) and _last(o).dtype.kind == "c" and not np.isfinite(_array(c, 0)).all()),
    Row("UnsortedSegmentM* unsorted_segment_m*", "complex numbers", "zeros", "DtypeError", "they have no order",
        lambda c, t, o: o.isa("DtypeError") and _array(c, 0).dtype.kind == "c"),
    Row("IndexPut", "index arrays of size 0", "the process dies, or writes anywhere", "nothing to do", "no input ends the process (C8)",
        lambda c, t, o: _empty(c) and not (t.ok and o.ok)),
]
