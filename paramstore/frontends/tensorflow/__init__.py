"""TensorFlow's scatter and gather operators: its spellings, casts, defaults and errors, without its faults.

What is different on purpose: NumPy arrays of another dtype are refused, not cast; ``use_locking`` is honoured; nothing is written when a
call fails; NaN wins in every min and max; and the same call gives the same bits every time.
"""

from __future__ import annotations

from . import compat, config, errors, math, raw_ops
from .functions import *  # noqa: F403
from .functions import __all__ as _functions
from .tensors import IndexedSlices, convert_to_tensor
from .variable import Variable

__all__ = ["IndexedSlices", "Variable", "compat", "config", "convert_to_tensor", "errors", "math", "raw_ops", *_functions]
