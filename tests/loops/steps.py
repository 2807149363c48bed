"""One step of the loop, on Python scalars."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import FLOATS, INTEGERS, SIGNED

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
