"""Bad input: an exception of the closed set that is also the promised builtin, and not one bit of the target changed."""

from functools import partial

import numpy as np
import pytest
from faults import CASES, INPLACE, WRITES, R, W, fails, table

import paramstore as ps
from paramstore import errors
from paramstore.errors import ArgumentError, DtypeError, IndexOutOfBounds, ParamstoreError, ShapeError, ZeroDivisor

every = pytest.mark.parametrize("case", CASES, ids=repr)
every_write = pytest.mark.parametrize("case", WRITES, ids=repr)


def test_every_operator_of_the_list_is_here():
    missing = {n.split("[")[0] for n in ps.ops.OPERATORS} - {c.name for c in CASES}
    assert not missing


def test_the_builtins_that_are_promised():
    promised = {
        "ShapeError": (ValueError,), "DtypeError": (TypeError,), "IndexOutOfBounds": (IndexError, ValueError, RuntimeError),
        "IndexFormError": (IndexError, TypeError, ValueError),
        "ParameterCastError": (TypeError, RuntimeError), "ZeroDivisor": (ValueError, ZeroDivisionError), "TargetError": (ValueError,),
        "ScalarRangeError": (ValueError, OverflowError), "ArgumentError": (ValueError,), "MissingKernel": (TypeError, NotImplementedError),
        "TooLarge": (MemoryError,), "UnknownName": (KeyError,), "NameInUse": (ValueError,), "DeviceError": (RuntimeError,),
        "Poisoned": (RuntimeError,), "TimedOut": (TimeoutError,),
    }  # fmt: skip
    assert set(promised) | {"ParamstoreError"} == set(errors.__all__)
    for name, builtins in promised.items():
        assert issubclass(getattr(errors, name), (ParamstoreError,)) and all(issubclass(getattr(errors, name), b) for b in builtins)


@every
@pytest.mark.parametrize("bad", [R, -R - 1, 2**31 - 1, -(2**31), 2**32, -(2**32), 2**63 - 1, -(2**63), -1])
def test_index_outside(case, bad):
    if bad == -1 and case.wraps:
        pytest.skip("negative indices count from the end here")
    low = -R if case.wraps else 0
    text = f"{case.name}: {case.shown} = {bad} is not in [{low}, {R})"
    match = text.replace("[", r"\[").replace("(", r"\(").replace(")", r"\)")
    fails(case, IndexOutOfBounds, case.indices(0, 4, bad), case.updates(), IndexError, ValueError, RuntimeError, match=match)


@every
def test_index_past_int64(case):
    for bad in (2**63, 2**64 - 1, 2**70, -(2**70)):
        match = f"= {bad} is not in"
        fails(case, IndexOutOfBounds, case.indices(0, 4, bad, dtype="list"), case.updates(), IndexError, match=match)
        if 0 < bad < 2**64:
            wide = case.indices(0, 4, bad, dtype=np.uint64)
            fails(case, DtypeError if case.narrow else IndexOutOfBounds, wide, case.updates(), match=None if case.narrow else match)


@every
def test_index_32_bits(case):
    for bad in (R, 2**31 - 1, -(2**31)):
        fails(case, IndexOutOfBounds, case.indices(bad, 0, 0, dtype=np.int32), case.updates(), match=f"= {bad} is not in")


@every
@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "float64", "complex64", "U3", "S3", np.dtypes.StringDType(), object, "M8[s]"], ids=str)
def test_index_dtype(case, dtype):
    fails(case, DtypeError, case.indices(0, 1, 2).astype(dtype), case.updates(), TypeError, match="indices.dtype")


@every
@pytest.mark.parametrize("indices", [None, "abc", {}, {0: 1}, {1, 2}, object(), [None], [1.5], ["a"], [[0.0]], b"0", 1j, [True, False], iter([0])], ids=repr)
def test_indices_that_are_none(case, indices):
    fails(case, DtypeError, indices, case.updates(), TypeError)


@every
def test_ragged_lists(case):
    fails(case, ShapeError, [[0], [1, 2]], case.updates(), ValueError, match="indices")
    if case.update_shape:
        fails(case, ShapeError, case.indices(0, 1, 2), [[1.0], [1.0, 2.0]], ValueError, match="updates")


@every
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 2, 2, 2)])
def test_index_rank(case, shape):
    indices = np.zeros(shape, int)
    if case.name in ("gather", "gather_nd"):  # indices of any rank
        k = shape[-1] if case.name == "gather_nd" else 1
        lead = shape[:-1] if case.name == "gather_nd" else shape
        assert case.call(table(), indices, None).shape == (*lead, *(R, W)[k:])
    else:
        fails(case, ShapeError, indices, case.updates(), ValueError)


@every
def test_index_rank_too_small(case):
    if case.name in ("ScatterND", "gather_nd"):
        fails(case, ShapeError, np.array(0), case.updates(), match="at least 1 dimensions")
    elif len(case.index_shape) == 2:
        fails(case, ShapeError, np.array([0, 1, 2]), case.updates(), ValueError, match="indices.shape")


@every_write
@pytest.mark.parametrize("shape", [(), (0,), (3,), (W,), (1, W), (3, 1), (2, W), (4, W), (3, W + 1), (3, W - 1), (3, W, 1), (1, 3, W), (0, W)])
def test_update_shape(case, shape):
    fails(case, ShapeError, case.indices(0, 1, 2), np.ones(shape, np.float32), ValueError, match="updates.shape")


@every_write
@pytest.mark.parametrize("dtype", ["float64", "complex64", "U1", "S1", np.dtypes.StringDType(), object, "M8[s]"], ids=str)
def test_update_dtype(case, dtype):
    if case.name == "scatter_nd":
        if np.dtype(dtype).kind in "USOM":
            fails(case, DtypeError, case.indices(0, 1, 2), case.updates().astype(dtype), TypeError)
        return
    builtins = (TypeError, RuntimeError) if case.inplace else (TypeError,)
    fails(case, DtypeError, case.indices(0, 1, 2), case.updates(1).astype(dtype), *builtins, match="updates.dtype")


@every_write
@pytest.mark.parametrize("updates", [None, "abc", {}, {1, 2}, object(), [None], ["a"], [1j], 1j, b"x"], ids=repr)
def test_updates_that_are_none(case, updates):
    error = DtypeError
    if case.name == "scatter_nd" and updates in ([1j], 1j):
        error = ShapeError
    fails(case, error, case.indices(0, 1, 2), updates)


@every_write
def test_update_literal_out_of_range(case):
    if case.name != "scatter_nd":  # its updates decide the dtype
        for dtype, bad in (("int8", 128), ("int8", -129), ("uint8", -1), ("int64", 2**63), ("float16", 70000.0), ("float32", 1e39), ("int32", 10**400)):
            fails(case, errors.ScalarRangeError, case.indices(0, 1, 2), [[bad] * W] * 3, ValueError, OverflowError, dtype=dtype, match="updates")
        fails(case, DtypeError, case.indices(0, 1, 2), [[1.5] * W] * 3, TypeError, dtype="int32", match="updates")


@pytest.mark.parametrize("case", [c for c in CASES if c.op == "div"], ids=repr)
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "uint64"])
def test_zero_divisor(case, dtype):
    updates = case.updates(2, dtype)
    updates[1, 2] = 0
    builtins = ZeroDivisor, ValueError, ZeroDivisionError
    fails(case, ZeroDivisor, case.indices(0, 1, 2), updates, *builtins, dtype=dtype, match=r"updates\[1, 2\] = 0: integer division by zero")
    fails(case, ZeroDivisor, case.indices(0, 9, 2), updates, dtype=dtype, bounds="drop")


@every
@pytest.mark.parametrize("bounds", ["", "Raise", "wrap", None, 0, True, b"raise", [], {}, ["raise"], np.array(["raise", "drop"]), object()], ids=repr)
def test_bounds_unknown_or_unhashable(case, bounds):
    fails(case, ArgumentError, case.indices(0, 1, 2), case.updates(), ValueError, bounds=bounds, match="bounds = .* is none of 'raise', 'drop', 'clip'")


@pytest.mark.parametrize("value", [0, 1, "yes", None, np.bool_(True), [], 1.0], ids=repr)
def test_use_locking_is_a_bool(value):
    for case in INPLACE:
        if case.name[0] == "s":
            fails(case, DtypeError, case.indices(0, 1, 2), case.updates(), TypeError, use_locking=value, match="use_locking = .* must be a bool")
        else:
            with pytest.raises(DtypeError, match=f"{case.name}: use_locking = .* must be a bool"):
                getattr(ps, case.name)(use_locking=value)
    p = ps.Parameter(table())
    for call in (p.read, partial(p.assign, table()), partial(p.assign_add, table()), partial(p.gather, [0]), partial(p.gather_nd, [[0]])):
        with pytest.raises(DtypeError, match="use_locking"):
            call(use_locking=value)
    assert p.version == 0


@pytest.mark.parametrize("axis", [2, -3, 2**70])
@pytest.mark.parametrize("name", ["scatter", "scatter_elements", "gather", "gather_elements"])
def test_axis_outside(name, axis):
    args = [table(), np.zeros((1, 1), int)] + ([np.ones((1, 1), np.float32)] if "scatter" in name else [])
    with pytest.raises(ShapeError, match=rf"{name}: axis = {axis} is not in \[-2, 2\)"):
        getattr(ps, name)(*args, axis=axis)


@pytest.mark.parametrize("axis", [0.0, True, np.bool_(False), None, "0", [0], 1j, np.float64(1)], ids=repr)
@pytest.mark.parametrize("name", ["scatter", "scatter_elements", "gather", "gather_elements"])
def test_axis_that_is_no_integer(name, axis):
    args = [table(), np.zeros((1, 1), int)] + ([np.ones((1, 1), np.float32)] if "scatter" in name else [])
    with pytest.raises(DtypeError, match=f"{name}: axis = .* must be an integer"):
        getattr(ps, name)(*args, axis=axis)


@pytest.mark.parametrize("reduction", ["sum", "", "ADD", None, 0, [], "update", "div"], ids=repr)
@pytest.mark.parametrize("function", [ps.scatter_elements, ps.scatter_nd_reduce])
def test_reduction_unknown(function, reduction):
    with pytest.raises(ArgumentError, match="reduction = .* is none of 'none', 'add', 'mul', 'min', 'max'"):
        function(np.zeros((2, 1)), np.zeros((1, 1), int), np.ones((1, 1)), reduction=reduction)


def test_unknown_op():
    for op in ("plus", "", None, [], 3, "gather", "flatten"):
        for call in (partial(ps.Scatter, op), partial(ps.ScatterNd, op), partial(ps.tensor_scatter, np.zeros(2), [[0]], [1.0], op)):
            with pytest.raises(ArgumentError, match="unknown op"):
                call()


@pytest.mark.parametrize(
    ("shape", "error"),
    [(None, DtypeError), ("ab", DtypeError), ((2.0,), DtypeError), ((True,), DtypeError), (2.5, DtypeError), ((-1,), ShapeError), (([1],), DtypeError),
     ((2**61,), ShapeError), ((2**70,), ShapeError), ((1,) * 65, ShapeError), ((2**58,), errors.TooLarge), ((2**59, 4), ShapeError), (np.zeros((2, 2), int), DtypeError)],
)  # fmt: skip
def test_shape_argument(shape, error):
    with pytest.raises(error, match="scatter_nd"):
        ps.scatter_nd(np.zeros((1, 1), int), np.ones(1, np.complex128), shape)
    with pytest.raises(error, match="create"):
        ps.ParamStore().create("x", shape, "complex128")


def test_bytes_beyond_an_address():
    for shape in ((2**59,), (2**59 + 5,)):
        with pytest.raises(errors.TooLarge, match="scatter_nd"):
            ps.scatter_nd([[0]], np.ones(1, np.complex128), shape)
        with pytest.raises(errors.TooLarge, match="create"):
            ps.ParamStore().create("x", shape, "complex128")


def test_the_call_argument_value_and_position_are_named():
    p = ps.Parameter(np.zeros(5))
    with pytest.raises(IndexError) as error:
        p.scatter_add(np.array([0, 1, 7]), np.ones(3))
    assert str(error.value) == "scatter_add: indices[2] = 7 is not in [0, 5)"
    with pytest.raises(IndexError) as error:
        p.scatter_add(np.array([[0, 1], [-7, 9]]), np.ones((2, 2)))
    assert str(error.value) == "scatter_add: indices[1, 0] = -7 is not in [0, 5)"
    with pytest.raises(IndexError) as error:
        p.scatter_add(9, 1.0)
    assert str(error.value) == "scatter_add: indices = 9 is not in [0, 5)"
    with pytest.raises(TypeError) as error:
        ps.ScatterMax()(ps.Parameter(np.zeros(2, np.complex64)), [0], np.ones(1, np.complex64))
    assert "ScatterMax: max is not defined for dtype complex64" in str(error.value)


def test_a_bool_among_the_indices():
    p = ps.Parameter(np.zeros(3))
    for ids in ([True, 2], [[0], [False]], (1, np.True_)):
        with pytest.raises(DtypeError, match="holds a bool"):
            p.scatter_add(ids, np.ones(np.shape(ids)))
    assert not p.numpy().any()


class Faulty:
    """Something whose protocol methods raise."""

    def __init__(self, error, method="__array__"):
        self.error, self.method = error, method

    def __getattr__(self, name):
        if name == self.__dict__.get("method"):

            def fail(*args, **options):
                raise self.error

            return fail
        raise AttributeError(name)


@every
@pytest.mark.parametrize("method", ["__array__", "__dlpack__"])
@pytest.mark.parametrize("error", [KeyError("k"), OSError("no file"), ZeroDivisionError("z"), StopIteration(), AttributeError("a"), AssertionError("b"), MemoryError("m"), ValueError("v")], ids=repr)
def test_values_whose_own_methods_raise(case, error, method):
    for place in range(2):
        if place and case.update_shape is None:
            continue
        args = [case.indices(0, 1, 2), case.updates()]
        args[1 - place if case.update_shape is not None else 0] = Faulty(error, method)
        data = table()
        target = ps.Parameter(data) if case.inplace else data
        with pytest.raises(ParamstoreError) as caught:
            case.call(target, *args)
        assert caught.value.__cause__ is error and np.asarray(target).tobytes() == table().tobytes()


def test_an_interrupt_passes_through():
    for method in ("__array__", "__dlpack__"):
        with pytest.raises(KeyboardInterrupt):
            ps.gather(table(), Faulty(KeyboardInterrupt(), method))


@pytest.mark.parametrize("value", [np.int64, np.ndarray, int, ps.Parameter, Faulty], ids=repr)
def test_a_class_is_no_array(value):
    p = ps.Parameter(table())
    for call in (lambda: ps.Parameter(value), lambda: p.scatter_add(value, 1.0), lambda: p.assign(value), lambda: ps.gather(value, [0]), lambda: ps.gather(table(), value)):
        with pytest.raises(DtypeError):
            call()
    cells = ps.Parameter(np.zeros(2, object))  # where any object is a cell, a class is one
    assert cells.scatter_update(0, value).numpy()[0] is value and p.version == 0


class Index:
    def __index__(self):
        raise KeyError("no index")


def test_sizes_and_axes_whose_own_methods_raise():
    for call in (lambda: ps.gather(table(), [0], Index()), lambda: ps.scatter_nd([[0]], [1.0], (Index(),)), lambda: ps.scatter_nd([[0]], [1.0], Index())):
        with pytest.raises(DtypeError):
            call()
