"""The frontends side by side with the systems they are named after; see `__main__` for the command.

For an original NAME there are five small things to write; nothing else has to know of it:

- ``originals/NAME.py``: ``OPERATORS``, operator name -> function of the case's arguments that answers an array (or a tuple of them), and
  ``versions() -> dict``. It runs in the original's own Python, which need not have paramstore, and imports nothing of this folder.
- ``ours/NAME.py``: ``OPERATORS`` with the same names, on paramstore.
- ``generators/NAME.py``: ``case(draw) -> (operator, arguments)``, a random case from a `cases.Draw`.
- ``differences/NAME.py``: ``ROWS``, the deliberate differences. They become ``docs/differences.md`` too.
- ``recorded/NAME.json``: written by ``python -m tests.conformance.record``.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent

# In the order in which they are run and printed.
ORIGINALS = tuple(
    name for name in ("mindspore", "tensorflow", "onnx", "onnxruntime", "torch", "numpy") if (HERE / "originals" / f"{name}.py").exists()
)
