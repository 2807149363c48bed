"""The native short cuts and the general path: the same values, errors, messages and versions for the same drawn calls.

What the values must be is tested elsewhere, against the defining loop. Here only: no call means something else because it was short.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import paramstore as ps
from paramstore import shortcuts
from paramstore.backends import cpu
from paramstore.frontends import mindspore, onnx, tensorflow

pytestmark = pytest.mark.skipif(cpu.extension is None, reason="the short cuts are the extension's")

NUMBERS = [d for d in ps.dtypes.NUMERIC if d != "bfloat16"]
INDICES = {"int64": 0.45, "int32": 0.35, "int16": 0.05, "uint8": 0.05, "uint64": 0.04, "bool": 0.03, "float32": 0.03}
OPS = ("add", "sub", "mul", "div", "min", "max", "update")
LOCKS: tuple[Any, ...] = (False, False, False, True, 0, None)
SEVERAL = {"rows": False, "nd": False, "copied": None, "zeros": None, "gathered": None, "gathered_nd": None}


class Drawn:
    """The arguments of one call: often right, sometimes wrong in one way."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.dtype = str(rng.choice(NUMBERS))
        self.index = str(rng.choice(list(INDICES), p=list(INDICES.values())))
        self.shape = self.sizes(int(rng.integers(0, 4)), 5)
        self.lead = self.sizes(int(rng.integers(0, 3)), 4)
        self.bounds = str(rng.choice(["raise", "drop", "clip", "bad"], p=[0.6, 0.2, 0.17, 0.03]))
        self.op, self.reduction = str(rng.choice(OPS)), str(rng.choice(["none", "add", "mul", "min", "max", "sub"]))
        self.opset = (None, None, 9, 11, 13, 16, 18)[rng.integers(0, 7)]
        self.lock = LOCKS[rng.integers(0, len(LOCKS))]
        self.x = self.values(self.shape, self.dtype)

    def sizes(self, rank: int, most: int) -> tuple[int, ...]:
        return tuple(int(s) for s in self.rng.integers(0 if self.rng.random() < 0.1 else 1, most, rank))

    def values(self, shape: tuple[int, ...], dtype: str | None = None) -> Any:
        dtype = dtype or (self.dtype if self.rng.random() < 0.85 else str(self.rng.choice(NUMBERS)))
        if self.rng.random() < 0.06 and shape:
            shape = (*shape[:-1], max(0, shape[-1] - 1))
        return np.asarray(self.rng.integers(0, 5, shape)).astype(dtype)

    def ids(self, shape: tuple[int, ...], size: int) -> Any:
        low = -size if self.rng.random() < 0.2 else 0
        drawn = self.rng.integers(low, max(size, 1) + (self.rng.random() < 0.15), shape)
        return np.asarray(np.abs(drawn) if self.index[0] in "ub" else drawn).astype(self.index)

    def rows(self) -> tuple[Any, Any]:
        return self.ids(self.lead, self.shape[0] if self.shape else 3), self.values(self.lead + self.shape[1:])

    def tuples(self) -> tuple[Any, Any]:
        k = int(self.rng.integers(0, len(self.shape) + 2))
        sizes = (*self.shape, 3, 3)
        found = [self.ids(self.lead, sizes[d]) for d in range(k)]
        return np.stack(found, -1) if found else np.zeros((*self.lead, 0), self.index), self.values(self.lead + self.shape[k:])

    def elements(self) -> tuple[Any, Any, int]:
        shape = tuple(int(self.rng.integers(1, s + 1)) if s else 0 for s in self.shape)
        axis = int(self.rng.integers(-len(shape) - 1, len(shape) + 1))
        return self.ids(shape, max(self.shape, default=1)), self.values(shape), axis


def call(kind: str, d: Drawn, arguments: tuple[Any, ...], p: ps.Parameter) -> Any:
    i, u, *rest = arguments
    tf = tensorflow.Variable.of(p)
    few = d.op if d.op not in ("mul", "div") else "add"  # what TensorFlow has for index tuples
    title = d.op.capitalize()
    calls: dict[str, Callable[[], Any]] = {
        "rows": lambda: getattr(p, f"scatter_{d.op}")(i, u, bounds=d.bounds, use_locking=d.lock),
        "tuples": lambda: getattr(p, f"scatter_nd_{d.op}")(i, u, bounds=d.bounds, use_locking=d.lock),
        "copied tuples": lambda: getattr(ps, f"tensor_scatter_{d.op}")(d.x, i, u, bounds=d.bounds),
        "zeros tuples": lambda: ps.scatter_nd(i, u, d.shape, bounds=d.bounds),
        "copied elements": lambda: ps.scatter_elements(d.x, i, u, rest[0], d.reduction, bounds=d.bounds),
        "reduced tuples": lambda: ps.scatter_nd_reduce(d.x, i, u, d.reduction, bounds=d.bounds),
        "gathered rows": lambda: ps.gather(d.x, i, bounds=d.bounds),
        "gathered tuples": lambda: ps.gather_nd(d.x, i, bounds=d.bounds),
        "mindspore rows": lambda: getattr(mindspore, f"Scatter{title}")(d.lock is True)(p, i, u),
        "mindspore tuples": lambda: getattr(mindspore, f"ScatterNd{title}")()(p, i, u),
        "mindspore copied tuples": lambda: getattr(mindspore, f"TensorScatter{title}")()(d.x, i, u, bounds=d.bounds),
        "tensorflow rows": lambda: getattr(tf, f"scatter_{d.op}")(tensorflow.IndexedSlices(u, i), use_locking=d.lock),
        "tensorflow tuples": lambda: getattr(tf, f"scatter_nd_{few}")(i, u, use_locking=d.lock),
        "tensorflow zeros tuples": lambda: tensorflow.scatter_nd(i, u, d.shape, "IGNORE" if d.bounds == "drop" else ""),
        "tensorflow copied tuples": lambda: getattr(tensorflow, f"tensor_scatter_nd_{few}")(d.x, i, u),
        "tensorflow gathered rows": lambda: tensorflow.gather(d.x, i),
        "onnx elements": lambda: onnx.ScatterElements(d.x, i, u, rest[0], d.reduction, opset=d.opset),
        "onnx tuples": lambda: onnx.ScatterND(d.x, i, u, d.reduction, opset=d.opset),
        "onnx gathered rows": lambda: onnx.Gather(d.x, i, opset=d.opset),
        "onnx gathered tuples": lambda: onnx.GatherND(d.x, i, opset=d.opset),
    }
    return calls[kind]()


KINDS = (
    "rows", "tuples", "copied tuples", "zeros tuples", "copied elements", "reduced tuples", "gathered rows", "gathered tuples",
    "mindspore rows", "mindspore tuples", "mindspore copied tuples", "tensorflow rows", "tensorflow tuples", "tensorflow zeros tuples",
    "tensorflow copied tuples", "tensorflow gathered rows", "onnx elements", "onnx tuples", "onnx gathered rows", "onnx gathered tuples",
)  # fmt: skip


def outcome(kind: str, d: Drawn, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    p = ps.Parameter(d.x)
    try:
        found = call(kind, d, arguments, p)
    except Exception as error:
        said: tuple[Any, ...] = (type(error), str(error))
    else:
        value = np.asarray(found)
        said = (value.dtype, value.shape, value.tobytes())
    return (*said, p.numpy().tobytes(), p.version)


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_call_means_what_a_long_one_means(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    taken: list[bool] = []
    for name in SEVERAL:
        short = getattr(shortcuts, name)
        monkeypatch.setattr(shortcuts, name, lambda *a, _short=short, **k: taken.append(found := _short(*a, **k)) or found)
    cases = [(d, d.rows() if kind.endswith("rows") else d.elements() if kind.endswith("elements") else d.tuples()) for d in (Drawn(rng) for _ in range(400))]
    with np.errstate(all="ignore"):
        short_ones = [outcome(kind, *case) for case in cases]
        assert sum(t is not None and t is not False for t in taken) > 5, "few calls were short"
        for name, declined in SEVERAL.items():
            monkeypatch.setattr(shortcuts, name, lambda *a, _no=declined, **k: _no)
        for case, found in zip(cases, short_ones):
            assert outcome(kind, *case) == found, (kind, vars(case[0]), case[1])
