"""embedding, embedding_bag and their backward passes: against plain loops, against PyTorch's recorded answers, with bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import assert_same, dtype_of, pool, vector_step

import paramstore as ps

FLOATS = ("float16", "float32", "float64")
BACKENDS = sorted({k.backend for k in ps.kernels() if k.op == "bag_sum"})
RECORDED = json.loads((Path(__file__).parent / "recorded" / "embedding_bag.json").read_text(encoding="utf-8"))


def bag_loop(table, bags, mode, weights=None):
    """The definition: ``bags`` holds lists of (position, row); one row after the other, each step rounded."""
    wide = np.dtype(np.float32) if table.dtype.itemsize == 2 else table.dtype
    step = vector_step("max", table.dtype.name)
    out = np.zeros((len(bags), table.shape[1]), table.dtype)
    for b, bag in enumerate(bags):
        total = np.zeros(table.shape[1], wide)
        best = None
        for k, row in bag:
            x = table[row].astype(wide)
            total = total + (x if weights is None else x * wide.type(weights[k]))
            best = table[row] if best is None else step(best, table[row])
        if mode == "max":
            out[b] = 0 if best is None else best
        else:
            out[b] = (total / wide.type(len(bag)) if mode == "mean" and bag else total).astype(table.dtype)
    return out


def bags_of(ids, edges, size, padding, bounds):
    bags = []
    for start, stop in zip(edges[:-1], edges[1:]):
        bag = []
        for k in range(start, stop):
            row = int(ids[k])
            if row == padding:
                continue
            if not 0 <= row < size:
                if bounds == "drop":
                    continue
                row = min(max(row, 0), size - 1)
            bag.append((k, row))
        bags.append(bag)
    return bags


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_bags_are_the_loop(backend, data):
    dtype = data.draw(st.sampled_from(FLOATS), "dtype")
    size, width = data.draw(st.integers(1, 9)), data.draw(st.sampled_from([0, 1, 3, 4, 7, 8, 16, 32, 37, 64, 100, 130]))
    mode, bounds = data.draw(st.sampled_from(["sum", "mean", "max"])), data.draw(st.sampled_from(["drop", "clip"]))
    lengths = data.draw(st.lists(st.integers(0, 6), max_size=8))
    n = sum(lengths)
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    ids = rng.integers(-2, size + 2, n).astype(data.draw(st.sampled_from(["int32", "int64"])))
    padding = data.draw(st.sampled_from([None, -1, 0, size]))
    table = rng.choice(pool(dtype), (size, width)) if data.draw(st.booleans()) else rng.standard_normal((size, width)).astype(dtype)
    weights = rng.standard_normal(n).astype(dtype) if mode == "sum" and data.draw(st.booleans()) else None
    edges = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    with np.errstate(all="ignore"):
        expected = bag_loop(table, bags_of(ids, edges, size, padding, bounds), mode, weights)
    offsets, last = (edges, True) if data.draw(st.booleans()) or not lengths else (edges[:-1], False)
    with ps.registry.only(backend):
        got = ps.embedding_bag(table, ids, offsets, mode, weights, padding, include_last_offset=last, bounds=bounds)
    assert_same(got, expected, (dtype, mode, seed))


def test_bfloat16_sums_in_float32():
    try:
        table = np.ones((2, 5), dtype_of("bfloat16"))
    except (AssertionError, TypeError):
        pytest.skip("needs ml_dtypes")
    for backend in BACKENDS:
        with ps.registry.only(backend):
            out = ps.embedding_bag(table, np.zeros((1, 300), np.int64))
        assert out.dtype == table.dtype and (out.astype(np.float32) == 300).all()  # 1 + 1 + ... in bfloat16 stops at 256


@pytest.mark.parametrize("width", [1, 16, 64, 100])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_threads_and_backends_give_the_same_bits(mode, width):
    rng = np.random.default_rng(7)
    table = rng.standard_normal((500, width)).astype(np.float32)
    lengths = rng.integers(0, 40, 1000)
    lengths[17] = 3000  # one bag that is much longer than a thread's share
    offsets, ids = np.concatenate([[0], np.cumsum(lengths)[:-1]]), rng.integers(0, 500, lengths.sum())
    few = np.array([0, 5])  # fewer bags than threads: they share the columns
    found = set()
    before = ps.get_num_threads()
    try:
        for backend in BACKENDS:
            for threads in (1, 2, 3, 8) if backend == "cpu" else (1,):
                ps.set_num_threads(threads)
                with ps.registry.only(backend):
                    found.add(ps.embedding_bag(table, ids, offsets, mode).tobytes() + ps.embedding_bag(table, ids[:4000], few, mode).tobytes())
    finally:
        ps.set_num_threads(before)
    assert len(found) == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda c: f"{c['mode']}-{c['offsets']}-{c['padding']}-{c['weights'] is not None}")
def test_pytorch_gives_the_same(case, backend):
    table = np.array(RECORDED["table"], np.float32)
    ids = np.array(case["ids"], np.int64)
    weights = None if case["weights"] is None else np.array(case["weights"], np.float32)
    more = {"padding_idx": case["padding"], "include_last_offset": case["last"]}
    grad = np.array(case["grad"], np.float32).reshape(-1, table.shape[1])
    with ps.registry.only(backend):
        winners = None
        if case["mode"] == "max":
            out, winners = ps.embedding_bag(table, ids, case["offsets"], "max", return_winners=True, **more)
        else:
            out = ps.embedding_bag(table, ids, case["offsets"], case["mode"], weights, **more)
        back = ps.embedding_bag_backward(grad, table, ids, case["offsets"], case["mode"], weights, winners=winners, **more)
    np.testing.assert_allclose(out, np.array(case["out"], np.float32).reshape(out.shape), rtol=1e-6, atol=0)
    np.testing.assert_allclose(back.to_dense(), case["table_grad"], rtol=1e-6, atol=1e-7)
    if weights is not None:
        found = ps.embedding_bag_weights_backward(grad, table, ids, case["offsets"], **more)
        np.testing.assert_allclose(found, case["weights_grad"], rtol=1e-6, atol=0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_winners_are_the_first_that_have_the_maximum(backend):
    table = np.array([[1.0, np.nan], [2.0, 5.0], [2.0, np.nan]], np.float64)
    with ps.registry.only(backend):
        out, winners = ps.embedding_bag(table, [1, 2, 0, 7], [0, 3, 3], "max", padding_idx=7, return_winners=True)
    assert out[0].tolist()[0] == 2.0 and np.isnan(out[0, 1])
    assert winners.tolist() == [[0, 1], [-1, -1], [-1, -1]]


def test_embedding_reads_rows_and_leaves_missing_ones_blank():
    p = ps.Parameter(np.arange(8, dtype=np.float32).reshape(4, 2))
    assert ps.embedding(p, [[0, 3], [1, 1]]).tolist() == [[[0, 1], [6, 7]], [[2, 3], [2, 3]]]
    assert ps.embedding(p, [0, 3], padding_idx=3).tolist() == [[0, 1], [0, 0]]
    assert ps.embedding(p, np.array([-1, 2]), padding_idx=-1, use_locking=True).tolist() == [[0, 0], [4, 5]]
    assert ps.embedding(p, [-1, 9, 1], padding_idx=-1, bounds="drop").tolist() == [[0, 0], [0, 0], [2, 3]]
    assert ps.embedding(p, [-1, 9, -7], padding_idx=-1, bounds="clip").tolist() == [[0, 0], [6, 7], [0, 1]]
    empty = ps.Parameter(np.zeros((0, 2)))
    assert ps.embedding(empty, [-1, -1], padding_idx=-1).tolist() == [[0, 0], [0, 0]]
    assert ps.embedding_bag(p, [[0, 3], [1, 1]], bounds="drop", use_locking=True).tolist() == [[6, 8], [4, 6]]


def test_embedding_backward_is_the_transpose():
    rng = np.random.default_rng(3)
    ids = rng.integers(-1, 7, (5, 4))
    grad = rng.standard_normal((5, 4, 2))
    dense = np.zeros((6, 2))
    for q in np.ndindex(ids.shape):
        if 0 <= ids[q] < 6:
            dense[ids[q]] += grad[q]
    assert_same(ps.embedding_backward(grad, np.zeros((6, 2)), ids, padding_idx=-1, bounds="drop").to_dense(), dense)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_backward_is_the_derivative(mode):
    """Central differences in float64."""
    rng = np.random.default_rng(11)
    table, ids, offsets = rng.standard_normal((5, 3)), rng.integers(0, 5, 9), np.array([0, 4, 4, 7])
    grad = rng.standard_normal((4, 3))
    winners = ps.embedding_bag(table, ids, offsets, mode, return_winners=True)[1] if mode == "max" else None
    slope = ps.embedding_bag_backward(grad, table, ids, offsets, mode, padding_idx=2 if mode != "max" else None, winners=winners).to_dense()
    h = 1e-6
    for cell in np.ndindex(table.shape):
        ends = []
        for sign in (1, -1):
            moved = table.copy()
            moved[cell] += sign * h
            ends.append((ps.embedding_bag(moved, ids, offsets, mode, padding_idx=2 if mode != "max" else None) * grad).sum())
        assert abs((ends[0] - ends[1]) / (2 * h) - slope[cell]) < 1e-7


TABLE = np.zeros((4, 2), np.float32)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (IndexError, r"embedding: ids\[1\] = 4 is not in \[0, 4\)", lambda: ps.embedding(TABLE, [0, 4])),
        (IndexError, r"embedding: ids\[1, 0\] = -2 is not in \[0, 4\)", lambda: ps.embedding(TABLE, [[-1], [-2]], padding_idx=-1)),
        (IndexError, r"embedding_bag: ids\[1, 0\] = 9 is not in \[0, 4\)", lambda: ps.embedding_bag(TABLE, [[0, -1], [9, 8]], padding_idx=-1)),
        (IndexError, r"embedding_bag: ids\[0\] = 0 is not in \[0, 0\)", lambda: ps.embedding_bag(TABLE[:0], [0], [0], bounds="clip")),
        (IndexError, r"embedding_bag_backward: ids\[0\] = 4 is not", lambda: ps.embedding_bag_backward(np.zeros((1, 2), "f4"), TABLE, [4], [0])),
        (IndexError, r"offsets\[1\] = 3 is not in \[0, 2\]", lambda: ps.embedding_bag(TABLE, [0, 1], [0, 3])),
        (ValueError, r"offsets\[0\] = 1 must be 0", lambda: ps.embedding_bag(TABLE, [0, 1], [1, 2])),
        (ValueError, r"offsets\[2\] = 1 is less than offsets\[1\] = 2", lambda: ps.embedding_bag(TABLE, [0, 1], [0, 2, 1])),
        (ValueError, "must have 2 dimensions", lambda: ps.embedding_bag(TABLE, [0, 1])),
        (ValueError, "must have 1 dimension", lambda: ps.embedding_bag(TABLE, [[0, 1]], [0])),
        (ValueError, r"offsets.shape = \(0,\) must be \(B \+ 1,\)", lambda: ps.embedding_bag(TABLE, [0], [], include_last_offset=True)),
        (ValueError, "include_last_offset = True needs offsets", lambda: ps.embedding_bag(TABLE, [[0]], include_last_offset=True)),
        (ValueError, "mode = 'prod' is none of", lambda: ps.embedding_bag(TABLE, [[0]], mode="prod")),
        (ValueError, "for mode = 'sum'", lambda: ps.embedding_bag(TABLE, [[0]], None, "mean", np.ones((1, 1), "f4"))),
        (ValueError, r"per_sample_weights.shape = \(1,\) must be ids.shape", lambda: ps.embedding_bag(TABLE, [[0]], None, "sum", [1.0])),
        (TypeError, "per_sample_weights.dtype = float64", lambda: ps.embedding_bag(TABLE, [[0]], None, "sum", np.ones((1, 1)))),
        (TypeError, "ids.dtype = float64", lambda: ps.embedding_bag(TABLE, np.zeros((1, 1)))),
        (TypeError, "padding_idx = True", lambda: ps.embedding_bag(TABLE, [[0]], padding_idx=True)),
        (TypeError, "param.dtype = int64 must be a floating type", lambda: ps.embedding_bag(np.zeros((2, 2), int), [[0]])),
        (ValueError, r"param.shape = \(\) must have", lambda: ps.embedding(np.float32(1), [0])),
        (TypeError, "use_locking = True needs a Parameter", lambda: ps.embedding(TABLE, [0], use_locking=True)),
        (ValueError, r"grad.shape = \(1, 2\) must be \(2, 2\)", lambda: ps.embedding_bag_backward(TABLE[:1], TABLE, [[0], [1]])),
        (ValueError, "needs winners", lambda: ps.embedding_bag_backward(TABLE[:1], TABLE, [[0]], mode="max")),
        (ValueError, "winners are for mode = 'max'", lambda: ps.embedding_bag_backward(TABLE[:1], TABLE, [[0]], winners=[[0, 0]])),
        (IndexError, r"winners\[0, 1\] = 5", lambda: ps.embedding_bag_backward(TABLE[:1], TABLE, [[0]], mode="max", winners=[[0, 5]])),
        (ValueError, "return_winners is for mode = 'max'", lambda: ps.embedding_bag(TABLE, [[0]], return_winners=True)),
    ],
    ids=lambda v: v if isinstance(v, str) else None,
)  # fmt: skip
def test_refuses(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_the_first_bad_id_is_named_at_any_thread_count():
    ids = np.zeros(200_000, np.int64)
    ids[[150_000, 60_000, 199_999]] = 4, 5, 6
    before = ps.get_num_threads()
    try:
        for threads in (1, 2, 5):
            ps.set_num_threads(threads)
            with pytest.raises(IndexError, match=r"ids\[60000\] = 5 "):
                ps.embedding_bag(np.zeros((4, 16), np.float32), ids, np.arange(0, 200_000, 4))
    finally:
        ps.set_num_threads(before)
