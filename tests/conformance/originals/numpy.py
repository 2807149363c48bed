"""NumPy's side: ``ufunc.at``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from conformance_layouts import laid_out


def versions() -> dict[str, str]:
    return {"numpy": np.__version__}


def _at(ufunc: Any) -> Callable[..., Any]:
    def run(a: Any, indices: Any, b: Any, layout: str) -> Any:
        target = laid_out(a, layout)
        ufunc.at(target, indices, b)
        return target

    return run


OPERATORS = {f"{u.__name__}_at": _at(u) for u in (np.add, np.subtract, np.multiply, np.minimum, np.maximum)} | {"divide_at": _at(np.divide)}
