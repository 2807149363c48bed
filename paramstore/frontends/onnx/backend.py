"""ONNX's backend interface for models made of the operators here. The package ``onnx`` is imported when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from ...convert import Array
from ...errors import ArgumentError, DeviceError
from .node import run_node
from .schema import VERSIONS

__all__ = ["Backend", "BackendRep"]


class BackendRep:
    """A model that is ready to run; what `Backend.prepare` gives."""

    def __init__(self, model: Any) -> None:
        to_array = importlib.import_module("onnx.numpy_helper").to_array
        graph = model.graph
        self._nodes = list(graph.node)
        self._constants: dict[str, Any] = {tensor.name: to_array(tensor) for tensor in graph.initializer}
        self._inputs = [value.name for value in graph.input if value.name not in self._constants]
        self._outputs = [value.name for value in graph.output]
        self._opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))

    def run(self, inputs: Sequence[Any] | Mapping[str, Any], **options: Any) -> tuple[Array, ...]:
        """Runs the model; inputs by position or by name.

        Raises:
            ArgumentError: an input too few or too many.
        """
        given = dict(inputs) if isinstance(inputs, Mapping) else dict(zip(self._inputs, inputs))
        if sorted(given) != sorted(self._inputs) or len(inputs) != len(self._inputs):
            raise ArgumentError(f"BackendRep.run: {len(inputs)} inputs given, wanted are {', '.join(self._inputs)}")
        values = {**self._constants, **given}
        for node in self._nodes:
            outputs = run_node(node, [values[name] if name else None for name in node.input], self._opset)
            values.update(zip(node.output, outputs))
        return tuple(values[name] for name in self._outputs)


class Backend:
    """ONNX's backend interface over paramstore's operators, for models that consist of nothing else.

    Source: onnx.backend.base.Backend.

    >>> Backend.supports_device("CPU"), Backend.supports_device("CUDA")
    (True, False)
    """

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run there: "CPU"."""
        return isinstance(device, str) and device.partition(":")[0] == "CPU"

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **options: Any) -> bool:
        """Whether every node of the model is one of the operators here."""
        return cls.supports_device(device) and all(node.op_type in VERSIONS and not node.domain for node in model.graph.node)

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **options: Any) -> BackendRep:
        """A model, checked by ``onnx.checker``, ready to run.

        Raises:
            DeviceError: another device than the CPU.
            ArgumentError: a node that is none of the operators here.
            onnx.checker.ValidationError: no valid model.
        """
        _on_cpu("Backend.prepare", device)
        importlib.import_module("onnx.checker").check_model(model)
        for node in model.graph.node:
            if node.op_type not in VERSIONS:
                raise ArgumentError(f"Backend.prepare: operator {node.op_type!r} is none of {', '.join(VERSIONS)}")
        return BackendRep(model)

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **options: Any) -> tuple[Array, ...]:
        """Prepares a model and runs it once."""
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(cls, node: Any, inputs: Sequence[Any], device: str = "CPU", outputs_info: Any = None, **options: Any) -> tuple[Array, ...]:
        """Runs one node; ``opset_version`` chooses the operator's version. See `paramstore.frontends.onnx.run_node`."""
        _on_cpu("Backend.run_node", device)
        return run_node(node, inputs, options.get("opset_version"))


def _on_cpu(call: str, device: str) -> None:
    if not Backend.supports_device(device):
        raise DeviceError(f"{call}: device = {device!r} must be 'CPU'")
