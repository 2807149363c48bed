"""The same calls on paramstore; a quarter of the plain targets are Parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paramstore import Parameter
from paramstore.frontends import numpy_style

from ..layouts import laid_out


def _at(name: str) -> Callable[..., Any]:
    function = getattr(numpy_style, name)

    def run(a: Any, indices: Any, b: Any, layout: str) -> Any:
        target = laid_out(a, layout)
        if layout == "C" and a.size % 4 == 1:
            target = Parameter(target)
        before = target.tobytes() if layout != "C" else b""
        try:
            assert function(target, indices, b) is None
        except Exception:
            assert layout == "C" or target.tobytes() == before, "an error left something behind"
            raise
        return target.numpy() if isinstance(target, Parameter) else target

    return run


OPERATORS = {name: _at(name) for name in numpy_style.__all__}
