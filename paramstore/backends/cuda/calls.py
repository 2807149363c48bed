"""What a call has in common, whatever its kernel: its device, what is asked of its arrays, ids and positions as kernels take them, checks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ... import bounds as rule
from ...errors import DeviceError
from ...registry import Fault
from . import device as devices
from . import geometry

__all__ = ["device_of", "Ids", "Walk", "check", "launch", "aligned"]

Array = devices.DeviceArray
i32, i64 = np.int32, np.int64


def device_of(**arrays: Array) -> devices.Device:
    """The one device of all arrays, which must be plain memory there: `normalize` has seen to it, and here nothing gets past (C8)."""
    known = devices.loaded()
    first = next(iter(arrays.values()))
    if known is None or not isinstance(first, known.array):
        raise DeviceError(f"a kernel for a GPU got a {type(first).__name__}")
    device = known.device(known.ordinal_of(first))
    for name, array in arrays.items():
        if not device.owns(array):
            raise DeviceError(f"a kernel on {device.name} got {name} that does not live there")
        if not array.flags.c_contiguous or array.data.ptr % min(array.itemsize, 8):
            raise ValueError(f"a kernel on {device.name} got {name} that is not contiguous or not aligned")
    return device


def require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(f"a kernel for a GPU got {what}")


class Ids:
    """The ids of a call with the rule for them: kernels take them as ``(ids, n, size, wide, bounds, wrap)``."""

    def __init__(self, array: Array, size: int, bounds: int, wrap: bool) -> None:
        require(array.dtype in (np.dtype(np.int32), np.dtype(np.int64)), f"ids of dtype {array.dtype}")
        self.array, self.n, self.size, self.bounds, self.wrap = array, int(array.size), int(size), bounds, bool(wrap)
        self.wide = i32(array.dtype.itemsize == 8)

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.array, i64(self.n), i64(self.size), self.wide, i32(self.bounds), i32(self.wrap)

    @property
    def may_fault(self) -> bool:
        """Whether an id outside is an error: an empty axis has nothing to clip to."""
        return self.bounds == rule.RAISE or (self.bounds == rule.CLIP and self.size == 0)


class Walk:
    """Where the positions of ``indices`` lie in ``data``: dimensions of extent 1 dropped, neighbours joined where one step covers both."""

    def __init__(self, data: Sequence[int], indices: Sequence[int], axis: int) -> None:
        require(0 <= axis < len(data) == len(indices), f"the axis {axis} of shape {tuple(data)}, with indices of shape {tuple(indices)}")
        require(all(i <= s or d == axis for d, (i, s) in enumerate(zip(indices, data))), "indices that are longer than data")
        steps = [prod(data[d + 1 :]) for d in range(len(data))]
        self.axis_step = steps[axis]
        self.along = int(indices[axis])  # positions that share all other coordinates,
        self.inner = prod(indices[axis + 1 :])  # and how far apart they lie
        joined: list[tuple[int, int]] = []
        fresh = True
        for d, extent in enumerate(indices):
            if extent == 1:
                continue
            step = 0 if d == axis else steps[d]
            if joined and not fresh and d != axis and joined[-1][1] == extent * step:
                joined[-1] = (joined[-1][0] * extent, step)
            else:
                joined.append((int(extent), step))
            fresh = d == axis
        self.dimensions = joined or [(1, 0)]

    def arguments(self, device: devices.Device) -> tuple[Any, ...]:
        """``(walk, ndim)``: the table is copied over."""
        flat = [self.axis_step, *(n for dimension in self.dimensions for n in dimension)]
        return device.put(np.array(flat, np.int64)), i32(len(self.dimensions))


def launch(device: devices.Device, family: str, entry: str, shape: geometry.Shape, *args: Any) -> None:
    """Starts a kernel; arguments that are tuples are taken apart."""
    grid, block = shape
    device.launch(family, entry, grid, block, [a for arg in args for a in (arg if isinstance(arg, tuple) else (arg,))])


def aligned(width_bytes: int, *arrays: Array) -> bool:
    """Whether rows of so many bytes can be taken 16 bytes at a time."""
    return width_bytes % 16 == 0 and all(a.data.ptr % 16 == 0 for a in arrays)


def check(device: devices.Device, ids: Ids, divisors: Array | None = None) -> Fault | None:
    """The first bad id, or else the first divisor that is zero. Waits for the device, where there is anything that may be wrong."""
    zeros = divisors is not None and divisors.size > 0
    if not ids.n or not (ids.may_fault or zeros):
        return None
    found = device.zeros((2,), np.dtype(np.uint64))
    if ids.may_fault:
        low = -ids.size if ids.wrap else 0
        launch(device, "ids", "check_ids", geometry.items(ids.n), ids.array, i64(ids.n), i64(low), i64(ids.size), ids.wide, found)
    if divisors is not None and zeros:
        entry = f"check_zeros_uint{8 * divisors.itemsize}"
        launch(device, "ids", entry, geometry.items(divisors.size), divisors, i64(divisors.size), found[1:])
    index, zero = reported(device, found)
    if index is not None:
        return fault_at(device, ids.array, index)
    return None if zero is None else Fault("zero", zero, 0)


def reported(device: devices.Device, found: Array) -> list[int | None]:
    """The positions that kernels have reported: each as its complement, 0 for none."""
    return [~int(f) & 2**64 - 1 if f else None for f in device.get(found)]


def fault_at(device: devices.Device, ids: Array, position: int) -> Fault:
    """The fault of a bad id. The value is read after the check: if another stream is changing the ids, it may be a later one."""
    return Fault("index", position, int(device.get(ids.reshape(ids.size)[position : position + 1])[0]))
