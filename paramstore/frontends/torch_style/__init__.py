"""PyTorch's in-place scatters and its gathers, on Parameters and NumPy arrays: ``x.index_add_(...)`` becomes ``index_add_(x, ...)``.

Shapes, index rules and defaults are PyTorch's. Every bad argument is an error that is a RuntimeError and an IndexError at once, the two
that PyTorch raises. Arrays must have the target's dtype; Python numbers and lists take it. The functions named with ``_`` at the end
return their target. Duplicates count in C order of the index, with the same bits every time.

An array is not locked; for a Parameter that other threads change too, put the call into ``with p.lock:``. Differences from PyTorch are in
``docs/differences.md``.
"""

from __future__ import annotations

from .reading import *  # noqa: F403
from .reading import __all__ as _reading
from .writing import *  # noqa: F403
from .writing import __all__ as _writing

__all__ = [*_writing, *_reading]
