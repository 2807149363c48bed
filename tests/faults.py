"""Every public operator behind one signature, so that each fault and each layout of memory is tried on all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import ParamstoreError

OPS = ["add", "sub", "mul", "div", "min", "max", "update"]
R, W = 5, 3


@dataclass(frozen=True)
class Case:
    """One operator on a (R, W) table: ``call(target, indices, updates, **options)``, indices of ``index_shape``, updates of ``update_shape``."""

    name: str
    call: Any
    inplace: bool
    shown: str  # how a message spells the position of the third index
    index_shape: tuple[int, ...]
    update_shape: tuple[int, ...] | None
    narrow: bool = False  # arrays of int32 and int64 only
    wraps: bool = False
    op: str = "add"

    def indices(self, *rows: int, dtype: Any = np.int64) -> Any:
        """Indices that address these rows."""
        out = np.array(rows, dtype if dtype != "list" else object)
        out = out.reshape(len(rows), *(1,) * (len(self.index_shape) - 1))
        out = np.broadcast_to(out, (len(rows), *self.index_shape[1:]))
        return out.tolist() if dtype == "list" else out.copy()

    def updates(self, value: Any = 2, dtype: Any = np.float32, n: int = 3) -> Any:
        return None if self.update_shape is None else np.full((n, *self.update_shape[1:]), value, dtype)

    def __repr__(self) -> str:
        return self.name


def _reader(function, target, indices, updates, **options):
    return function(target, indices, **options)


def _by_class(cls, target, indices, updates, **options):
    return cls()(target, indices, updates, **options)


def _by_method(name, target, indices, updates, **options):
    return getattr(target, name)(indices, updates, **options)


def _scatter_nd(target, indices, updates, **options):
    return ps.scatter_nd(indices, updates, target.shape, **options)


def _cases():
    rows, tuples, cells = (3,), (3, 1), (3, W)
    for op in OPS:
        for nd, shape in (("", rows), ("Nd", tuples)):
            shown = "indices[2, 0]" if nd else "indices[2]"
            name, method = f"Scatter{nd}{op.capitalize()}", f"scatter{'_nd' if nd else ''}_{op}"
            yield Case(name, partial(_by_class, getattr(ps, name)), True, shown, shape, (3, W), op=op)
            yield Case(method, partial(_by_method, method), True, shown, shape, (3, W), op=op)
        name = f"tensor_scatter_{op}"
        yield Case(name, getattr(ps, name), False, "indices[2, 0]", tuples, (3, W), narrow=True, op=op)
    yield Case("scatter", ps.scatter, False, "indices[2, 0]", cells, (3, W), narrow=True, wraps=True, op="update")
    for reduction in ps.ops.REDUCTIONS:
        op = ps.ops.REDUCTIONS[reduction]
        fixed = {"reduction": reduction}
        yield Case("scatter_elements", partial(ps.scatter_elements, **fixed), False, "indices[2, 0]", cells, (3, W), True, True, op)
        yield Case("ScatterND", partial(ps.scatter_nd_reduce, **fixed), False, "indices[2, 0]", tuples, (3, W), True, True, op)
    yield Case("scatter_nd", _scatter_nd, False, "indices[2, 0]", tuples, (3, W))
    for name, shape, narrow in (("gather", rows, False), ("gather_nd", tuples, False), ("gather_elements", cells, True)):
        yield Case(name, partial(_reader, getattr(ps, name)), False, "indices[2, 0]" if len(shape) == 2 else "indices[2]", shape, None, narrow, narrow, "gather")


CASES = list(_cases())
WRITES = [c for c in CASES if c.update_shape]
INPLACE = [c for c in CASES if c.inplace]

def table(dtype=np.float32):
    return (np.arange(R * W).reshape(R, W) % 100 + 1).astype(dtype)


def fails(case, error, indices, updates, *builtins, match=None, dtype=np.float32, **options):
    """The call raises ``error`` and leaves all of its arrays as they were."""
    array = table(dtype)
    target = ps.Parameter(array) if case.inplace else array
    watched = [a for a in (target.value if case.inplace else array, indices, updates) if isinstance(a, np.ndarray) and a.dtype != object]
    before = [a.tobytes() for a in watched]
    with pytest.raises(error, match=match) as caught:
        case.call(target, indices, updates, **options)
    assert isinstance(caught.value, (ParamstoreError, *builtins)) and all(isinstance(caught.value, b) for b in builtins)
    assert case.name.split("[")[0] in str(caught.value)
    assert [a.tobytes() for a in watched] == before
    assert not case.inplace or target.version == 0
