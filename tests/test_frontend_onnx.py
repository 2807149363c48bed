"""The ONNX frontend: versions, types, errors, `run_node` and the backend. ONNX's own node tests are in test_onnx_nodes.py."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import ArgumentError, DeviceError, DtypeError, IndexOutOfBounds, ShapeError
from paramstore.frontends import onnx

F = np.float32
STARTS = {"Scatter": (9, 11), "ScatterElements": (11, 13, 16, 18), "ScatterND": (11, 13, 16, 18), "Gather": (1, 11, 13),
          "GatherElements": (11, 13), "GatherND": (11, 12, 13), "TensorScatter": (24,)}  # fmt: skip


def call(op, dtype="float32", index="int64", **options):
    """A small valid call of any of the operators."""
    data, new, at = np.ones((2, 3), dtype), np.zeros((1, 3), dtype), np.zeros((1, 3), index)
    arguments = {
        "Scatter": (data, at, new),
        "ScatterElements": (data, at, new),
        "ScatterND": (data, at[:, :1], new),
        "Gather": (data, at[0]),
        "GatherElements": (data, at),
        "GatherND": (data, at[:, :1]),
        "TensorScatter": (data, new[:, :1].repeat(2, 0), at[0, :2], -1),
    }
    return getattr(onnx, op)(*arguments[op], **options)


# -- the page of Scatter-9 ------------------------------------------------------------------------------------------------------


def test_scatter_9_example_1():
    data = np.zeros((3, 3), F)
    out = onnx.Scatter(data, np.array([[1, 0, 2], [0, 2, 1]]), np.array([[1.0, 1.1, 1.2], [2.0, 2.1, 2.2]], F), opset=9)
    assert out.tolist() == np.array([[2.0, 1.1, 0.0], [1.0, 0.0, 2.2], [0.0, 2.1, 1.2]], F).tolist() and not data.any()


def test_scatter_9_example_2():
    out = onnx.Scatter([[1.0, 2.0, 3.0, 4.0, 5.0]], [[1, 3]], [[1.1, 2.1]], axis=1, opset=9)
    assert out.tolist() == [[1.0, 1.1, 3.0, 2.1, 5.0]]


# -- versions -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", STARTS)
def test_every_version_can_be_chosen(op):
    latest = call(op)
    for opset in range(STARTS[op][0], 29):
        out = call(op, opset=opset)
        assert out.dtype == latest.dtype and out.tolist() == latest.tolist()
        since = max(v for v in STARTS[op] if v <= opset)
        with pytest.raises(DtypeError, match=f"{op}-{since}: "):
            call(op, index="float32", opset=opset)
    for opset in (STARTS[op][0] - 1, -1, 29, 10**9):
        with pytest.raises(ArgumentError, match="opset"):
            call(op, opset=opset)
    for opset in (True, 18.0, "18"):
        with pytest.raises(DtypeError, match="opset"):
            call(op, opset=opset)


@pytest.mark.parametrize("op", STARTS)
def test_types_of_each_version(op):
    for dtype in ("bool", "int8", "uint16", "uint64", "float16", "float64", "complex64", "complex128"):
        assert call(op, dtype, opset=STARTS[op][0]).dtype == dtype
    assert call(op, "U3").dtype == object
    assert call(op, "T").tolist() == call(op, "U3").tolist()
    for dtype in ("S3", "datetime64[s]", [("a", "int8")]):
        with pytest.raises(DtypeError, match="is none of"):
            call(op, dtype)


@pytest.mark.parametrize("op", STARTS)
def test_bfloat16_from_opset_13(op):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    for opset in STARTS[op]:
        if opset < 13:
            with pytest.raises(DtypeError, match="bfloat16"):
                call(op, bfloat16, opset=opset)
        else:
            assert call(op, bfloat16, opset=opset).dtype == bfloat16


@pytest.mark.parametrize("op", STARTS)
def test_types_of_indices(op):
    both = op not in ("ScatterND", "GatherND", "TensorScatter")
    for index in ("int8", "int16", "uint8", "uint64", "bool", "float64", "U1") + (() if both else ("int32",)):
        with pytest.raises(DtypeError, match="dtype"):
            call(op, index=index)
    if both:
        assert call(op, index="int32").tolist() == call(op).tolist()


def test_nothing_is_converted():
    with pytest.raises(TypeError, match=r"updates.dtype = float64 must equal data.dtype = float32"):
        onnx.ScatterND(np.zeros(2, F), [[0]], np.ones(1))
    with pytest.raises(TypeError, match=r"update.dtype = int32 must equal past_cache.dtype = float32"):
        onnx.TensorScatter(np.zeros((1, 2, 1), F), np.ones((1, 1, 1), np.int32))


# -- reductions -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_reductions_of_each_version(op):
    expected = {"none": 0.0, "add": 1.0, "mul": 0.0, "min": 0.0, "max": 1.0}
    first = {"none": 11, "add": 16, "mul": 16, "min": 18, "max": 18}
    for opset in (11, 13, 15, 16, 17, 18, 28):
        for reduction, value in expected.items():
            if opset >= first[reduction]:
                assert call(op, reduction=reduction, opset=opset)[0].tolist() == [value] * 3
            else:
                with pytest.raises(ArgumentError, match=f"{reduction}' came later"):
                    call(op, reduction=reduction, opset=opset)
    for unknown in ("sum", "Add", "", None, 3, b"add"):
        with pytest.raises(ValueError, match="reduction"):
            call(op, reduction=unknown)


def test_kept_working():
    assert ps.frontends.onnx.ScatterND(np.zeros(3), np.array([[1], [1]]), np.ones(2), reduction="add").tolist() == [0, 2, 0]


def test_bool_add_is_or_and_mul_is_and():
    data, at, u = np.array([True, False, False]), np.array([0, 1, 1]), np.array([False, True, False])
    assert onnx.ScatterElements(data, at, u, reduction="add").tolist() == [True, True, False]
    assert onnx.ScatterElements(data, at, u, reduction="mul").tolist() == [False, False, False]
    assert onnx.ScatterND(data, at[:, None], u, reduction="max").tolist() == [True, True, False]


@pytest.mark.parametrize("dtype", [object, "U2", "T"])
def test_strings(dtype):
    data, at, u = np.array(["a", "b", ""], dtype), np.array([0, 0, 2]), np.array(["longer", "\0y", "d\xe9"], object)
    assert onnx.ScatterElements(data, at, u).tolist() == ["\0y", "b", "d\xe9"]
    assert onnx.ScatterElements(data, at, u, reduction="add").tolist() == ["alonger\0y", "b", "d\xe9"]
    assert onnx.ScatterND(data, at[:, None], ["x", "y", "z"], reduction="add").tolist() == ["axy", "b", "z"]
    assert onnx.Gather(data, [-2]).tolist() == ["b"] and onnx.Gather(data, [1]).dtype == object
    for reduction in ("mul", "min", "max"):
        with pytest.raises(TypeError, match=f"{reduction} is not defined"):
            onnx.ScatterND(data, [[0]], u[:1], reduction=reduction)
    assert data.tolist() == ["a", "b", ""]


@pytest.mark.parametrize("value", [1, b"a", None, ["a"]])
def test_objects_that_are_no_strings(value):
    data = np.array(["a", value, "b"], object)
    with pytest.raises(DtypeError):
        onnx.Gather(data, [0])
    with pytest.raises(DtypeError):
        onnx.ScatterND(np.array(["a", "b"], object), [[0], [1], [0]], data)


def test_nan_and_zeros():
    nan = np.nan
    for name, zero in (("min", -0.0), ("max", 0.0)):
        out = onnx.ScatterElements(np.array([nan, 1, 0.0, -0.0], F), [0, 1, 2, 3], np.array([1, nan, -0.0, 0.0], F), reduction=name)
        assert np.isnan(out[:2]).all() and np.signbit(out[2:]).tolist() == [np.signbit(zero)] * 2


# -- shapes and indices ---------------------------------------------------------------------------------------------------------


def test_negative_indices():
    data = np.arange(3)
    assert onnx.ScatterElements([1.0], [-1], [1.0], reduction="add").tolist() == [2.0]
    assert onnx.Gather(data, [-3, -1]).tolist() == [0, 2] and onnx.GatherND(data, [[-1]]).tolist() == [2]
    assert onnx.GatherElements(data, [-1, 0]).tolist() == [2, 0] and onnx.Scatter(data, [-1], [7], opset=9).tolist() == [0, 1, 7]
    with pytest.raises(IndexOutOfBounds, match=r"Gather-1: indices\[1\] = -1 is not in \[0, 3\)"):
        onnx.Gather(data, [0, -1], opset=10)


@pytest.mark.parametrize("bad", [3, -4, 2**40, -(2**63), 2**63 - 1])
def test_out_of_bounds(bad):
    at, data = np.array([0, bad]), np.arange(3.0)
    calls = [lambda r=r: onnx.ScatterElements(data, at, [9.0, 9.0], reduction=r) for r in ("none", "add", "max")]
    calls += [
        lambda: onnx.ScatterND(data, at[:, None], [9.0, 9.0]),
        lambda: onnx.Gather(data, at),
        lambda: onnx.GatherND(data, at[:, None]),
    ]
    calls += [lambda: onnx.GatherElements(data, at), lambda: onnx.Scatter(data, at, [9.0, 9.0])]
    for run in calls:
        for kind in (IndexError, ValueError, RuntimeError):
            with pytest.raises(kind, match=rf"indices\[1(, 0)?\] = {bad} is not in \[-3, 3\)"):
                run()
    assert data.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "run",
    [
        lambda: onnx.Scatter(1.0, 0, 1.0), lambda: onnx.ScatterND(1.0, np.zeros(0, int), 1.0), lambda: onnx.Gather(1.0, 0),
        lambda: onnx.GatherElements(1.0, 0), lambda: onnx.GatherND([1.0, 2.0], 0), lambda: onnx.GatherND([1.0], np.zeros((1, 0), int)),
        lambda: onnx.GatherND([[1.0]], [[0, 0, 0]]), lambda: onnx.GatherND([[1.0, 2.0]], [[[0]], [[0]]], batch_dims=1),
        lambda: onnx.GatherND([[1.0]], [[0]], batch_dims=2), lambda: onnx.GatherND([[1.0]], [[0]], batch_dims=-1),
        lambda: onnx.Gather([1.0], [0], axis=1), lambda: onnx.Scatter([1.0], [0], [1.0], axis=-2),
        lambda: onnx.ScatterElements([[1.0, 2.0]], [[0], [0]], [[1.0], [1.0]], axis=1), lambda: onnx.ScatterElements([[1.0]], [0], [1.0]),
        lambda: onnx.ScatterElements([[1.0]], [[0]], [[1.0, 2.0]]), lambda: onnx.ScatterND([1.0, 2.0], [[0]], [[1.0]]),
        lambda: onnx.TensorScatter([1.0], [1.0]), lambda: onnx.TensorScatter([[1.0]], [[1.0]]),
        lambda: onnx.TensorScatter(np.zeros((2, 2, 1)), np.zeros((2, 3, 1)), mode="circular"),
        lambda: onnx.TensorScatter(np.zeros((2, 2, 1)), np.zeros((1, 2, 1))),
        lambda: onnx.TensorScatter(np.zeros((2, 2, 1)), np.zeros((2, 2))),
        lambda: onnx.TensorScatter(np.zeros((2, 2, 1)), np.zeros((2, 1, 1)), [0]),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(run):
    with pytest.raises(ShapeError):
        run()


def test_scatter_nd_of_everything_and_of_one_tuple():
    assert onnx.ScatterND([1.0, 2.0], np.zeros((2, 0), int), [[1.0, 1.0], [5.0, 6.0]], "add").tolist() == [7.0, 9.0]
    assert onnx.ScatterND([[1.0, 2.0]], [0, 1], 9.0).tolist() == [[1.0, 9.0]]


def test_gather_nd_batch_dims():
    data = np.arange(24).reshape(2, 3, 4)
    at = np.array([[[1], [-3], [0]], [[2], [0], [1]]])
    expected = [[data[b, i[0]].tolist() for i in rows] for b, rows in enumerate(at)]
    assert onnx.GatherND(data, at, batch_dims=1).tolist() == expected
    assert (
        onnx.GatherND(data, at[:, :, :1], batch_dims=2, opset=12).tolist() == data[np.arange(2)[:, None], np.arange(3), at[..., 0]].tolist()
    )
    with pytest.raises(IndexOutOfBounds, match=r"indices\[1, 0, 0\] = 3 is not in \[-3, 3\)"):
        onnx.GatherND(data, at + [[[0]], [[1]]], batch_dims=1)
    with pytest.raises(ArgumentError, match="opset 12"):
        onnx.GatherND(data, at, batch_dims=1, opset=11)


def test_tensor_scatter():
    rng = np.random.default_rng(0)
    for axis in (1, 2, 3, -1, -2):
        past, length = rng.normal(size=(3, 4, 5, 2)).astype(F), 2
        shape = [s if d != axis % 4 else length for d, s in enumerate(past.shape)]
        new, size = rng.normal(size=shape).astype(F), past.shape[axis]
        for mode, starts in (("linear", [0, size - 2, 0]), ("circular", [size - 1, 0, 7])):
            expected = past.copy()
            for b, start in enumerate(starts):
                for t in range(length):
                    np.moveaxis(expected[b], axis % 4 - 1, 0)[(start + t) % size] = np.moveaxis(new[b], axis % 4 - 1, 0)[t]
            out = onnx.TensorScatter(past, new, np.array(starts), axis, mode)
            assert out.tobytes() == expected.tobytes() and out is not past
    past, new = np.zeros((2, 3, 1)), np.ones((2, 2, 1))
    assert onnx.TensorScatter(past, new).tolist() == [[[1], [1], [0]]] * 2 and not past.any()
    for starts, mode in (([0, 2], "linear"), ([-1, 0], "linear"), ([0, -1], "circular"), ([2**62, 0], "linear")):
        with pytest.raises(IndexOutOfBounds, match="write_indices"):
            onnx.TensorScatter(past, new, np.array(starts), mode=mode)
    for mode in ("Linear", None, 1):
        with pytest.raises(ArgumentError, match="mode"):
            onnx.TensorScatter(past, new, mode=mode)
    assert onnx.TensorScatter(past, new, np.array([2**62, 2**63 - 1]), mode="circular").sum() == 4
    assert onnx.TensorScatter(np.zeros((2, 0, 1)), np.zeros((2, 0, 1)), [0, 0], mode="circular").shape == (2, 0, 1)


# -- nodes and models -----------------------------------------------------------------------------------------------------------


def node(op, **attributes):
    """What of a NodeProto is read."""
    kinds = {int: (2, "i"), str: (3, "s"), float: (1, "f")}
    made = []
    for key, value in attributes.items():
        number, slot = kinds[type(value)]
        made.append(SimpleNamespace(name=key, type=number, **{slot: value.encode() if slot == "s" else value}))
    return SimpleNamespace(op_type=op, domain="", attribute=made)


def test_run_node():
    inputs = [np.zeros((2, 2)), np.array([[1, 1]]), np.array([[1.0, 2.0]])]
    for given in (node("ScatterElements", axis=1, reduction="add"), {"op_type": "ScatterElements", "axis": 1, "reduction": "add"}):
        (out,) = onnx.run_node(given, inputs, 16)
        assert out.tolist() == [[0, 3], [0, 0]]
    assert onnx.run_node(node("TensorScatter", axis=1), [np.zeros((1, 2)), np.ones((1, 1)), None], 24)[0].tolist() == [[1, 0]]
    assert onnx.run_node({"op_type": "Gather"}, [np.arange(3), np.array(-1)])[0] == 2


@pytest.mark.parametrize(
    ("given", "opset", "error"),
    [
        (node("Add"), 18, ArgumentError), ({"axis": 1}, 18, ArgumentError), (7, 18, DtypeError),
        (node("ScatterND", axis=0), 18, ArgumentError),
        (node("ScatterND", reduction="none"), 13, ArgumentError), (node("ScatterND", reduction="add"), 10, ArgumentError),
        (node("ScatterND", reduction=1.5), 18, DtypeError), (node("ScatterND", reduction="sum"), 18, ArgumentError),
        (SimpleNamespace(op_type="ScatterND", domain="com.microsoft", attribute=[]), 18, ArgumentError),
    ],
)  # fmt: skip
def test_nodes_that_are_refused(given, opset, error):
    with pytest.raises(error):
        onnx.run_node(given, [np.zeros(2), np.array([[0]]), np.ones(1)], opset)


@pytest.mark.parametrize("inputs", [[], [np.zeros(2)], [np.zeros(2), np.array([0]), np.zeros(1)], [np.zeros(2), None]])
def test_number_of_inputs(inputs):
    with pytest.raises(ArgumentError, match="2 to 2 wanted"):
        onnx.run_node({"op_type": "Gather"}, inputs, 13)


def test_backend():
    package = pytest.importorskip("onnx")
    h = package.helper
    double = package.TensorProto.DOUBLE
    value = [h.make_tensor_value_info(name, double, ["n", "m"]) for name in ("x", "y")]
    at = package.numpy_helper.from_array(np.array([[2], [0]]), "at")
    nodes = [h.make_node("GatherND", ["x", "at"], ["rows"]), h.make_node("ScatterND", ["x", "at", "rows"], ["y"], reduction="add")]
    model = h.make_model(h.make_graph(nodes, "g", value[:1], value[1:], [at]), opset_imports=[h.make_opsetid("", 18)], ir_version=8)
    x = np.arange(6.0).reshape(3, 2)
    ready = onnx.Backend.prepare(model)
    for inputs in ([x], (x,), {"x": x}):
        (y,) = ready.run(inputs)
        assert y.tolist() == [[0, 2], [2, 3], [8, 10]]
    assert onnx.Backend.run_model(model, [x])[0].tolist() == y.tolist() and onnx.Backend.is_compatible(model)
    assert onnx.Backend.run_node(nodes[0], [x, np.array([[1]])], opset_version=12)[0].tolist() == [[2, 3]]
    for wrong in ([], [x, x], {"y": x}, {}):
        with pytest.raises(ArgumentError, match="wanted are x"):
            ready.run(wrong)
    assert (
        onnx.Backend.supports_device("CPU") and not onnx.Backend.supports_device("CUDA") and not onnx.Backend.is_compatible(model, "CUDA:0")
    )
    for run in (lambda: onnx.Backend.prepare(model, "CUDA"), lambda: onnx.Backend.run_node(nodes[0], [x], "CUDA")):
        with pytest.raises(DeviceError):
            run()
    other = h.make_model(
        h.make_graph([h.make_node("Neg", ["x"], ["y"])], "g", value[:1], value[1:]), opset_imports=[h.make_opsetid("", 18)]
    )
    other.ir_version = 8
    assert not onnx.Backend.is_compatible(other)
    with pytest.raises(ArgumentError, match="'Neg' is none of"):
        onnx.Backend.prepare(other)
    del model.graph.node[:]
    with pytest.raises(package.checker.ValidationError):
        onnx.Backend.prepare(model)


def test_the_package_onnx_is_not_imported():
    script = (
        "import sys, warnings; warnings.simplefilter('ignore'); import paramstore as ps\n"
        "assert 'paramstore.frontends.onnx' not in sys.modules\n"
        "ps.frontends.onnx.run_node({'op_type': 'Gather'}, [[1, 2], [0]], 13); ps.frontends.onnx.Backend.supports_device('CPU')\n"
        "assert 'onnx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
