"""MindSpore cases that chance meets too rarely: one for each of some rows of the table of differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._mindspore_values import Param, Rng, pick

__all__ = ["corners"]

_INTS = ("int8", "int16", "int32", "int64")


def corners(rng: Rng) -> dict[str, Any]:
    """What the others meet too rarely: one case for a row of the table of differences."""
    rng.spent = True
    f32, i32, two = np.float32, np.int32, np.array([[0], [1]])
    kind = pick(rng, *_INTS)
    low = np.array([np.iinfo(kind).min, 6, 5], kind)
    many = rng.integers(0, 2, (40, 1))
    third = (rng.random((40, 6)) / 3).astype(f32)
    x = np.zeros((2, 6), f32)
    spelled = (("ScatterNd{}", {}), ("scatter_nd_{}", None))
    name, init = spelled[rng.integers(2)]
    return pick(
        rng,
        lambda: {
            "op": name.format("Div" if init == {} else "div"),
            "init": init,
            "args": [Param(low), two, np.array([pick(rng, 0, 2), 0], kind)],
        },
        lambda: pick(  # these kill
            rng,
            {"op": "TensorScatterDiv", "init": {}, "args": [np.array([4, 6], i32), two, np.array([0, 2], i32)]},
            {"op": "ScatterDiv", "init": {}, "args": [Param(low), np.array([0]), -np.ones(1, kind)]},
            *[{"op": "IndexPut", "init": {}, "args": [x, third[0, :1], (np.zeros(0, i32), np.zeros(0, i32))]}] * 2,
        ),
        lambda: {"op": "ScatterNdUpdate", "init": {}, "args": [Param(x), np.array([[0, 6 + rng.integers(3)]]), np.ones(1, f32)]},
        lambda: {"op": "TensorScatterUpdate", "init": {}, "args": [x, np.array([[0, 6 + rng.integers(3)]]), np.ones(1, f32)]},
        lambda: {"op": "IndexAdd", "init": {"axis": 0}, "args": [x, np.array([1], i32), third[:1]]},
        lambda: {
            "op": "scatter again",
            "init": None,
            "args": [np.zeros(8, f32), 0, np.array([1, 3, 5 + rng.integers(3)], i32), third[0, :3]],
        },
        lambda: {"op": "UnsortedSegmentProd", "init": {}, "args": [np.array([3, np.inf, 2 + rng.integers(3)], "c8"), np.zeros(3, i32), 1]},
        lambda: {"op": "tensor_scatter_elements", "init": None, "args": [np.zeros(3, bool), np.array([1]), np.ones(1, bool), 0, "add"]},
        lambda: {"op": "GatherD", "init": {}, "args": [third[0], 0, np.array(1)]},
        lambda: {
            "op": "InplaceIndexAdd",
            "init": {"axis": 0},
            "args": [Param(x[:, :2]), np.repeat(many[:, 0], 10).astype(i32), np.ones((400, 2), f32)],
        },
        lambda: {"op": name.format(pick(rng, "Add", "Sub") if init == {} else "add"), "init": init, "args": [Param(x), many, third]},
        lambda: {
            "op": pick(rng, "InplaceAdd", "InplaceSub"),
            "init": {"indices": tuple(map(int, many[:, 0]))},
            "args": [x.astype("f2"), third.astype("f2")],
        },
        lambda: {"op": "Gather", "init": {}, "args": [third, -many, 0]},
        lambda: {"op": "InplaceUpdateV2", "init": {}, "args": [x, (0, -1), third[:2]]},
        lambda: {"op": "index_fill", "init": None, "args": [low, 0, np.array([1], i32), pick(rng, 1.5, 10**6 if kind == "int8" else 2.5)]},
        lambda: {"op": "ScatterAdd", "init": {}, "args": [Param(np.array([1, 2], np.int8)), np.array(1), pick(rng, 300, -129)]},
        lambda: {"op": "IndexAdd", "init": {"axis": 0, "use_lock": 1}, "args": [Param(x), np.array([1], i32), third[:1]]},
        lambda: {"op": "tensor_scatter_elements", "init": None, "args": [third[:2], many[:2] + 1, third[:2, :1], 0, "none"]},
        lambda: {"op": "TensorScatterElements", "init": {"reduction": "Add"}, "args": [third[:2], many[:2], third[:2, :1]]},
        lambda: {"op": f"UnsortedSegment{pick(rng, 'Prod', 'Min', 'Max')}", "init": {}, "args": [third[:2], np.array([0, 1]), np.array(2)]},
        lambda: {"op": "IndexFill", "init": {}, "args": [np.arange(3, dtype=i32), 0, np.array([0], i32), np.array(4)]},
        lambda: {"op": "UnsortedSegmentSum", "init": {}, "args": [third[:2], np.array([0, 1]), np.array([2])]},
        lambda: {
            "op": pick(rng, "ScatterMax", "ScatterMin"),
            "init": {},
            "args": [Param(f32([np.nan, 1])), np.array([0, 1]), f32([1, np.nan])],
        },
        lambda: {"op": pick(rng, "TensorScatterMax", "TensorScatterMin"), "init": {}, "args": [f32([np.nan, 1]), two, f32([1, np.nan])]},
    )()
