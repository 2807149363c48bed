"""Initializers: callables ``f(shape, dtype)`` that give the next rows of a table.

A table is made a chunk of rows at a time. The random ones draw from one seeded stream, so that the values do not depend on the size
of the chunks. An initializer may be used for many tables; each one starts at the beginning of the stream.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import dtypes
from .convert import Array
from .errors import ArgumentError, DtypeError

__all__ = ["Initializer", "constant", "zeros", "ones", "normal", "uniform"]

Fill = Callable[[tuple[int, ...], "np.dtype[Any]"], Array]


class Initializer:
    """Something that starts a stream of rows for each table: ``fresh()`` gives the callable that the table is filled with."""

    def __init__(self, text: str, fresh: Callable[[], Fill]) -> None:
        self._text, self.fresh = text, fresh

    def __call__(self, shape: tuple[int, ...], dtype: Any) -> Array:
        return self.fresh()(shape, dtypes.resolve("initializer", dtype))

    def __repr__(self) -> str:
        return f"paramstore.init.{self._text}"


def constant(value: Any) -> Initializer:
    """Every cell is ``value``.

    >>> constant(2)((3,), "float32").tolist()
    [2.0, 2.0, 2.0]
    """

    def rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        from . import convert

        one = convert.updates_of("constant", "value", value, dtype, convert=True)
        return np.broadcast_to(one, shape)

    return Initializer(f"constant({value!r})", lambda: rows)


def zeros() -> Initializer:
    """Every cell is 0."""
    return constant(0)


def ones() -> Initializer:
    """Every cell is 1."""
    return constant(1)


def _number(call: str, argument: str, value: Any) -> float:
    try:
        plain = np.isscalar(value) and not isinstance(value, (bool, np.bool_, complex, np.complexfloating, str, bytes))
        number = float(value) if plain else np.nan
    except (TypeError, ValueError, OverflowError):  # a date; a number past every float
        number = np.nan
    if not np.isfinite(number):
        raise ArgumentError(f"{call}: {argument} = {value!r} must be a finite number")
    return number


def _seed(call: str, value: Any) -> int | None:
    try:
        seed = None if value is None or isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        seed = None
    if value is not None and (seed is None or seed < 0):
        raise ArgumentError(f"{call}: seed = {value!r} must be a non-negative integer or None")
    return seed


def _random(call: str, text: str, seed: int | None, draw: Callable[[np.random.Generator, tuple[int, ...], Any], Array]) -> Initializer:
    start = _seed(call, seed)

    def fresh() -> Fill:
        stream = np.random.Generator(np.random.PCG64(start))

        def rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
            if dtypes.kind(dtype) != "float":
                raise DtypeError(f"{call}: dtype = {dtype} must be a real floating type")
            wide = np.float64 if dtype == np.float64 else np.float32
            return draw(stream, shape, wide).astype(dtype, copy=False)

        return rows

    return Initializer(text, fresh)


def normal(mean: float = 0.0, std: float = 1.0, seed: int | None = None) -> Initializer:
    """Normally distributed cells; without a seed they differ at every use.

    Raises:
        ArgumentError: a mean that is not finite, a negative std or seed.

    >>> normal(std=0.1, seed=0)((2, 2), "float32").shape
    (2, 2)
    """
    m, s = _number("normal", "mean", mean), _number("normal", "std", std)
    if s < 0:
        raise ArgumentError(f"normal: std = {std} must not be negative")

    def draw(stream: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
        out = stream.standard_normal(shape, dtype)
        out *= dtype(s)
        out += dtype(m)
        return out

    return _random("normal", f"normal(mean={mean}, std={std}, seed={seed})", seed, draw)


def uniform(low: float = 0.0, high: float = 1.0, seed: int | None = None) -> Initializer:
    """Cells spread evenly over [low, high); without a seed they differ at every use.

    Raises:
        ArgumentError: limits that are not finite or not in order, a negative seed.

    >>> bool((uniform(-1, 1, seed=0)((100,), "float64") < 1).all())
    True
    """
    a, b = _number("uniform", "low", low), _number("uniform", "high", high)
    if b < a:
        raise ArgumentError(f"uniform: high = {high} must not be below low = {low}")

    def draw(stream: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
        out = stream.random(shape, dtype)
        out *= dtype(b - a)
        out += dtype(a)
        return out

    return _random("uniform", f"uniform(low={low}, high={high}, seed={seed})", seed, draw)
