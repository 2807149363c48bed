"""All or nothing: one error, or two, anywhere in a call of any size."""

from __future__ import annotations

import loops
import numpy as np
import pytest
from drawn import ASKED, COMMON, elements_on, message_of, ordinary, ways
from hypothesis import given, settings
from hypothesis import strategies as st

import paramstore as ps

pytestmark = pytest.mark.usefixtures("plans_as_before")

SIZES = st.sampled_from((1, 9, 300, 9000, 60000))


@settings(COMMON, max_examples=int(ASKED or 120))
@given(st.data())
def test_all_or_nothing(data: st.DataObject) -> None:
    """One error, or two, anywhere in a call of any size: the first one is named, and nothing has been written."""
    layout, fault = data.draw(st.sampled_from(("rows", "nd", "elements"))), data.draw(st.sampled_from(("index", "zero")))
    op = "div" if fault == "zero" else data.draw(st.sampled_from(loops.OPS))
    dtype = data.draw(st.sampled_from(loops.INTEGERS if fault == "zero" else [d for d in loops.DTYPES if loops.defined(op, d)]))
    n, w = data.draw(SIZES), data.draw(st.sampled_from((1, 2, 5, 64)))
    w = min(w, 5) if n > 9000 else w
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    r = int(rng.integers(1, 2000))
    id_dtype = np.dtype(data.draw(st.sampled_from(("int32", "int64"))))
    x, u = ordinary(rng, dtype, (r, w)), ordinary(rng, dtype, (n, w), zero=op != "div")
    if layout == "rows":
        ids = rng.integers(0, r, n).astype(id_dtype)
        name, call = "Scatter", lambda p: ps.Scatter(op)(p, ids, u)
    elif layout == "nd":
        ids = np.stack([rng.integers(0, r, n), rng.integers(0, w, n)], 1).astype(id_dtype)
        u = u[:, 0].copy()
        name, call = "ScatterNd", lambda p: ps.ScatterNd(op)(p, ids, u)
    else:
        ids = rng.integers(-r, r, (n, w)).astype(id_dtype)
        name, call = "elements", lambda p: elements_on(op, p.value, ids, u, 0)
    bad = u if fault == "zero" else ids
    positions = sorted({bad.size - 1 if rng.random() < 0.2 else int(rng.integers(bad.size)) for _ in range(data.draw(st.integers(1, 2)))})
    for position in positions:
        at = np.unravel_index(position, bad.shape)
        size = w if layout == "nd" and at[-1] == 1 else r
        values = [size, size + 1, -size - 1, np.iinfo(id_dtype).max, np.iinfo(id_dtype).min]
        bad[at] = 0 if fault == "zero" else values[int(rng.integers(len(values)))]
    first = tuple(int(i) for i in np.unravel_index(positions[0], bad.shape))
    error = loops.ZeroDivisor(first) if fault == "zero" else loops.BadIndex(first, int(bad[first]))
    before, ids_before, u_before = x.copy(), ids.copy(), u.copy()
    for way in ways(forced=n < 9000):
        p = ps.Parameter(x)
        with pytest.raises(ps.errors.ZeroDivisor if fault == "zero" else ps.errors.IndexOutOfBounds) as caught:
            call(p)
        assert str(caught.value).startswith(message_of(name, error)), (way, str(caught.value))
        loops.assert_same(p.value, before, way)
        loops.assert_same(ids, ids_before, way)
        loops.assert_same(u, u_before, way)
        assert p.version == 0
        if fault == "index" and op != "div" and layout != "elements":  # the functions leave their arguments alone, too
            with pytest.raises(ps.errors.IndexOutOfBounds):
                ps.tensor_scatter(x, ids[:, None] if layout == "rows" else ids, u, op)
            loops.assert_same(x, before, way)
