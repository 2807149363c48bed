"""Writes the pages that are made from tables: ``python docs/generate.py`` from the root of the checkout.

``operators.md`` from the list below and the docstrings (which come from the table of ops); ``differences.md`` from ``tests/conformance``.
"""

from __future__ import annotations

import importlib
import itertools
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FRONTENDS = "paramstore.frontends"


class Row(NamedTuple):
    """Operators of an original, ``{a,b}`` standing for each; ``{}`` in ``here`` takes what stood there."""

    operators: str
    here: str  # below paramstore.frontends, or from paramstore itself with a leading dot; "" where it is left out
    note: str = ""


MATH = "{Add,Sub,Mul,Div,Min,Max,Update}"
LOWER = "{add,sub,mul,div,min,max,update}"
NO_KERNEL = "in 2.10 without a kernel on the CPU; the same operator in PyTorch's spelling"
JAX = "left out: JAX arrays are never changed in place. Nearest, on NumPy arrays: "
CUPY = "left out under these names; on Parameters, and NumPy and C-contiguous CuPy arrays: "

# The operators of section 1 of the specification (shared/PEERS.md), in its order.
OPERATORS: dict[str, list[Row]] = {
    "MindSpore (`mindspore.ops`)": [
        Row(f"Scatter{MATH}", "mindspore.Scatter{}"),
        Row(f"ScatterNd{MATH}", "mindspore.ScatterNd{}"),
        Row("ScatterNonAliasingAdd", "mindspore.ScatterNonAliasingAdd"),
        Row("TensorScatter{Update,Add,Sub,Mul,Div,Min,Max,Elements}", "mindspore.TensorScatter{}"),
        Row("ScatterAddWithAxis", "mindspore.ScatterAddWithAxis"),
        Row("scatter", "mindspore.scatter"),
        Row("ScatterNd", "mindspore.ScatterNd"),
        Row(f"scatter_{LOWER}", "mindspore.scatter_{}"),
        Row(f"scatter_nd_{LOWER}", "mindspore.scatter_nd_{}"),
        Row("tensor_scatter_{add,sub,mul,div,min,max,elements}", "mindspore.tensor_scatter_{}"),
        Row("IndexAdd", "mindspore.IndexAdd"),
        Row("InplaceIndexAdd", "mindspore.InplaceIndexAdd"),
        Row("Inplace{Add,Sub,UpdateV2}", "mindspore.Inplace{}"),
        Row("Index{Fill,Put}", "mindspore.Index{}"),
        Row("Gather{,Nd,D}", "mindspore.Gather{}"),
        Row("UnsortedSegment{Sum,Prod,Min,Max}", "mindspore.UnsortedSegment{}"),
        Row("mint.index_add", "torch_style.index_add_", NO_KERNEL),
        Row("mint.scatter_add", "torch_style.scatter_add_", NO_KERNEL),
        Row("mint.scatter", "mindspore.scatter", "or `torch_style.scatter_`, in place"),
        Row("Tensor.{index_add_,scatter_,index_put_}", "torch_style.{}", NO_KERNEL),
    ],
    "TensorFlow (`tf`)": [
        Row(f"Variable.scatter_{LOWER}", "tensorflow.Variable.scatter_{}"),
        Row("Variable.batch_scatter_update", "tensorflow.Variable.batch_scatter_update"),
        Row("compat.v1.batch_scatter_update", "tensorflow.compat.v1.batch_scatter_update"),
        Row(f"compat.v1.scatter_{LOWER}", "tensorflow.compat.v1.scatter_{}"),
        Row("Variable.scatter_nd_{add,sub,update,min,max}", "tensorflow.Variable.scatter_nd_{}"),
        Row("compat.v1.scatter_nd_{add,sub,update}", "tensorflow.compat.v1.scatter_nd_{}"),
        Row("scatter_nd", "tensorflow.scatter_nd"),
        Row("tensor_scatter_nd_{update,add,sub,min,max}", "tensorflow.tensor_scatter_nd_{}"),
        Row("raw_ops.ScatterNdNonAliasingAdd", "tensorflow.raw_ops.ScatterNdNonAliasingAdd"),
        Row("gather{,_nd}", "tensorflow.gather{}"),
        Row("Variable.{sparse_read,gather_nd}", "tensorflow.Variable.{}"),
        Row("math.unsorted_segment_{sum,prod,min,max,mean,sqrt_n}", "tensorflow.math.unsorted_segment_{}"),
        Row("math.segment_{sum,prod,min,max,mean}", "tensorflow.math.segment_{}"),
        Row("convert_to_tensor", "tensorflow.convert_to_tensor", "of an IndexedSlices"),
    ],
    "ONNX": [
        Row("Scatter (9, 11)", "onnx.Scatter"),
        Row("ScatterElements (11, 13, 16, 18)", "onnx.ScatterElements"),
        Row("ScatterND (11, 13, 16, 18)", "onnx.ScatterND"),
        Row("Gather (1, 11, 13)", "onnx.Gather"),
        Row("GatherElements (11, 13)", "onnx.GatherElements"),
        Row("GatherND (11, 12, 13)", "onnx.GatherND"),
        Row("TensorScatter (24)", "onnx.TensorScatter"),
    ],
    "PyTorch (`torch.Tensor`)": [
        Row("index_{add,copy,fill,put,reduce}_", "torch_style.index_{}_"),
        Row("put_", "torch_style.put_"),
        Row("scatter{,_add,_reduce}_", "torch_style.scatter{}_"),
        Row("{gather,index_select,take,take_along_dim}", "torch_style.{}"),
    ],
    "NumPy": [
        Row("{add,subtract,multiply,divide,minimum,maximum}.at", "numpy_style.{}_at"),
        Row("other ufuncs' at (floor_divide, power, ...)", "", "left out: not in the table of ops"),
        Row("x[i] = v", "torch_style.index_put_", "with repeated indices the last one wins, as in NumPy"),
    ],
    "JAX (`jax.numpy`)": [
        Row("x.at[i].{set,add,subtract,multiply,min,max}", "", JAX + "`paramstore.tensor_scatter_*` with `bounds=\"drop\"`"),
        Row("x.at[i].divide", "", JAX + "`paramstore.tensor_scatter_div`, which divides once for each update and keeps integers"),
        Row("x.at[i].{power,apply}", "", "left out: no operator of the table; a kernel can be registered for one (docs/architecture.md)"),
        Row("x.at[i].get", "", JAX + "`paramstore.gather` with `bounds=\"clip\"`"),
        Row("jax.ops.segment_{sum,prod,min,max}", "tensorflow.math.unsorted_segment_{}",
            "left out under this name: here ids past the end are an error, not dropped"),
    ],
    "CuPy": [
        Row("cupyx.scatter_{add,max,min}", "", CUPY + "`numpy_style.{add,maximum,minimum}_at`"),
        Row("cupy.{add,subtract,maximum,minimum}.at", "", CUPY + "`numpy_style`"),
    ],
    "Array API": [
        Row("take", "onnx.Gather", "with its default opset negative indices count from the end, as they must"),
        Row("take_along_axis", "torch_style.take_along_dim"),
    ],
}  # fmt: skip


def spread(row: Row) -> list[tuple[str, str, str]]:
    """The row's operators one by one, with where each is and the note."""
    found = re.search(r"\{([^{}]*)\}", row.operators)
    if not found or not row.here:
        return [(row.operators, row.here, row.note)]
    head, tail = row.operators[: found.start()], row.operators[found.end() :]
    return [(head + part + tail, row.here.replace("{}", part), row.note) for part in found[1].split(",")]


def resolved(path: str) -> tuple[str, Any]:
    """The full name below paramstore and the thing it names, or an AttributeError that says what is missing."""
    full = "paramstore" + path if path.startswith(".") else f"{FRONTENDS}.{path}"
    parts = full.split(".")
    thing: Any = importlib.import_module(parts[0])
    for k, part in enumerate(parts[1:], 2):
        try:
            thing = getattr(thing, part)
        except AttributeError:
            try:
                thing = importlib.import_module(".".join(parts[:k]))
            except ImportError:
                raise AttributeError(f"docs/generate.py lists {full}, and there is no {'.'.join(parts[:k])}") from None
    return full, thing


def _summary(thing: Any) -> str:
    return " ".join((thing.__doc__ or "").strip().split("\n\n")[0].split())


def operators() -> str:
    """The page of operators."""
    out = [
        "# Where each operator is",
        "",
        "Made by `python docs/generate.py` from its list of the originals' operators and the docstrings; do not edit.",
        "Names begin with `paramstore.frontends.` unless they begin with `paramstore.`. How each differs from its original is in",
        "[differences.md](differences.md).",
    ]
    listed: set[str] = set()
    for original, rows in OPERATORS.items():
        out += ["", f"## {original}", "", "| operator | here | what it does |", "|---|---|---|"]
        for operator, here, note in itertools.chain.from_iterable(map(spread, rows)):
            if not here:
                out.append(f"| `{operator}` | – | {note} |")
                continue
            full, thing = resolved(here)
            listed.add(full)
            shown = full.removeprefix(f"{FRONTENDS}.")
            out.append(f"| `{operator}` | `{shown}` | {'; '.join(t for t in (_summary(thing), note) if t)} |".replace("\\|", "|"))
    out += ["", "## Also in the frontends", ""]
    for name in importlib.import_module(FRONTENDS).__all__:
        module = importlib.import_module(f"{FRONTENDS}.{name}")
        rest = [n for n in module.__all__ if f"{FRONTENDS}.{name}.{n}" not in listed]
        if rest:
            out.append(f"- `{name}`: " + ", ".join(f"`{n}`" for n in rest))
    return "\n".join(out) + "\n"


TITLES = {"mindspore": "MindSpore", "tensorflow": "TensorFlow", "onnx": "The ONNX reference evaluator", "onnxruntime": "ONNX Runtime",
          "torch": "PyTorch", "numpy": "NumPy"}  # fmt: skip


def differences() -> str:
    """The page of differences."""
    sys.path.insert(0, str(ROOT / "tests"))
    try:
        conformance = importlib.import_module("conformance")
        table = importlib.import_module("conformance.differences")
    finally:
        sys.path.remove(str(ROOT / "tests"))
    out = [
        "# Where the frontends differ from their originals",
        "",
        "Made by `python docs/generate.py` from `tests/conformance/differences`; do not edit. The same rows are what the comparison with",
        "the originals (`python -m tests.conformance`) lets pass: any other difference fails. C1 to C10 are the contracts in",
        "[contracts.md](contracts.md).",
    ]
    for name in conformance.ORIGINALS:
        out += ["", f"## {TITLES[name]}", "", "| operators | when | theirs | ours | reason |", "|---|---|---|---|---|"]
        for row in table.rows(name):
            cells = [", ".join(f"`{o}`" for o in row.operators.split()) if row.operators != "*" else "all", *row[1:5]]
            out.append("| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |")
    return "\n".join(out) + "\n"


PAGES = {"operators.md": operators, "differences.md": differences}

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for page, make in PAGES.items():
        (ROOT / "docs" / page).write_text(make(), encoding="utf-8")
        print(f"docs/{page}")
