"""ParamStore: names to Parameters."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import buffers, dtypes, locks, normalize, places
from .errors import ArgumentError, DtypeError, NameInUse, UnknownName
from .making import Making
from .parameter import Parameter

__all__ = ["ParamStore", "Scope"]


def _text(call: str, name: str) -> str:
    if not isinstance(name, str):
        raise DtypeError(f"{call}: name = {name!r} must be a str, not {type(name).__name__}")
    return name


def _checked_name(call: str, name: str) -> str:
    """A name is segments joined by "/"; none is empty, "." or "..", and there are no control characters."""
    if any(part in ("", ".", "..") for part in _text(call, name).split("/")) or not name.isprintable() or "\\" in name:
        raise ArgumentError(f"{call}: name = {name!r} must be segments joined by '/', none empty, '.' or '..', all printable")
    return name


class ParamStore:
    """Named Parameters. Any thread may create, look up and delete at any time.

    >>> import paramstore as ps
    >>> store = ParamStore()
    >>> emb = store.create("user/emb", (4, 2), initializer=ps.init.normal(std=0.1, seed=0))
    >>> store["user/emb"] is emb, len(store), store.num_bytes
    (True, 1, 32)
    """

    def __init__(self) -> None:
        self._lock = locks.made()
        self._params: dict[str, Parameter] = {}
        self._pending: dict[str, Making] = {}

    def create(
        self, name: str, shape: Any, dtype: Any = "float32", *, initializer: Any = None, device: str = "cpu", trainable: bool = True
    ) -> Parameter:
        """Makes a new Parameter; the table is filled in place, a chunk of rows at a time.

        Args:
            name: segments joined by "/".
            device: "cpu", "cuda" (the current GPU) or "cuda:1".
            initializer: None (zeros), a number, an array of that shape, one of `paramstore.init`, or any callable ``f(shape, dtype)``
                that gives the next rows.

        Raises:
            NameInUse: the name exists; if its shape or dtype is another, the message says so. `get_or_create` gives the one there is.
            ArgumentError, ShapeError, DtypeError, DeviceError: a bad argument.
        """
        return self._make("create", name, shape, dtype, initializer, device, trainable, False)

    def get_or_create(
        self, name: str, shape: Any, dtype: Any = "float32", *, initializer: Any = None, device: str = "cpu", trainable: bool = True
    ) -> Parameter:
        """The Parameter of that name, made if there is none.

        Raises:
            NameInUse: the one there is has another shape or dtype.
        """
        return self._make("get_or_create", name, shape, dtype, initializer, device, trainable, True)

    def _make(
        self, call: str, name: str, shape: Any, dtype: Any, initializer: Any, device: str, trainable: bool, reuse: bool
    ) -> Parameter:
        _checked_name(call, name)
        sizes, wanted = normalize.shape_of(call, shape), dtypes.resolve(call, dtype)
        on = places.named(call, device)
        mine = self._claim(call, name, sizes, wanted, reuse)
        if isinstance(mine, Parameter):
            return mine
        try:  # outside the lock: filling a large table must not stop the other threads
            array = buffers.empty(call, sizes, wanted, on)
            buffers.fill(array, initializer)
            made = Parameter._adopt(array, name, trainable)
            made._home = weakref.ref(self)
            with self._lock:
                self._params[name] = made
        finally:
            with self._lock:
                del self._pending[name]
            mine.end()
        return made

    def _claim(self, call: str, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], reuse: bool) -> Parameter | Making:
        """The existing Parameter, or what marks the name as being made by this thread."""
        while True:
            with self._lock:
                existing = self._params.get(name)
                other = self._maker(name)
                if existing is None and other is None:
                    mine = self._pending[name] = Making()
                    return mine
            if existing is None:
                assert other is not None
                other.wait(call, name)
                continue
            same = existing.shape == shape and existing.dtype == dtype
            if reuse and same:
                return existing
            has = f"shape {existing.shape} and dtype {existing.dtype}"
            raise NameInUse(
                f"{call}: {name!r} exists with {has}" + ("; use get_or_create" if same else f", not shape {shape} and dtype {dtype}")
            )

    def _maker(self, name: str) -> Making | None:
        """Who is making that name; one that has ended but is still entered was lost in a fork."""
        found = self._pending.get(name)
        return None if found is None or found.ended else found

    def add(self, parameter: Parameter, name: str | None = None) -> Parameter:
        """Enters an existing Parameter, under its own name or another, which becomes its name.

        Raises:
            NameInUse: another Parameter has that name.
        """
        if not isinstance(parameter, Parameter):
            raise DtypeError(f"add: parameter must be a Parameter, not {type(parameter).__name__}")
        key = _checked_name("add", parameter.name if name is None else name)
        with self._lock:
            if self._maker(key) is not None or self._params.get(key, parameter) is not parameter:
                raise NameInUse(f"add: {key!r} exists")
            if any(held is parameter and other != key for other, held in self._params.items()):
                raise NameInUse(f"add: the Parameter is in this store already, as {parameter.name!r}")
            self._params[key] = parameter
            parameter._name = key
            parameter._home = weakref.ref(self)
        return parameter

    def get(self, name: str, default: Any = None) -> Any:
        """The Parameter of that name, or ``default``."""
        with self._lock:
            return self._params.get(_text("get", name), default)

    def __getitem__(self, name: str) -> Parameter:
        with self._lock:
            found = self._params.get(_text("store[name]", name))
        if found is None:
            raise UnknownName(f"store[{name!r}]: there is no such Parameter; there are {len(self)}")
        return found

    def delete(self, name: str) -> None:
        """Forgets a Parameter. Whoever holds it may go on using it.

        Raises:
            UnknownName: there is none of that name.
        """
        with self._lock:
            if self._params.pop(_text("delete", name), None) is None:
                raise UnknownName(f"delete: {name!r}: there is no such Parameter")

    __delitem__ = delete

    def names(self, prefix: str = "") -> list[str]:
        """The names, sorted; with a prefix, that name itself and those below it.

        >>> store = ParamStore()
        >>> for name in ("user/emb", "user/bias", "users"):
        ...     _ = store.create(name, (1,))
        >>> store.names("user")
        ['user/bias', 'user/emb']
        """
        if not isinstance(prefix, str):
            raise DtypeError(f"names: prefix = {prefix!r} must be a str, not {type(prefix).__name__}")
        with self._lock:
            found = sorted(self._params)
        stem = prefix.rstrip("/")
        return [n for n in found if not stem or n == stem or n.startswith(stem + "/")]

    def items(self, prefix: str = "") -> list[tuple[str, Parameter]]:
        """(name, Parameter) pairs, sorted by name: those of one moment."""
        with self._lock:
            return [(n, self._params[n]) for n in self.names(prefix)]

    def values(self, prefix: str = "") -> list[Parameter]:
        """The Parameters, sorted by name."""
        return [p for _, p in self.items(prefix)]

    def keys(self) -> list[str]:
        """All names, sorted."""
        return self.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        with self._lock:
            return isinstance(name, str) and name in self._params

    def __len__(self) -> int:
        return len(self._params)

    @property
    def num_bytes(self) -> int:
        """Bytes of all buffers together."""
        return sum(p.nbytes for p in self.values())

    def scope(self, prefix: str) -> Scope:
        """This store seen from below a prefix.

        >>> store = ParamStore()
        >>> store.scope("user").create("emb", (1,)).name
        'user/emb'
        """
        return Scope(self, _checked_name("scope", prefix.rstrip("/") if isinstance(prefix, str) else prefix))

    def __repr__(self) -> str:
        lines = [f"ParamStore({len(self)} parameters, {self.num_bytes} bytes)"]
        lines += [f"  {name}: {p.dtype} {p.shape} on {p.device}" for name, p in self.items()]
        return "\n".join(lines)

    def __getstate__(self) -> dict[str, Parameter]:
        return dict(self.items())

    def __setstate__(self, state: dict[str, Parameter]) -> None:
        self.__init__()  # type: ignore[misc]
        self._params.update(state)
        for parameter in state.values():
            parameter._home = weakref.ref(self)


class Scope:
    """The part of a store below a prefix; names are relative to it. It holds nothing itself."""

    def __init__(self, store: ParamStore, prefix: str) -> None:
        self.store, self.prefix = store, prefix

    def _full(self, name: str) -> str:
        if not isinstance(name, str):
            raise DtypeError(f"scope {self.prefix!r}: name = {name!r} must be a str, not {type(name).__name__}")
        return f"{self.prefix}/{name}"

    def create(self, name: str, *args: Any, **kwargs: Any) -> Parameter:
        """`ParamStore.create` below the prefix."""
        return self.store.create(self._full(name), *args, **kwargs)

    def get_or_create(self, name: str, *args: Any, **kwargs: Any) -> Parameter:
        """`ParamStore.get_or_create` below the prefix."""
        return self.store.get_or_create(self._full(name), *args, **kwargs)

    def get(self, name: str, default: Any = None) -> Any:
        """`ParamStore.get` below the prefix."""
        return self.store.get(self._full(name), default)

    def delete(self, name: str) -> None:
        """`ParamStore.delete` below the prefix."""
        self.store.delete(self._full(name))

    def scope(self, prefix: str) -> Scope:
        """A further prefix."""
        return self.store.scope(self._full(prefix))

    def names(self) -> list[str]:
        """The relative names, sorted."""
        return [n[len(self.prefix) + 1 :] for n in self.store.names(self.prefix) if n != self.prefix]

    def __getitem__(self, name: str) -> Parameter:
        return self.store[self._full(name)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._full(name) in self.store

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __repr__(self) -> str:
        return f"Scope({self.prefix!r}, {len(self)} parameters)"
