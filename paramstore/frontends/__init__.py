"""The operators under the names, argument orders and policies of other systems. Each loads on first use and imports none of them."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["mindspore", "numpy_style", "onnx", "tensorflow", "torch_style"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; there are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return list(__all__)
