"""Gathers and segment reductions."""

from __future__ import annotations

from typing import Any, ClassVar

from ... import batched, convert, normalize, segments
from ...convert import Array
from ...errors import DtypeError, ShapeError
from ._rules import ANY_NUMBER, EVERYTHING, INDEX, NUMBERS, WIDE_INDEX, a_tensor, an_int, data_of, document

# fmt: off
__all__ = [
    "Gather", "GatherNd", "GatherD", "UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMin", "UnsortedSegmentMax",
    "gather", "gather_nd", "gather_d", "gather_elements",
    "unsorted_segment_sum", "unsorted_segment_prod", "unsorted_segment_min", "unsorted_segment_max",
]
# fmt: on


class Gather:
    def __init__(self, batch_dims: int = 0) -> None:
        self.batch_dims = an_int("Gather", "batch_dims", batch_dims)

    def __call__(self, input_params: Any, input_indices: Any, axis: Any) -> Array:
        params = data_of("Gather", "input_params", input_params, EVERYTHING)
        a_tensor("Gather", "input_indices", input_indices)
        return batched.gather("Gather", params, input_indices, axis, self.batch_dims, widths=WIDE_INDEX, target="input_params")


class GatherNd:
    def __call__(self, input_x: Any, indices: Any) -> Array:
        x = data_of("GatherNd", "input_x", input_x, EVERYTHING)
        a_tensor("GatherNd", "indices", indices)
        return batched.gather_nd("GatherNd", x, indices, widths=WIDE_INDEX, target="input_x")


class GatherD:
    def __call__(self, x: Any, dim: Any, index: Any) -> Array:
        data = convert.plain(data_of("GatherD", "x", x, EVERYTHING))
        a_tensor("GatherD", "index", index)
        return batched.gathered(normalize.elements("GatherD", "gather", data, index, None, dim, wrap=True, widths=INDEX, target="x"))


def gather(input_params: Any, input_indices: Any, axis: Any, batch_dims: int = 0) -> Array:
    return Gather(batch_dims)(input_params, input_indices, axis)


def gather_nd(input_x: Any, indices: Any) -> Array:
    return GatherNd()(input_x, indices)


def gather_d(x: Any, dim: Any, index: Any) -> Array:
    return GatherD()(x, dim, index)


def gather_elements(input: Any, dim: Any, index: Any) -> Array:
    return GatherD()(input, dim, index)


class _UnsortedSegment:
    """Rows that share an id, combined from the identity of the op."""

    kind: ClassVar[str]
    dtypes: ClassVar[frozenset[str]] = NUMBERS
    widths: ClassVar[tuple[str, ...]] = INDEX

    def __call__(self, input_x: Any, segment_ids: Any, num_segments: Any) -> Array:
        name = type(self).__name__
        x = data_of(name, "input_x", input_x, self.dtypes)
        a_tensor(name, "segment_ids", segment_ids)
        if isinstance(num_segments, bool) or not hasattr(type(num_segments), "__index__") or getattr(num_segments, "shape", ()) != ():
            raise DtypeError(f"{name}: num_segments = {num_segments!r} must be an int")
        if num_segments < 1:
            raise ShapeError(f"{name}: num_segments = {num_segments} must be positive")
        if not getattr(segment_ids, "shape", ()):
            raise ShapeError(f"{name}: segment_ids.shape = () must have at least one dimension")
        return segments.unsorted(name, self.kind, x, segment_ids, num_segments, widths=self.widths)


class UnsortedSegmentSum(_UnsortedSegment):
    kind, dtypes, widths = "sum", ANY_NUMBER, WIDE_INDEX


class UnsortedSegmentProd(_UnsortedSegment):
    kind, dtypes = "prod", ANY_NUMBER


class UnsortedSegmentMin(_UnsortedSegment):
    kind = "min"


class UnsortedSegmentMax(_UnsortedSegment):
    kind = "max"


def unsorted_segment_sum(input_x: Any, segment_ids: Any, num_segments: Any) -> Array:
    return UnsortedSegmentSum()(input_x, segment_ids, num_segments)


def unsorted_segment_prod(x: Any, segment_ids: Any, num_segments: Any) -> Array:
    return UnsortedSegmentProd()(x, segment_ids, num_segments)


def unsorted_segment_min(x: Any, segment_ids: Any, num_segments: Any) -> Array:
    return UnsortedSegmentMin()(x, segment_ids, num_segments)


def unsorted_segment_max(x: Any, segment_ids: Any, num_segments: Any) -> Array:
    return UnsortedSegmentMax()(x, segment_ids, num_segments)


def _document_gathers() -> None:
    wraps = "an index outside [-s, s) for an axis of size s; negative ones count from the end"
    x = "np.array([[1, 2], [3, 4]])"
    arguments = {
        "input_params": "any dtype, at least one dimension",
        "input_indices": "int16, int32 or int64; negative ones are outside",
        "axis": "in [-input_params.ndim, input_params.ndim)",
        "batch_dims": "how many leading axes of both go together; at most ``axis``",
    }
    formula = "out[..., i, ..., j, :] = input_params[..., input_indices[i, ..., j], :], with the index at ``axis``."
    things: tuple[tuple[Any, str], ...] = ((Gather, "Gather()"), (gather, "gather"))
    for thing, spelled in things:
        document(thing, "", formula, arguments, f"ops.{spelled}({x}, np.array([1]), 1).tolist()\n[[2], [4]]",
                 first="Slices at indices along an axis.")  # fmt: skip
    arguments = {"input_x": "any dtype", "indices": "int16, int32 or int64, shape (..., K) with K <= input_x.ndim"}
    things = ((GatherNd, "GatherNd()"), (gather_nd, "gather_nd"))
    for thing, spelled in things:
        document(thing, "", "out[i, ..., j] = input_x[indices[i, ..., j, :]].", arguments,
                 f"ops.{spelled}({x}, np.array([[1, 0]])).tolist()\n[3]",
                 first="Cells or slices at index tuples.")  # fmt: skip
    along: tuple[tuple[Any, str, str], ...] = (
        (GatherD, "GatherD()", "x"),
        (gather_d, "gather_d", "x"),
        (gather_elements, "gather_elements", "input"),
    )
    for thing, spelled, name in along:
        arguments = {
            name: "any dtype, at least one dimension",
            "dim": f"in [-{name}.ndim, {name}.ndim)",
            "index": f"int32 or int64, the rank of {name}, no longer than it except along ``dim``",
        }
        document(thing, "", f"out[q] = {name}[..., index[q], ...], the index replacing coordinate ``dim`` of each position q.", arguments,
                 f"ops.{spelled}({x}, 1, np.array([[-1], [0]])).tolist()\n[[2], [3]]",
                 first="Cells at indices along an axis.", indices=wraps)  # fmt: skip


def _document_segments() -> None:
    start = {"add": "0", "mul": "1", "min": "the highest (finite) value of the dtype", "max": "the lowest (finite) value of the dtype"}
    for kind, cls, function, name in (
        ("sum", UnsortedSegmentSum, unsorted_segment_sum, "input_x"),
        ("prod", UnsortedSegmentProd, unsorted_segment_prod, "x"),
        ("min", UnsortedSegmentMin, unsorted_segment_min, "x"),
        ("max", UnsortedSegmentMax, unsorted_segment_max, "x"),
    ):
        op = segments.KINDS[kind]
        formula = "For each i, ..., j:  x = out[segment_ids[i, ..., j], ...],  u = input_x[i, ..., j, ...],  x = {step}."
        for thing, spelled, x in ((cls, f"{cls.__name__}()", "input_x"), (function, function.__name__, name)):
            arguments = {
                x: "shape segment_ids.shape + row",
                "segment_ids": "integers, at least one dimension; the rows of negative ones are left out",
                "num_segments": f"how many rows the result has; where no id points it holds {start[op]}",
            }
            document(thing, op, formula.replace("input_x", x), arguments,
                     f"ops.{spelled}(np.array([3, 4, 5]), np.array([1, -1, 1]), 2).shape\n(2,)",
                     first=f"The {kind} of the rows that share an id.",
                     indices="an id of num_segments or more")  # fmt: skip


_document_gathers()
_document_segments()
