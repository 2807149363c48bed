"""Where the ONNX frontend differs from ONNX's reference evaluator on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..outcomes import Case, Outcome, close
from . import Row

INDEX_ONLY_64 = ("ScatterND", "GatherND", "TensorScatter")


def data_of(case: Case) -> Any:
    return np.asarray(case["inputs"][0])


def indices_of(case: Case) -> Any:
    found = case["inputs"][2 if case.operator == "TensorScatter" else 1]
    return np.zeros(data_of(case).shape[:1], np.int64) if found is None else np.asarray(found)


def updates_of(case: Case) -> Any:
    if case.operator.startswith("Gather"):
        return None
    return np.asarray(case["inputs"][1 if case.operator == "TensorScatter" else 2])


def attribute(case: Case, name: str, default: Any) -> Any:
    return case["attributes"].get(name, default)


def kind(array: Any) -> str:
    return "f" if array.dtype.name == "bfloat16" else str(array.dtype.kind)


def type_fault(case: Case) -> bool:
    """Whether the dtypes are none that the schema of that opset allows."""
    data, indices, updates = data_of(case), indices_of(case), updates_of(case)
    allowed = ("int64",) if case.operator in INDEX_ONLY_64 else ("int32", "int64")
    early = data.dtype.name == "bfloat16" and (case["opset"] < 13 or case.operator == "Scatter")
    return early or indices.dtype.name not in allowed or (updates is not None and updates.dtype != data.dtype)


def attribute_fault(case: Case) -> bool:
    """Whether an attribute is unknown to that opset, or has no value of the schema's."""
    reduction = attribute(case, "reduction", None)
    first = {"add": 16, "mul": 16, "min": 18, "max": 18, "none": 16}.get(reduction, 99)
    return (
        (reduction is not None and case["opset"] < first)
        or ("batch_dims" in case["attributes"] and case["opset"] < 12)
        or attribute(case, "mode", "linear") not in ("linear", "circular")
    )


def shape_fault(case: Case) -> bool:
    """Whether ranks, shapes or the axis break the operator's rules, written down once more."""
    data, indices, updates = data_of(case), indices_of(case), updates_of(case)
    r, q = data.ndim, indices.ndim
    if r == 0:
        return True
    axis = attribute(case, "axis", -2 if case.operator == "TensorScatter" else 0)
    if not -r <= axis < r and case.operator not in ("ScatterND", "GatherND"):
        return True
    axis %= r
    if case.operator in ("ScatterND", "GatherND"):
        b = attribute(case, "batch_dims", 0)
        k = indices.shape[-1] if q else 0
        if q == 0 or not 0 <= b < min(q, r) or k > r - b or indices.shape[:b] != data.shape[:b]:
            return True
        return (k == 0) if updates is None else updates.shape != indices.shape[:-1] + data.shape[k:]
    if case.operator == "Gather":
        return False
    if case.operator == "TensorScatter":
        fits = updates.ndim == r and all(u == s or (d == axis and u <= s) for d, (u, s) in enumerate(zip(updates.shape, data.shape)))
        return axis == 0 or not fits or indices.shape != data.shape[:1]
    longer = q == r and any(i > s for d, (i, s) in enumerate(zip(indices.shape, data.shape)) if d != axis)
    return q != r or longer or (updates is not None and updates.shape != indices.shape)


def index_fault(case: Case) -> bool:
    """Whether an index is outside."""
    data, indices = data_of(case), indices_of(case)
    if case.operator == "TensorScatter":
        axis = attribute(case, "axis", -2) % data.ndim
        linear = attribute(case, "mode", "linear") == "linear"
        return bool((indices < 0).any() or (linear and (indices > data.shape[axis] - updates_of(case).shape[axis]).any()))
    if case.operator in ("ScatterND", "GatherND"):
        b = attribute(case, "batch_dims", 0)
        sizes: Any = np.array(data.shape[b : b + indices.shape[-1]], np.int64)
    else:
        sizes = data.shape[attribute(case, "axis", 0)]
    low = 0 if case.operator == "Gather" and case["opset"] < 11 else -sizes
    return bool(((indices < low) | (indices >= sizes)).any())


def _refused(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Every reason to refuse that the reference evaluator does not look at."""
    return (
        (ours.isa("DtypeError") and type_fault(case))
        or (ours.isa("ArgumentError") and attribute_fault(case))
        or (ours.isa("ShapeError") and shape_fault(case))
    )


def _index(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return ours.isa("IndexOutOfBounds") and index_fault(case)


def no_arithmetic(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    reduction, found = attribute(case, "reduction", "none"), kind(data_of(case))
    return ours.isa("DtypeError") and (
        (found == "O" and reduction in ("mul", "min", "max")) or (found == "c" and reduction in ("min", "max"))
    )


def _valid(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return ours.ok and theirs.kind == "error" and not (type_fault(case) or attribute_fault(case) or shape_fault(case) or index_fault(case))


def min_max(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Equal but where ours is NaN, or zeros of both signs met."""
    if not (theirs.ok and ours.ok) or attribute(case, "reduction", "") not in ("min", "max") or kind(data_of(case)) != "f":
        return False
    a, b = np.asarray(theirs.value).astype(np.float64), np.asarray(ours.value).astype(np.float64)
    return a.shape == b.shape and bool(((a == b) | np.isnan(b)).all())


def complex_product(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    if attribute(case, "reduction", "") != "mul" or kind(data_of(case)) != "c" or not (theirs.ok and ours.ok):
        return False
    finite = np.isfinite(np.asarray(ours.value)).all() and np.isfinite(np.asarray(theirs.value)).all()
    return not finite or close(theirs, ours, 1e-4 if data_of(case).dtype == np.complex64 else 1e-12, 1e-30)


ROWS = [
    Row(
        "*",
        "dtypes, attributes or shapes that the operator's page forbids",
        "mostly not looked at: computes something, or fails somewhere",
        "TypeError or ValueError that says which rule is broken",
        "the page's rules hold for every input",
        _refused,
    ),
    Row(
        "GatherElements Gather TensorScatter",
        "an index outside its range (in Gather-1 and TensorScatter: a negative one)",
        "takes what is there",
        "IndexError",
        "no index is read as another one",
        _index,
    ),
    Row(
        "ScatterElements ScatterND",
        "mul, min and max of strings; min and max of complex numbers",
        "what Python or NumPy compare by",
        "TypeError",
        "the page defines none",
        no_arithmetic,
    ),
    Row("*", "a valid node that the evaluator does not run", "an error", "the result", "its page says what it is", _valid),
    Row(
        "ScatterElements ScatterND",
        "min or max with NaN, or with zeros of both signs",
        "ScatterElements depends on the order; zeros as they come",
        "NaN wins, -0 is below +0",
        "the result does not depend on the order; ONNX's node tests are made with np.maximum",
        min_max,
    ),
    Row(
        "ScatterElements ScatterND",
        "products of complex numbers",
        "NumPy's, which may fuse a multiplication and an addition",
        "the textbook product, each step rounded",
        "the same bits on every machine",
        complex_product,
    ),
]
