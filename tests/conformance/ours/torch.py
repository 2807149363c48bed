"""The same calls on paramstore; some targets are Parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paramstore import Parameter
from paramstore.frontends import torch_style

from ..layouts import laid_out


def _in_place(name: str) -> Callable[..., Any]:
    function = getattr(torch_style, name)

    def run(x: Any, layout: str, **arguments: Any) -> Any:
        target = Parameter(x) if layout == "Parameter" else laid_out(x, layout)
        before = target.read().tobytes() if layout == "Parameter" else target.tobytes()
        try:
            assert function(target, **arguments) is target
        except Exception:
            assert (target.read() if layout == "Parameter" else target).tobytes() == before, "an error left something behind"
            raise
        return target.numpy() if layout == "Parameter" else target

    return run


READ = ("gather", "index_select", "take", "take_along_dim")
OPERATORS = {n: getattr(torch_style, n) if n in READ else _in_place(n) for n in torch_style.__all__}
