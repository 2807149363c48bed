"""ONNX's own node tests, carried by the package ``onnx``: all scatter, gather and tensorscatter cases, through the backend, bit for bit."""

from __future__ import annotations

import importlib
import pkgutil
import re
import warnings

import numpy as np
import pytest

import paramstore as ps

onnx = pytest.importorskip("onnx", reason="the package onnx carries the node tests")

NAMES = re.compile("scatter|gather")

# test name -> why it is not run. Nothing is left out without a reason printed here.
LEFT_OUT: dict[str, str] = {}

# The cases that onnx 1.23 has. Later ones run too; an earlier onnx has no TensorScatter.
KNOWN = {
    "test_gather_0", "test_gather_1", "test_gather_2d_indices", "test_gather_negative_indices",
    "test_gather_elements_0", "test_gather_elements_1", "test_gather_elements_negative_indices",
    "test_gathernd_example_int32", "test_gathernd_example_float32", "test_gathernd_example_int32_batch_dim1",
    "test_scatter_without_axis", "test_scatter_with_axis",
    "test_scatter_elements_without_axis", "test_scatter_elements_with_axis", "test_scatter_elements_with_negative_indices",
    "test_scatter_elements_with_duplicate_indices", "test_scatter_elements_with_reduction_mul",
    "test_scatter_elements_with_reduction_max", "test_scatter_elements_with_reduction_min",
    "test_scatternd", "test_scatternd_add", "test_scatternd_multiply", "test_scatternd_max", "test_scatternd_min",
}  # fmt: skip


def cases():
    package = importlib.import_module("onnx.backend.test.case.node")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in pkgutil.iter_modules(package.__path__):
            if NAMES.search(module.name):
                importlib.import_module(f"{package.__name__}.{module.name}")
    return {case.name: case for case in package._NodeTestCases if NAMES.search(case.name)}


CASES = cases()


def test_all_known_cases_are_there():
    assert KNOWN <= set(CASES)


@pytest.mark.parametrize("name", sorted(CASES))
def test_node(name):
    if name in LEFT_OUT:
        pytest.skip(LEFT_OUT[name])
    case = CASES[name]
    assert ps.frontends.onnx.Backend.is_compatible(case.model)
    model = ps.frontends.onnx.Backend.prepare(case.model)
    assert case.data_sets
    for inputs, outputs in case.data_sets:
        before = [np.array(value) for value in inputs]
        found = model.run(list(inputs))
        assert len(found) == len(outputs)
        for mine, theirs in zip(found, outputs):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            assert mine.tobytes() == theirs.tobytes()
        assert all(value.tobytes() == old.tobytes() for value, old in zip(inputs, before))
        (node,) = case.model.graph.node
        opset = case.model.opset_import[0].version
        (again,) = ps.frontends.onnx.Backend.run_node(node, list(inputs), opset_version=opset)
        assert again.tobytes() == outputs[0].tobytes()


def test_the_table_of_versions_is_onnxs_own():
    versions = ps.frontends.onnx.schema.VERSIONS
    helper = {"double": "float64", "float": "float32"}
    seen = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.name in versions:
            seen.setdefault(schema.name, []).append(schema)
    newest = onnx.defs.onnx_opset_version()
    for name, rows in versions.items():
        theirs = sorted(seen.get(name, []), key=lambda s: s.since_version)
        rows = [row for row in rows if row.since <= newest]
        assert [s.since_version for s in theirs] == [row.since for row in rows], name
        for schema, row in zip(theirs, rows):
            types = {t.type_param_str: {a[len("tensor(") : -1] for a in t.allowed_type_strs} for t in schema.type_constraints}
            beyond = {t for t in types["T"] if t.startswith(("float4", "float8")) or t in ("int4", "uint4")}
            assert {helper.get(t, t) for t in types["T"] - beyond} == row.types, row.name
            assert not beyond or name == "TensorScatter"
            assert types.get("Tind", {"int64"}) == set(row.indices), row.name
            defaults = {k: onnx.helper.get_attribute_value(a.default_value) for k, a in schema.attributes.items()}
            assert {k: v.decode() if isinstance(v, bytes) else v for k, v in defaults.items()} == dict(row.attributes), row.name
            assert (schema.min_input, schema.max_input) == row.inputs, row.name
    assert newest <= ps.frontends.onnx.schema.LATEST_OPSET, "a newer onnx: check whether its opsets change these operators"
