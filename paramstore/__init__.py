"""Named, mutable arrays and in-place updates by index: fast, from many threads, with the same bits every time."""

from __future__ import annotations

import importlib
from typing import Any

from . import errors, functional, init, ops, registry
from .accumulator import Accumulator
from .backends import reference as _reference  # noqa: F401  (registers its kernels)
from .backends import reference_bags as _reference_bags  # noqa: F401
from .backends import reference_optim as _reference_optim  # noqa: F401
from .backends.cpu import get_num_threads, set_num_threads
from .determinism import deterministic, is_deterministic, set_deterministic
from .functional import *  # noqa: F403
from .functional import __all__ as _functional
from .inplace import *  # noqa: F403
from .inplace import __all__ as _inplace
from .lookup import *  # noqa: F403
from .lookup import __all__ as _lookup
from .ops import register_op
from .parameter import Parameter, Variable
from .registry import explain, kernels
from .sequencer import Sequencer
from .slices import IndexedSlices, clip_by_global_norm, global_norm
from .store import ParamStore
from .workers import Task, run_threads

__version__ = "0.1.0"

__all__ = [
    "Parameter",
    "Variable",
    "ParamStore",
    "IndexedSlices",
    "Sequencer",
    "Accumulator",
    "Task",
    "run_threads",
    "clip_by_global_norm",
    "global_norm",
    "init",
    "errors",
    "registry",
    "frontends",
    "optim",
    "register_op",
    "kernels",
    "explain",
    "deterministic",
    "set_deterministic",
    "is_deterministic",
    "set_num_threads",
    "get_num_threads",
    "functional",
    "ops",
    *_functional,
    *_inplace,
    *_lookup,
]

_LAZY = ("frontends", "optim")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
