"""Python literals for targets that are no numbers: what the dtype does not hold is refused, as it is for numbers."""

import datetime

import numpy as np
import pytest

import paramstore as ps
from paramstore.errors import DtypeError, ScalarRangeError, ShapeError

RECORD = np.dtype([("a", "i1"), ("b", "f4")])
NESTED = np.dtype([("id", "u2"), ("r", RECORD), ("v", "i2", (2,)), ("name", "U3"), ("when", "M8[s]"), ("any", "O")])
GOOD = (1, (2, 1.5), [3, 4], "abc", "2020-01-01", {"k": [1.9]})


def with_(field, value):
    return tuple(value if name == field else old for name, old in zip(NESTED.names, GOOD))


REFUSED = [
    (RECORD, [(1.9, 1.5)], DtypeError), (RECORD, [(200, 1.5)], ScalarRangeError), (RECORD, [(1, 1e39)], ScalarRangeError),
    (RECORD, [(1, 2.0), (-129, 2.0)], ScalarRangeError), (RECORD, [1.5], DtypeError), (RECORD, [300], ScalarRangeError), (RECORD, [(1j, 1.0)], DtypeError),
    (RECORD, [("1", 1.0)], DtypeError), (RECORD, [(None, 1.0)], DtypeError), (RECORD, [(np.float64(1.9), 1.0)], DtypeError),
    (RECORD, [np.array((300, 1.0), [("a", "i4"), ("b", "f4")])[()]], DtypeError),
    (NESTED, [with_("id", -1)], ScalarRangeError), (NESTED, [with_("id", 1.5)], DtypeError), (NESTED, [with_("r", (1.5, 1.0))], DtypeError),
    (NESTED, [with_("v", [1, 40000])], ScalarRangeError), (NESTED, [with_("v", (1, 2.5))], DtypeError), (NESTED, [with_("v", np.array([1, 70000]))], ScalarRangeError),
    (NESTED, [with_("name", "abcd")], ScalarRangeError), (NESTED, [with_("name", 5)], DtypeError), (NESTED, [with_("when", "2020-01-01T00:00:00.5")], ScalarRangeError),
    ("V5", [b"abcdef"], ScalarRangeError), ("V5", [b"ab\0\0\0\0"], ScalarRangeError), ("V5", [5], DtypeError), ("V5", ["abc"], DtypeError), ("V5", [np.void(b"abcdef")], ScalarRangeError),
    ("M8[D]", ["2020-01-01T12"], ScalarRangeError), ("M8[D]", ["NaT", "2020-01-01", "2020-01-01T12"][2:], ScalarRangeError), ("M8[ns]", ["3000-01-01"], ScalarRangeError),
    ("M8[s]", [datetime.datetime(2020, 1, 1, 0, 0, 0, 500000)], ScalarRangeError), ("M8[s]", [np.datetime64("2020-01-01T00:00:00.5")], ScalarRangeError),
    ("M8[s]", [1.9], DtypeError), ("M8[s]", [-(2**63)], ScalarRangeError), ("M8[s]", [2**63], ScalarRangeError),
    ("m8[s]", [datetime.timedelta(milliseconds=1500)], ScalarRangeError), ("m8[s]", [np.timedelta64(1500, "ms")], ScalarRangeError), ("m8[s]", [1.9], DtypeError),
    ("m8[s]", [np.float32(2)], DtypeError), ("m8[ns]", [np.timedelta64(2**62, "s")], ScalarRangeError),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "literal", "error"), REFUSED)
def test_what_would_be_cut_is_refused(dtype, literal, error):
    p = ps.Parameter(np.zeros(3, dtype))
    before = p.numpy().tobytes()
    for call in (p.scatter_update, p.scatter_nd_update, lambda i, u: p.assign(u * 3), lambda i, u: p.__setitem__(i, u)):
        ids = [[k] for k in range(len(literal))] if call == p.scatter_nd_update else list(range(len(literal)))
        with pytest.raises(error):
            call(ids, literal)
    with pytest.raises(error):
        ps.tensor_scatter_update(np.zeros(3, dtype), [[0]], literal[:1] if len(literal) == 1 else literal[1:])
    with pytest.raises(error):
        ps.ParamStore().create("x", (len(literal),), dtype, initializer=literal)
    assert p.numpy().tobytes() == before and p.version == 0


@pytest.mark.parametrize(
    ("dtype", "literal"),
    [
        (RECORD, [(1, 2.0), (True, 0.1)]), (RECORD, [1, (2, 3.0)]), (RECORD, [np.array((5, 1.0), RECORD)[()]]), (NESTED, [GOOD]), (NESTED, [with_("v", (5, 6))]),
        ("V5", [b"abcde", b"ab"]), ("V5", [np.void(b"abcde")]), ("M8[D]", ["2020-01-01", "2020-02", "NaT", None, datetime.date(2020, 1, 1)]), ("M8[s]", [5, "2020-01-01T12"]),
        ("M8[s]", [np.datetime64("2020-01-01T00:00:00.000"), datetime.datetime(2020, 1, 1)]), ("m8[s]", [5, datetime.timedelta(hours=1), np.timedelta64(2000, "ms")]), ("M8[s]", []),
        ([("a", "O")], [(1.9,), ("x",)]),
    ],
)  # fmt: skip
def test_what_the_dtype_holds_is_taken(dtype, literal):
    p = ps.Parameter(np.zeros(len(literal) + 1, dtype))
    p.scatter_update(list(range(len(literal))), literal)
    expected = np.zeros(len(literal) + 1, dtype)
    expected[: len(literal)] = np.array(literal, dtype)
    assert repr(p.numpy().tolist()) == repr(expected.tolist()) and p.dtype == expected.dtype


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        ("U2", np.array(["abc", "a"]), ScalarRangeError), ("S1", np.array([b"ab", b"a"]), ScalarRangeError), ("V2", np.array([b"abc", b"a"], "V3"), DtypeError),
        ("M8[s]", np.array(["2020-01-01T00:00:00.5", "NaT"], "M8[ms]"), ScalarRangeError), ("m8[h]", np.array([1, 2], "m8[m]"), ScalarRangeError),
        ([("a", "i1")], np.array([(300,), (1,)], [("a", "i4")]), DtypeError),
    ],
)  # fmt: skip
def test_initializers_with_arrays_that_would_be_cut(dtype, value, error):
    for initializer in (value, lambda shape, dtype: value):
        with pytest.raises(error, match="initializer: result"):
            ps.ParamStore().create("x", (2,), dtype, initializer=initializer)


def test_initializers_with_arrays_that_fit():
    store = ps.ParamStore()
    assert store.create("u", (2,), "U2", initializer=np.array(["ab", "c"], "U9")).numpy().tolist() == ["ab", "c"]
    assert store.create("m", (2,), "M8[s]", initializer=np.array(["2020-01-01T00:00:00.000", "NaT"], "M8[ms]")).numpy().dtype == "M8[s]"


@pytest.mark.parametrize("dtype", ["M8[s]", "V5", "U3", RECORD, "f4", "i4", np.dtypes.StringDType()], ids=str)
def test_a_list_that_contains_itself(dtype):
    loop = []
    loop.append(loop)
    p = ps.Parameter(np.zeros(3, dtype))
    for ids, u in (([0], loop), (loop, [0])):
        with pytest.raises((ShapeError, DtypeError)):
            p.scatter_update(ids, u)
