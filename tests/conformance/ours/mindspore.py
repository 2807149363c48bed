"""paramstore's side of the MindSpore cases."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import paramstore as ps
from paramstore.errors import ParamstoreError
from paramstore.frontends import mindspore as ops


def _run(name: str, init: dict[str, Any] | None, args: tuple[Any, ...], target: bool, afterwards: bool = False, again: bool = False) -> Any:
    given = list(args)
    if target:
        given[0] = ps.Parameter(given[0], name="x")
    try:
        operator = getattr(ops, name)
        if init is not None:
            operator = operator(**init)
        out = np.array(operator(*given))
    except ParamstoreError:
        if not afterwards:
            raise
    if afterwards:
        return given[0].numpy()
    return (out, given[0].numpy()) if target else out


OPERATORS: dict[str, Callable[..., Any]] = {name: partial(_run, name) for name in ops.__all__}
