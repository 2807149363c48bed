"""``tf.math``: reductions over segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import segments
from ...convert import Array
from ...errors import ParamstoreError
from ._doc import segment_doc
from .errors import translated
from .tensors import INDEX, WIDE_INDEX, tensor

# fmt: off
__all__ = [
    "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum", "unsorted_segment_max", "unsorted_segment_mean",
    "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum",
]
# fmt: on


def _sorted(kind: str) -> Callable[..., Array]:
    call = f"segment_{kind}"

    def function(data: Any, segment_ids: Any, name: Any = None) -> Array:
        try:
            return segments.sorted_(call, kind, tensor(call, "data", data), segment_ids, widths=INDEX)
        except ParamstoreError as error:
            raise translated(error) from None

    function.__name__ = function.__qualname__ = call
    function.__doc__ = segment_doc(kind, segments.KINDS[kind], is_sorted=True)
    return function


def _unsorted(kind: str) -> Callable[..., Array]:
    call = f"unsorted_segment_{kind}"
    widths = WIDE_INDEX if segments.KINDS[kind] == "add" else INDEX

    def function(data: Any, segment_ids: Any, num_segments: Any, name: Any = None) -> Array:
        try:
            return segments.unsorted(call, kind, tensor(call, "data", data), segment_ids, num_segments, widths=widths)
        except ParamstoreError as error:
            raise translated(error) from None

    function.__name__ = function.__qualname__ = call
    function.__doc__ = segment_doc(kind, segments.KINDS[kind], is_sorted=False)
    return function


segment_sum = _sorted("sum")
segment_prod = _sorted("prod")
segment_min = _sorted("min")
segment_max = _sorted("max")
segment_mean = _sorted("mean")
unsorted_segment_sum = _unsorted("sum")
unsorted_segment_prod = _unsorted("prod")
unsorted_segment_min = _unsorted("min")
unsorted_segment_max = _unsorted("max")
unsorted_segment_mean = _unsorted("mean")
unsorted_segment_sqrt_n = _unsorted("sqrt_n")
