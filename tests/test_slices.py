"""IndexedSlices: coalescing against the defining loop, arithmetic, clipping, and what is refused."""

import numpy as np
import pytest
from dense_optim import summed
from hypothesis import given, settings
from hypothesis import strategies as st

import paramstore as ps
from paramstore import registry
from paramstore.errors import ArgumentError, DtypeError, IndexOutOfBounds, ShapeError

S = ps.IndexedSlices
NATIVE = any(k.backend == "cpu" for k in ps.kernels(op="coalesce"))
BACKENDS = ["reference", *(["cpu"] if NATIVE else [])]
DTYPES = ["bool", "int8", "uint16", "int32", "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def dtype_of(name):
    return pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else np.dtype(name)


@pytest.fixture(autouse=True)
def threads_back():
    before = ps.get_num_threads()
    yield
    ps.set_num_threads(before)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_coalesce_is_the_defining_loop(dtype, backend, data):
    kind = dtype_of(dtype)
    rows = data.draw(st.integers(1, 40))
    width = data.draw(st.sampled_from([1, 2, 7, 8, 64, 70]))
    n = data.draw(st.integers(0, 300))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    ids = rng.integers(0, rows, n).astype(data.draw(st.sampled_from(["int32", "int64"])))
    if data.draw(st.booleans()):
        ids.sort()
    with np.errstate(all="ignore"):
        values = (rng.normal(size=(n, width)) * 100).astype(kind)
        if np.dtype(kind).kind == "c":
            values += (1j * rng.normal(size=(n, width))).astype(kind)
        expected = summed(ids, values, (rows, width))
    ps.set_num_threads(data.draw(st.integers(1, 4)))
    with registry.only(backend):
        one = S(ids, values, (rows, width)).coalesce()
        dense = S(ids, values, (rows, width)).to_dense() if n else np.zeros((rows, width), kind)
    assert one.indices.tolist() == sorted(set(ids.tolist())) and one.indices.dtype == ids.dtype and one.values.dtype == kind
    assert one.values.tobytes() == expected[one.indices].tobytes() and dense.tobytes() == expected.tobytes()
    again = one.coalesce()
    assert again.values.tobytes() == one.values.tobytes() and again.indices.tolist() == one.indices.tolist()


@pytest.mark.skipif(not NATIVE, reason="the extension is not built")
def test_large_calls_at_any_number_of_threads():
    rng = np.random.default_rng(0)
    for rows, n in ((3, 50_000), (10**6, 70_000), (2**40, 3000)):
        ids, values = rng.integers(0, rows, n), rng.normal(size=(n, 9)).astype(np.float32)
        with registry.only("reference"):
            expected = S(ids, values).coalesce()
        for threads in (1, 2, 7):
            ps.set_num_threads(threads)
            found = S(ids, values).coalesce()
            assert found.indices.tobytes() == expected.indices.tobytes() and found.values.tobytes() == expected.values.tobytes()


@pytest.mark.parametrize("backend", BACKENDS)
def test_ids_outside_are_refused(backend):
    with registry.only(backend):
        for ids, size, text in (([0, 5], 5, r"coalesce: indices\[1\] = 5 is not in \[0, 5\)"), ([[3], [-1]], 4, r"indices\[1, 0\] = -1 is not in")):
            with pytest.raises(IndexOutOfBounds, match=text):
                S(ids, np.ones(np.shape(ids)), (size,)).coalesce()
        with pytest.raises(IndexOutOfBounds, match=r"indices\[0\] = -2"):
            S([-2, 2**62], [1.0, 1.0]).coalesce()
        far = S([2**62, 3, 2**62], [1.0, 2.0, 4.0]).coalesce()
        assert far.indices.tolist() == [3, 2**62] and far.values.tolist() == [2.0, 5.0]


def test_what_does_not_fit_is_refused_when_it_is_made():
    for make, error in (
        (lambda: S([0, 1], np.ones((3, 2))), ShapeError),
        (lambda: S([0, 1], np.ones((2, 3)), (5, 2)), ShapeError),
        (lambda: S([[0, 1]], np.ones(2)), ShapeError),
        (lambda: S([0], [1.0], ()), ShapeError),
        (lambda: S([0], [1.0], (-1,)), ShapeError),
        (lambda: S([0.0], [1.0]), DtypeError),
        (lambda: S([True], [1.0]), DtypeError),
        (lambda: S(None, [1.0]), DtypeError),
        (lambda: S([0], [1.0], "x"), DtypeError),
        (lambda: S([0], ["a"]).coalesce(), DtypeError),
    ):
        with pytest.raises(error):
            make()
    with pytest.raises(ArgumentError, match="no dense_shape"):
        S([0], [1.0]).to_dense()


def test_sums_and_multiples():
    a, b = S(np.array([0, 2], np.int32), np.array([[1.0], [2.0]], np.float32), (3, 1)), S([2], np.array([[4.0]], np.float32))
    both = a + b
    assert both.indices.tolist() == [0, 2, 2] and both.indices.dtype == np.int64 and both.dense_shape == (3, 1) and len(both) == 3
    assert both.to_dense().tolist() == [[1.0], [0.0], [6.0]]
    for scaled, expected in ((a * 2, [2, 4]), (0.5 * a, [0.5, 1]), (a / 4, [0.25, 0.5]), (-a, [-1, -2]), (a * np.float64(3), [3, 6])):
        assert scaled.values.reshape(-1).tolist() == expected and scaled.dtype == np.float32 and scaled.dense_shape == (3, 1)
    for bad, error in ((lambda: a + S([0], np.ones((1, 1)))), (DtypeError)), ((lambda: a + S([0], np.ones((1, 2), np.float32))), ShapeError):
        with pytest.raises(error):
            bad()
    for bad in (lambda: a + 1, lambda: a * "x", lambda: a * [1.0, 2.0], lambda: S([0], np.ones(1, int)) / 2):
        with pytest.raises((TypeError, ShapeError)):
            bad()


def test_clipping_by_the_norm_of_the_coalesced_rows():
    g = S([1, 1, 0], np.array([[1.0, 0], [2.0, 0], [0, 4.0]]), (3, 2))
    assert g.norm() == 5.0 == np.linalg.norm(g.to_dense()) and ps.global_norm([g, np.array([12.0])]) == 13.0
    assert g.clip_by_norm(5.0).values.tolist() == [[0, 4], [3, 0]]
    (clipped, dense), norm = ps.clip_by_global_norm([g, np.full(1, 12, np.float32)], 6.5)
    assert norm == 13.0 and clipped.values.tolist() == [[0, 2], [1.5, 0]] and dense.tolist() == [6] and dense.dtype == np.float32
    assert ps.clip_by_global_norm([], 1.0) == ([], 0.0)
    assert np.isnan(S([0, 1], [np.nan, 1.0]).clip_by_norm(1.0).values).all()
    inf = S([0, 1], [np.inf, 1.0]).clip_by_norm(1.0).values
    assert np.isnan(inf[0]) and inf[1] == 0
    half = S([0, 0], np.array([40000.0, 20000.0], np.float16)).norm()
    assert half == 60000.0
    for bad in (0, -1.0, np.nan, True, "1", None):
        with pytest.raises(ArgumentError, match="max_norm"):
            g.clip_by_norm(bad)
    with pytest.raises(DtypeError):
        ps.global_norm([S([0], [1])])


def test_one_class_serves_tensorflow_too():
    tf = ps.frontends.tensorflow
    t = tf.IndexedSlices([[1.0], [2.0]], [1, 1], [2, 1])
    assert isinstance(t, S) and t.values == [[1.0], [2.0]] and t.coalesce().values == [[3.0]] and isinstance(t.coalesce(), tf.IndexedSlices)
    p = ps.Parameter(np.zeros((2, 1), np.float32))
    ps.optim.SGD(1.0).apply(p, tf.IndexedSlices(np.ones((2, 1), np.float32), [1, 1], [2, 1]))
    assert p.numpy().tolist() == [[0.0], [-2.0]]
    v = tf.Variable([[1.0], [1.0]])
    v.scatter_add(S([0], np.ones((1, 1), np.float32)))
    assert v.numpy().tolist() == [[2.0], [1.0]]
