"""Where the ONNX frontend differs from ONNX Runtime on purpose."""

from __future__ import annotations

from ..outcomes import Case, Outcome
from . import Row
from .onnx import attribute, attribute_fault, data_of, index_fault, kind, min_max, no_arithmetic, shape_fault, type_fault


def _valid(case: Case) -> bool:
    return not (type_fault(case) or attribute_fault(case) or shape_fault(case) or index_fault(case))


def _no_kernel(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """A valid node whose dtype the runtime has no kernel for."""
    says = ("Exception during loading", "can't be converted to MLDataType", "is not supported with", "NOT_IMPLEMENTED", "NotImplemented",
            "does not support BFloat16", "Unsupported data type", "CPU execution provider: ")  # fmt: skip
    return ours.ok and theirs.kind == "error" and any(text in theirs.text for text in says) and _valid(case)


def _deprecated(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return ours.ok and case["opset"] >= 11 and "deprecated" in theirs.text


def _reduction(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.ok and ours.isa("ArgumentError") and attribute_fault(case)


def _negative(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.ok and ours.isa("IndexOutOfBounds") and case["opset"] < 11 and index_fault(case)


def _depth_zero(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.ok and ours.isa("ShapeError") and case["inputs"][1].shape[-1:] == (0,)


def _batch_sizes(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    b = attribute(case, "batch_dims", 0)
    return theirs.ok and ours.isa("ShapeError") and case["inputs"][1].shape[:b] != data_of(case).shape[:b]


def _nothing_to_read(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.ok and theirs.value.size == 0 and ours.kind == "error" and (index_fault(case) if not shape_fault(case) else True)


def _text(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.ok and no_arithmetic(case, theirs, ours) and 0 in (data_of(case).size, case["inputs"][1].size)


def _lost_text(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Each slice of several strings has its first string; the others are empty."""
    if kind(data_of(case)) != "O" or not (theirs.ok and ours.ok) or theirs.value.shape != ours.value.shape:
        return False
    return all(a in ("", b) for a, b in zip(theirs.value.reshape(-1).tolist(), ours.value.reshape(-1).tolist()))


ROWS = [
    Row(
        "*",
        "complex numbers, bfloat16, reductions of float16, min and max of bool",
        "no kernel",
        "the result",
        "the page lists the dtype",
        _no_kernel,
    ),
    Row(
        "Scatter",
        "opset 11 or later",
        "refuses the node: deprecated",
        "the result, as ScatterElements",
        "the operator kept its meaning",
        _deprecated,
    ),
    Row(
        "ScatterElements ScatterND",
        "a reduction that is unknown, or newer than the opset",
        "takes an unknown one for none, and a newer one as it is",
        "ValueError",
        "a value that is not on the page is a mistake",
        _reduction,
    ),
    Row(
        "Gather",
        "negative indices before opset 11",
        "count from the end",
        "IndexError",
        "the page of version 1 does not have them",
        _negative,
    ),
    Row("GatherND", "tuples of length 0", "the whole of data for each", "ValueError", "the page asks for at least 1", _depth_zero),
    Row(
        "GatherND",
        "other batch sizes than data's",
        "takes multiples of them",
        "ValueError",
        "the page asks for the same ones",
        _batch_sizes,
    ),
    Row(
        "*",
        "nothing is read",
        "does not look at shapes or indices",
        "ValueError, IndexError",
        "the page's rules hold for every shape",
        _nothing_to_read,
    ),
    Row("Gather", "slices of several strings", "copies the first string of each", "all of them", "what the page says", _lost_text),
    Row("ScatterElements ScatterND", "mul of strings, and nothing to do", "data itself", "TypeError", "the page defines none", _text),
    Row(
        "ScatterElements ScatterND",
        "min or max with NaN, or with zeros of both signs",
        "an update replaces NaN; zeros as they come",
        "NaN wins, -0 is below +0",
        "the result does not depend on the order; ONNX's node tests are made with np.maximum",
        min_max,
    ),
]
