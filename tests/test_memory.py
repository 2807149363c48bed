"""Layouts of memory: targets that must not be written are refused, and everything else counts by its values alone."""

import numpy as np
import pytest
from faults import CASES, INPLACE, WRITES, R, W, table

import paramstore as ps
from paramstore.errors import DtypeError, IndexOutOfBounds, ParamstoreError, ShapeError, TargetError, TooLarge

every = pytest.mark.parametrize("case", CASES, ids=repr)
every_write = pytest.mark.parametrize("case", WRITES, ids=repr)
every_inplace = pytest.mark.parametrize("case", INPLACE, ids=repr)


def unaligned(a):
    raw = np.zeros(a.nbytes + 1, np.uint8)
    out = raw[1:].view(a.dtype).reshape(a.shape)
    out[...] = a
    assert a.itemsize == 1 or not out.flags.aligned
    return out


def spaced(a):
    wide = np.zeros([2 * s for s in a.shape], a.dtype)
    wide[tuple(slice(None, None, 2) for _ in a.shape)] = a
    return wide[tuple(slice(None, None, 2) for _ in a.shape)]


def reversed_memory(a):
    return np.ascontiguousarray(np.flip(a))[tuple(slice(None, None, -1) for _ in a.shape)]


class Sub(np.ndarray):
    pass


LAYOUTS = {
    "swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "unaligned": unaligned,
    "spaced": spaced,
    "negative": reversed_memory,
    "fortran": np.asfortranarray,
    "subclass": lambda a: a.view(Sub),
    "swapped negative": lambda a: reversed_memory(a.astype(a.dtype.newbyteorder())),
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


def read_only():
    x = table()
    x.flags.writeable = False
    return x


def overlapping(shape, strides):
    return np.lib.stride_tricks.as_strided(np.zeros(R * W, np.float32), shape, strides)


REFUSED = {
    "read-only": read_only,
    "broadcast": lambda: np.broadcast_to(np.ones(W, np.float32), (R, W)),
    "frombuffer": lambda: np.frombuffer(bytes(4 * W), np.float32),
    "memoryview": lambda: np.asarray(memoryview(bytes(8))),
    "stride 0": lambda: overlapping((R, W), (0, 4)),
    "stride 0 everywhere": lambda: overlapping((R, W), (0, 0)),
    "overlap": lambda: overlapping((R, W), (4, 4)),
    "negative": lambda: table()[::-1],
    "negative inner": lambda: table()[:, ::-1],
    "transposed": lambda: table().T,
    "spaced": lambda: spaced(table()),
    "unaligned": lambda: unaligned(table()),
    "swapped": lambda: table(">f4" if np.dtype("=f4") == "<f4" else "<f4"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_targets_that_are_refused(kind):
    x = REFUSED[kind]()
    before = x.tobytes()
    with pytest.raises(TargetError, match=r"Parameter\(copy=False\): value"):
        ps.Parameter(x, copy=False)
    assert x.tobytes() == before and ps.Parameter(x).numpy().tolist() == x.tolist()


@pytest.mark.parametrize("value", [[1.0], 1.0, None, "abc", {}, (1.0,), object(), b"ab"], ids=repr)
def test_targets_that_are_no_arrays(value):
    with pytest.raises(DtypeError):
        ps.Parameter(value, copy=False)


@every_inplace
def test_a_plain_array_is_no_target(case):
    if case.name[0] == "S":
        for x in (table(), table().tolist(), None):
            with pytest.raises(DtypeError, match=f"{case.name}: input_x must be a Parameter"):
                case.call(x, case.indices(0, 1, 2), case.updates())


def result(case, data, indices, updates, **options):
    out = case.call(ps.Parameter(data) if case.inplace else data, indices, updates, **options)
    return np.asarray(out).tobytes(), np.asarray(out).shape


@every_layout
@every
def test_layouts_of_indices_and_updates(case, layout):
    for width in (np.int32, np.int64):
        indices, updates = case.indices(4, 1, 4, 0, dtype=width), case.updates(n=4)
        if updates is not None:
            updates[...] = np.linspace(1, 7, updates.size).reshape(updates.shape)
        expected = result(case, table(), indices, updates)
        assert result(case, table(), LAYOUTS[layout](indices), updates) == expected
        if updates is not None:
            assert result(case, table(), indices, LAYOUTS[layout](updates)) == expected


@pytest.mark.parametrize("case", [c for c in CASES if not c.inplace and c.name != "scatter_nd"], ids=repr)
@pytest.mark.parametrize("kind", [k for k in REFUSED if REFUSED[k]().shape == (R, W)])
def test_layouts_of_functional_inputs(case, kind):
    """What no in-place call may write is a fine input where the result is new."""
    x = REFUSED[kind]()
    before = x.tobytes()
    args = case.indices(4, 1, 4), case.updates()
    assert result(case, x, *args) == result(case, np.array(x, np.float32, order="C"), *args) and x.tobytes() == before


@every_write
def test_broadcast_updates_and_indices(case):
    """Stride 0 is harmless where it is only read."""
    indices = np.broadcast_to(case.indices(2), (3, *case.index_shape[1:]))
    updates = np.broadcast_to(np.float32(3), (3, *case.update_shape[1:]))
    assert result(case, table(), indices, updates) == result(case, table(), indices.copy(), updates.copy())


@every_inplace
@pytest.mark.parametrize("view", ["same", "reversed", "shifted", "swapped rows"])
def test_updates_that_are_the_target(case, view):
    def overlap(x):
        return {"same": x[:3], "reversed": x[2::-1], "shifted": x[1:4], "swapped rows": x[1:4, ::-1]}[view]

    for dtype in (np.float32, np.int64):
        p = ps.Parameter(table(dtype))
        expected = result(case, table(dtype), case.indices(2, 0, 2), overlap(table(dtype)).copy())
        case.call(p, case.indices(2, 0, 2), overlap(p.value))
        assert (p.numpy().tobytes(), p.shape) == expected


@every_inplace
def test_indices_that_are_the_target(case):
    data = np.array([4, 2, 2, 0, 1])
    shape = (5, 1) if len(case.index_shape) == 2 else (5,)
    for step in (1, -1):
        p = ps.Parameter(data)
        updates = np.array([1, 3, 2, 2, 5])
        expected = result(case, data, data[::step].copy().reshape(shape), updates)
        case.call(p, p.value[::step].reshape(shape), updates)
        assert (p.numpy().tobytes(), p.shape) == expected
        p = ps.Parameter(data + 1)  # not a row when it is read, though it would be one after the first write
        with pytest.raises(IndexOutOfBounds):
            case.call(p, p.value[::step].reshape(shape), updates)
        assert p.numpy().tolist() == (data + 1).tolist()


@every_inplace
def test_a_parameter_as_its_own_update(case):
    p, rows = ps.Parameter(table()), list(range(R))
    expected = result(case, table(), case.indices(*rows), table())
    case.call(p, case.indices(*rows), p)
    assert (p.numpy().tobytes(), p.shape) == expected


@every
def test_no_indices(case):
    data = table()
    indices = np.zeros((0, *case.index_shape[1:]), np.int64)
    out = case.call(ps.Parameter(data) if case.inplace else data, indices, case.updates(n=0))
    if case.update_shape is None:
        assert out.shape[0] == 0
    elif case.name == "scatter_nd":
        assert out.tolist() == np.zeros((R, W)).tolist()
    else:
        assert np.asarray(out).tobytes() == data.tobytes()


@every
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0), (4, 0, 2)])
def test_empty_targets(case, shape):
    """Nothing to address in no rows, whatever the rule; rows of no width are addressed like any other."""
    data = np.zeros(shape, np.float32)
    elements = case.name in ("scatter", "scatter_elements", "gather_elements")
    tuples = not elements and len(case.index_shape) == 2
    lead = shape[:1] if elements else ((1, 1) if tuples else (1,))
    indices = np.zeros((*lead, *shape[1:]) if elements else lead, np.int64)
    updates = None if case.update_shape is None else np.zeros(indices.shape if elements else (1, *shape[1:]), np.float32)
    target = ps.Parameter(data) if case.inplace else data
    if shape[0] == 0 and indices.size:
        for rule in ("raise", "clip"):
            with pytest.raises(IndexOutOfBounds):
                case.call(target, indices, updates, bounds=rule)
        assert case.call(target, indices, updates, bounds="drop") is not None
    else:
        assert np.asarray(case.call(target, indices, updates)).size == 0


@every
def test_0d_everything(case):
    zero, one = np.array(0), np.float32(1)
    target = np.float32(5)
    with pytest.raises(ParamstoreError) as error:
        case.call(ps.Parameter(target) if case.inplace else target, zero, None if case.update_shape is None else one)
    assert isinstance(error.value, ShapeError)


def test_0d_indices_are_one_row():
    p = ps.Parameter(table())
    assert p.scatter_add(np.array(1), np.ones(W, np.float32)).numpy()[1].tolist() == (table()[1] + 1).tolist()
    assert ps.gather(table(), 2).tolist() == table()[2].tolist()
    assert ps.gather_nd(table(), [1, 2]) == table()[1, 2]


def test_tuples_of_no_indices_address_the_whole():
    p = ps.Parameter(table())
    assert p.scatter_nd_add(np.zeros((2, 0), int), np.stack([table(), table()])).numpy().tolist() == (3 * table()).tolist()
    assert ps.gather_nd(table(), np.zeros((2, 0), int)).tolist() == [table().tolist()] * 2


def test_an_axis_of_length_1_may_have_any_stride():
    x = np.zeros(3)[None]
    assert x.strides[0] == 0
    assert ps.Parameter(x, copy=False).scatter_add([0, 0], np.ones((2, 3))).numpy().tolist() == x.tolist() == [[2.0] * 3]


def test_a_private_table_outlives_its_source():
    source = table()
    p = ps.Parameter(source)
    source[...] = 0
    assert p.numpy().tolist() == table().tolist()
    q = ps.Parameter(memoryview(source), copy=False)
    q.scatter_add([0], np.ones((1, W), np.float32))
    assert source[0].tolist() == [1.0] * W


def test_a_gather_that_no_array_can_hold_is_refused():
    """More dimensions than NumPy has, and more bytes (2**44 cells) than the machine."""
    for params, indices in ((np.zeros((1,) * 64), np.zeros((1, 1), np.int64)), (np.zeros((1, 2**20)), np.zeros(2**24, np.int64))):
        with pytest.raises(TooLarge, match="gather: the result of shape"):
            ps.gather(params, indices)


def test_a_gather_of_nothing_takes_no_memory():
    assert ps.gather(np.zeros((1, 2**40, 0)), np.zeros(0, np.int64), 2).shape == (1, 2**40, 0)
    with pytest.raises(IndexOutOfBounds):
        ps.gather(np.zeros((1, 2**40, 0)), [0], 2)
