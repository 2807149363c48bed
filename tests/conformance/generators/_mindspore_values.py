"""Shapes, values, indices and faults of the MindSpore cases."""

from __future__ import annotations

from typing import Any

import numpy as np


class Rng:
    """Random numbers, and at most one fault for each case: with two, the originals differ in which they report."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.random, self.integers, self.choice = generator.random, generator.integers, generator.choice
        self.spent = False

    def fault(self, probability: float) -> bool:
        if self.spent or self.random() >= probability:
            return False
        self.spent = True
        return True


NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
REST = ("bool", "complex64", "complex128")
OPS = ("add", "sub", "mul", "div", "min", "max", "update")


class Param:
    """Marks the argument that is a Parameter."""

    def __init__(self, value: Any) -> None:
        self.value = np.asarray(value)


def pick(rng: Rng, *choices: Any) -> Any:
    return choices[rng.integers(len(choices))]


def dtype_of(rng: Rng) -> str:
    """Mostly the common ones; some that many operators refuse."""
    roll = rng.random()
    return "float32" if roll < 0.3 else "int32" if roll < 0.4 else pick(rng, *REST) if rng.fault(0.06) else pick(rng, *NUMBERS)


def values(rng: Rng, shape: Any, dtype: str, nonzero: bool = False) -> np.ndarray[Any, Any]:
    """Small numbers (exact in every dtype, so that their order cannot matter) or, in some cases, the extremes too."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    out = np.asarray(rng.integers(1 if nonzero else 0, 6, shape)).astype(kind)
    if kind.kind != "u":
        out = np.where(rng.random(shape) < 0.3, -out, out).astype(kind)
    if rng.random() < 0.25:
        info = np.finfo(kind) if kind.kind in "fc" else np.iinfo(kind)
        ends = [info.max, info.min] + ([np.nan, np.inf, -np.inf, -0.0, info.tiny, 0.1, 1 / 3] if kind.kind in "fc" else [info.max - 1])
        with np.errstate(all="ignore"):
            extreme = np.array(ends).astype(kind) if kind.kind in "fc" else np.array(ends, kind)
        out = np.where(rng.random(shape) < 0.4, extreme[rng.integers(0, len(extreme), shape)], out).astype(kind)
    return np.asarray(out)


def ints(rng: Rng, shape: Any, size: int, dtype: str = "") -> np.ndarray[Any, Any]:
    """Indices inside [0, size); in some cases one outside."""
    out = np.asarray(rng.integers(0, max(size, 1), shape))
    if out.size and (rng.fault(0.08) or not size):
        rng.spent = True
        out.reshape(-1)[rng.integers(out.size)] = pick(rng, -1, size, size + 3, -size - 1)
    return out.astype(dtype or index_dtype(rng))


def index_dtype(rng: Rng) -> str:
    roll = rng.random()
    return pick(rng, "int16", "uint8", "uint32", "float32", "bool", "int8") if rng.fault(0.04) else "int32" if roll < 0.5 else "int64"


def shape_of(rng: Rng, least: int = 1, most: int = 3) -> tuple[int, ...]:
    return tuple(int(pick(rng, 1, 2, 2, 3, 4)) if rng.random() < 0.98 else 0 for _ in range(rng.integers(least, most + 1)))


def bent(rng: Rng, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that is wrong now and then."""
    if not rng.fault(0.06):
        return shape
    roll = rng.integers(4)
    if roll == 0 or not shape:
        return (*shape, 1)
    return shape[1:] if roll == 1 else shape[:-1] if roll == 2 else (*shape[:-1], shape[-1] + 1)


def updates_dtype(rng: Rng, dtype: str) -> str:
    return pick(rng, *NUMBERS, *REST) if rng.fault(0.12) else dtype


def divisor(op: str, dtype: str, u: np.ndarray[Any, Any], rng: Rng) -> np.ndarray[Any, Any]:
    """Integer zeros and -1 among the divisors kill or saturate: rare, so that the child lives for a while. A zero is a fault, too."""
    if op == "div" and u.dtype.kind == "f" and rng.spent:
        return np.where(u == 0, np.array(2, u.dtype), u)
    if op != "div" or u.dtype.kind not in "iu" or rng.random() < 0.02:
        return u
    return np.where((u == 0) | (u == np.array(-1).astype(u.dtype)), np.array(2, u.dtype), u).astype(u.dtype)
