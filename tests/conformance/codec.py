"""Arguments and answers as JSON, exact to the bit. Also runs in the child process, with whatever Python and NumPy are there."""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Raw", "encode", "decode", "flat"]


class Raw(NamedTuple):
    """An array of a dtype that this Python's NumPy does not know (bfloat16 without ml_dtypes)."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


def _bytes(array: Any) -> bytes:
    """Its items in C order and this machine's byte order."""
    out: bytes = np.ascontiguousarray(array, array.dtype.newbyteorder("=") if not array.dtype.isnative else None).tobytes()
    return out


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def encode(value: Any) -> Any:
    """What `json.dumps` takes. Tuples, slices, Ellipsis, bytes, complex numbers, arrays and NumPy scalars come back as what they were."""
    if isinstance(value, Raw):
        return {"array": [value.dtype, list(value.shape), _text(value.data)]}
    if isinstance(value, np.generic):
        return {"scalar": encode(np.asarray(value))}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OUST":
            kind = "O" if value.dtype.kind == "T" else value.dtype.str if value.dtype.kind != "O" else "O"
            return {"texts": [kind, list(value.shape), [encode(v) for v in value.reshape(-1).tolist()]]}
        return {"array": [value.dtype.name, list(value.shape), _text(_bytes(value))]}
    if isinstance(value, tuple):
        return {"tuple": [encode(v) for v in value]}
    if isinstance(value, list):
        return [encode(v) for v in value]
    if isinstance(value, dict):
        return {"dict": {k: encode(v) for k, v in value.items()}}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, bytes):
        return {"bytes": _text(value)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a case cannot hold a {type(value).__name__}")


def _array(dtype: str, shape: list[int], data: str) -> Any:
    raw = base64.b64decode(data)
    if dtype == "bfloat16":
        try:
            import ml_dtypes  # type: ignore[import-untyped]
        except ImportError:
            return Raw(dtype, tuple(shape), raw)
        return np.frombuffer(raw, ml_dtypes.bfloat16).reshape(shape).copy()
    return np.frombuffer(raw, dtype).reshape(shape).copy()


def decode(value: Any) -> Any:
    """The value that `encode` was given."""
    if isinstance(value, list):
        return [decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    ((tag, body),) = value.items()
    if tag == "array":
        return _array(*body)
    if tag == "scalar":
        return decode(body)[()]
    if tag == "texts":
        out = np.empty(len(body[2]), body[0])
        out[:] = [decode(v) for v in body[2]]
        return out.reshape(body[1])
    if tag == "tuple":
        return tuple(decode(v) for v in body)
    if tag == "dict":
        return {k: decode(v) for k, v in body.items()}
    if tag == "slice":
        return slice(*body)
    if tag == "ellipsis":
        return Ellipsis
    if tag == "bytes":
        return base64.b64decode(body)
    return complex(*body)


_NAN = {"float16": (np.uint16, 0x7FFF, 0x7C00), "bfloat16": (np.uint16, 0x7FFF, 0x7F80), "float32": (np.uint32, 0x7FFFFFFF, 0x7F800000),
        "float64": (np.uint64, 0x7FFFFFFFFFFFFFFF, 0x7FF0000000000000)}  # fmt: skip
_PARTS = {"complex64": "float32", "complex128": "float64"}


def flat(value: Any) -> tuple[str, tuple[int, ...], Any]:
    """Dtype name, shape and content of an array, comparable with ``==``: every NaN is the same, zeros keep their sign."""
    if not isinstance(value, Raw):
        value = np.asarray(value)
        if value.dtype.kind in "OUST":
            return "text", value.shape, [v.encode() if isinstance(v, str) else v for v in value.reshape(-1).tolist()]
        value = Raw(value.dtype.name, value.shape, _bytes(value))
    found = _NAN.get(_PARTS.get(value.dtype, value.dtype))
    if found is None:
        return value.dtype, tuple(value.shape), value.data
    bits, magnitude, infinity = found
    words = np.frombuffer(value.data, bits).copy()
    words[(words & bits(magnitude)) > bits(infinity)] = bits(magnitude)
    return value.dtype, tuple(value.shape), words.tobytes()
