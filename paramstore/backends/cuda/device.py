"""A GPU as the backend sees it: the few CuPy calls that everything else is built on, behind one small surface.

CuPy is imported when a GPU is first asked for, never with the package. An array of a `Device` is CuPy's ndarray; what the package uses of
it is ``shape dtype strides ndim size nbytes itemsize flags.c_contiguous data.ptr reshape view``, and basic slices, which are views.
Arithmetic on such arrays is left to the kernels.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from ...errors import DeviceError, DtypeError

__all__ = ["Device", "Runtime", "DeviceArray", "runtime", "loaded"]

DeviceArray = Any  # cupy.ndarray; CuPy has no types to check against, and is not there for most users
Host = np.ndarray[Any, np.dtype[Any]]


class Device(Protocol):
    """One GPU. All work goes to the caller's current stream of this GPU; only `get`, `synchronize` and a full memory wait for it."""

    ordinal: int
    name: str  # "cuda:0"

    def owns(self, value: object) -> bool:
        """Whether a value is an array in this GPU's memory."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        """An uninitialized C-contiguous array. Raises MemoryError."""
        ...

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        """A C-contiguous array of zeros. Raises MemoryError."""
        ...

    def put(self, host: Host) -> DeviceArray:
        """A copy of a NumPy array. The host's memory may be changed as soon as the call returns."""
        ...

    def copy(self, out: DeviceArray, source: DeviceArray) -> None:
        """``out[...] = source``: both on this GPU, of any strides and dtypes; the source spreads to the shape of ``out``."""
        ...

    def get(self, array: DeviceArray) -> Host:
        """A NumPy copy; waits for the stream."""
        ...

    def argsort(self, keys: DeviceArray) -> DeviceArray:
        """int64 positions (N,) that sort the integers ``keys`` (N,); equal keys keep their order."""
        ...

    def launch(self, family: str, entry: str, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]) -> None:
        """Starts the kernel ``entry`` of the module ``family`` (`modules.function`).

        Args:
            grid, block: one to three sizes, none of them zero.
            args: arrays of this GPU, whose addresses are passed, and NumPy scalars, passed in their own width.
        """
        ...

    def stream(self) -> Any:
        """The current stream; equal for equal streams."""
        ...

    def record(self) -> Any:
        """An event that is reached when the work given to the current stream so far is done."""
        ...

    def wait(self, event: Any) -> None:
        """Makes the current stream wait for an event; the host goes on."""
        ...

    def synchronize(self) -> None:
        """Waits for the current stream."""
        ...


class Runtime(Protocol):
    """What there is of GPUs: CuPy's view of them (`CupyRuntime`), or the tests' stand-in."""

    array: type  # the class of its arrays

    def count(self) -> int:
        """How many GPUs there are."""
        ...

    def current(self) -> int:
        """The ordinal of the calling thread's current GPU."""
        ...

    def device(self, ordinal: int) -> Device:
        """The GPU of that ordinal, which must exist."""
        ...

    def ordinal_of(self, array: DeviceArray) -> int:
        """The GPU that an array lives on."""
        ...

    def adopt(self, value: Any) -> DeviceArray:
        """An array over the memory of a value that shows ``__cuda_array_interface__`` or DLPack; nothing is copied."""
        ...


class CupyDevice:
    """`Device` over CuPy."""

    def __init__(self, cupy: Any, ordinal: int) -> None:
        self._cupy, self.ordinal, self.name = cupy, ordinal, f"cuda:{ordinal}"

    def _here(self) -> Any:
        return self._cupy.cuda.Device(self.ordinal)

    def owns(self, value: object) -> bool:
        return isinstance(value, self._cupy.ndarray) and value.device.id == self.ordinal

    def _typed(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        if dtype.name == "bfloat16" and int(self._cupy.__version__.split(".")[0]) < 14:
            raise DtypeError(f"dtype bfloat16 on {self.name} needs CuPy 14 or later, not {self._cupy.__version__}")
        return dtype

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        with self._here():
            return self._cupy.empty(shape, self._typed(dtype))

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        with self._here():
            return self._cupy.zeros(shape, self._typed(dtype))

    def put(self, host: Host) -> DeviceArray:
        self._typed(host.dtype)
        with self._here():
            return self._cupy.array(np.ascontiguousarray(host).reshape(host.shape))  # goes through pinned memory of CuPy's own

    def copy(self, out: DeviceArray, source: DeviceArray) -> None:
        with self._here():
            out[...] = source

    def get(self, array: DeviceArray) -> Host:
        with self._here():
            found: Host = self._cupy.asnumpy(array, order="C")
            return found

    def argsort(self, keys: DeviceArray) -> DeviceArray:
        with self._here():
            return self._cupy.argsort(keys, kind="stable")

    def launch(self, family: str, entry: str, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]) -> None:
        modules = importlib.import_module(".modules", __package__)
        with self._here():
            modules.function(self._cupy, self.ordinal, family, entry)(tuple(grid), tuple(block), tuple(args))

    def stream(self) -> Any:
        with self._here():
            return self._cupy.cuda.get_current_stream()

    def record(self) -> Any:
        with self._here():
            return self._cupy.cuda.get_current_stream().record(self._cupy.cuda.Event(disable_timing=True))

    def wait(self, event: Any) -> None:
        with self._here():
            self._cupy.cuda.get_current_stream().wait_event(event)

    def synchronize(self) -> None:
        with self._here():
            self._cupy.cuda.get_current_stream().synchronize()


class CupyRuntime:
    """`Runtime` over CuPy."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self.array: type = cupy.ndarray
        self.device = lru_cache(maxsize=None)(lambda ordinal: CupyDevice(cupy, ordinal))

    def count(self) -> int:
        return int(self._cupy.cuda.runtime.getDeviceCount())

    def current(self) -> int:
        return int(self._cupy.cuda.runtime.getDevice())

    def ordinal_of(self, array: DeviceArray) -> int:
        return int(array.device.id)

    def adopt(self, value: Any) -> DeviceArray:
        if isinstance(value, self._cupy.ndarray):
            return value
        if hasattr(value, "__cuda_array_interface__"):
            return self._cupy.asarray(value)
        return self._cupy.from_dlpack(value)


_runtime: Runtime | None = None  # the tests put their stand-in here
_INSTALL = "install CuPy for your CUDA version: pip install 'paramstore[cuda12]' or 'paramstore[cuda13]'"


def loaded() -> Runtime | None:
    """The runtime, if a GPU has been asked for before; without one there is no array of it either."""
    return _runtime


def runtime(call: str) -> Runtime:
    """The runtime; CuPy is imported at the first call.

    Raises:
        DeviceError: CuPy is not installed, or there is no GPU that it can use; the message says what to do.
    """
    global _runtime
    if _runtime is None:
        try:
            found = CupyRuntime(importlib.import_module("cupy"))
        except ImportError as error:
            raise DeviceError(f"{call}: a GPU needs CuPy, which cannot be imported ({error}); {_INSTALL}") from error
        try:
            count = found.count()
        except Exception as error:  # CuPy's own class, one for each library that may be missing
            raise DeviceError(f"{call}: CuPy finds no usable GPU ({error}); it needs an NVIDIA GPU and its driver") from error
        if not count:
            raise DeviceError(f"{call}: CuPy finds no GPU; it needs an NVIDIA GPU and its driver")
        _runtime = found
    return _runtime
