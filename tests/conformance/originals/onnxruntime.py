"""ONNX Runtime on the CPU, with one thread: on more, its ScatterND loses updates.

Its errors are of no builtin class but Exception, which is all that a caller can catch.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import onnxruntime as ort

_spec = importlib.util.spec_from_file_location("conformance_onnx_model", Path(__file__).with_name("onnx.py"))
assert _spec is not None and _spec.loader is not None
reference: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

ort.set_default_logger_severity(4)
_options = ort.SessionOptions()
_options.intra_op_num_threads = _options.inter_op_num_threads = 1


def versions() -> dict[str, str]:
    return {"onnxruntime": ort.__version__, **reference.versions()}


def _run(op: str) -> Any:
    def run(opset: int, inputs: list[Any], attributes: dict[str, Any]) -> Any:
        made, given = reference.model(op, opset, inputs, attributes)
        try:
            session = ort.InferenceSession(made.SerializeToString(), _options, providers=["CPUExecutionProvider"])
            return session.run(None, given)[0]
        except Exception as error:
            text = re.split(r"Status Message: |, Error |\] : \d+ : \w+ : ", str(error))[-1]  # what it says, without where
            raise Exception(f"{type(error).__name__}: {text}") from None

    return run


OPERATORS = {name: _run(name) for name in ("Scatter", *reference.NAMES)}
