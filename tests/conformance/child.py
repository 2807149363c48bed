"""Runs cases on one original, in that original's Python: a line of JSON in, a line of JSON out.

``python child.py NAME``. Prints its versions first. The original's own prints go to stderr.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if sys.path and Path(sys.path[0] or ".").resolve() == HERE:
    del sys.path[0]  # so that no file of this folder is taken for a package of the same name


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"conformance_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def answer(function: Any, arguments: dict[str, Any], encode: Any) -> dict[str, Any]:
    """What the function did: a value, or an exception's classes and text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {"value": encode(function(**arguments))}
    except Exception as error:
        return {"error": [c.__name__ for c in type(error).__mro__[:-1]], "text": str(error)[:300]}


def main(name: str) -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    codec = _load(HERE / "codec.py")
    _load(HERE / "layouts.py")  # originals find it as ``conformance_layouts``
    try:
        original = _load(HERE / "originals" / f"{name}.py")
        hello = {"versions": {"python": sys.version.split()[0], **original.versions()}}
    except ImportError as error:
        hello = {"missing": str(error)}
    print(json.dumps(hello), file=out, flush=True)
    if "missing" in hello:
        return
    for line in sys.stdin:
        case = json.loads(line)
        function = original.OPERATORS[case["operator"]]
        arguments = {k: codec.decode(v) for k, v in case["arguments"].items()}
        print(json.dumps(answer(function, arguments, codec.encode)), file=out, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
