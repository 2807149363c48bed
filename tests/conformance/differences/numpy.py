"""Deliberate differences from ``numpy.ufunc.at``."""

from __future__ import annotations

import warnings

import numpy as np

from ..outcomes import Case, Outcome, close
from . import Row


def _loses(case: Case) -> bool:
    """Whether ``b`` has a higher kind than ``a``, or values that the dtype of ``a`` does not hold."""
    try:
        b = np.asarray(case["b"])
    except (ValueError, OverflowError):
        return True
    order = "buifcOUS"
    dtype = case["a"].dtype
    if order.index(b.dtype.kind) > order.index({"u": "i"}.get(dtype.kind, dtype.kind)):
        return True
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = b.astype(dtype)
        exact = (there.astype(b.dtype) == b) & ((there < 0) == (b < 0) if dtype.kind in "iu" else True)
    return not (exact | (b != b)).all()


def _cast(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    refused = ours.isa("ParameterCastError", "ScalarRangeError") or (case["b"] is None and ours.isa("DtypeError"))
    return refused and _loses(case) and (theirs.ok or theirs.isa("IndexError", "ValueError", "TypeError"))


def _integers(case: Case) -> bool:
    return case["a"].dtype.kind in "iu"


def _near_2_53(case: Case) -> bool:
    return any(abs(int(v)) >= 2**53 for k in ("a", "b") for v in np.asarray(case[k]).reshape(-1))


def _second_fault(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return (
        theirs.isa("IndexError") and "out of bounds" in theirs.text and ours.isa("ShapeError", "DtypeError") and not ours.isa("IndexError")
    )


def _integers_past_int64(case: Case) -> bool:
    items = case["indices"] if isinstance(case["indices"], tuple) else (case["indices"],)
    return any(getattr(i, "dtype", None) == np.uint64 and np.max(i, initial=0) >= 2**63 for i in items)


def _past_the_end(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    if not (theirs.ok and ours.ok and case["a"].ndim == 1 and np.ndim(case["b"])):
        return False
    items = case["indices"] if isinstance(case["indices"], tuple) else (case["indices"],)
    return any(isinstance(i, (np.ndarray, list)) and np.ndim(i) > 1 and np.shape(i) != np.shape(case["b"]) for i in items)


ROWS = [
    Row(
        "*_at",
        "`a` of one dimension, `indices` an array of several, `b` an array that spreads",
        "reads past the end of `b` (2.4.6)",
        "spreads `b`",
        "a fault of NumPy's",
        _past_the_end,
    ),
    Row(
        "*_at",
        "`b` has more dimensions than `a[indices]`, the first of size 1",
        "leaves them out where `indices` holds no array",
        "ShapeError (a ValueError)",
        "`b` spreads, and nothing else",
        lambda case, theirs, ours: theirs.ok and ours.isa("ShapeError") and np.shape(case["b"])[:1] == (1,) and np.ndim(case["b"]) > 1,
    ),
    Row(
        "*_at",
        "an index in a list that is past int64",
        "OverflowError",
        "IndexOutOfBounds (an IndexError), or another fault of the call",
        "it is outside of every axis",
        lambda case, theirs, ours: theirs.isa("OverflowError") and "C long" in theirs.text and ours.kind == "error",
    ),
    Row(
        "*_at",
        "no cell is named, but an index beside an empty one is outside",
        "IndexError",
        "changes nothing",
        "there is nothing to check it for",
        lambda case, theirs, ours: (
            ours.ok
            and theirs.isa("IndexError")
            and "out of bounds" in theirs.text
            and ours.value.tobytes() == case["a"].astype(ours.value.dtype).tobytes()
            and isinstance(case["indices"], tuple)
        ),
    ),
    Row(
        "divide_at multiply_at",
        "complex `a`, and `b` of another dtype",
        "computes in the wider of the two, then rounds",
        "converts `b`, then computes in the dtype of `a`",
        "one dtype a call; equal but for the last bit",
        lambda case, theirs, ours: (
            case["a"].dtype.kind == "c" and np.asarray(case["b"]).dtype != case["a"].dtype and close(theirs, ours, 1e-5)
        ),
    ),
    Row(
        "*_at",
        "an index outside, and another fault in the same call",
        "names the index first",
        "names the other first",
        "the values of the indices are looked at last",
        _second_fault,
    ),
    Row(
        "*_at",
        "uint64 indices of 2**63 and more",
        "wrap to negative ones",
        "IndexOutOfBounds (an IndexError)",
        "they are outside of every axis",
        lambda case, theirs, ours: ours.isa("IndexOutOfBounds") and _integers_past_int64(case),
    ),
    Row(
        "*_at",
        "`b` has a higher kind than `a`, or values that `a.dtype` cannot hold",
        "casts without a word: 2.5 into integers adds 2, 300 into uint8 adds 44, -1 adds 255",
        "ParameterCastError (a TypeError); ScalarRangeError (an OverflowError) for a Python number",
        "a lossy cast is a silent wrong result",
        _cast,
    ),
    Row(
        "*_at",
        "`a` is read-only, or its items overlap",
        "writes them all the same",
        "TargetError (a ValueError), always",
        "the result of overlapping writes depends on chance; a call is refused whatever the size of its indices",
        lambda case, theirs, ours: ours.isa("TargetError") and case["layout"] in ("readonly", "overlap"),
    ),
    Row(
        "minimum_at maximum_at",
        "complex `a`",
        "compares real parts, then imaginary ones",
        "DtypeError (a TypeError)",
        "complex numbers have no order",
        lambda case, theirs, ours: ours.isa("DtypeError") and case["a"].dtype.kind == "c",
    ),
    Row(
        "divide_at subtract_at",
        "bool `a`",
        "division goes through float64; subtraction is a TypeError",
        "DtypeError (a TypeError)",
        "neither is defined for bool; the fault that is found first may be another one than NumPy's",
        lambda case, theirs, ours: ours.isa("DtypeError") and case["a"].dtype.kind == "b",
    ),
    Row(
        "divide_at",
        "integers, and a zero in `b`",
        "some number, and a warning",
        "ZeroDivisor (a ValueError), before any write",
        "C4",
        lambda case, theirs, ours: ours.isa("ZeroDivisor") and _integers(case) and (np.asarray(case["b"]) == 0).any(),
    ),
    Row(
        "divide_at",
        "integers of more than 53 bits",
        "divides in float64 and casts back",
        "exact, toward zero",
        "an integer quotient is an integer",
        lambda case, theirs, ours: theirs.ok and ours.ok and _integers(case) and _near_2_53(case),
    ),
    Row(
        "*_at",
        "64-bit integers, one of them unsigned and one signed",
        "computes in float64 and casts back",
        "exact, wrapping",
        "the rounding is an accident of the type that holds both",
        lambda case, theirs, ours: (
            theirs.ok
            and ours.ok
            and _integers(case)
            and case["a"].dtype != np.asarray(case["b"]).dtype
            and np.result_type(case["a"], np.asarray(case["b"])) == np.float64
        ),
    ),
    Row(
        "minimum_at maximum_at",
        "-0.0 meets 0.0",
        "either, by the machine's instruction",
        "-0.0 is the smaller (IEEE 754-2019)",
        "the same bits everywhere",
        lambda case, theirs, ours: theirs.ok and ours.ok and bool(np.array_equal(theirs.value, ours.value, equal_nan=True)),
    ),
    Row(
        "*_at",
        "`b` is a Python number or list that is not exact in `a.dtype`",
        "an array of float64 or complex128: each step is rounded from it",
        "takes the dtype of `a` first",
        "C6: literals have no dtype",
        lambda case, theirs, ours: (
            isinstance(case["b"], (list, float, complex)) and close(theirs, ours, 1e-2 if case["a"].dtype == np.float16 else 1e-6)
        ),
    ),
]
