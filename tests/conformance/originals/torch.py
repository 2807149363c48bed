"""PyTorch's side, on one thread."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

codec = sys.modules["conformance_codec"]
torch.set_num_threads(1)


def versions() -> dict[str, str]:
    return {"torch": torch.__version__, "numpy": np.__version__}


def _given(value: Any) -> Any:
    if isinstance(value, codec.Raw):
        return (
            torch.frombuffer(bytearray(value.data), dtype=torch.bfloat16).reshape(value.shape)
            if value.data
            else torch.empty(value.shape, dtype=torch.bfloat16)
        )
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, tuple):
        return tuple(_given(v) for v in value)
    return value


def _taken(tensor: Any) -> Any:
    if tensor.dtype == torch.bfloat16:
        return codec.Raw("bfloat16", tuple(tensor.shape), tensor.contiguous().view(torch.int16).numpy().tobytes())
    return tensor.contiguous().numpy()


def _in_place(name: str) -> Callable[..., Any]:
    def run(x: Any, layout: str, **arguments: Any) -> Any:
        target = _given(x)
        if layout == "step" and target.ndim:
            wide = torch.zeros([2 * n for n in target.shape], dtype=target.dtype)
            for d in range(target.ndim):
                wide = wide[(slice(None),) * d + (slice(None, None, 2),)]
            target = wide.copy_(target)
        getattr(target, name)(**{k: _given(v) for k, v in arguments.items()})
        return _taken(target)

    return run


def _read(name: str) -> Callable[..., Any]:
    def run(x: Any, **arguments: Any) -> Any:
        return _taken(getattr(torch, name)(_given(x), **{k: _given(v) for k, v in arguments.items()}))

    return run


IN_PLACE = (
    "index_add_",
    "index_copy_",
    "index_fill_",
    "index_put_",
    "index_reduce_",
    "put_",
    "scatter_",
    "scatter_add_",
    "scatter_reduce_",
)
READ = ("gather", "index_select", "take", "take_along_dim")
OPERATORS = {n: _in_place(n) for n in IN_PLACE} | {n: _read(n) for n in READ}
