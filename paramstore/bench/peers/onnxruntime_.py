"""ONNX Runtime: one node a model, inputs and outputs left where they are (no copies into or out of NumPy)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from ..arguments import Arguments
from ..workloads import Workload
from .base import Array, Contender, Peer

__all__ = ["load"]

_NODE = {"elements": "ScatterElements", "nd": "ScatterND", "gather": "Gather"}
_REDUCTION = {"update": "none"}


class OnnxRuntime:
    name, yardstick, copies = "onnxruntime", False, 1

    def __init__(self, threads: int) -> None:
        self.ort: Any = import_module("onnxruntime")
        self.onnx: Any = import_module("onnx")
        self.threads = threads
        self.version = str(self.ort.__version__)

    def contenders(self, w: Workload, a: Arguments) -> Iterator[Contender]:
        if w.form not in _NODE:
            return
        feeds = {"data": a.table, "indices": a.ids}
        if w.form != "gather":
            feeds["updates"] = a.updates
        session = self._session(w, feeds)
        values = {name: self.ort.OrtValue.ortvalue_from_numpy(array) for name, array in feeds.items()}
        yield Contender(_NODE[w.form], lambda: session.run_with_ort_values(["out"], values), _numpy)

    def _session(self, w: Workload, feeds: dict[str, Array]) -> Any:
        helper = self.onnx.helper
        attributes: dict[str, Any] = {} if w.form == "gather" else {"reduction": _REDUCTION.get(w.op, w.op)}
        if w.form != "nd":
            attributes["axis"] = w.axis
        node = helper.make_node(_NODE[w.form], list(feeds), ["out"], **attributes)
        inputs = [self._info(name, array.dtype, array.shape) for name, array in feeds.items()]
        output = self._info("out", np.dtype(w.dtype), None)
        graph = helper.make_graph([node], "bench", inputs, [output])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
        options = self.ort.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        return self.ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def _info(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...] | None) -> Any:
        helper = self.onnx.helper
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


def _numpy(out: Any) -> Array:
    array: Array = out[0].numpy()
    return array


def load(threads: int) -> Peer:
    return OnnxRuntime(threads)
