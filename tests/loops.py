"""The defining loop in plain Python, scalar by scalar: what the kernels are held against, bit for bit.

Nothing here calls paramstore, and NumPy only holds the values: integers are Python integers cut to their width, floats are Python floats
that `rounded` brings to the format at hand. That is exact: with 24 bits or fewer, an operation in float64 that is rounded once more gives
the same bits as the operation itself (Figueroa, When is double rounding innocuous?, 1995), subnormal results included.

The `fold_*` functions are the same loop with one row of values at a time, for sizes at which threads work; a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

try:
    import ml_dtypes

    BFLOAT16: np.dtype[Any] | None = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    BFLOAT16 = None

OPS = ("add", "sub", "mul", "div", "min", "max", "update")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", *(("bfloat16",) if BFLOAT16 is not None else ()), "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX)
INTEGERS = (*SIGNED, *UNSIGNED)


def dtype_of(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        assert BFLOAT16 is not None
        return BFLOAT16
    return np.dtype(name)


def defined(op: str, dtype: str) -> bool:
    """Whether the operator exists for the dtype: bool has no sub and div, complex numbers have no order."""
    if dtype == "bool":
        return op not in ("sub", "div")
    return not (dtype in COMPLEX and op in ("min", "max"))


CELLS = [(op, dtype) for op in OPS for dtype in DTYPES if defined(op, dtype)]


class BadIndex(Exception):
    """An index outside, at a position in the indices."""

    def __init__(self, position: tuple[int, ...], value: int) -> None:
        super().__init__(position, value)
        self.position, self.value = position, value


class ZeroDivisor(Exception):
    """An integer zero among the divisors, at a position in the updates."""

    def __init__(self, position: tuple[int, ...]) -> None:
        super().__init__(position)
        self.position = position


# ---- one step -----------------------------------------------------------------------------------------------------------------------

Step = Callable[[Any, Any], Any]
Format = tuple[int, int, int]  # bits of precision, exponent of the smallest subnormal, exponent of the first power of two past the end
FLOAT32, FLOAT16, BFLOAT16_FORMAT = (24, -149, 128), (11, -24, 16), (8, -133, 128)


def rounded(v: float, to: Format) -> float:
    """The nearest value of a binary format, ties to even; past its end, infinity.

    >>> rounded(2049.0, FLOAT16), rounded(2051.0, FLOAT16), rounded(65520.0, FLOAT16), rounded(2.0**-25, FLOAT16)
    (2048.0, 2052.0, inf, 0.0)
    """
    precision, least, end = to
    if v == 0 or v != v or math.isinf(v):
        return v
    exponent = math.frexp(v)[1]  # v = m * 2**exponent, 0.5 <= |m| < 1
    if exponent > end:
        return math.copysign(math.inf, v)
    unit = max(exponent - precision, least)
    out = math.ldexp(round(math.ldexp(v, -unit)), unit)
    return math.copysign(math.inf if abs(out) >= 2.0**end else abs(out), v)


_ROUNDINGS: dict[str, Callable[[float], float]] = {
    "float64": lambda v: v,
    "float32": lambda v: rounded(v, FLOAT32),
    "float16": lambda v: rounded(rounded(v, FLOAT32), FLOAT16),  # each step in float32, then the half type
    "bfloat16": lambda v: rounded(rounded(v, FLOAT32), BFLOAT16_FORMAT),
}


def _ieee_div(x: float, u: float) -> float:
    if u != 0 or x != x:
        return x / u if u != 0 else x
    return math.nan if x == 0 else math.copysign(math.inf, math.copysign(1, x) * math.copysign(1, u))


def _float_min(x: float, u: float) -> float:
    if x != x or u != u:
        return math.nan
    if x == 0 and u == 0:
        return -0.0 if math.copysign(1, x) < 0 or math.copysign(1, u) < 0 else 0.0
    return x if x < u else u


def _float_max(x: float, u: float) -> float:
    if x != x or u != u:
        return math.nan
    if x == 0 and u == 0:
        return 0.0 if math.copysign(1, x) > 0 or math.copysign(1, u) > 0 else -0.0
    return x if x > u else u


def _float_step(op: str, dtype: str) -> Step:
    to = _ROUNDINGS[dtype]
    exact: dict[str, Step] = {"add": lambda x, u: x + u, "sub": lambda x, u: x - u, "mul": lambda x, u: x * u, "div": _ieee_div}
    if op in exact:
        f = exact[op]
        return lambda x, u: to(f(x, u))
    return _float_min if op == "min" else _float_max


def _complex_step(op: str, dtype: str) -> Step:
    r = _ROUNDINGS["float32" if dtype == "complex64" else "float64"]

    def add(x: complex, u: complex) -> complex:
        return complex(r(x.real + u.real), r(x.imag + u.imag))

    def sub(x: complex, u: complex) -> complex:
        return complex(r(x.real - u.real), r(x.imag - u.imag))

    def mul(x: complex, u: complex) -> complex:
        return complex(r(r(x.real * u.real) - r(x.imag * u.imag)), r(r(x.real * u.imag) + r(x.imag * u.real)))

    def div(x: complex, u: complex) -> complex:  # R. L. Smith, Algorithm 116, CACM 5 (1962), as NumPy writes it
        a, b, c, d = x.real, x.imag, u.real, u.imag
        if abs(c) >= abs(d):
            if c == 0 and d == 0:
                return complex(_ieee_div(a, 0.0), _ieee_div(b, 0.0))
            ratio = r(_ieee_div(d, c))
            scale = r(_ieee_div(1.0, r(c + r(d * ratio))))
            return complex(r(r(a + r(b * ratio)) * scale), r(r(b - r(a * ratio)) * scale))
        ratio = r(_ieee_div(c, d))
        scale = r(_ieee_div(1.0, r(d + r(c * ratio))))
        return complex(r(r(r(a * ratio) + b) * scale), r(r(r(b * ratio) - a) * scale))

    return {"add": add, "sub": sub, "mul": mul, "div": div}[op]


def _integer_step(op: str, dtype: str) -> Step:
    bits, signed = np.dtype(dtype).itemsize * 8, dtype in SIGNED
    mask, top = (1 << bits) - 1, 1 << (bits - 1)

    def cut(v: int) -> int:
        v &= mask
        return v - (mask + 1) if signed and v >= top else v

    def div(x: int, u: int) -> int:
        quotient = abs(x) // abs(u)
        return cut(-quotient if (x < 0) != (u < 0) else quotient)

    steps: dict[str, Step] = {
        "add": lambda x, u: cut(x + u), "sub": lambda x, u: cut(x - u), "mul": lambda x, u: cut(x * u), "div": div,
        "min": lambda x, u: u if u < x else x, "max": lambda x, u: u if u > x else x,
    }  # fmt: skip
    return steps[op]


def step(op: str, dtype: str) -> Step:
    """One step ``x = op(x, u)`` on Python scalars."""
    if op == "update":
        return lambda x, u: u
    if dtype == "bool":
        return (lambda x, u: x or u) if op in ("add", "max") else (lambda x, u: x and u)
    if dtype in INTEGERS:
        return _integer_step(op, dtype)
    return _float_step(op, dtype) if dtype in FLOATS else _complex_step(op, dtype)


# ---- arrays to Python scalars and back ----------------------------------------------------------------------------------------------


def decode(array: np.ndarray[Any, Any]) -> list[Any]:
    """The values in C order, as Python scalars."""
    flat = np.array(array, copy=True, order="C").reshape(-1)
    if flat.dtype.name == "bfloat16":
        return (flat.view(np.uint16).astype(np.uint32) << 16).view(np.float32).tolist()
    return flat.tolist()


def encode(values: Sequence[Any], dtype: np.dtype[Any], shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """The array of those values, each of which the dtype can hold exactly."""
    if dtype.name == "bfloat16":
        wide = np.array(values, np.float32).view(np.uint32)
        return (wide >> 16).astype(np.uint16).view(dtype).reshape(shape)
    return np.array(values, dtype.newbyteorder("=") if not dtype.isnative else dtype).reshape(shape)


# ---- the bounds rule ----------------------------------------------------------------------------------------------------------------


def place(index: int, size: int, bounds: str, wrap: bool) -> int | None:
    """Where an index points; None if its update is dropped.

    Raises:
        IndexError: it points nowhere, and the rule is to say so (clipping into nothing included).
    """
    if wrap and -size <= index < 0:
        index += size
    if 0 <= index < size:
        return index
    if bounds == "drop":
        return None
    if bounds == "clip" and size:
        return 0 if index < 0 else size - 1
    raise IndexError


def _placed(indices: np.ndarray[Any, Any], sizes: Sequence[int], bounds: str, wrap: bool) -> list[int | None]:
    """`place` for every index in C order; the size cycles through ``sizes``."""
    out = []
    for q, index in zip(np.ndindex(indices.shape), indices.reshape(-1).tolist()):
        try:
            out.append(place(index, sizes[q[-1] if len(sizes) > 1 else 0], bounds, wrap))
        except IndexError:
            raise BadIndex(q, index) from None
    return out


def row_targets(x_shape: Sequence[int], indices: np.ndarray[Any, Any], bounds: str = "raise", wrap: bool = False) -> list[int | None]:
    """For each index the row it addresses."""
    return _placed(indices, x_shape[:1], bounds, wrap)


def tuple_targets(x_shape: Sequence[int], indices: np.ndarray[Any, Any], bounds: str = "raise", wrap: bool = False) -> list[int | None]:
    """For each vector along the last axis the number, in C order, of the slice it addresses."""
    k = indices.shape[-1]
    count = math.prod(indices.shape[:-1])
    flat = _placed(indices, x_shape[:k] or (1,), bounds, wrap)
    out: list[int | None] = []
    for n in range(count):
        row: int | None = 0
        for size, index in zip(x_shape[:k], flat[n * k : (n + 1) * k]):
            row = None if row is None or index is None else row * size + index
        out.append(row)
    return out


def cell_targets(
    x_shape: Sequence[int], indices: np.ndarray[Any, Any], axis: int, bounds: str = "raise", wrap: bool = True
) -> list[int | None]:
    """For each position of the indices the number, in C order, of the cell it addresses."""
    along = _placed(indices, (x_shape[axis],), bounds, wrap)
    out: list[int | None] = []
    for q, index in zip(product(*map(range, indices.shape)), along):
        cell: int | None = 0
        for d, size in enumerate(x_shape):
            coordinate = index if d == axis else q[d]
            cell = None if cell is None or coordinate is None else cell * size + coordinate
        out.append(cell)
    return out


# ---- the loop -----------------------------------------------------------------------------------------------------------------------


def _cells(targets: Iterable[int | None], width: int) -> Iterator[int | None]:
    for target in targets:
        for w in range(width):
            yield None if target is None else target * width + w


def loop(op: str, x: np.ndarray[Any, Any], targets: Sequence[int | None], width: int, updates: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """``for k in C order: x[target(k)] = op(x[target(k)], updates[k])`` on a copy of x, in slices of ``width`` cells."""
    dtype = x.dtype.name
    cells, us = decode(x), decode(updates)
    if op == "div" and dtype in INTEGERS and 0 in us:
        raise ZeroDivisor(tuple(int(i) for i in np.unravel_index(us.index(0), updates.shape)))
    f = step(op, dtype)
    for cell, u in zip(_cells(targets, width), us, strict=True):
        if cell is not None:
            cells[cell] = f(cells[cell], u)
    return encode(cells, x.dtype, x.shape)


def scatter_rows(
    op: str, x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], updates: np.ndarray[Any, Any], bounds: str = "raise", wrap: bool = False
) -> np.ndarray[Any, Any]:
    """``x[indices[i, ..., j], :] = op(x[...], updates[i, ..., j, :])``."""
    return loop(op, x, row_targets(x.shape, indices, bounds, wrap), math.prod(x.shape[1:]), updates)


def scatter_tuples(
    op: str, x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], updates: np.ndarray[Any, Any], bounds: str = "raise", wrap: bool = False
) -> np.ndarray[Any, Any]:
    """``x[indices[i, ..., j, :]] = op(x[...], updates[i, ..., j])``."""
    return loop(op, x, tuple_targets(x.shape, indices, bounds, wrap), math.prod(x.shape[indices.shape[-1] :]), updates)


def scatter_elements(
    op: str, x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], updates: np.ndarray[Any, Any], axis: int,
    bounds: str = "raise", wrap: bool = True,
) -> np.ndarray[Any, Any]:  # fmt: skip
    """``x[..., indices[q], ...] = op(x[...], updates[q])``."""
    return loop(op, x, cell_targets(x.shape, indices, axis, bounds, wrap), 1, updates)


def read(x: np.ndarray[Any, Any], targets: Sequence[int | None], width: int, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """A gather: the cells addressed; zeros where one is dropped."""
    cells = decode(x)
    zero = decode(np.zeros(1, x.dtype))[0]
    return encode([zero if c is None else cells[c] for c in _cells(targets, width)], x.dtype, shape)


def gather(x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], axis: int = 0, bounds: str = "raise", wrap: bool = False) -> np.ndarray[Any, Any]:
    """Slices along an axis, one outer position after the other."""
    rows = row_targets((x.shape[axis],), indices, bounds, wrap)
    size, width = x.shape[axis], math.prod(x.shape[axis + 1 :])
    targets = [None if r is None else o * size + r for o in range(math.prod(x.shape[:axis])) for r in rows]
    return read(x, targets, width, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def gather_tuples(x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], bounds: str = "raise") -> np.ndarray[Any, Any]:
    k = indices.shape[-1]
    return read(x, tuple_targets(x.shape, indices, bounds), math.prod(x.shape[k:]), (*indices.shape[:-1], *x.shape[k:]))


def gather_elements(x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], axis: int, bounds: str = "raise") -> np.ndarray[Any, Any]:
    return read(x, cell_targets(x.shape, indices, axis, bounds), 1, indices.shape)


# ---- the loop a row at a time, for large calls ----------------------------------------------------------------------------------------


def _float32_of(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if x.dtype.name == "bfloat16":
        return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return x.astype(np.float32)


def _half_of(v: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype.name == "float16":
        return v.astype(dtype)
    bits = v.view(np.uint32)
    narrow = np.where(v != v, np.uint32(0x7FC0), (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16)
    return narrow.astype(np.uint16).view(dtype)


def _pick(first: np.ndarray[Any, Any], x: np.ndarray[Any, Any], u: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """x where ``first`` says so or x is NaN, else u; a NaN in u wins."""
    return np.where((x != x) | (first & (u == u)), x, u)


def _vector_integer_div(x: np.ndarray[Any, Any], u: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    quotient = np.abs(x).view(unsigned) // np.abs(u).view(unsigned)  # abs(lowest) is lowest, which unsigned is its magnitude
    return np.where((x < 0) != (u < 0), np.zeros((), unsigned) - quotient, quotient).view(x.dtype)


def _vector_complex(op: str, x: np.ndarray[Any, Any], u: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    a, b, c, d = x.real, x.imag, u.real, u.imag
    out = np.empty(np.broadcast(x, u).shape, x.dtype)
    if op == "mul":
        out.real, out.imag = a * c - b * d, a * d + b * c
        return out
    first = np.abs(c) >= np.abs(d)
    ratio = np.where(first, d / c, c / d)
    scale = np.where(first, 1 / (c + d * ratio), 1 / (d + c * ratio))
    zero = (c == 0) & (d == 0)
    out.real = np.where(zero, a / np.abs(c), np.where(first, a + b * ratio, a * ratio + b) * scale)
    out.imag = np.where(zero, b / np.abs(c), np.where(first, b - a * ratio, b * ratio - a) * scale)
    return out


def vector_step(op: str, dtype: str) -> Step:
    """`step` on arrays. Integers wrap, as NumPy's arrays do."""
    if op == "update":
        return lambda x, u: u
    if dtype in ("float16", "bfloat16"):
        target, inner = dtype_of(dtype), vector_step(op, "float32")
        return lambda x, u: _half_of(inner(_float32_of(x), _float32_of(u)), target)
    if dtype in COMPLEX and op in ("mul", "div"):
        return lambda x, u: _vector_complex(op, x, u)
    if dtype in INTEGERS and op == "div":
        return _vector_integer_div if dtype in SIGNED else np.floor_divide
    if op == "min":
        return lambda x, u: _pick((x < u) | ((x == u) & np.signbit(x)), x, u) if dtype in FLOATS else np.minimum(x, u)
    if op == "max":
        return lambda x, u: _pick((x > u) | ((x == u) & np.signbit(u)), x, u) if dtype in FLOATS else np.maximum(x, u)
    return {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op]


def fold_rows(op: str, x: np.ndarray[Any, Any], rows: Sequence[int | None], updates: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The loop for ``x (R, W)``, resolved rows (N) and ``updates (N, W)``."""
    out, f = x.copy(), vector_step(op, x.dtype.name)
    with np.errstate(all="ignore"):
        for row, u in zip(rows, updates, strict=True):
            if row is not None:
                out[row] = f(out[row], u)
    return out


def fold_elements(
    op: str, x: np.ndarray[Any, Any], indices: np.ndarray[Any, Any], updates: np.ndarray[Any, Any], axis: int, bounds: str = "raise"
) -> np.ndarray[Any, Any]:
    """The loop of an elements call with wrapping indices: positions that differ in another coordinate than the axis never meet."""
    out, f = x.copy(), vector_step(op, x.dtype.name)
    table, ids, us = np.moveaxis(out, axis, 0), np.moveaxis(indices, axis, 0).astype(np.int64), np.moveaxis(updates, axis, 0)
    size = x.shape[axis]
    ids = np.where((ids < 0) & (ids >= -size), ids + size, ids)
    if bounds == "clip":
        ids = np.clip(ids, 0, size - 1)
    inside = (ids >= 0) & (ids < size)
    assert bounds == "drop" or inside.all()
    rest = np.indices(ids.shape[1:])
    with np.errstate(all="ignore"):
        for m in range(ids.shape[0]):
            at = (ids[m][inside[m]], *(c[inside[m]] for c in rest))
            table[at] = f(table[at], us[m][inside[m]])
    return out


# ---- comparing ----------------------------------------------------------------------------------------------------------------------

_FLOAT_BITS = {  # name -> bits of an item or component, of infinity
    "float16": (16, 0x7C00), "bfloat16": (16, 0x7F80), "float32": (32, 0x7F800000), "float64": (64, 0x7FF0000000000000),
    "complex64": (32, 0x7F800000), "complex128": (64, 0x7FF0000000000000),
}  # fmt: skip


def bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of an array, as integers in C order, with one pattern for every NaN."""
    flat = np.array(array, copy=True, order="C").reshape(-1)
    if flat.dtype.name not in _FLOAT_BITS:
        return flat.view(f"u{flat.dtype.itemsize}")
    width, infinity = _FLOAT_BITS[flat.dtype.name]
    out = flat.view(f"u{width // 8}")
    magnitude = out & out.dtype.type((1 << (width - 1)) - 1)
    out[magnitude > infinity] = infinity + 1
    return out


def assert_same(got: Any, expected: np.ndarray[Any, Any], context: object = "") -> None:
    """Equal shape, dtype and bits; all NaNs count as equal, the zeros do not."""
    assert isinstance(got, np.ndarray), type(got)
    assert got.dtype == expected.dtype, (got.dtype, expected.dtype, context)
    assert got.shape == expected.shape, (got.shape, expected.shape, context)
    a, b = bits(got), bits(expected)
    if not np.array_equal(a, b):
        per_item = len(a) // max(1, got.size)
        first = int(np.argmax(a != b)) // per_item
        at = tuple(int(i) for i in np.unravel_index(first, got.shape))
        raise AssertionError(f"{context}: {int((a != b).sum())} of {len(a)} differ, first at {at}: {got[at]!r}, not {expected[at]!r}")


# ---- values that find mistakes --------------------------------------------------------------------------------------------------------


def pool(dtype: str, zero: bool = True) -> np.ndarray[Any, Any]:
    """Values at the edges of a dtype, and some ordinary ones."""
    rng = np.random.default_rng(5)
    target = dtype_of(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(target)
        edges = [0, 1, 2, 3, 7, 10, info.max, info.max - 1, info.max // 2, info.max // 2 + 1, info.min, info.min + 1]
        if dtype in SIGNED:
            edges += [-1, -2, -3, -7, info.min // 2, info.min // 2 - 1]
        out = np.concatenate([np.array(edges, target), rng.integers(info.min, info.max, 14, target, endpoint=True)])
        return out if zero else out[out != 0]
    if dtype in COMPLEX:
        component = pool("float32" if dtype == "complex64" else "float64")
        corners = np.array([0.0, -0.0, 1.0, -1.0, np.inf, np.nan, component[1], component[14]], component.dtype)
        grid = np.stack(np.meshgrid(corners, corners), -1).reshape(-1, 2)
        pairs = np.concatenate([grid, component[rng.integers(0, len(component), (40, 2))], rng.standard_normal((20, 2)).astype(component.dtype)])
        return np.ascontiguousarray(pairs).view(target).reshape(-1)
    width, infinity = _FLOAT_BITS[dtype]
    precision = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[dtype]
    one = (infinity >> precision) // 2 << precision
    patterns = [
        0, 1, 2, 3, (1 << precision) - 1, 1 << precision, (1 << precision) + 1,  # zero, subnormals, the least normals
        one, one + 1, one - 1, one + (1 << precision), one + (1 << precision - 1), one + (precision << precision), one + (precision + 1 << precision),
        infinity - 1, infinity - 2, infinity, infinity + (1 << precision - 1),
    ]  # fmt: skip
    patterns += [p | 1 << (width - 1) for p in patterns]
    values = np.array(patterns, f"u{width // 8}").view(target)
    with np.errstate(all="ignore"):
        ordinary = np.concatenate([rng.standard_normal(16) * 3, np.array([0.1, -1 / 3, 1e-3, 1e3, 7.5])]).astype(np.float32).astype(target)
    return np.concatenate([values, ordinary, ordinary])
