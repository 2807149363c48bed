"""The frontends on a stand-in for a GPU: the bits that they give on the CPU, and each original's rule for bad indices there."""

from __future__ import annotations

from typing import Any

import loops
import numpy as np
import pytest
from cuda_host.array import HostArray

import paramstore as ps
from paramstore.errors import DeviceError, DtypeError, IndexFormError, IndexOutOfBounds, ParameterCastError, TargetError
from paramstore.frontends import mindspore as ms
from paramstore.frontends import numpy_style, onnx
from paramstore.frontends import tensorflow as tf
from paramstore.frontends import torch_style as pt

pytestmark = pytest.mark.usefixtures("gpu")

X = np.arange(24, dtype=np.float32).reshape(4, 3, 2) - 7
IDS = np.array([2, 0, 2, 1])
ROWS = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 3, 2)
AT = np.array([[[0, 3], [1, 1], [3, 0]], [[2, 2], [1, 0], [0, 0]]])
CELLS = np.linspace(-9, 9, 12, dtype=np.float32).reshape(2, 3, 2)
TUPLES = np.array([[0, 1], [3, 2], [0, 1]])
PAIRS = np.array([[0.5, 0.25], [1.5, 2.5], [3.5, 4.5]], np.float32)
BATCHED = np.array([[1, 0, 1], [2, 2, 0], [0, 1, 2], [1, 1, 1]])
SORTED = np.array([0, 0, 2, 3])


# name -> the call; every array among its arguments is put on the device, and a Parameter is made there.
CALLS: dict[str, Any] = {
    "ms.ScatterAdd": lambda a: ms.ScatterAdd(True)(ps.Parameter(a(X)), a(IDS), a(ROWS)),
    "ms.ScatterDiv": lambda a: ms.ScatterDiv()(ps.Parameter(a(X)), a(IDS), a(ROWS)),
    "ms.ScatterNdUpdate": lambda a: ms.ScatterNdUpdate()(ps.Parameter(a(X)), a(TUPLES), a(PAIRS)),
    "ms.TensorScatterAdd": lambda a: ms.TensorScatterAdd()(a(X), a(TUPLES), a(PAIRS)),
    "ms.TensorScatterElements": lambda a: ms.TensorScatterElements(0, "add")(a(X), a(AT), a(CELLS)),
    "ms.ScatterAddWithAxis": lambda a: ms.ScatterAddWithAxis(0)(a(X), a(AT), a(CELLS)),
    "ms.scatter": lambda a: ms.scatter(a(X), 0, a(AT), 2.5),
    "ms.ScatterNd": lambda a: ms.ScatterNd()(a(TUPLES), a(PAIRS), (4, 3, 2)),
    "ms.IndexAdd": lambda a: ms.IndexAdd(1)(ps.Parameter(a(X)), a(np.array([2, 2, 0], np.int32)), a(X)),
    "ms.InplaceAdd": lambda a: ms.InplaceAdd((1, 1))(a(X), a(ROWS[:2])),
    "ms.InplaceUpdateV2": lambda a: ms.InplaceUpdateV2()(a(X), a(IDS[:2]), a(ROWS[:2])),
    "ms.IndexFill": lambda a: ms.IndexFill()(a(X), 1, a(np.array([0, -1], np.int32)), a(np.array(9, np.float32))),
    "ms.IndexPut": lambda a: ms.IndexPut(1)(a(X), a(np.array([1, 2], np.float32)), (a(np.array([0, 0])), a(np.array([1])), a(np.array([-1])))),
    "ms.Gather": lambda a: ms.Gather(1)(a(X), a(BATCHED), 1),
    "ms.GatherNd": lambda a: ms.GatherNd()(a(X), a(TUPLES)),
    "ms.GatherD": lambda a: ms.GatherD()(a(X), 0, a(AT - 4)),
    "ms.UnsortedSegmentSum": lambda a: ms.UnsortedSegmentSum()(a(X), a(np.array([1, -1, 1, 4])), 5),
    "ms.UnsortedSegmentMax": lambda a: ms.UnsortedSegmentMax()(a(X), a(np.array([1, -1, 1, 4], np.int32)), 5),
    "tf.scatter_nd": lambda a: tf.scatter_nd(a(TUPLES), a(PAIRS), [4, 3, 2]),
    "tf.tensor_scatter_nd_max": lambda a: tf.tensor_scatter_nd_max(a(X), a(TUPLES), a(PAIRS)),
    "tf.gather": lambda a: tf.gather(a(X), a(BATCHED), batch_dims=1),
    "tf.gather_nd": lambda a: tf.gather_nd(a(X), a(BATCHED[..., None]), batch_dims=1),
    "tf.segment_mean": lambda a: tf.math.segment_mean(a(X), a(SORTED)),
    "tf.segment_max": lambda a: tf.math.segment_max(a(X), a(SORTED)),
    "tf.unsorted_segment_sqrt_n": lambda a: tf.math.unsorted_segment_sqrt_n(a(X), a(IDS), 5),
    "tf.unsorted_segment_mean": lambda a: tf.math.unsorted_segment_mean(a(X.astype(np.int32)), a(IDS), 5),
    "tf.Variable.scatter_sub": lambda a: tf.Variable(a(X)).scatter_sub(tf.IndexedSlices(a(ROWS), a(IDS))).parameter,
    "tf.Variable.scatter_nd_min": lambda a: tf.Variable(a(X)).scatter_nd_min(a(TUPLES), a(PAIRS)).parameter,
    "tf.Variable.batch_scatter_update": lambda a: tf.Variable(a(X)).batch_scatter_update(tf.IndexedSlices(a(X), a(BATCHED))).parameter,
    "tf.Variable.assign_add": lambda a: tf.Variable(a(X)).assign_add(a(X)).parameter,
    "onnx.Scatter": lambda a: onnx.Scatter(a(X), a(AT), a(CELLS), opset=9),
    "onnx.ScatterElements": lambda a: onnx.ScatterElements(a(X), a(AT - 4), a(CELLS), reduction="mul"),
    "onnx.ScatterND": lambda a: onnx.ScatterND(a(X), a(TUPLES - [4, 3]), a(PAIRS), reduction="max"),
    "onnx.Gather": lambda a: onnx.Gather(a(X), a(IDS - 3), axis=1),
    "onnx.GatherElements": lambda a: onnx.GatherElements(a(X), a(AT - 4)),
    "onnx.GatherND": lambda a: onnx.GatherND(a(X), a(BATCHED[..., None] - 3), batch_dims=1),
    "onnx.TensorScatter": lambda a: onnx.TensorScatter(a(X), a(ROWS[:, :2]), a(np.array([0, 2, 1, 0])), mode="circular"),
    "onnx.run_node": lambda a: onnx.run_node({"op_type": "ScatterND", "reduction": "add"}, [a(X), a(TUPLES), a(PAIRS)], 18)[0],
    "torch.index_add_": lambda a: pt.index_add_(a(X.copy()), 1, a(np.array([2, 2, 0])), a(X)),
    "torch.index_copy_": lambda a: pt.index_copy_(ps.Parameter(a(X)), 0, a(IDS), a(ROWS)),
    "torch.index_fill_": lambda a: pt.index_fill_(a(X.copy()), 2, a(np.array([-1])), 4),
    "torch.index_put_": lambda a: pt.index_put_(a(X.copy()), (a(IDS), a(np.array([-1]))), a(PAIRS[0]), accumulate=True),
    "torch.index_put_ mask": lambda a: pt.index_put_(a(X.copy()), (a(np.array([True, False, True, False])),), a(ROWS[:2])),
    "torch.put_": lambda a: pt.put_(a(X.copy()), a(IDS - 4), a(CELLS[0, :2].copy()), accumulate=True),
    "torch.scatter_": lambda a: pt.scatter_(a(X.copy()), 0, a(AT), 2.0, reduce="multiply"),
    "torch.scatter_add_": lambda a: pt.scatter_add_(a(X.copy()), 0, a(AT), a(ROWS)),
    "torch.scatter_reduce_": lambda a: pt.scatter_reduce_(a(X.copy()), 0, a(AT), a(CELLS), "prod"),
    "torch.scatter_reduce_ alone": lambda a: pt.scatter_reduce_(a(X.copy()), 0, a(AT), a(CELLS), "amin", include_self=False),
    "torch.index_reduce_ alone": lambda a: pt.index_reduce_(ps.Parameter(a(X)), 0, a(IDS), a(ROWS), "prod", include_self=False),
    "torch.gather": lambda a: pt.gather(a(X), 0, a(AT)),
    "torch.index_select": lambda a: pt.index_select(a(X), 1, a(IDS)),
    "torch.take": lambda a: pt.take(a(X), a(AT - 5)),
    "torch.take_along_dim": lambda a: pt.take_along_dim(a(X), a(AT[:1, :, :1]), 0),
    "numpy.add_at": lambda a: done(numpy_style.add_at, a(X.copy()), a(IDS), a(ROWS)),
    "numpy.maximum_at tuple": lambda a: done(numpy_style.maximum_at, ps.Parameter(a(X)), (a(IDS), slice(None), 1), a(ROWS[:, :, 0])),
    "numpy.multiply_at mask": lambda a: done(numpy_style.multiply_at, a(X.copy()), a(X > 0), 2.0),
}  # fmt: skip


def done(function: Any, target: Any, *arguments: Any) -> Any:
    assert function(target, *arguments) is None
    return target


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("operands", ["device", "host"])
def test_the_bits_of_the_cpu(name: str, operands: str, gpu: Any) -> None:
    """With all arrays on the device; and with only the first one there, which is what the call runs on."""
    if operands == "host" and (name.endswith(("scatter_nd", "ScatterNd"))):
        pytest.skip("it runs where its updates are")
    wanted = CALLS[name](lambda array: array)
    moved: list[Any] = []

    def move(array: Any) -> Any:
        if operands == "host" and moved:
            return array
        moved.append(gpu.devices[1].put(np.ascontiguousarray(array).reshape(array.shape)))
        return moved[-1]

    with ps.deterministic():
        found = CALLS[name](move)
    if isinstance(found, ps.Parameter):
        assert found.device == "cuda:1"
        loops.assert_same(found.numpy(), wanted.numpy())
    else:
        assert type(found) is HostArray and found.device.id == 1
        loops.assert_same(found.get(), wanted.numpy() if isinstance(wanted, ps.Parameter) else wanted)


def test_tensorflow_leaves_bad_indices_out(gpu: Any) -> None:
    """As TensorFlow does on a GPU; an explicit policy holds on both devices."""
    put = gpu.devices[0].put
    tuples, u = put(np.array([[4], [1]])), put(np.array([1.0, 2.0]))
    assert tf.scatter_nd(tuples, u, [3]).get().tolist() == [0.0, 2.0, 0.0]
    assert tf.tensor_scatter_nd_add(put(np.zeros(3)), tuples, u).get().tolist() == [0.0, 2.0, 0.0]
    assert tf.gather(put(np.arange(3.0) + 1), put(np.array([7, 1]))).get().tolist() == [0.0, 2.0]
    assert tf.gather_nd(put(np.arange(3.0) + 1), tuples).get().tolist() == [0.0, 2.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0, 0\] = 4 is not in \[0, 3\)"):
        tf.scatter_nd(tuples, u, [3], bad_indices_policy="ERROR")
    v = tf.Variable(np.zeros(3), device="cuda")
    assert v.device == "cuda:0" and v.scatter_add(tf.IndexedSlices([1.0, 2.0], [5, 1])).numpy().tolist() == [0.0, 2.0, 0.0]
    with pytest.raises(IndexOutOfBounds):
        tf.scatter_nd([[4]], [1.0], [3])


def test_mindspore_errors(gpu: Any) -> None:
    put = gpu.devices[0].put
    p = ps.Parameter(put(X))
    with pytest.raises(IndexOutOfBounds, match=r"ScatterAdd: indices\[0\] = 4 is not in \[0, 4\)"):
        ms.ScatterAdd()(p, put(np.array([4, 0])), put(ROWS[:2]))
    with pytest.raises(ps.errors.ZeroDivisor, match=r"ScatterDiv: updates\[1, 0, 0\] = 0"):
        ms.ScatterDiv()(p, put(IDS[:2]), put(np.array([[[1, 1]] * 3, [[-0.0, 1]] * 3], np.float32)))
    with pytest.raises(IndexOutOfBounds, match=r"indices\[1, 0, 1\] = -1"):
        bad = AT.copy()
        bad[1, 0, 1] = -1
        ms.TensorScatterElements()(put(X), put(bad), put(CELLS))
    with pytest.raises(DtypeError, match="indices.dtype"):
        ms.ScatterAdd()(p, put(IDS.astype(np.int16)), put(ROWS))
    assert p.version == 0 and p.numpy().tolist() == X.tolist()


def test_what_runs_on_the_cpu_only(gpu: Any) -> None:
    put = gpu.devices[0].put
    for error, call in (
        (DeviceError, lambda x: pt.scatter_reduce_(x, 0, put(AT), put(CELLS), "mean")),
        (IndexFormError, lambda x: pt.index_add_(x, 0, put(IDS), put(ROWS), alpha=2)),
        (ParameterCastError, lambda x: numpy_style.add_at(x, put(IDS), put(ROWS.astype(np.float16)))),
        (TargetError, lambda x: numpy_style.add_at(x[:, :, :1], put(IDS), 1.0)),
    ):
        x = put(X)
        with pytest.raises(error):
            call(x)
        assert x.get().tolist() == X.tolist()
