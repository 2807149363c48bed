"""Any op, layout, dtype, shape, stride, duplicates and values against the defining loop, bit for bit, under each backend and thread count."""

from __future__ import annotations

import loops
import numpy as np
import pytest
from drawn import COMMON, RULES, STRIDES, Array, cells, check, divisors, elements_on, filled, in_place, indexing, laid_out, shapes, ways
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import paramstore as ps

pytestmark = pytest.mark.usefixtures("plans_as_before")

@COMMON
@given(st.data())
def test_rows(data: st.DataObject) -> None:
    op, dtype = data.draw(cells())
    shape, id_shape = data.draw(shapes(1, 3)), data.draw(shapes(0, 3))
    x = data.draw(filled(dtype, shape))
    ids = data.draw(indexing(id_shape, shape[:1], False, False))
    updates = data.draw(filled(dtype, id_shape + shape[1:], divisors(data.draw, op)))
    rule, locking = data.draw(st.sampled_from(RULES)), data.draw(st.booleans())
    given_x, given_ids, given_u = (laid_out(a, data.draw(st.sampled_from(STRIDES))) for a in (x, ids, updates))
    title = f"Scatter{op.capitalize()}"
    name, run = data.draw(
        st.sampled_from(
            (
                (title, lambda p: getattr(ps, title)(locking)(p, given_ids, given_u, bounds=rule)),
                ("Scatter", lambda p: ps.Scatter(op, locking)(p, given_ids, given_u, bounds=rule)),
                (f"scatter_{op}", lambda p: getattr(p, f"scatter_{op}")(given_ids, given_u, use_locking=locking, bounds=rule)),
            )
        )
    )
    check(
        name,
        lambda: loops.scatter_rows(op, x, ids, updates, rule),
        in_place(given_x, run),
        ((given_x, np.asarray(given_x).copy()), (given_ids, given_ids.copy()), (given_u, given_u.copy())),
    )


@COMMON
@given(st.data())
def test_tuples(data: st.DataObject) -> None:
    way = data.draw(st.sampled_from(("class", "method", "function", "onnx")))
    onnx = way == "onnx"
    op, dtype = data.draw(cells(("update", "add", "mul", "min", "max") if onnx else loops.OPS))
    shape = data.draw(shapes(0, 4, 3))
    k = data.draw(st.integers(0, len(shape)))
    lead = data.draw(shapes(0 if onnx else 1, 2))
    x = data.draw(filled(dtype, shape))
    ids = data.draw(indexing((*lead, k), shape[:k] or (1,), onnx, way in ("function", "onnx")))
    updates = data.draw(filled(dtype, lead + shape[k:], divisors(data.draw, op)))
    rule = data.draw(st.sampled_from(RULES))
    given_x, given_ids, given_u = (laid_out(a, data.draw(st.sampled_from(STRIDES))) for a in (x, ids, updates))
    title = f"ScatterNd{op.capitalize()}"
    if way == "class":
        name, call = title, in_place(given_x, lambda p: getattr(ps, title)()(p, given_ids, given_u, bounds=rule))
    elif way == "method":
        name = f"scatter_nd_{op}"
        call = in_place(given_x, lambda p: getattr(p, name)(given_ids, given_u, bounds=rule))
    elif way == "function":
        name, call = f"tensor_scatter_{op}", lambda: getattr(ps, f"tensor_scatter_{op}")(given_x, given_ids, given_u, bounds=rule)
    else:
        reduction = "none" if op == "update" else op
        name, call = "ScatterND", lambda: ps.scatter_nd_reduce(given_x, given_ids, given_u, reduction, bounds=rule)
    check(
        name,
        lambda: loops.scatter_tuples(op, x, ids, updates, rule, onnx),
        call,
        ((given_x, given_x.copy()), (given_ids, given_ids.copy()), (given_u, given_u.copy())),
    )


@COMMON
@given(st.data())
def test_scatter_nd(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(loops.DTYPES))
    shape = data.draw(shapes(0, 4, 3))
    k, lead, rule = data.draw(st.integers(0, len(shape))), data.draw(shapes(1, 2)), data.draw(st.sampled_from(RULES))
    ids = data.draw(indexing((*lead, k), shape[:k] or (1,), False, False))
    updates = data.draw(filled(dtype, lead + shape[k:]))
    given_ids, given_u = (laid_out(a, data.draw(st.sampled_from(STRIDES))) for a in (ids, updates))
    zeros = np.zeros(shape, updates.dtype)
    check("scatter_nd", lambda: loops.scatter_tuples("add", zeros, ids, updates, rule), lambda: ps.scatter_nd(given_ids, given_u, shape, bounds=rule))


@COMMON
@given(st.data())
def test_elements(data: st.DataObject) -> None:
    op, dtype = data.draw(cells())
    shape = data.draw(shapes(1, 4, 4))
    axis = data.draw(st.integers(0, len(shape) - 1))
    id_shape = tuple(data.draw(st.integers(0, 6 if d == axis else s)) for d, s in enumerate(shape))
    x = data.draw(filled(dtype, shape))
    public = op not in ("sub", "div") and data.draw(st.booleans())
    ids = data.draw(indexing(id_shape, (shape[axis],), True, public))
    updates = data.draw(filled(dtype, id_shape, divisors(data.draw, op)))
    rule = data.draw(st.sampled_from(RULES))
    given_x, given_ids, given_u = (laid_out(a, data.draw(st.sampled_from(STRIDES))) for a in (x, ids, updates))
    at = axis - len(shape) if data.draw(st.booleans()) else axis

    def on_kernel() -> Array:
        out = np.array(x, order="C")
        try:
            elements_on(op, out, given_ids, given_u, at, rule)
        except ps.errors.ParamstoreError:
            loops.assert_same(out, x, "after an error")
            raise
        return out

    if not public:
        name, call = "elements", on_kernel
    elif op == "update" and data.draw(st.booleans()):
        name, call = "scatter", lambda: ps.scatter(given_x, given_ids, given_u, at, bounds=rule)
    else:
        reduction = "none" if op == "update" else op
        name, call = "scatter_elements", lambda: ps.scatter_elements(given_x, given_ids, given_u, at, reduction, bounds=rule)
    check(
        name,
        lambda: loops.scatter_elements(op, x, ids, updates, axis, rule),
        call,
        ((given_x, given_x.copy()), (given_ids, given_ids.copy()), (given_u, given_u.copy())),
    )


@COMMON
@given(st.data())
def test_gathers(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(("gather", "p.gather", "gather_nd", "gather_elements")))
    dtype = data.draw(st.sampled_from(loops.DTYPES))
    shape = data.draw(shapes(0 if kind == "gather_nd" else 1, 3))
    x = data.draw(filled(dtype, shape))
    rule = data.draw(st.sampled_from(RULES))
    how_x, how_ids = (data.draw(st.sampled_from(STRIDES)) for _ in range(2))
    given_x = laid_out(x, how_x)
    if kind == "gather_nd":
        k = data.draw(st.integers(0, len(shape)))
        ids = data.draw(indexing((*data.draw(shapes(0, 2)), k), shape[:k] or (1,), False, False))
        given_ids = laid_out(ids, how_ids)
        check(kind, lambda: loops.gather_tuples(x, ids, rule), lambda: ps.gather_nd(given_x, given_ids, bounds=rule), ((given_x, given_x.copy()),))
        return
    axis = data.draw(st.integers(0, len(shape) - 1))
    if kind == "gather_elements":
        id_shape = tuple(data.draw(st.integers(0, 6 if d == axis else s)) for d, s in enumerate(shape))
        ids = data.draw(indexing(id_shape, (shape[axis],), True, True))
        given_ids = laid_out(ids, how_ids)
        check(kind, lambda: loops.gather_elements(x, ids, axis, rule), lambda: ps.gather_elements(given_x, given_ids, axis, bounds=rule))
        return
    ids = data.draw(indexing(data.draw(shapes(0, 2)), (shape[axis],), False, False))
    given_ids = laid_out(ids, how_ids)
    if kind == "gather":
        check("gather", lambda: loops.gather(x, ids, axis, rule), lambda: ps.gather(given_x, given_ids, axis, bounds=rule))
    else:
        p = ps.Parameter(given_x)
        check("gather", lambda: loops.gather(x, ids, axis, rule), lambda: p.gather(given_ids, axis=axis, bounds=rule), ((p.value, x),))


@COMMON
@given(st.data())
def test_whole_and_rows_assignment(data: st.DataObject) -> None:
    """``assign*`` is one step for every cell; ``p[ids] = v`` is the update loop."""
    op = data.draw(st.sampled_from(("update", "add", "sub")))
    dtype = data.draw(st.sampled_from([d for d in loops.DTYPES if loops.defined(op, d)]))
    shape = data.draw(shapes(0, 3))
    x, u = data.draw(filled(dtype, shape)), data.draw(filled(dtype, shape))
    given_u = laid_out(u, data.draw(st.sampled_from(STRIDES)))
    method = {"update": "assign", "add": "assign_add", "sub": "assign_sub"}[op]
    check(method, lambda: loops.loop(op, x, [0], x.size, u), in_place(x, lambda p: getattr(p, method)(given_u)))
    if shape:
        ids = data.draw(indexing(data.draw(shapes(0, 2)), shape[:1], False, False))
        rows = data.draw(filled(dtype, ids.shape + shape[1:]))

        def set_rows(p: ps.Parameter) -> ps.Parameter:
            p[ids] = rows
            return p

        check("p[ids] = value", lambda: loops.scatter_rows("update", x, ids, rows), in_place(x, set_rows))


@COMMON
@given(st.data())
def test_updates_and_indices_that_are_part_of_the_target(data: st.DataObject) -> None:
    """They are read before the first write, as if they had been copied first."""
    op = data.draw(st.sampled_from(("add", "mul", "min", "max", "update", "sub")))
    x = data.draw(filled("int64", data.draw(st.sampled_from(((3, 2), (4, 1), (2, 3))))))
    rows = len(x)
    x[:, 0] = data.draw(hnp.arrays(np.int64, rows, elements=st.integers(0, rows - 1)))
    start, step = data.draw(st.sampled_from(((None, -1), (None, 1), (0, None))))
    for way in ways():
        p = ps.Parameter(x)
        p.scatter_update(p.value[start::step, 0], p.value[start::step])
        loops.assert_same(p.numpy(), loops.scatter_rows("update", x, x[start::step, 0], x[start::step]), way)
        p = ps.Parameter(x)
        ps.Scatter(op)(p, p.value[:, 0], p.value[start::step])
        loops.assert_same(p.numpy(), loops.scatter_rows(op, x, x[:, 0], x[start::step]), way)
        p = ps.Parameter(x)
        ps.ScatterNd(op)(p, p.value[:, :1], p.value[start::step])
        loops.assert_same(p.numpy(), loops.scatter_rows(op, x, x[:, 0], x[start::step]), way)
        out = x.copy()
        elements_on(op, out, out[:, :1], out[start::step, :1], 0)
        loops.assert_same(out, loops.scatter_elements(op, x, x[:, :1], x[start::step, :1], 0), way)
