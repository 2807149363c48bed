"""The table of kernels: its listing, forcing and explaining, what is added from outside, and that no cell of the matrix is silent."""

import re
from pathlib import Path

import numpy as np
import pytest

import paramstore as ps
from paramstore import dtypes, ops, registry
from paramstore.errors import ArgumentError, DtypeError, MissingKernel

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
BACKENDS = sorted({k.backend for k in ps.kernels(device="cpu")})
SAMPLES = {"str": "U3", "bytes": "S3", "string": np.dtypes.StringDType(), "object": object, "struct": [("a", "i4"), ("b", "f8")], "time": "M8[s]"}
LIST_4 = (
    [f"Scatter{nd}{op}" for nd in ("", "Nd") for op in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update")]
    + [f"tensor_scatter_{op}" for op in ("update", "add", "sub", "mul", "div", "min", "max")]
    + [f"{name}[{r}]" for name in ("scatter_elements", "ScatterND") for r in ("none", "add", "mul", "min", "max")]
    + ["scatter_nd", "scatter", "gather", "gather_nd", "gather_elements"]
)


@pytest.fixture(autouse=True)
def as_before():
    known = set(ops.OPS)
    yield
    registry.unregister("test")
    for name in set(ops.OPS) - known:
        del ops.OPS[name]


def listed(file, macro):
    return re.findall(rf"^{macro}\((\w+)\s*,", (KERNELS / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_one_list_of_ops_and_one_of_dtypes():
    assert sorted(listed("ops.def", "PS_OP")) == sorted(ops.OPS)
    assert listed("dtypes.def", "PS_DTYPE") == list(dtypes.KINDS)


def test_the_kinds_agree_too():
    """The rows of the two tables name the kinds in their own words."""
    bits = {"bool": "PS_BOOLEAN", "int": "PS_INTEGER", "uint": "PS_INTEGER", "float": "PS_REAL", "complex": "PS_COMPLEX"}
    for line in (KERNELS / "dtypes.def").read_text(encoding="utf-8").splitlines():
        if row := re.match(r"PS_DTYPE\((\w+),.*,\s*(\w+)\)", line):
            assert bits[dtypes.KINDS[row[1]]] == row[2]
    for line in (KERNELS / "ops.def").read_text(encoding="utf-8").splitlines():
        if row := re.match(r"PS_OP\((\w+),\s*([^,]*),\s*\w+,\s*(\w+),", line):
            without = re.findall(r"~(\w+)", row[2])
            assert {bits[k] for k in ops.OPS[row[1]].kinds if k in bits} == set(bits.values()) - set(without), line
            assert (row[3] == "nonzero") == ops.OPS[row[1]].zero_divisor, line


def test_every_operator_is_served():
    served = {n for kernel in ps.kernels() for n in kernel.operators}
    assert not set(LIST_4) - served
    for name in LIST_4:
        assert ps.explain(name, dtype="float32").kernel is not None and ps.explain(name, dtype="int64").kernel is not None


def one(dtype):
    return np.ones(1, dtype) if np.dtype(dtype).kind not in "UST" else np.array(["1"], dtype)


@pytest.mark.parametrize("dtype", [*dtypes.NUMERIC, *dtypes.ASSIGN_ONLY])
@pytest.mark.parametrize("op", [*ops.OPS, "gather"])
@pytest.mark.parametrize("layout", ["rows", "elements"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_cell_exists_or_is_refused_by_name(op, layout, dtype, backend):
    """A cell is there exactly where the op is defined for the kind of dtype, or a backend brings more than that."""
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    defined = op == "gather" or dtypes.KINDS.get(dtype, dtype) in ops.OPS[op].kinds
    cell = [k for k in ps.kernels(device="cpu", backend=backend) if (k.op, k.layout, k.dtype) == (op, layout, dtype)]
    real = dtypes.resolve("test", SAMPLES.get(dtype, dtype))
    x, u, first = np.zeros(2, real), one(real), np.zeros(1, np.int64)

    def call():
        if op == "gather":
            return ps.gather(x, first) if layout == "rows" else ps.gather_elements(x, first)
        if layout == "rows":
            return ps.Scatter(op)(ps.Parameter(x), first, u).numpy()
        return ps.functional._elements("scatter_elements", x, first, u, 0, {v: k for k, v in ops.REDUCTIONS.items()}[op], "raise")

    if op in ("sub", "div") and layout == "elements":  # no operator has them; the kernels are there for users and frontends
        assert bool(cell) or not defined or dtype in dtypes.ASSIGN_ONLY
        return
    with registry.only(backend):
        if cell:
            out = call()
            assert out.dtype == real and len(out) == (1 if op == "gather" else 2)
        else:
            assert not defined or (backend == "cpu" and dtype in dtypes.ASSIGN_ONLY), "a cell is missing"
            with pytest.raises(DtypeError) as error:
                call()
            assert op in str(error.value) and (dtype in str(error.value) or str(real) in str(error.value))


def test_kernels_lists_and_prints():
    table = ps.kernels(op="scatter_add", dtype="float32", backend="reference")
    assert [(k.op, k.dtype, k.device, k.mode) for k in table] == [("add", "float32", "cpu", "ordered")] * 2
    assert {k.layout for k in table} == {"rows", "elements"} and table[0].name == "reference.elements.add.float32"
    assert {k.op for k in ps.kernels(op="gather")} == {"gather"} and not ps.kernels(device="tpu") and not ps.kernels(dtype="none")
    lines = str(ps.kernels()).splitlines()
    assert lines[0].split() == ["backend", "device", "mode", "layout", "op", "dtypes"] and all(k.layout != "tuples" for k in ps.kernels())
    for bad in ("scatter_plus", "", 5):
        with pytest.raises(ArgumentError) if bad else pytest.raises(AssertionError):
            assert not ps.kernels(op=bad)


def test_explain():
    with registry.only("reference"):
        found = ps.explain("ScatterNdAdd", dtype=np.float32)
        assert str(found) == "ScatterNdAdd float32 on cpu: reference.rows.add.float32 (forced to reference; keeps C order, asked for ordered)"
    assert ps.explain("scatter_elements[max]", dtype="int8").kernel.layout == "elements" and ps.explain("add").kernel.op == "add"
    nothing = ps.explain("scatter_add", dtype="float32", device="cuda:1")
    assert nothing.kernel is None or nothing.kernel.device == "cuda"
    assert ps.explain("max", dtype="complex64").kernel is None and "no kernel for op max" in str(ps.explain("max", dtype="complex64"))
    for operator, dtype, error in (("plus", "int8", ArgumentError), ("add", "int7", DtypeError), ("add", object(), DtypeError)):
        with pytest.raises(error, match="explain"):
            ps.explain(operator, dtype=dtype)


def test_only():
    with registry.only("reference"):
        assert registry.find("test", "add", "rows", "float32").backend == "reference"
    with pytest.raises(ArgumentError, match=r"only: no backend 'cuda9'; known: .*reference"), registry.only("cuda9"):
        pass
    registry.register("gather", "rows", "int8", print, backend="test")
    with registry.only("test"):
        with pytest.raises(MissingKernel, match="only backend test"):
            ps.Parameter([1.0]).scatter_add([0], [1.0])
        with registry.only("reference"):
            assert ps.Parameter([1.0]).scatter_add([0], [1.0]).numpy().tolist() == [2.0]
    assert ps.Parameter([1.0]).scatter_add([0], [1.0]).numpy().tolist() == [2.0]


def test_a_missing_kernel_names_the_nearest():
    registry.register("add", "rows", "float128x", print, backend="test")
    with pytest.raises(MissingKernel) as error:
        registry.find("scatter_sub", "sub", "rows", "float128x")
    text = "scatter_sub: no kernel for op sub, layout rows, dtype float128x, device cpu, order ordered; the nearest are "
    assert str(error.value).startswith(text)
    assert re.findall(r"\w+\.rows\.sub\.\w+ on cpu \(ordered\)", str(error.value)) and "elements" not in str(error.value)
    for builtin in (TypeError, NotImplementedError, DtypeError):
        assert isinstance(error.value, builtin)


def test_register_refuses_nonsense():
    for op, layout, mode in (("plus", "rows", "ordered"), ("add", "columns", "ordered"), ("add", "rows", "slow"), (None, "rows", "fast")):
        with pytest.raises(ArgumentError, match="register"):
            registry.register(op, layout, "float32", print, mode=mode, backend="test")
    for name in ("add", "gather"):
        with pytest.raises(ArgumentError, match="exists already"):
            ps.register_op(ops.Op(name, "x", None, frozenset(), False, ""))
    assert not ps.kernels(backend="test") and registry.unregister("test") == 0


def test_a_new_op_from_outside():
    ps.register_op(ops.Op("bitor", "x | u", 0, frozenset({"int", "uint"}), False, "Sets the bits of each update."))
    assert ps.explain("bitor", dtype="int32").kernel is None
    with pytest.raises(MissingKernel, match="op bitor"):
        ps.Scatter("bitor")(ps.Parameter([1]), [0], [2])

    for dtype in ("int32", "int64"):
        for layout in ("rows", "elements"):

            @registry.register("bitor", layout, dtype, backend="test")
            def bitor(data, ids, updates):
                np.bitwise_or.at(data, ids, updates)

    p = ps.Parameter(np.array([[1, 2], [4, 8]], np.int32))
    assert ps.Scatter("bitor", use_locking=True)(p, [1, 1, 0], np.array([[1, 1], [2, 2], [4, 4]], np.int32)) is p
    assert p.numpy().tolist() == [[5, 6], [7, 11]] and p.version == 1
    assert ps.ScatterNd("bitor")(p, [[0, 0], [0, 0]], [8, 16]).numpy().tolist() == [[29, 6], [7, 11]]
    assert ps.tensor_scatter(np.array([1, 2]), [[1], [5]], np.array([4, 4]), "bitor", bounds="drop").tolist() == [1, 6]
    for bad, error in (([2], IndexError), ([-1], IndexError), ([0.5], TypeError)):
        with pytest.raises(error, match="Scatter: indices"):
            ps.Scatter("bitor")(p, bad, [[1, 1]])
    with pytest.raises(DtypeError, match="bitor is not defined for dtype float64"):
        ps.Scatter("bitor")(ps.Parameter([1.0]), [0], [1.0])
    assert ps.explain("bitor", dtype="int32").kernel.backend == "test" and {k.dtype for k in ps.kernels(op="bitor")} == {"int32", "int64"}


def test_a_new_dtype_from_outside():
    wide = np.dtype(np.longdouble)
    if wide == np.float64:
        pytest.skip("no wider float on this platform")
    p = ps.Parameter(np.zeros((3, 2), wide), "wide")
    with pytest.raises(DtypeError, match=f"add is not defined for dtype {wide}"):
        p.scatter_add([0], np.ones((1, 2), wide))

    @registry.register("add", "rows", wide.name, backend="test")
    def add(data, ids, updates):
        np.add.at(data, ids, updates)

    @registry.register("update", "rows", wide.name, backend="test")
    def update(data, ids, updates):
        for i, u in zip(ids, updates):
            data[i] = u

    registry.register("gather", "rows", wide.name, lambda data, ids, out: np.take(data, ids, axis=0, out=out), backend="test")
    tiny = np.longdouble(2) ** -62
    p.scatter_add([0, 2, 0], np.array([[1, 1], [2, 2], [tiny, 0]], wide)).scatter_nd_add([[1, 1]], np.array([5], wide))
    assert p.numpy()[0, 0] == 1 + tiny != 1 and p[[2, 1]].tolist() == [[2, 2], [0, 5]]
    p[1] = np.array([7, 8], wide)
    assert p.assign_add(np.ones((3, 2), wide)).numpy()[1].tolist() == [8, 9] and p.version == 4
    assert ps.tensor_scatter_update(p.numpy(), [[0, 1]], np.array([3], wide))[0, 1] == 3
    before = p.numpy().tobytes()
    with pytest.raises(IndexError, match=r"scatter_add: indices\[1\] = 3 is not in \[0, 3\)"):
        p.scatter_add([0, 3], np.ones((2, 2), wide))
    with pytest.raises(DtypeError, match="mul"):
        p.scatter_mul([0], np.ones((1, 2), wide))
    assert p.numpy().tobytes() == before


def test_a_kernel_that_overrides_the_own_one():
    calls = []

    def logged(data, ids, updates):
        calls.append((data.shape, ids.dtype, ids.tolist(), updates.shape))
        np.add.at(data, ids, updates)

    registry.register("add", "rows", "float32", logged, backend="test")
    p = ps.Parameter(np.zeros((2, 3), np.float32))
    p.scatter_add(np.array([1, 9, 1], np.int32), np.ones((3, 3), np.float32), bounds="drop")
    assert calls == [((2, 3), np.int64, [1, 1], (2, 3))] and p.numpy().tolist() == [[0.0] * 3, [2.0] * 3]
    assert ps.explain("scatter_add").kernel.backend == "test" and ps.kernels(op="add", dtype="float32", backend="test")[0].notes == ""
    registry.register("add", "rows", "float32", logged, backend="test", priority=-1)  # replaces its own entry
    assert len(ps.kernels(backend="test")) == 1 and ps.explain("scatter_add").kernel.backend != "test"
    assert registry.unregister("test") == 1 and p.scatter_add([0], [[1.0] * 3]).numpy().tolist() == [[1.0] * 3, [2.0] * 3] and len(calls) == 1


def test_a_kernel_that_checks_for_itself():
    def careful(data, ids, updates, bounds, wrap):
        assert (ids.dtype, bounds, wrap) == (np.int32, 0, False)
        return registry.Fault("index", 1, int(ids[1]))

    registry.register("add", "rows", "float32", careful, backend="test", checks=True)
    with pytest.raises(IndexError, match=r"scatter_add: indices\[1\] = 1 is not in"):
        ps.Parameter(np.zeros(2, np.float32)).scatter_add(np.zeros(2, np.int32) + 1, np.ones(2, np.float32))
