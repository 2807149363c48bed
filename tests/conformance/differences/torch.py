"""Deliberate differences from PyTorch."""

from __future__ import annotations

import numpy as np

from ..outcomes import Case, Outcome, close
from . import Row

_HALVES = ("float16", "bfloat16")
_REDUCED = "scatter_reduce_ index_reduce_"


def _index(case: Case) -> np.ndarray:
    found = case.get("index", case.get("indices"))
    return np.asarray(found[0] if isinstance(found, tuple) and found else found)


def _dtype(case: Case) -> str:
    return case["x"].dtype.name


def _number(case: Case, argument: str) -> bool:
    """Whether the dtype of x does not hold a number: a higher kind, or out of range."""
    value = case.get(argument)
    if value is None or np.ndim(value):
        return False
    value, dtype = np.asarray(value).item(), case["x"].dtype
    kind = {"b": 0, "u": 1, "i": 1, "c": 3}.get(dtype.kind, 2)
    own = 0 if isinstance(value, bool) else 1 if isinstance(value, int) else 2 if isinstance(value, float) else 3
    if own > kind:
        return True
    if dtype.kind in "iu":
        return not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    return kind == 2 and _dtype(case) == "float16" and abs(value) > 65504


def _arguments(case: Case) -> np.ndarray:
    return np.concatenate([np.asarray(case[k]).reshape(-1) for k in ("x", "src", "source", "values") if k in case.arguments])


def _near(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Equal but for some rounding of a half type, of numbers as large as the arguments'."""
    given = np.abs(_arguments(case).astype(np.float64))
    large = float(np.max(given, where=np.isfinite(given), initial=0))
    return close(theirs, ours, 0.1, large / 16)


ROWS = [
    Row(
        "*",
        "an op that is not defined for the dtype",
        "NotImplementedError (a RuntimeError)",
        "IndexFormError (a RuntimeError), or a fault of the indices",
        "the classes of PyTorch's other errors",
        lambda case, theirs, ours: theirs.isa("NotImplementedError") and ours.isa("RuntimeError"),
    ),
    Row(
        "index_reduce_ scatter_reduce_",
        "bool or complex",
        "NotImplementedError, even with an empty index",
        "what the op says for the dtype",
        "the table of ops is the same for every operator",
        lambda case, theirs, ours: theirs.isa("NotImplementedError") and ours.ok and case["x"].dtype.kind in "bc",
    ),
    Row(
        "*",
        "an empty index",
        "no-op, whatever the other arguments are",
        "IndexFormError where they do not fit",
        "an error should not depend on the size",
        lambda case, theirs, ours: (
            theirs.ok
            and ours.isa("IndexFormError")
            and _index(case).size == 0
            and (theirs.value.size == 0 or theirs.value.tobytes() == case["x"].tobytes())
        ),
    ),
    Row(
        "index_add_ index_fill_ scatter_",
        "a number that the dtype of x does not hold",
        "truncates, wraps or becomes infinite",
        "IndexFormError (a RuntimeError)",
        "C6: nothing is cast silently",
        lambda case, theirs, ours: theirs.ok and ours.isa("IndexFormError") and any(_number(case, k) for k in ("alpha", "value")),
    ),
    Row(
        "index_add_",
        "alpha is not 1",
        "multiplies and adds with one rounding in places",
        "rounds the product, then the sum",
        "C4: no contraction",
        lambda case, theirs, ours: case.get("alpha", 1) != 1 and close(theirs, ours, 2e-2 if _dtype(case) in _HALVES else 1e-5, 1e-2),
    ),
    Row(
        "take_along_dim",
        "an index outside",
        "counts modulo the size",
        "IndexOutOfBounds (a RuntimeError and IndexError)",
        "a wrong index is a wrong result",
        lambda case, theirs, ours: theirs.ok and ours.isa("IndexOutOfBounds"),
    ),
    Row(
        _REDUCED,
        "-0.0 meets 0.0 in amin or amax",
        "keeps either",
        "-0.0 is the smaller",
        "the same bits everywhere",
        lambda case, theirs, ours: (
            case["reduce"] in ("amin", "amax")
            and theirs.ok
            and ours.ok
            and bool(np.array_equal(np.asarray(theirs.value, np.float64), np.asarray(ours.value, np.float64), equal_nan=True))
        ),
    ),
    Row(
        "index_add_ index_reduce_ index_put_ put_ scatter_ scatter_add_ scatter_reduce_",
        "float16 or bfloat16, an index that repeats",
        "adds and multiplies in float32, and rounds once (where it does depends on the shape)",
        "rounds each step, as the defining loop",
        "PEERS 3, row 14",
        lambda case, theirs, ours: _dtype(case) in _HALVES and _near(case, theirs, ours),
    ),
    Row(
        "index_add_",
        "complex, with infinities",
        "multiplies by alpha = 1+0i: NaN",
        "a factor of 1 leaves the source",
        "x * 1 is x",
        lambda case, theirs, ours: theirs.ok and ours.ok and case["x"].dtype.kind == "c" and not np.isfinite(case["source"]).all(),
    ),
    Row(
        "index_add_ index_fill_ index_put_ index_reduce_ index_copy_",
        "x has no elements",
        "does not look at the index",
        "IndexOutOfBounds",
        "an index outside is an error whatever the other axes are",
        lambda case, theirs, ours: theirs.ok and ours.isa("IndexOutOfBounds") and case["x"].size == 0,
    ),
    Row(
        "scatter_reduce_",
        'reduce is "max" or "min"',
        "taken for amax and amin",
        "IndexFormError",
        "not in its documentation",
        lambda case, theirs, ours: theirs.ok and ours.isa("IndexFormError") and case["reduce"] in ("max", "min"),
    ),
    Row(
        "index_put_",
        "a mask without dimensions",
        "adds no axis to x[indices]",
        "adds one, as NumPy",
        "what x[mask] has",
        lambda case, theirs, ours: theirs.kind != ours.kind and case["indices"][0].dtype.kind == "b" and case["indices"][0].ndim == 0,
    ),
    Row(
        _REDUCED,
        "the mean of complex numbers with infinities",
        "divides by n+0i as a complex number",
        "divides by NumPy's rule",
        "C4",
        lambda case, theirs, ours: (
            theirs.ok and ours.ok and case["x"].dtype.kind == "c" and case["reduce"] == "mean" and not np.isfinite(_arguments(case)).all()
        ),
    ),
    Row(
        "index_put_",
        "one mask, and a single value of another dtype, or of more dimensions",
        "converts it",
        "IndexFormError",
        "C6: nothing is cast silently",
        lambda case, theirs, ours: (
            theirs.ok and ours.isa("IndexFormError") and case["values"].size == 1 and case["indices"][0].dtype.kind == "b"
        ),
    ),
    Row(
        "index_put_",
        "a mask without elements for an axis of one",
        "IndexError",
        "names nothing, as NumPy",
        "NumPy lets it spread",
        lambda case, theirs, ours: (
            theirs.isa("IndexError") and ours.ok and case["indices"][0].dtype.kind == "b" and case["indices"][0].size == 0
        ),
    ),
    Row(
        _REDUCED + " scatter_",
        "products of complex numbers",
        "may fuse a multiply and an add",
        "rounds each product",
        "C4: no contraction",
        lambda case, theirs, ours: (
            case["x"].dtype.kind == "c" and case["reduce"] in ("prod", "multiply") and close(theirs, ours, 1e-5, 1e-6)
        ),
    ),
    Row(
        "index_reduce_",
        "prod of a half type, in some shapes",
        "RuntimeError: INTERNAL ASSERT FAILED",
        "the product",
        "a fault of PyTorch 2.13",
        lambda case, theirs, ours: ours.ok and theirs.isa("RuntimeError") and "INTERNAL ASSERT" in theirs.text and _dtype(case) in _HALVES,
    ),
    Row(
        "index_put_",
        "uint8 indices",
        "deprecated masks",
        "IndexFormError",
        "elsewhere they are integers; pass bool masks",
        lambda case, theirs, ours: theirs.ok and ours.isa("IndexFormError") and any(i.dtype == np.uint8 for i in case["indices"]),
    ),
]
