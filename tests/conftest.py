"""Lets the tests import their helper modules (``loops``): with pytest's importlib mode this folder is not on the path by itself."""

from __future__ import annotations

import sys
from pathlib import Path

_HERE = str(Path(__file__).resolve().parent)
if _HERE not in sys.path:
    sys.path.insert(0, _HERE)
