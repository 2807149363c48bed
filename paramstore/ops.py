"""The table of operators: one row per op holds its contract; its arithmetic is the line of the same name in ``kernels/ops.def``.

>>> OPS["add"].formula
'x + u'
>>> sorted(OPS)
['add', 'div', 'max', 'min', 'mul', 'sub', 'update']
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import ArgumentError

__all__ = ["Op", "OPS", "REDUCTIONS", "OPERATORS", "RULES", "LAYOUT_OF", "op_named", "register_op"]


@dataclass(frozen=True)
class Op:
    """What one step of the defining loop, ``x = op(x, u)``, promises.

    Attributes:
        name: the op's name, the same as in ``kernels/ops.def``.
        formula: one step of the loop, for people.
        identity: the value u for which a step changes nothing; None if there is none for every dtype.
        kinds: the kinds of dtype (`paramstore.dtypes.kind`) it is defined for.
        order_matters: whether the order of duplicates can change the result of inexact types.
        doc: one line of documentation.
        zero_divisor: whether an integer zero among the updates is an error.
    """

    name: str
    formula: str
    identity: float | str | None
    kinds: frozenset[str]
    order_matters: bool
    doc: str
    zero_divisor: bool = False


_NUMBERS = frozenset({"int", "uint", "float", "complex"})
_REALS = frozenset({"int", "uint", "float"})
_BOOL = frozenset({"bool"})
_ANYTHING = _NUMBERS | _BOOL | {"str", "bytes", "string", "object", "struct", "time"}

OPS: dict[str, Op] = {
    op.name: op
    for op in (
        Op("add", "x + u", 0, _NUMBERS | _BOOL, True, "Adds each update to its target (for bool: or)."),
        Op("sub", "x - u", 0, _NUMBERS, True, "Subtracts each update from its target."),
        Op("mul", "x * u", 1, _NUMBERS | _BOOL, True, "Multiplies each target by its update (for bool: and)."),
        Op("div", "x / u", 1, _NUMBERS, True,
           "Divides each target by its update; integers truncate toward zero.", zero_divisor=True),
        Op("min", "min(x, u)", "highest", _REALS | _BOOL, False,
           "Keeps the smaller of target and update; NaN wins, and -0 is below +0."),
        Op("max", "max(x, u)", "lowest", _REALS | _BOOL, False,
           "Keeps the larger of target and update; NaN wins, and +0 is above -0."),
        Op("update", "u", None, _ANYTHING, True, "Replaces each target by its update; the last one in C order wins."),
    )
}

# The update rules of optimizers, the same as in ``kernels/optim.def``.
RULES = (
    "sgd", "sgd_momentum", "sgd_nesterov", "adagrad", "rowwise_adagrad", "rmsprop", "rmsprop_momentum", "rmsprop_centered",
    "rmsprop_centered_momentum", "adam", "ftrl", "lamb",
)  # fmt: skip

# What else kernels do, and the one layout it is for; "gather" has two.
LAYOUT_OF: dict[str, str] = {
    "flatten": "tuples", "coalesce": "slices", "bag_sum": "bags", "bag_mean": "bags", "bag_max": "bags", **dict.fromkeys(RULES, "optim"),
}  # fmt: skip

# ONNX spells assignment "none"; the other reductions carry their op's name.
REDUCTIONS: dict[str, str] = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _operators() -> dict[str, tuple[str, str]]:
    """Public operator name -> (op, layout); ``gather`` stands for the reading kernels."""
    table: dict[str, tuple[str, str]] = {}
    for op in OPS:
        title = op.capitalize()
        table[f"Scatter{title}"] = table[f"scatter_{op}"] = (op, "rows")
        table[f"ScatterNd{title}"] = table[f"scatter_nd_{op}"] = (op, "rows")
        table[f"tensor_scatter_{op}"] = (op, "rows")
    table["scatter_nd"] = ("add", "rows")
    table["scatter"] = table["scatter_elements"] = ("update", "elements")
    table["ScatterND"] = ("update", "rows")
    for reduction, op in REDUCTIONS.items():
        table[f"scatter_elements[{reduction}]"] = (op, "elements")
        table[f"ScatterND[{reduction}]"] = (op, "rows")
    table["gather"] = table["gather_nd"] = ("gather", "rows")
    table["gather_elements"] = ("gather", "elements")
    return table


OPERATORS: dict[str, tuple[str, str]] = _operators()


def op_named(call: str, name: str) -> Op:
    """The op of that name, or an error that lists the names there are."""
    try:
        return OPS[name]
    except (KeyError, TypeError):
        raise ArgumentError(f"{call}: unknown op {name!r}; known: {', '.join(sorted(OPS))}") from None


def register_op(op: Op) -> None:
    """Adds an op from outside; kernels for it are added with `paramstore.registry.register`."""
    if op.name in OPS or op.name == "gather":
        raise ArgumentError(f"register_op: the op {op.name!r} exists already")
    OPS[op.name] = op
