"""Where arrays live, and what is done with them by their place: on the CPU by NumPy, on a GPU by its `Device`.

A place is None for the CPU, or a `Device`. Nothing here moves an array from one place to another unless its name says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .backends.cuda import device as gpu
from .backends.cuda.device import Device
from .errors import DeviceError, DtypeError

__all__ = [
    "Array", "Device", "Place", "adopted", "assign", "astype", "copy", "empty", "family", "full", "host", "named", "name_of", "of", "on_gpu",
    "overlap", "plain", "put", "spread", "where", "zeros",
]  # fmt: skip

Array = np.ndarray[Any, np.dtype[Any]]  # or a Device's array, which has no type to check against
Place = Device | None

_CUDA, _CUDA_MANAGED = 2, 13  # DLPack's numbers of the devices that are GPUs


def on_gpu(value: Any) -> bool:
    """Whether a value says that its memory is a GPU's."""
    if type(value) is np.ndarray or isinstance(value, (type, bool, int, float, complex, str, bytes, list, tuple, np.generic)):
        return False
    runtime = gpu.loaded()
    if runtime is not None and isinstance(value, runtime.array):
        return True
    if isinstance(value, np.ndarray):
        return False
    return any(_says(value, protocol) for protocol in ("__cuda_array_interface__", "__dlpack_device__"))


def _says(value: Any, protocol: str) -> bool:
    try:
        found = getattr(value, protocol, None)
        return found is not None and (protocol == "__cuda_array_interface__" or found()[0] in (_CUDA, _CUDA_MANAGED))
    except Exception:  # it cannot say; `convert` finds out what it is
        return False


def of(array: Any) -> Place:
    """The place of an array of ours."""
    if type(array) is np.ndarray:
        return None
    runtime = gpu.loaded()
    if runtime is None or not isinstance(array, runtime.array):
        return None
    return runtime.device(runtime.ordinal_of(array))


def where(call: str, argument: str, value: Any) -> Place:
    """The place of anything that an array can be made of. Raises as `adopted`."""
    return of(adopted(call, argument, value)) if on_gpu(value) else None


def family(on: Place) -> str:
    """The registry's name for a place: "cpu" or "cuda"."""
    return "cpu" if on is None else "cuda"


def name_of(on: Place) -> str:
    """What `Parameter.device` says: "cpu" or "cuda:0"."""
    return "cpu" if on is None else on.name


def named(call: str, device: Any) -> Place:
    """The place that ``device`` names: "cpu", "cuda" (the current GPU) or "cuda:N".

    Raises:
        DeviceError: an unknown name, no CuPy, no GPU, or none of that number; the message says what there is, and what to install.
    """
    if isinstance(device, str) and device == "cpu":
        return None
    if not isinstance(device, str) or not (device == "cuda" or (device.startswith("cuda:") and device[5:].isdecimal())):
        raise DeviceError(f"{call}: device = {device!r} is unknown; there are 'cpu', 'cuda' and 'cuda:N' for the GPU number N")
    runtime = gpu.runtime(f"{call}: device = {device!r}")
    ordinal = runtime.current() if device == "cuda" else int(device[5:])
    if ordinal >= runtime.count():
        raise DeviceError(f"{call}: device = {device!r} does not exist; there are {', '.join(f'cuda:{n}' for n in range(runtime.count()))}")
    return runtime.device(ordinal)


def adopted(call: str, argument: str, value: Any) -> Array:
    """An array over the memory of what `on_gpu`; nothing is copied.

    Raises:
        DeviceError: memory that CuPy cannot take over.
    """
    runtime = gpu.runtime(f"{call}: {argument} is a {type(value).__name__} on a GPU")
    held: Any = getattr(value, "_array", None)  # a Parameter's own, without the wait that the protocols may bring
    try:
        found = held if isinstance(held, runtime.array) else runtime.adopt(value)
    except Exception as error:  # whatever the value's owner or CuPy raises: a type that it does not know, a copy that is needed
        raise DeviceError(f"{call}: {argument} of type {type(value).__name__} cannot be read on a GPU: {error}") from error
    return found  # type: ignore[return-value]


def _takes(on: Device, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biufc" and dtype.name != "bfloat16":
        raise DtypeError(f"dtype {dtype} cannot live on {on.name}")


def empty(on: Place, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An uninitialized C-contiguous array. Raises MemoryError, or ValueError for more than an address can count."""
    if on is None:
        return np.empty(shape, dtype)
    _takes(on, dtype)
    found: Array = on.empty(shape, dtype)
    return found


def zeros(on: Place, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A C-contiguous array of zeros. Raises as `empty`."""
    if on is None:
        return np.zeros(shape, dtype)
    _takes(on, dtype)
    found: Array = on.zeros(shape, dtype)
    return found


def full(on: Place, shape: tuple[int, ...], value: Any, dtype: np.dtype[Any]) -> Array:
    """A C-contiguous array of one value, which is a number, or an array without dimensions in the same place."""
    if on is None:
        return np.full(shape, value, dtype)
    return spread(value if of(value) is on else put(on, np.asarray(value, dtype)), shape)


def put(on: Place, array: Array) -> Array:
    """A NumPy array in that place: itself on the CPU, copied over to a GPU."""
    if on is None:
        return array
    _takes(on, array.dtype)
    found: Array = on.put(array)
    return found


def host(array: Array) -> Array:
    """A NumPy array: itself on the CPU; from a GPU a copy, which waits for the stream."""
    on = of(array)
    return array if on is None else on.get(array)


def assign(out: Array, source: Array) -> None:
    """``out[...] = source``; a NumPy source is cast and copied over."""
    on = of(out)
    if on is None:
        out[...] = source
    else:
        on.copy(out, source if of(source) is on else put(on, np.asarray(source, out.dtype)))


def copy(array: Array) -> Array:
    """A C-contiguous copy in the same place."""
    return array.copy() if of(array) is None else _made(array, array.shape, array.dtype)


def astype(array: Array, dtype: np.dtype[Any]) -> Array:
    """A C-contiguous copy of another dtype in the same place."""
    return array.astype(dtype, order="C") if of(array) is None else _made(array, array.shape, dtype)


def spread(array: Array, shape: tuple[int, ...]) -> Array:
    """The array spread to a shape as NumPy does; on a GPU it becomes memory of its own.

    Raises:
        ValueError: it does not spread.
    """
    if of(array) is None:
        return np.broadcast_to(array, shape)
    if np.broadcast_shapes(array.shape, shape) != tuple(shape):
        raise ValueError(f"{array.shape} does not spread to {shape}")
    return _made(array, shape, array.dtype)


def _made(array: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    on = of(array)
    assert on is not None
    out: Array = on.empty(shape, dtype)
    on.copy(out, array)
    return out


def plain(array: Array) -> Array:
    """On a GPU: the array, or a C-contiguous and aligned copy."""
    aligned = array.size == 0 or array.data.ptr % array.dtype.alignment == 0  # type: ignore[attr-defined]
    return array if array.flags.c_contiguous and aligned else copy(array)


def overlap(a: Array, b: Array) -> bool:
    """Whether two arrays may share memory; on a GPU both are C-contiguous."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.may_share_memory(a, b)
    if of(a) is not of(b):
        return False
    first, second = a.data.ptr, b.data.ptr
    return bool(a.nbytes and b.nbytes and first < second + b.nbytes and second < first + a.nbytes)
