"""Records what the optimizers of PyTorch and TensorFlow do, for ``tests/test_optim_recorded.py``.

    PYTHON tests/conformance/optimizers.py torch|tensorflow

PYTHON is one that has the library; only NumPy is needed beside it. Writes ``recorded/optimizers_NAME.json``: each case with the call of
ours that is the same, the gradients, and what the table held in the end. Float32 numbers are written as they are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Steps = list[tuple[Array, Array]]  # ids (N,) and rows (N, W)
Case = tuple[str, dict[str, Any], Callable[[Array, Steps], Array]]
SHAPE, STEPS, RATE = (6, 3), 12, 0.05


def gradients(rng: np.random.Generator, every_row: bool) -> Steps:
    """Duplicates are among them; with ``every_row`` each row comes at least once."""
    out = []
    for _ in range(STEPS):
        ids = rng.integers(0, SHAPE[0], 5)
        if every_row:
            ids = np.concatenate([np.arange(SHAPE[0]), ids])
        out.append((ids, rng.normal(size=(len(ids), SHAPE[1])).astype(np.float32)))
    return out


def dense(ids: Array, rows: Array) -> Array:
    out = np.zeros(SHAPE, np.float32)
    np.add.at(out, ids, rows)
    return out


def torch_cases() -> Iterator[Case]:
    import torch

    def sparse(name: str, **options: Any) -> Callable[[Array, Steps], Array]:
        return lambda start, steps: trained(name, start, steps, False, options)

    def whole(name: str, **options: Any) -> Callable[[Array, Steps], Array]:
        return lambda start, steps: trained(name, start, steps, True, options)

    def trained(name: str, start: Array, steps: Steps, as_dense: bool, options: dict[str, Any]) -> Array:
        w = torch.nn.Parameter(torch.from_numpy(start.copy()))
        optimizer = getattr(torch.optim, name)([w], lr=RATE, **options)
        for ids, rows in steps:
            i, u = torch.from_numpy(ids)[None], torch.from_numpy(rows)
            w.grad = torch.from_numpy(dense(ids, rows)) if as_dense else torch.sparse_coo_tensor(i, u, SHAPE)
            optimizer.step()
        out: Array = w.detach().numpy()
        return out

    yield "SGD", {}, sparse("SGD")
    yield "SGD", {"momentum": 0.9, "every_row": True}, whole("SGD", momentum=0.9)
    yield "SGD", {"momentum": 0.8, "nesterov": True, "every_row": True}, whole("SGD", momentum=0.8, nesterov=True)
    yield "Adagrad", {}, sparse("Adagrad")
    yield "Adagrad", {"initial_accumulator_value": 0.1, "epsilon": 1e-3}, sparse("Adagrad", initial_accumulator_value=0.1, eps=1e-3)
    yield "RMSProp", {"every_row": True}, whole("RMSprop")
    yield "RMSProp", {"alpha": 0.9, "momentum": 0.5, "every_row": True}, whole("RMSprop", alpha=0.9, momentum=0.5)
    yield "RMSProp", {"centered": True, "epsilon": 1e-2, "every_row": True}, whole("RMSprop", centered=True, eps=1e-2)
    yield "Adam", {"epsilon": 1e-12}, sparse("SparseAdam", eps=1e-12)  # SparseAdam corrects epsilon too
    yield "Adam", {"every_row": True}, whole("Adam")
    yield "Adam", {"lazy": False}, whole("Adam")
    yield "AdamW", {"lazy": False, "weight_decay": 0.1}, whole("AdamW", weight_decay=0.1)


def tensorflow_cases() -> Iterator[Case]:
    import tensorflow as tf

    raw = tf.raw_ops

    def keras(name: str, **options: Any) -> Callable[[Array, Steps], Array]:
        def run(start: Array, steps: Steps) -> Array:
            w = tf.Variable(start)
            optimizer = getattr(tf.keras.optimizers, name)(learning_rate=RATE, **options)
            for ids, rows in steps:
                optimizer.apply_gradients([(tf.constant(dense(ids, rows)), w)])
            out: Array = w.numpy()
            return out

        return run

    def coalesced(ids: Array, rows: Array) -> tuple[Array, Array]:
        unique, place = np.unique(ids, return_inverse=True)
        sums = np.zeros((len(unique), SHAPE[1]), np.float32)
        np.add.at(sums, place, rows)
        return unique, sums

    def sparse(step: Callable[..., Any], *initial: float) -> Callable[[Array, Steps], Array]:
        def run(start: Array, steps: Steps) -> Array:
            w, state = tf.Variable(start), [tf.Variable(np.full(SHAPE, v, np.float32)) for v in initial]
            for ids, rows in steps:
                unique, sums = coalesced(ids, rows)
                step(w.handle, *(s.handle for s in state), sums, unique)
            out: Array = w.numpy()
            return out

        return run

    def adagrad(var: Any, accum: Any, grad: Array, ids: Array) -> None:
        raw.ResourceSparseApplyAdagradV2(var=var, accum=accum, lr=RATE, epsilon=0.0, grad=grad, indices=ids)

    def ftrl(var: Any, accum: Any, linear: Any, grad: Array, ids: Array) -> None:
        raw.ResourceSparseApplyFtrlV2(
            var=var, accum=accum, linear=linear, grad=grad, indices=ids, lr=RATE, l1=0.02, l2=0.05, l2_shrinkage=0.0, lr_power=-0.5
        )

    yield "Adagrad", {"initial_accumulator_value": 0.1, "epsilon": 0.0}, sparse(adagrad, 0.1)
    yield "Ftrl", {"initial_accumulator_value": 0.1, "l1": 0.02, "l2": 0.1}, sparse(ftrl, 0.1, 0.0)  # TensorFlow counts l2 twice
    yield "SGD", {}, keras("SGD")
    yield "SGD", {"momentum": 0.9, "every_row": True}, keras("SGD", momentum=0.9)
    yield "Adagrad", {"initial_accumulator_value": 0.1, "epsilon": 0.0}, keras("Adagrad", initial_accumulator_value=0.1, epsilon=0.0)
    yield "RMSProp", {"alpha": 0.9, "epsilon": 0.0, "every_row": True}, keras("RMSprop", rho=0.9, epsilon=0.0)
    yield "Ftrl", {"initial_accumulator_value": 0.1, "l1": 0.02, "l2": 0.1, "every_row": True}, keras(
        "Ftrl", initial_accumulator_value=0.1, l1_regularization_strength=0.02, l2_regularization_strength=0.05
    )
    yield "Adam", {"epsilon": 1e-12, "lazy": False}, keras("Adam", epsilon=1e-12)
    yield "AdamW", {"epsilon": 1e-12, "lazy": False, "weight_decay": 0.01}, keras("AdamW", epsilon=1e-12, weight_decay=0.01)


def numbers(array: Array) -> Any:
    """Nested lists; seventeen digits say a float32 exactly, nine do too."""
    return [numbers(a) for a in array] if array.ndim else float(f"{float(array):.9g}")


def main() -> None:
    name = sys.argv[1]
    module = __import__(name)
    lines = []
    for number, (optimizer, options, run) in enumerate({"torch": torch_cases, "tensorflow": tensorflow_cases}[name]()):
        rng = np.random.default_rng(number)
        start = rng.normal(size=SHAPE).astype(np.float32)
        every_row = options.pop("every_row", False)
        steps = gradients(rng, every_row)
        entry = {
            "optimizer": optimizer,
            "options": {"lr": RATE, **options},
            "start": numbers(start),
            "steps": [[ids.tolist(), numbers(rows)] for ids, rows in steps],
            "after": numbers(run(start, steps)),
        }
        lines.append(json.dumps(entry))
    path = Path(__file__).parent / "recorded" / f"optimizers_{name}.json"
    path.write_text(f'{{"version": {json.dumps(module.__version__)},\n"cases": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
