"""Parameter: a named array that owns its memory and is changed in place."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from . import buffers, convert, dtypes, functional, inplace, locks, normalize, places
from .convert import Array
from .counter import Counter
from .errors import ArgumentError, DeviceError, DtypeError, ShapeError, TargetError
from .streams import StreamLock

if TYPE_CHECKING:
    from .optim.state import State
    from .store import ParamStore

__all__ = ["Parameter", "Variable"]


class Parameter:
    """A named, mutable array with in-place updates by index.

    Args:
        value: anything NumPy makes an array of; copied.
        name: any string; `ParamStore` sets it.
        dtype: convert the copy to this dtype (a plain cast); by default the value's own.
        device: "cpu", "cuda" (the current GPU) or "cuda:1"; by default where the value is. The value is copied there.
        trainable: a flag for optimizers.
        copy: False wraps an existing array instead: a memmap, or another library's memory. It must be writable, aligned, in native
            byte order, C-contiguous, not overlap itself, and be on the device.

    Raises:
        TargetError: ``copy=False`` and an array that must not be written.
        DtypeError: ``copy=False`` and something that is no array, or of another dtype; a dtype that is unknown.
        DeviceError: an unknown or missing device; ``copy=False`` and an array elsewhere.

    >>> p = Parameter([[0.0, 0.0], [0.0, 0.0]], name="emb")
    >>> p.scatter_add([1, 1], [[1.0, 2.0], [3.0, 4.0]])
    Parameter('emb', shape=(2, 2), dtype=float64, device='cpu', version=1)
    >>> p.numpy().tolist()
    [[0.0, 0.0], [4.0, 6.0]]
    """

    __slots__ = ("__weakref__", "_array", "_changed", "_count", "_device", "_dtype_name", "_home", "_name", "_pin", "_shared", "_states", "lock", "trainable")

    def __init__(
        self, value: Any, name: str = "", *, dtype: Any = None, device: str | None = None, trainable: bool = True, copy: bool = True
    ) -> None:
        convert.a_bool("Parameter", "copy", copy)
        self.trainable = convert.a_bool("Parameter", "trainable", trainable)
        if not isinstance(name, str):
            raise DtypeError(f"Parameter: name = {name!r} must be a str, not {type(name).__name__}")
        self._name = name
        on = places.where("Parameter", "value", value) if device is None else places.named("Parameter", device)
        self._device = places.name_of(on)
        wanted = None if dtype is None else dtypes.resolve("Parameter", dtype)
        self._array: Array = buffers.copied(value, wanted, on) if copy else buffers.wrapped(value, wanted, on)
        self._pin = buffers.pinned(self._array)
        self._shared = not copy
        self._dtype_name = dtypes.name(self._array.dtype)
        self._home: weakref.ref[ParamStore] | None = None
        self._states: dict[str, State] = {}  # of optimizers, by their names
        self._counted(0)
        self.lock: Any = locks.made() if on is None else StreamLock(on)

    @classmethod
    def _adopt(cls, array: Array, name: str, trainable: bool = True) -> Parameter:
        """A Parameter around a buffer from `buffers.empty` that nobody else holds."""
        p = cls(array, name, trainable=trainable, copy=False)
        p._shared = False
        return p

    # -- what it is -------------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its name; in a store, the key."""
        return self._name

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._array.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def size(self) -> int:
        return self._array.size

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer."""
        return self._array.nbytes

    @property
    def device(self) -> str:
        """"cpu", or "cuda:N"."""
        return self._device

    def to(self, device: str) -> Parameter:
        """A Parameter with the same value, name and flags on another device; itself if it lives there.

        A store goes on holding the one that it has.

        Raises:
            DeviceError: an unknown or missing device.
        """
        on = places.named("to", device)
        if on is places.of(self._array):
            return self
        with self.lock:
            return _rebuilt(type(self), self._array, self._name, self.trainable, self.version, places.name_of(on))

    @property
    def version(self) -> int:
        """How many in-place calls have completed. Writes through `value` are not counted."""
        return self._count.value

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError(f"len: Parameter {self._name!r} has no dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        for row in range(len(self)):
            yield self[row]

    def __repr__(self) -> str:
        frozen = "" if self.trainable else ", trainable=False"
        return f"Parameter({self._name!r}, shape={self.shape}, dtype={self.dtype}, device={self._device!r}, version={self.version}{frozen})"

    def _store(self) -> ParamStore | None:
        """The store that it is in; the last one, if several."""
        return self._home() if self._home is not None else None

    def _counted(self, version: int) -> None:
        self._count = Counter(version)
        self._changed = self._count.step

    # -- reading ----------------------------------------------------------------------------------------------------------------

    @property
    def value(self) -> Array:
        """The live array: a view of the buffer, which later updates change. On a GPU it is a CuPy array."""
        return self._array.view()

    def numpy(self) -> Array:
        """A NumPy copy. Concurrent updates may be half in it; see `read`. On a GPU it waits for the current stream."""
        return self._array.copy() if type(self._array) is np.ndarray else places.host(self._array)

    def read(self, use_locking: bool = True) -> Array:
        """A copy, on the same device, that holds no half of a locked update."""
        with self._held("read", use_locking):
            return places.copy(self._array)

    def _held(self, call: str, use_locking: bool) -> Any:
        return self.lock if convert.a_bool(call, "use_locking", use_locking) else nullcontext()

    def gather(self, indices: Any, *, axis: int = 0, use_locking: bool = False, bounds: str = "raise") -> Array:
        """A copy of the slices at ``indices``; see `paramstore.gather`."""
        with self._held("gather", use_locking):
            return functional.gather(self._array, indices, axis, bounds=bounds)

    def gather_nd(self, indices: Any, *, use_locking: bool = False, bounds: str = "raise") -> Array:
        """A copy of the cells or slices at index tuples; see `paramstore.gather_nd`."""
        with self._held("gather_nd", use_locking):
            return functional.gather_nd(self._array, indices, bounds=bounds)

    def __getitem__(self, ids: Any) -> Array:
        """A copy of the rows ``ids`` (an integer, or integers of any shape)."""
        self._only_ids("p[ids]", ids)
        return self.gather(ids)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.value
        if type(array) is not np.ndarray:
            raise DeviceError(f"__array__: Parameter {self._name!r} is on {self._device}; ask for a copy with numpy()")
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ArgumentError(f"__array__: {self.dtype} cannot become {np.dtype(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.value.__cuda_array_interface__  # type: ignore[attr-defined]  # on the CPU there is none: AttributeError

    def __dlpack__(self, **options: Any) -> Any:
        return self.value.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.value.__dlpack_device__()

    # -- writing ----------------------------------------------------------------------------------------------------------------

    def assign(self, value: Any, *, use_locking: bool = False) -> Parameter:
        """Replaces the whole value by one of the same shape."""
        return self._whole("assign", "update", value, use_locking)

    def assign_add(self, value: Any, *, use_locking: bool = False) -> Parameter:
        """Adds a value of the same shape."""
        return self._whole("assign_add", "add", value, use_locking)

    def assign_sub(self, value: Any, *, use_locking: bool = False) -> Parameter:
        """Subtracts a value of the same shape."""
        return self._whole("assign_sub", "sub", value, use_locking)

    def _whole(self, call: str, op: str, value: Any, use_locking: bool) -> Parameter:
        """One row of everything: the whole array is row 0 of a table with one row."""
        with self._held(call, use_locking):
            x = self._array
            normalize.check_op(call, op, x.dtype)
            given = self._converted(call, value)
            if given.shape != x.shape:
                raise ShapeError(f"{call}: value.shape = {given.shape} must be {x.shape}")
            inplace.apply_to(call, op, x.reshape(1, x.size), np.zeros(1, np.int64), given.reshape(1, x.size), bounds="drop")
            self._changed()
        return self

    def __setitem__(self, ids: Any, value: Any) -> None:
        """Replaces the rows ``ids``; ``value`` may also be one row or one number for all of them."""
        call = "p[ids] = value"
        self._only_ids(call, ids)
        found, _ = convert.indices_of(call, "ids", ids, on=places.of(self._array))
        shape = found.shape + self.shape[1:]
        given = self._converted(call, value)
        try:
            spread = places.spread(given, shape)
        except ValueError:
            raise ShapeError(f"{call}: value.shape = {given.shape} does not spread to ids.shape + row shape = {shape}") from None
        inplace.apply(call, "update", self, ids, spread)

    def _converted(self, call: str, value: Any) -> Array:
        owner = self._name or "the Parameter"
        return convert.updates_of(call, "value", value, self.dtype, convert=True, owner=owner, on=places.of(self._array))

    @staticmethod
    def _only_ids(call: str, ids: Any) -> None:
        if ids is None or ids is Ellipsis or isinstance(ids, (slice, tuple)):
            raise DtypeError(f"{call}: ids = {ids!r} must be row ids: an integer, a list or an array; cells and slices go through p.value[...]")

    def resize(self, rows: int, initializer: Any = None) -> Parameter:
        """Gives the table another number of rows, in a new buffer: the first rows stay, new ones are zeros or come from ``initializer``.

        The state of its optimizers gets as many. Arrays that `value` gave out before keep the old buffer.

        Raises:
            ShapeError: a Parameter without dimensions, or a negative number.
            TargetError: the buffer belongs to somebody else (``copy=False``).
        """
        if isinstance(rows, (bool, np.bool_)) or not hasattr(type(rows), "__index__"):
            raise DtypeError(f"resize: rows = {rows!r} must be an integer")
        with self.lock:
            if not self.shape:
                raise ShapeError(f"resize: Parameter {self._name!r} has no dimensions")
            if self._shared:
                raise TargetError(f"resize: Parameter {self._name!r} wraps memory that is not its own (copy=False)")
            shape = normalize.shape_of("resize", (rows, *self.shape[1:]))
            kept = min(shape[0], self.shape[0])
            new = buffers.empty("resize", shape, self.dtype, places.of(self._array))
            buffers.fill(new[kept:], initializer)
            places.assign(new[:kept], self._array[:kept])
            self._array, self._pin = new, buffers.pinned(new)
            self._changed()
            for state in list(self._states.values()):
                state.resize(shape[0])
        return self

    # -- copies -----------------------------------------------------------------------------------------------------------------

    def __copy__(self) -> Parameter:
        return _rebuilt(type(self), self.read(), self._name, self.trainable, self.version, self._device)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if not self._holds_objects():
            twin = self.__copy__()
            memo[id(self)] = twin
            return twin
        import copy

        twin = memo[id(self)] = _rebuilt(*self.__reduce__()[1])  # known before its objects are copied: they may lead back to it
        twin._array[...] = copy.deepcopy(self.read(), memo)
        return twin

    def _holds_objects(self) -> bool:
        return self.dtype.hasobject and self.dtype.kind != "T"

    def __reduce__(self) -> tuple[Any, ...]:
        with self.lock:
            rest = (self._name, self.trainable, self.version, self._device)
            if not self._holds_objects():
                return _rebuilt, (type(self), self.numpy(), *rest)
            return _rebuilt, (type(self), np.zeros(self.shape, self.dtype), *rest), self.read()  # as above

    def __setstate__(self, objects: Array) -> None:
        self._array[...] = objects

    # fmt: off
    scatter_add: Callable[..., Parameter] = inplace.method("scatter_add", "add")
    scatter_sub: Callable[..., Parameter] = inplace.method("scatter_sub", "sub")
    scatter_mul: Callable[..., Parameter] = inplace.method("scatter_mul", "mul")
    scatter_div: Callable[..., Parameter] = inplace.method("scatter_div", "div")
    scatter_min: Callable[..., Parameter] = inplace.method("scatter_min", "min")
    scatter_max: Callable[..., Parameter] = inplace.method("scatter_max", "max")
    scatter_update: Callable[..., Parameter] = inplace.method("scatter_update", "update")
    scatter_nd_add: Callable[..., Parameter] = inplace.method("scatter_nd_add", "add", nd=True)
    scatter_nd_sub: Callable[..., Parameter] = inplace.method("scatter_nd_sub", "sub", nd=True)
    scatter_nd_mul: Callable[..., Parameter] = inplace.method("scatter_nd_mul", "mul", nd=True)
    scatter_nd_div: Callable[..., Parameter] = inplace.method("scatter_nd_div", "div", nd=True)
    scatter_nd_min: Callable[..., Parameter] = inplace.method("scatter_nd_min", "min", nd=True)
    scatter_nd_max: Callable[..., Parameter] = inplace.method("scatter_nd_max", "max", nd=True)
    scatter_nd_update: Callable[..., Parameter] = inplace.method("scatter_nd_update", "update", nd=True)
    # fmt: on


def _rebuilt(cls: type[Parameter], value: Array, name: str, trainable: bool, version: int, device: str = "cpu") -> Parameter:
    p = cls(value, name, device=device, trainable=trainable)
    p._counted(version)
    return p


Variable = Parameter
inplace.InplaceScatter.target = Parameter
