"""MindSpore's side. It dies of some divisions by zero, and loses updates in parallel kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mindspore as ms
import numpy as np

ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
ms.runtime.launch_blocking()  # otherwise some errors only come with a later call


def versions() -> dict[str, str]:
    return {"mindspore": ms.__version__, "numpy": np.__version__}


def _given(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_given(v) for v in value)
    return ms.Tensor(value) if isinstance(value, np.ndarray) else value


def _run(name: str, init: dict[str, Any] | None, args: tuple[Any, ...], target: bool, afterwards: bool = False, again: bool = False) -> Any:
    given = [_given(v) for v in args]
    if target:
        given[0] = ms.Parameter(given[0], name="x")
    try:
        if again:
            rows = ms.Tensor(np.ones((3, 2), args[0].dtype))
            getattr(ms.ops, name)(rows, 0, ms.Tensor(np.zeros((3, 2), np.int32)), rows).asnumpy()
        operator = getattr(ms.ops, name)
        if init is not None:
            operator = operator(**init)
        try:
            out = operator(*given).asnumpy()
        except SystemError:  # an error that an earlier call left behind comes up in this one
            out = operator(*given).asnumpy()
    except Exception:
        if not afterwards:
            raise
    if afterwards:
        return given[0].asnumpy()
    return (out, given[0].asnumpy()) if target else out


class _Every(dict):  # type: ignore[type-arg]
    """Every name of `mindspore.ops`."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        return partial(_run, name)


OPERATORS: dict[str, Callable[..., Any]] = _Every()
