"""MindSpore's scatter and gather operators, under its names, argument orders, defaults and error classes.

Where a Tensor is asked for, give an array; where a Parameter is, a `paramstore.Parameter`. In-place operators return that Parameter.
What differs from MindSpore 2.10 on purpose is listed in docs/differences.md: above all, an error changes nothing, the order of
duplicates is kept, NaN propagates through min and max, and integer division by zero or by -1 does not end the process.

>>> import numpy as np, paramstore as ps
>>> from paramstore.frontends import mindspore as ops
>>> input_x = ps.Parameter(np.zeros((2, 3), np.float32), name="x")
>>> ops.ScatterAdd()(input_x, np.array([[0, 1], [1, 1]], np.int32), np.ones((2, 2, 3), np.float32)).numpy().tolist()
[[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]]
"""

from __future__ import annotations

from . import functional as _functional
from . import indexed as _indexed
from . import inplace as _inplace
from . import reading as _reading
from .functional import *  # noqa: F403
from .indexed import *  # noqa: F403
from .inplace import *  # noqa: F403
from .reading import *  # noqa: F403

__all__ = [*_inplace.__all__, *_functional.__all__, *_indexed.__all__, *_reading.__all__]
