"""`HostArray`: NumPy memory behind the part of CuPy's ndarray that the package uses, and nothing more.

There is no arithmetic, and no way into NumPy but `get`, as with CuPy: code that would compute on a device array by accident fails here.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


class HostArray:
    """An array "on" a device of that ordinal."""

    __slots__ = ("__weakref__", "_memory", "_ordinal")

    def __init__(self, memory: np.ndarray[Any, Any], ordinal: int) -> None:
        assert type(memory) is np.ndarray
        self._memory, self._ordinal = memory, ordinal

    shape = property(lambda self: self._memory.shape)
    dtype = property(lambda self: self._memory.dtype)
    strides = property(lambda self: self._memory.strides)
    ndim = property(lambda self: self._memory.ndim)
    size = property(lambda self: self._memory.size)
    nbytes = property(lambda self: self._memory.nbytes)
    itemsize = property(lambda self: self._memory.itemsize)
    device = property(lambda self: SimpleNamespace(id=self._ordinal))
    data = property(lambda self: SimpleNamespace(ptr=self._memory.ctypes.data))

    @property
    def flags(self) -> Any:
        flags = self._memory.flags
        return SimpleNamespace(c_contiguous=flags.c_contiguous, f_contiguous=flags.f_contiguous, owndata=flags.owndata)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        strides = None if self._memory.flags.c_contiguous else self.strides
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.data.ptr, False), "strides": strides, "version": 3, "stream": 1}

    def reshape(self, *shape: Any, order: str = "C") -> HostArray:
        return HostArray(self._memory.reshape(*shape), self._ordinal)

    def view(self, dtype: Any = None) -> HostArray:
        return HostArray(self._memory.view() if dtype is None else self._memory.view(dtype), self._ordinal)

    def __getitem__(self, key: Any) -> HostArray:
        for item in key if isinstance(key, tuple) else (key,):
            if not (item is None or item is Ellipsis or isinstance(item, (int, np.integer, slice))):
                raise TypeError(f"the package uses basic slices of device arrays only, not {item!r}")
        return HostArray(np.asarray(self._memory[key]), self._ordinal)

    def __len__(self) -> int:
        return len(self._memory)

    def get(self) -> np.ndarray[Any, Any]:
        """A NumPy copy: what a test looks at. Code of the package must go through the device, which counts it."""
        return self._memory.copy()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed, as with CuPy. Please use `.get()`.")

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("the package must not look into a device array")

    __eq__ = __iter__ = __int__ = __float__ = __index__ = __bool__  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"HostArray({self._memory!r}, cuda:{self._ordinal})"
