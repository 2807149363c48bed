"""The store: names, creation with initializers, concurrent use, pickling."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest

import paramstore as ps
from paramstore import buffers, init
from paramstore.errors import ArgumentError, DeviceError, DtypeError, NameInUse, ParamstoreError, ShapeError, TooLarge, UnknownName


@pytest.fixture
def store():
    made = ps.ParamStore()
    for name in ("user/emb", "user/bias", "users", "item/emb"):
        made.create(name, (2, 3))
    return made


def test_create_and_look_up():
    store = ps.ParamStore()
    p = store.create("user/emb", (4, 2), dtype="float16", initializer=1.5, trainable=False)
    assert store["user/emb"] is store.get("user/emb") is p and isinstance(p, ps.Parameter)
    assert (p.name, p.shape, p.dtype, p.trainable, p.version) == ("user/emb", (4, 2), np.float16, False, 0) and (p.numpy() == 1.5).all()
    assert store.create("b", 3).numpy().tolist() == [0.0] * 3 and store["b"].dtype == np.float32
    assert "user/emb" in store and "user" not in store and store.get("user") is None and store.get("x", 7) == 7 and 5 not in store
    store.create("c", (0, 2)), store.create("d", ())
    assert len(store) == 4 and p.resize(5).shape == (5, 2)


def test_iteration_and_prefixes(store):
    assert list(store) == store.names() == store.keys() == ["item/emb", "user/bias", "user/emb", "users"]
    assert store.names("user") == store.names("user/") == ["user/bias", "user/emb"] and store.names("users") == ["users"] and store.names("use") == []
    assert [p.name for p in store.values("user")] == [n for n, _ in store.items("user")] == ["user/bias", "user/emb"]
    assert store.num_bytes == 4 * 24 and repr(store).startswith("ParamStore(4 parameters, 96 bytes)\n  item/emb: float32 (2, 3) on cpu")


def test_delete(store):
    held = store["users"]
    del store["users"]
    store.delete("user/emb")
    assert list(store) == ["item/emb", "user/bias"] and held.scatter_add([0], [[1.0] * 3]).version == 1
    assert store.create("users", (1,)) is not held
    for call in (store.delete, store.__getitem__, store.__delitem__):
        with pytest.raises(KeyError, match="nothing/here") as error:
            call("nothing/here")
        assert isinstance(error.value, UnknownName) and not str(error.value).startswith("'")


@pytest.mark.parametrize("name", ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\nb", "a\0b", "a\\b", "\x7f"])
def test_bad_names(store, name):
    for call in (store.create, store.get_or_create):
        with pytest.raises(ArgumentError, match="name"):
            call(name, (1,))
    with pytest.raises(ArgumentError):
        store.add(ps.Parameter([1.0], name))
    assert len(store) == 4


def test_names_of_any_script(store):
    assert store.create("wörter/词", (1,)).name in store


@pytest.mark.parametrize("name", [None, 5, b"a", ("a",), ["a"]])
def test_names_that_are_no_text(store, name):
    for call in (store.create, store.get_or_create, store.scope("user").create, store.scope("user").get_or_create):
        with pytest.raises(DtypeError, match="must be a str"):
            call(name, (1,))
    assert len(store) == 4


def test_a_second_creation():
    store = ps.ParamStore()
    p = store.create("x", (2, 3))
    assert store.get_or_create("x", (2, 3)) is p and store.get_or_create("x", [2, 3], np.float32, initializer=9) is p and not p.numpy().any()
    with pytest.raises(NameInUse, match="use get_or_create"):
        store.create("x", (2, 3))
    for call in (store.create, store.get_or_create):
        for shape, dtype in (((3, 2), "float32"), ((2, 3), "float64"), ((2, 3, 1), "float32")):
            with pytest.raises(ValueError, match=r"'x' exists with shape \(2, 3\) and dtype float32, not shape"):
                call("x", shape, dtype)
    assert store["x"] is p


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"shape": (-1,)}, ShapeError), ({"shape": None}, DtypeError), ({"shape": (2.0,)}, DtypeError), ({"shape": (2**50, 2**9)}, TooLarge),
        ({"dtype": "float99"}, DtypeError), ({"dtype": object()}, DtypeError), ({"device": "cuda"}, DeviceError), ({"device": None}, DeviceError),
        ({"trainable": 1}, DtypeError), ({"initializer": "normal"}, DtypeError), ({"initializer": np.zeros(9)}, ShapeError),
        ({"initializer": 1e39}, ps.errors.ScalarRangeError), ({"initializer": lambda s, d: None}, DtypeError), ({"initializer": lambda s, d: 1.0}, ShapeError),
        ({"initializer": 1.5, "dtype": "int32"}, DtypeError), ({"initializer": init.normal(seed=0), "dtype": "int32"}, DtypeError),
        ({"initializer": lambda s, d: np.ones(s), "dtype": "int32"}, DtypeError), ({"initializer": lambda s, d: 1 / 0}, ZeroDivisionError),
    ],
)  # fmt: skip
def test_a_failed_creation_leaves_no_name(options, error):
    store = ps.ParamStore()
    with pytest.raises(error):
        store.create("x", **{"shape": (4, 2), **options})
    assert len(store) == 0 and store.create("x", (1,)).shape == (1,)


def test_add(store):
    p = ps.Parameter([1.0], "given")
    assert store.add(p) is p and store["given"] is p and store.add(p) is p
    assert store.add(ps.Parameter([2.0]), "user/given").name == "user/given"
    for other in (ps.Parameter([2.0], "given"), store["users"]):
        with pytest.raises(NameInUse):
            store.add(other, "given")
    with pytest.raises(DtypeError):
        store.add(np.zeros(2))


def test_scope(store):
    user = store.scope("user")
    assert list(user) == user.names() == ["bias", "emb"] and len(user) == 2 and user["emb"] is store["user/emb"] is user.get("emb")
    assert "emb" in user and "users" not in user and user.create("deep/er", (1,)) is store["user/deep/er"] is user.scope("deep")["er"]
    assert user.get_or_create("emb", (2, 3)) is store["user/emb"] and user.get("none", 3) == 3 and "4 param" not in repr(user)
    user.delete("emb")
    assert "user/emb" not in store
    with pytest.raises(UnknownName, match="user/emb"):
        user["emb"]
    for bad in ("", "/", "a//b", None, 5):
        with pytest.raises(ParamstoreError):
            store.scope(bad)


@pytest.mark.parametrize("initializer", [init.normal(0.5, 0.1, seed=3), init.uniform(-1, 1, seed=3), init.constant(2), init.zeros(), init.ones()], ids=repr)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_the_size_of_the_chunks_does_not_matter(initializer, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    whole = ps.ParamStore().create("x", (13, 7), dtype, initializer=initializer).value
    for rows in (1, 2, 5, 13, 99):
        out = np.full_like(whole, 7)
        buffers.fill(out, initializer, rows_at_a_time=rows)
        assert out.tobytes() == whole.tobytes()
    assert np.array_equal(initializer((13, 7), dtype), whole)


def test_initializers():
    wide = init.normal(1, 2, seed=0)((200, 200), "float64")
    assert abs(wide.mean() - 1) < 0.05 and abs(wide.std() - 2) < 0.05
    flat = init.uniform(-2, 4, seed=0)((200, 200), "float32")
    assert flat.min() >= -2 and flat.max() < 4 and abs(flat.mean() - 1) < 0.05 and flat.dtype == np.float32
    assert init.normal(seed=1)((9,), "float32").tolist() != init.normal(seed=2)((9,), "float32").tolist()
    assert init.normal()((9,), "float32").tolist() != init.normal()((9,), "float32").tolist()
    store = ps.ParamStore()
    given = np.arange(6).reshape(3, 2)
    assert store.create("array", (3, 2), initializer=given).numpy().tolist() == given.tolist()
    assert store.create("call", (3, 2), initializer=lambda shape, dtype: np.full(shape, 4, dtype)).numpy().tolist() == [[4.0] * 2] * 3
    assert store.create("text", (2,), "U3", initializer="ab").numpy().tolist() == ["ab", "ab"]
    for dtype, nothing in (("U3", ""), (np.dtypes.StringDType(), ""), (object, 0), ("M8[s]", np.datetime64(0, "s")), ([("a", "i4")], (0,))):
        assert store.create(f"nothing/{dtype}", (2,), dtype).numpy().tolist() == [nothing, nothing]
    for bad in ((init.normal, {"std": -1}), (init.normal, {"mean": np.nan}), (init.normal, {"seed": -1}), (init.uniform, {"low": 2, "high": 1}), (init.uniform, {"seed": 1.5})):
        with pytest.raises(ArgumentError):
            bad[0](**bad[1])


def test_a_table_needs_no_second_one():
    """NumPy reports its allocations to tracemalloc: the peak is the table and one chunk, never a second table."""
    nbytes = 4 * buffers.CHUNK_BYTES
    tracemalloc.start()
    try:
        p = ps.ParamStore().create("big", (nbytes // 256, 64), initializer=init.uniform(seed=0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert p.nbytes == nbytes and p.value[-1].all()
    assert nbytes <= peak < nbytes + 1.5 * buffers.CHUNK_BYTES


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))], ids=["deepcopy", "pickle"])
def test_copies_are_by_value(store, duplicate):
    store["users"].scatter_add([0], [[1.0] * 3])
    twin = duplicate(store)
    store["users"].scatter_add([0], [[1.0] * 3])
    assert list(twin) == list(store) and twin["users"].name == "users" and twin["users"].version == 1
    assert twin["users"].numpy()[0].tolist() == [1.0] * 3 and twin.create("new", (1,)) is not None and "new" not in store
    assert len(duplicate(ps.ParamStore())) == 0 and duplicate(ps.ParamStore()).create("x", (1,)).name == "x"


@pytest.mark.parametrize(
    "dtype, value",
    [("int32", np.array([2**40, 1])), ("int64", np.array([2**63] * 2, np.uint64)), ("int8", np.array([300, 0])), ("float16", np.array([1e30, 0]))],
)
def test_an_initializer_whose_values_do_not_fit_is_refused(dtype, value):
    store = ps.ParamStore()
    for initializer in (value, lambda shape, dtype: value):
        with pytest.raises(ps.errors.ScalarRangeError):
            store.create("x", (2,), dtype, initializer=initializer)
    assert len(store) == 0


def test_a_parameter_has_one_name_in_a_store():
    store = ps.ParamStore()
    a = store.create("a", (1,))
    with pytest.raises(NameInUse, match="already, as 'a'"):
        store.add(a, "b")
    assert store["a"].name == "a" and store.add(a) is a


@pytest.mark.parametrize("name", [[], {}, None, 5, b"a", ("a", [])], ids=repr)
def test_names_to_look_up_that_are_no_text(store, name):
    for call in (store.get, store.__getitem__, store.delete, store.__delitem__):
        with pytest.raises(DtypeError, match="must be a str"):
            call(name)
    assert name not in store and len(store) == 4


@pytest.mark.parametrize("bad", [b"a", "1", None, np.str_("1"), 10**400, np.datetime64("2020"), 1j, np.complex64(1), True, np.bool_(1), [1.0], np.zeros(1), np.inf, object()], ids=repr)
def test_numbers_of_initializers(bad):
    for call in (lambda: init.normal(mean=bad), lambda: init.normal(std=bad), lambda: init.uniform(low=bad), lambda: init.uniform(high=bad)):
        with pytest.raises(ArgumentError, match="must be a finite number"):
            call()
    if bad is not None:
        with pytest.raises(ArgumentError, match="seed"):
            init.normal(seed=-1 if isinstance(bad, int) and bad is not True else bad)
