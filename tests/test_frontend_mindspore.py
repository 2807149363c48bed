"""The MindSpore frontend: the checklists of its pages, error classes, defaults. Against MindSpore: ``python -m tests.conformance``."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import (
    ParameterCastError,
    ParamstoreError,
    ScalarRangeError,
    ShapeError,
    ZeroDivisor,
)  # fmt: skip
from paramstore.frontends import mindspore as ops

F, I32 = np.float32, np.int32
TITLES = ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update")
BY_ROWS, BY_TUPLES = [f"Scatter{t}" for t in TITLES], [f"ScatterNd{t}" for t in TITLES]
IN_PLACE, FUNCTIONAL = BY_ROWS + BY_TUPLES, [f"TensorScatter{t}" for t in TITLES]


def param(value, dtype=F):
    return ps.Parameter(np.array(value, dtype), name="x")


def idx(value, dtype=I32):
    return np.array(value, dtype)


def call(name, x=None, indices=None, updates=None, nd=None):
    """An operator on good arguments, some of them replaced."""
    nd = "Nd" in name or "Tensor" in name if nd is None else nd
    x = np.full((2, 3), 6, F) if x is None else x
    x = x if "Tensor" in name or isinstance(x, ps.Parameter) else ps.Parameter(x)
    indices = (idx([[1]]) if nd else idx([1])) if indices is None else indices
    updates = np.full((1, 3), 2, F) if updates is None else updates
    return getattr(ops, name)()(x, indices, updates)


# -- ScatterAdd's page, item by item (the numbers are the checklist's) ------------------------------------------------------------


@pytest.mark.parametrize(
    "indices, updates, printed",
    [
        ([[0, 1], [1, 1]], None, "[[1. 1. 1.]\n [3. 3. 3.]]"),
        ([[0, 1], [1, 1]], (1.0, 3.0, 7.0, 9.0), "[[ 1.  1.  1.]\n [19. 19. 19.]]"),
        ([[1, 0], [1, 1]], (1.0, 3.0, 7.0, 9.0), "[[ 3.  3.  3.]\n [17. 17. 17.]]"),
        ([[0, 1], [0, 1]], (1.0, 3.0, 7.0, 9.0), "[[ 8.  8.  8.]\n [12. 12. 12.]]"),
    ],
)
def test_scatter_add_13_to_16_examples(indices, updates, printed):
    input_x = ps.Parameter(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], F), name="x")
    updates = np.ones([2, 2, 3], F) if updates is None else np.repeat(np.array(updates, F), 3).reshape(2, 2, 3)
    output = ops.ScatterAdd()(input_x, idx(indices), updates)
    assert str(output.numpy()) == printed and str(input_x.numpy()) == printed


def test_scatter_add_01_default_lock():
    for name in IN_PLACE:
        assert inspect.signature(getattr(ops, name)).parameters["use_locking"].default is name.endswith("Update"), name
        assert getattr(ops, name)().use_locking is name.endswith("Update")
        assert getattr(ops, name)(True).use_locking is True and getattr(ops, name)(use_locking=False).use_locking is False
    assert list(inspect.signature(ops.scatter_add).parameters) == ["input_x", "indices", "updates"]
    assert inspect.signature(ops.scatter_nd_add).parameters["use_locking"].default is False
    assert inspect.signature(ops.IndexAdd).parameters["use_lock"].default is True


def test_scatter_add_03_04_18_in_place():
    p = param([[0, 0], [0, 0]])
    for times in (1, 2):
        assert ops.ScatterAdd()(p, idx([1]), np.ones((1, 2), F)) is p
        assert p.numpy().tolist() == [[0, 0], [times, times]] and p.dtype == F and p.version == times


@pytest.mark.parametrize("name", [*IN_PLACE, "IndexAdd", "InplaceIndexAdd", "ScatterNonAliasingAdd"])
def test_scatter_add_05_a_parameter(name):
    operator = getattr(ops, name)(*([0] if "Index" in name else []))
    for target in (np.zeros((2, 3), F), [[0.0]], None):
        with pytest.raises(TypeError, match=f"{name}: .* must be a Parameter, not"):
            operator(target, idx([1]), np.ones((1, 3), F))


def test_scatter_add_05_dimensions():
    for name in IN_PLACE:
        with pytest.raises(ValueError, match=r"input_x.shape = \(\)"):
            call(name, x=param(1.0), updates=np.ones((1,), F))


@pytest.mark.parametrize("name", IN_PLACE + FUNCTIONAL)
def test_scatter_add_06_10_index_dtypes(name):
    nd = name not in BY_ROWS
    for dtype in (np.int32, np.int64):
        call(name, indices=idx([[1]] if nd else [1], dtype))
    for dtype in (np.int8, np.int16, np.uint8, np.uint32, np.uint64, np.float32, np.bool_):
        with pytest.raises(TypeError, match=rf"{name}: indices.dtype = .* must be int32 or int64"):
            call(name, indices=idx([[1]] if nd else [1], dtype))
    for other in ([[1]], [1], 1, (1,)):
        with pytest.raises(TypeError, match=f"{name}: indices must be an array"):
            call(name, indices=other)


@pytest.mark.parametrize("name", IN_PLACE + FUNCTIONAL)
def test_scatter_add_07_11_shapes(name):
    for shape in ((3,), (1, 2), (1, 3, 1), (2, 3), ()):
        with pytest.raises(ValueError, match=f"{name}: updates.shape"):
            call(name, updates=np.full(shape, 2, F))


def test_scatter_add_08_12_implicit_conversion():
    order = ["bool", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
    for name in IN_PLACE:
        nd = name in BY_TUPLES
        for k, x in enumerate(order[1:], 1):
            for j, u in enumerate(order):
                p, before = param([[6, 6]], x), np.full((1, 2), 6, x)
                indices, updates = idx([[0]] if nd else [0]), np.ones((1, 2), u)
                if j <= k:
                    assert call(name, x=p, indices=indices, updates=updates).dtype == x
                    continue
                for caught in (TypeError, RuntimeError, ParameterCastError):
                    with pytest.raises(caught, match=f"{name}: updates.dtype = {u} does not convert to input_x.dtype = {x}"):
                        call(name, x=p, indices=indices, updates=updates)
                assert p.numpy().tobytes() == before.tobytes()


@pytest.mark.parametrize("x, u, fits", [("int16", "uint8", True), ("int8", "uint8", False), ("uint8", "int8", False), ("uint16", "uint8", False),
                                        ("uint32", "bool", True), ("int64", "uint32", False), ("float32", "uint16", False)])  # fmt: skip
def test_conversions_of_unsigned(x, u, fits):
    p = param([[1, 1, 1]], x)
    if fits:
        assert call("ScatterAdd", x=p, indices=idx([0]), updates=np.ones((1, 3), u)).numpy().tolist() == [[2, 2, 2]]
    else:
        with pytest.raises(ParameterCastError):
            call("ScatterAdd", x=p, indices=idx([0]), updates=np.ones((1, 3), u))


def test_numbers_as_updates():
    assert ops.ScatterAdd()(param([1, 2]), idx(1), 2.5).numpy().tolist() == [1, 4.5]
    assert ops.ScatterAdd()(param([1, 2], "int8"), idx(1), True).numpy().tolist() == [1, 3]
    for caught in (TypeError, RuntimeError):
        with pytest.raises(caught, match="updates = 2.5 is no int32"):
            ops.ScatterAdd()(param([1, 2], "int32"), idx(1), 2.5)
    with pytest.raises(ScalarRangeError, match=r"updates holds 300, which is not in \[-128, 127\]"):
        ops.ScatterAdd()(param([1, 2], "int8"), idx(1), 300)
    with pytest.raises(ShapeError, match="updates.shape"):
        ops.ScatterAdd()(param([1, 2]), idx([1]), 2.0)
    with pytest.raises(TypeError, match="updates must be an array"):
        ops.ScatterAdd()(param([1, 2]), idx([1]), [2.0])


@pytest.mark.parametrize("value", [1, 0, None, "True", np.True_, 1.0])
def test_scatter_add_09_strict_bool(value):
    for name in IN_PLACE:
        with pytest.raises(TypeError, match=f"{name}: use_locking"):
            getattr(ops, name)(value)
    for make in (lambda: ops.IndexAdd(0, value), lambda: ops.IndexAdd(0, True, value)):
        with pytest.raises(TypeError, match="IndexAdd: "):
            make()
    with pytest.raises(TypeError, match="use_locking"):
        ops.scatter_nd_add(param([1.0]), idx([[0]]), np.ones(1, F), value)


def test_scatter_add_19_lock():
    p = param([0], "int64")
    one, at = np.ones(1, np.int64), idx([0])

    def work(operator):
        for _ in range(300):
            operator(p, at, one)

    threads = [threading.Thread(target=work, args=(ops.ScatterAdd(use_locking=True),)) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert p.numpy().tolist() == [1800]
    assert p.lock.acquire(blocking=False)
    p.lock.release()


# -- TensorScatterUpdate's page -------------------------------------------------------------------------------------------------------


def test_tensor_scatter_update_example():
    input_x = np.array([[-0.1, 0.3, 3.6], [0.4, 0.5, -3.2]], F)
    before = input_x.copy()
    output = ops.TensorScatterUpdate()(input_x, idx([[0, 0], [1, 1]]), np.array([1.0, 2.2], F))
    assert str(output) == "[[ 1.   0.3  3.6]\n [ 0.4  2.2 -3.2]]"
    assert input_x.tobytes() == before.tobytes() and output.dtype == F


def test_tensor_scatter_update_checklist():
    assert list(inspect.signature(ops.TensorScatterUpdate).parameters) == []
    with pytest.raises(TypeError):
        ops.TensorScatterUpdate(True)
    x = np.zeros((2, 3), F)
    op = ops.TensorScatterUpdate()
    assert op(x, idx([[1]]), np.ones((1, 3), F)).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert op(x, idx([[1, 1], [1, 1]]), np.array([1, 2], F)).tolist() == [[0, 0, 0], [0, 2, 0]]
    for caught in (ValueError, RuntimeError):
        with pytest.raises(caught, match="indices"):
            op(x, idx([[2, 0]]), np.ones(1, F))
        with pytest.raises(caught, match="indices"):
            op(x, idx([[0, 3]]), np.ones(1, F))  # 2.10 writes [1, 0] here
    for bad in (idx([1]), idx([[0, 0, 0]]), idx(1)):
        with pytest.raises(ValueError, match="indices.shape"):
            op(x, bad, np.ones(1, F))
    for name in FUNCTIONAL:
        with pytest.raises(TypeError, match="updates.dtype = int32 must equal input_x.dtype = float32"):
            call(name, updates=np.ones((1, 3), I32))
        with pytest.raises(TypeError, match="input_x must be an array"):
            call(name, x=[[1.0, 2.0, 3.0]])
    assert op(np.array([True, False]), idx([[1]]), np.array([True])).tolist() == [True, True]
    assert op(x, idx([[5]]), np.ones((1, 3), F), bounds="drop").tolist() == x.tolist()  # MindSpore on the GPU


# -- all of them --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", IN_PLACE + FUNCTIONAL)
def test_indices_outside(name):
    nd = name not in BY_ROWS
    for bad in (-1, 2, 2**31 - 1):
        x = np.full((2, 3), 6, F)
        p = x if name in FUNCTIONAL else ps.Parameter(x)
        for caught in (RuntimeError, ValueError, IndexError, ParamstoreError):
            with pytest.raises(caught, match=rf"{name}: indices\[1.*\] = {bad} is not in \[0, 2\)"):
                call(name, x=p, indices=idx([[0], [bad]] if nd else [0, bad]), updates=np.full((2, 3), 2, F))
        assert np.asarray(p).tobytes() == x.tobytes()


@pytest.mark.parametrize("name", IN_PLACE + FUNCTIONAL)
def test_dtypes(name):
    nd = name not in BY_ROWS
    refused = {"bool", "complex64", "complex128"}
    if name == "ScatterNdUpdate":
        refused = {"bool"}
    elif name == "TensorScatterUpdate":
        refused = set()
    elif name == "TensorScatterDiv":
        refused |= {"int8", "uint8"}
    kinds = (
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    )
    for dtype in kinds:
        x, updates = np.ones((2, 1), dtype), np.ones((1, 1), dtype)
        indices = idx([[1]] if nd else [1])
        if dtype in refused:
            with pytest.raises(TypeError, match=f"{name}: input_x.dtype = {dtype} is none of"):
                call(name, x=x, indices=indices, updates=updates)
        else:
            assert np.asarray(call(name, x=x, indices=indices, updates=updates)).dtype == dtype


def test_division():
    zeros = np.array([2.0, -0.0], F)
    p = param([6, 6])
    with pytest.raises(ValueError, match=r"ScatterDiv: updates\[1\] = 0: updates must not contain 0"):
        ops.ScatterDiv()(p, idx([0, 0]), zeros)
    with pytest.raises(ZeroDivisor):
        ops.scatter_div(p, idx([0, 0]), zeros)
    assert p.numpy().tolist() == [6, 6]
    assert ops.ScatterNdDiv()(p, idx([[0], [0]]), np.array([0, 2], F)).numpy().tolist() == [np.inf, 6]
    assert ops.TensorScatterDiv()(np.array([6, 0], F), idx([[0], [1]]), zeros * 0).tolist()[0] == np.inf
    for run in (lambda u: ops.ScatterDiv()(param([6], "int32"), idx([0]), u), lambda u: ops.ScatterNdDiv()(param([6], "int32"), idx([[0]]), u),
                lambda u: ops.TensorScatterDiv()(idx([6]), idx([[0]]), u)):  # fmt: skip
        with pytest.raises(ValueError, match="= 0"):
            run(idx([0]))
        assert np.asarray(run(idx([-4]))).tolist() == [-1]
    low = np.iinfo(np.int32).min
    assert ops.ScatterDiv()(param([low, -7], "int32"), idx([0, 1]), idx([-1, 2])).numpy().tolist() == [low, -3]


def test_min_and_max_propagate_nan():
    for name in ("ScatterMin", "ScatterMax", "ScatterNdMin", "TensorScatterMax"):
        nd = name not in BY_ROWS
        out = call(name, x=np.array([np.nan, 1, 2], F), indices=idx([[0], [1]] if nd else [0, 1]), updates=np.array([1, np.nan], F))
        assert np.isnan(np.asarray(out)).tolist() == [True, True, False]
    x = np.array([-0.0], F)
    assert not np.signbit(ops.TensorScatterMax()(x, idx([[0]]), -x)[0]) and np.signbit(ops.TensorScatterMin()(-x, idx([[0]]), x)[0])


def test_no_depth_is_for_all_of_x():
    indices, updates = np.zeros((2, 0), I32), np.array([[1, 2], [10, 20]], F)
    assert ops.ScatterNdAdd()(param([0, 0]), indices, updates).numpy().tolist() == [11, 22]
    assert ops.ScatterNdUpdate()(param([0, 0]), indices, updates).numpy().tolist() == [10, 20]
    assert ops.ScatterNonAliasingAdd()(param([0, 0]), indices, updates).numpy().tolist() == [11, 22]
    with pytest.raises(ShapeError, match="at least 2 dimensions"):
        ops.ScatterNdAdd()(param([0, 0]), idx([0]), np.ones(1, F))


# -- the module ---------------------------------------------------------------------------------------------------------------------


def test_functions_are_the_operators():
    for title in TITLES:
        low = title.lower()
        x, u = np.array([6, 8], F), np.array([2], F)
        assert np.array_equal(
            getattr(ops, f"scatter_{low}")(ps.Parameter(x), idx([1]), u), getattr(ops, f"Scatter{title}")()(ps.Parameter(x), idx([1]), u)
        )
        nd = getattr(ops, f"ScatterNd{title}")()(ps.Parameter(x), idx([[1]]), u)
        assert np.array_equal(getattr(ops, f"scatter_nd_{low}")(ps.Parameter(x), idx([[1]]), u), nd)
        assert np.array_equal(
            getattr(ops, f"tensor_scatter_{low}")(x, idx([[1]]), u), getattr(ops, f"TensorScatter{title}")()(x, idx([[1]]), u)
        )
    for name in ops.__all__:
        assert getattr(ops, name).__doc__ and "Source: mindspore.ops." in getattr(ops, name).__doc__, name


def test_it_never_imports_the_original():
    code = (
        "import sys, paramstore; assert not any('frontends.' in m for m in sys.modules)\n"
        "paramstore.frontends.mindspore.ScatterAdd; assert 'mindspore' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
