"""Where the TensorFlow frontend differs from TensorFlow on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..outcomes import Case, Outcome, close
from . import Row

IAE = "InvalidArgumentError"
_NO_KERNEL = ("NotFoundError", "UnimplementedError")


def _target(case: Case) -> Any:
    """What is written to or read from."""
    for name in ("x", "tensor", "input", "params", "data"):
        if name in case.arguments:
            return np.asarray(case[name])
    return np.empty(tuple(case["shape"]) if np.ndim(case["shape"]) == 1 else (0,), np.asarray(_given(case)).dtype)


def _given(case: Case) -> Any:
    """The updates, as they are."""
    return next((case[name] for name in ("updates", "values", "value", "data") if name in case.arguments), None)


def _kind(value: Any) -> str:
    array = np.asarray(value)
    return "f" if array.dtype.name == "bfloat16" else array.dtype.kind


def _unlike(case: Case) -> bool:
    """Updates that are an array of another dtype than the target's."""
    given = _given(case)
    return isinstance(given, np.ndarray) and given.dtype != _target(case).dtype


def _numpy_cast(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return bool(case.get("numpy")) and _unlike(case) and ours.isa("InvalidDtype")


def _died(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    x, u = _target(case), np.asarray(_given(case))
    return theirs.kind == "died" and x.dtype.kind == "i" and ours.ok and bool((x == np.iinfo(x.dtype).min).any() and (u == -1).any())


def _short_rows(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    x, i, u = _target(case), np.asarray(case["indices"]), np.asarray(_given(case))
    fits = u.shape == i.shape + x.shape[1:]
    overlooked = u.ndim == i.ndim + x.ndim - 1 and u.shape[: i.ndim] == i.shape
    return ours.isa("InvalidShape") and not fits and (overlooked or (i.size == 0 and theirs.ok))


def _one_dimension(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return np.ndim(case["indices"]) == 1 and (ours.ok or ours.isa("InvalidIndex"))


def _depth_zero(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return np.ndim(case["indices"]) > 0 and np.shape(case["indices"])[-1] == 0 and ours.isa("InvalidShape") and theirs.ok


def _empty_target(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.isa(IAE) and "specified for empty" in theirs.text and _target(case).size == 0 and ours.ok


def _empty_read(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.isa(IAE) and "but params is empty" in theirs.text and ours.ok


def _empty_rows_read(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.ok and np.asarray(theirs.value).size == 0 and ours.isa("InvalidIndex")


def _no_dimensions(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return _target(case).ndim == 0 and theirs.ok and ours.isa("InvalidShape")


def _no_dimensions_read(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return _target(case).ndim == 0 and ours.ok and theirs.isa(IAE)


def _zeros(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """The same but for the sign of zeros."""
    if not (theirs.ok and ours.ok) or _kind(ours.value) != "f":
        return False
    a, b = np.asarray(theirs.value).astype(np.float64), np.asarray(ours.value).astype(np.float64)
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=True)


def _subnormals(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """The same but for numbers below the smallest normal one, which theirs are 0; as divisors they are refused."""
    if theirs.isa(IAE) and "must not contain 0" in theirs.text and ours.ok:
        return bool((np.abs(np.asarray(_given(case))) < 2.0**-126).any())
    if not (theirs.ok and ours.ok) or _kind(ours.value) not in "fc":
        return False
    wide = np.complex128 if _kind(ours.value) == "c" else np.float64
    a, b = (np.atleast_1d(np.asarray(v.value).astype(wide)).view(np.float64) for v in (theirs, ours))
    name = np.asarray(ours.value).dtype.name
    tiny = {"float16": 2.0**-14, "float64": 2.0**-1022, "complex128": 2.0**-1022}.get(name, 2.0**-126)
    # A min or max of zeros of both signs may be in the same array.
    return a.shape == b.shape and bool(((a == b) | (np.isnan(a) & np.isnan(b)) | ((a == 0) & (np.abs(b) < tiny))).all())


def _subnormal_steps(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Products and quotients whose cells differ only where a factor, or the value between two steps, was below the smallest normal one."""
    if not (theirs.ok and ours.ok) or _kind(ours.value) != "f" or not case.operator.endswith(("scatter_mul", "scatter_div")):
        return False
    tiny = 2.0**-1022 if np.asarray(ours.value).dtype == np.float64 else 2.0**-126
    x, rows = _target(case), np.asarray(case["indices"]).reshape(-1)
    u = np.asarray(_given(case)).reshape(len(rows), -1).astype(np.float64)
    cells, low = x.reshape(len(x), -1).astype(np.float64).copy(), np.zeros((len(x), u.shape[1]), bool)
    with np.errstate(all="ignore"):
        for row, factors in zip(rows, u):
            cells[row] = cells[row] * factors if case.operator.endswith("mul") else cells[row] / factors
            for seen in (cells[row], factors):
                low[row] |= (np.abs(seen) < tiny) & (seen != 0)
    a, b = (np.asarray(v.value).astype(np.float64).reshape(low.shape) for v in (theirs, ours))
    return bool(low.any() and ((a == b) | (np.isnan(a) & np.isnan(b)) | low).all())


def _nan_or_subnormal(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    if not (theirs.ok and ours.ok) or _kind(ours.value) != "f":
        return False
    b = np.asarray(ours.value)
    masked = np.where(np.isnan(b.astype(np.float64)), np.asarray(theirs.value), b).astype(b.dtype)
    return _subnormals(case, theirs, Outcome("value", masked))


def _shapes_that_kill(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.kind == "died" and ours.isa("InvalidShape") and np.ndim(_given(case)) < np.ndim(case["indices"]) - 1


def _complex_division(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return _target(case).dtype.kind == "c" and close(theirs, ours, 1e-5 if _target(case).dtype == np.complex64 else 1e-13)


def _bool_sub(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.ok and _target(case).dtype == bool and ours.isa("InvalidDtype")


def _no_kernel(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.isa(*_NO_KERNEL) and ours.isa(IAE)


def _literal_range(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return not isinstance(_given(case), np.ndarray) and ours.isa("ScalarRangeError")


def _batch_axis(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return ours.isa("InvalidShape") and case.get("batch_dims", 0) != 0 and theirs.ok and case.get("axis") is not None


def _batch_sizes(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.ok and ours.isa("InvalidShape") and np.shape(case["indices"])[:-1] != _target(case).shape[: np.ndim(case["indices"]) - 1]


def _complex_mean(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.isa(IAE) and ours.ok and np.asarray(case["data"]).dtype.kind == "c"


def _counts(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return _kind(case["data"]) == "f" and close(theirs, ours, 2e-2, 1e-4)


def _rounding(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Sums and products in another order: within some roundings of their largest partial result."""
    if _kind(case["data"]) not in "fc" or not (theirs.ok and ours.ok):
        return False
    with np.errstate(all="ignore"):
        data = np.asarray(case["data"]).astype(np.complex128)
        largest = float(np.max(np.abs(data), initial=0.0, where=np.isfinite(data))) * max(len(data), 1)
        digits = {"float16": 2e-3, "bfloat16": 2e-2, "float64": 1e-14, "complex128": 1e-14}.get(np.asarray(case["data"]).dtype.name, 1e-6)
        return not np.isfinite(data).all() or largest > 6e4 or close(theirs, ours, digits * 4, digits * 4 * max(largest, 0.0))


ROWS = [
    Row(
        "Variable.scatter_div",
        "a signed integer's lowest value is divided by -1",
        "the process dies (SIGFPE)",
        "the lowest value",
        "NumPy's and two's complement's answer; a call never ends the process",
        _died,
    ),
    Row(
        "scatter_nd tensor_scatter_nd_* raw_ops.*",
        "the updates have fewer dimensions than the indices have before their last",
        "the process dies (SIGABRT)",
        "an error",
        "a call never ends the process (tensorflow#93680)",
        _shapes_that_kill,
    ),
    Row(
        "Variable.scatter_div",
        "complex numbers",
        "divides with another formula",
        "Smith's formula",
        "NumPy's; equal up to rounding",
        _complex_division,
    ),
    Row(
        "Variable.* compat.v1.* tensor_scatter_nd_* scatter_nd raw_ops.* math.* convert_to_tensor",
        "results or steps below the smallest normal number",
        "0 (its threads flush subnormals)",
        "the number",
        "IEEE 754; the same bits on every machine",
        lambda c, t, o: _subnormals(c, t, o) or _subnormal_steps(c, t, o),
    ),
    Row(
        "Variable.* compat.v1.* tensor_scatter_nd_* raw_ops.*",
        "the updates are a NumPy array of another dtype",
        "casts them silently, even 1.5 to 1 (tensors it refuses, with ValueError)",
        "an error that is a ValueError and a TypeError",
        "nothing is cast silently; NumPy arrays are treated as TensorFlow treats tensors",
        _numpy_cast,
    ),
    Row(
        "Variable.scatter_* compat.v1.scatter_*",
        "the values fit in rank and first sizes, but not in the last ones; or there are no indices",
        "accepts them and reads past their end, or refuses them",
        "an error",
        "nothing outside a buffer is read",
        _short_rows,
    ),
    Row(
        "Variable.scatter_nd_* compat.v1.scatter_nd_*",
        "the indices have one dimension",
        "takes them for tuples of one index, but applies only the first",
        "applies each",
        "what its shape rule says",
        _one_dimension,
    ),
    Row(
        "scatter_nd tensor_scatter_nd_* Variable.scatter_nd_* compat.v1.scatter_nd_* raw_ops.*",
        "index tuples of length 0 (K = 0)",
        "accepts them where there is nothing to do",
        "an error",
        "an error in every other case, there as here",
        _depth_zero,
    ),
    Row(
        "Variable.*scatter_* compat.v1.*scatter_* scatter_nd tensor_scatter_nd_* raw_ops.*",
        "updates without cells into a target without cells",
        "an error",
        "nothing to do",
        "the indices are inside; rows without cells are rows",
        _empty_target,
    ),
    Row(
        "gather_nd Variable.gather_nd",
        "rows without cells",
        "an error, or no look at the indices",
        "reads nothing; bad indices are errors",
        "the same rule for every shape",
        lambda c, t, o: _empty_read(c, t, o) or _empty_rows_read(c, t, o),
    ),
    Row(
        "gather Variable.sparse_read math.unsorted_segment_* convert_to_tensor",
        "the result has no cells",
        "does not look at the indices",
        "bad indices are errors",
        "the same rule for every shape",
        _empty_rows_read,
    ),
    Row(
        "Variable.scatter_* compat.v1.scatter_*",
        "a variable without dimensions",
        "accepts it with an index without dimensions",
        "an error",
        "there is no axis to index",
        _no_dimensions,
    ),
    Row(
        "gather_nd Variable.gather_nd",
        "params without dimensions and tuples of length 0",
        "an error",
        "the value itself",
        "harmless",
        _no_dimensions_read,
    ),
    Row(
        "Variable.scatter_min Variable.scatter_max Variable.scatter_nd_m* tensor_scatter_nd_m* math.*segment_min math.*segment_max",
        "NaN, or zeros of both signs",
        "the result depends on the order",
        "NaN wins, -0 is below +0",
        "IEEE 754-2019; the result does not depend on the order",
        lambda c, t, o: _nan_or_subnormal(c, t, o) or _zeros(c, t, o),
    ),
    Row("Variable.scatter_nd_sub", "bool", "exclusive or", "an error", "a difference is not defined for bool", _bool_sub),
    Row(
        "*",
        "a dtype that no kernel is registered for, or an unknown policy",
        "NotFoundError",
        "InvalidArgumentError",
        "the same error for every argument that is refused",
        _no_kernel,
    ),
    Row(
        "*",
        "a Python number that the dtype cannot hold",
        "wraps it",
        "ValueError (ScalarRangeError)",
        "nothing is cast silently",
        _literal_range,
    ),
    Row(
        "gather",
        "axis is before the batch axes",
        "ignores batch_dims where axis is 0",
        "an error",
        "the page asks for axis >= batch_dims",
        _batch_axis,
    ),
    Row(
        "Variable.batch_scatter_update compat.v1.batch_scatter_update",
        "the first sizes of the indices are not the variable's",
        "writes to the first ones",
        "an error",
        "the page asks for equal ones",
        _batch_sizes,
    ),
    Row("math.unsorted_segment_mean math.unsorted_segment_sqrt_n", "complex data", "an error", "the mean", "harmless", _complex_mean),
    Row(
        "math.segment_sum math.segment_mean math.segment_prod",
        "float rows of one segment",
        "adds them in an order of its own",
        "in their order",
        "the same bits on every machine",
        _rounding,
    ),
]
