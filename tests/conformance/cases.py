"""What random cases are made of: small shapes with zero sizes, values with extremes, indices with duplicates and faults.

A `Draw` is made from (seed, original, number), so that any case can be made again on its own.
"""

from __future__ import annotations

import importlib
from typing import Any
from zlib import crc32

import numpy as np

from .outcomes import Case

__all__ = ["Draw", "case"]

Array = np.ndarray[Any, np.dtype[Any]]
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")


class Draw:
    """Draws one case. Probabilities are chosen so that most cases are valid, and every kind of fault is met within some hundred."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(list(seed))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """An int in [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def mostly(self, usual: Any, *others: Any, probability: float = 0.1) -> Any:
        """``usual``, or with some probability one of the others."""
        return self.pick(*others) if self.chance(probability) else usual

    def dtype(self, *names: str) -> str:
        """One of the names; by default any with arithmetic, those in use more often."""
        return str(self.pick(*(names or ("float32", "float32", "int32", "int64", "float64", *INTS, *FLOATS))))

    def shape(self, least: int = 0, most: int = 3, largest: int = 4, zero: float = 0.05) -> tuple[int, ...]:
        """A shape of rank least to most; each size is at most ``largest``, and 0 with probability ``zero``."""
        return tuple(0 if self.chance(zero) else self.integer(1, largest) for _ in range(self.integer(least, most)))

    def other_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape near ``shape``: a size changed, an axis more or less."""
        sizes = list(shape)
        how = self.integer(0, 2 if sizes else 0)
        if how == 0:
            sizes.insert(self.integer(0, len(sizes)), self.integer(1, 2))
        elif how == 1:
            del sizes[self.integer(0, len(sizes) - 1)]
        else:
            d = self.integer(0, len(sizes) - 1)
            sizes[d] = max(0, sizes[d] + self.pick(-1, 1))
        return tuple(sizes)

    def values(self, shape: tuple[int, ...], dtype: str, extremes: float = 0.1, zero: bool = True) -> Array:
        """Small numbers that round differently in any other order, and now and then an array with extremes of the dtype.

        Args:
            zero: False leaves no zero, for divisors.
        """
        kind = np.dtype(dtype).kind if dtype != "bfloat16" else "f"
        size = int(np.prod(shape))
        if kind == "b":
            flat = self.rng.random(size) < 0.5
        elif kind in "iu":
            info = np.iinfo(dtype)
            flat = self.rng.integers(max(info.min, -9), 10, size).astype(dtype)
            ends = np.array([info.min, info.max, 0, info.max - 1, info.min + 1], dtype)
        else:
            flat = self.rng.choice(self.rng.standard_normal(8).round(int(self.rng.integers(0, 8))) * self.pick(1, 1, 1e3, 1e-3), size)
            if kind == "c":
                flat = flat + 1j * self.rng.permutation(flat)
            ends = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 65504, 1e-7])
            if dtype in ("float64", "complex128"):
                ends = np.append(ends, [1e308, 5e-324])
            flat = flat.astype(self._numpy(dtype))
        if size and kind != "b" and self.chance(extremes * 2):
            where = self.rng.random(size) < 0.4
            flat[where] = self.rng.choice(ends, int(where.sum())).astype(flat.dtype)
        if not zero:
            flat[flat == 0] = 1
        return np.asarray(flat, self._numpy(dtype)).reshape(shape)

    @staticmethod
    def _numpy(dtype: str) -> np.dtype[Any]:
        if dtype == "bfloat16":
            import ml_dtypes

            return np.dtype(ml_dtypes.bfloat16)
        return np.dtype(dtype)

    def indices(self, shape: tuple[int, ...], size: int, dtype: str = "int64", negative: float = 0.05, outside: float = 0.05) -> Array:
        """Indices into an axis of ``size``; with these probabilities the array holds some negative ones, or one outside."""
        low = -size if self.chance(negative) else 0
        flat = self.rng.integers(low, max(size, 1), int(np.prod(shape)))
        if flat.size and self.chance(outside):
            ends = [size, -size - 1, size + 5, np.iinfo(np.int32).max, np.iinfo(np.int32).min]
            if dtype == "int64":
                ends += [2**40, np.iinfo(np.int64).max, np.iinfo(np.int64).min]
            flat[self.integer(0, flat.size - 1)] = self.pick(*ends)
        return flat.astype(np.int64).reshape(shape).astype(dtype)

    def tuples(
        self, shape: tuple[int, ...], dims: tuple[int, ...], dtype: str = "int64", negative: float = 0.05, outside: float = 0.05
    ) -> Array:
        """Index tuples of shape ``shape + (len(dims),)``."""
        columns = [self.indices(shape, size, dtype, negative, outside / max(len(dims), 1)) for size in dims]
        return np.stack(columns, axis=-1) if columns else np.empty((*shape, 0), dtype)


def case(original: str, seed: int, number: int) -> Case:
    """The case of that number."""
    draw = Draw(seed, crc32(original.encode()), number)
    operator, arguments = importlib.import_module(f"{__package__}.generators.{original}").case(draw)
    return Case(original, operator, arguments)
