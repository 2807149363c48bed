"""The store in concurrent use."""

import sys
import threading

import numpy as np
import pytest

import paramstore as ps
from paramstore import init
from paramstore.errors import NameInUse


def in_threads(count, work):
    """Runs ``work(k)`` in threads that start together; answers what each returned or raised."""
    out, gate = [None] * count, threading.Barrier(count)

    def run(k):
        gate.wait()
        try:
            out[k] = work(k)
        except Exception as error:
            out[k] = error

    threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return out


def test_get_or_create_from_many_threads():
    previous = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            store, calls = ps.ParamStore(), []

            def initializer(shape, dtype, calls=calls):
                calls.append(shape)
                return np.ones(shape, dtype)

            got = in_threads(8, lambda k, store=store, initializer=initializer: store.get_or_create("x", (3, 2), initializer=initializer))
            assert all(p is store["x"] for p in got) and len(calls) == 1 and store["x"].numpy().all()
    finally:
        sys.setswitchinterval(previous)


def test_create_from_many_threads():
    store = ps.ParamStore()
    got = in_threads(8, lambda k: store.create("x", (3, 2), initializer=init.normal(seed=k)))
    assert sum(isinstance(p, ps.Parameter) for p in got) == 1 and sum(isinstance(p, NameInUse) for p in got) == 7

    def work(k):
        for i in range(50):
            store.create(f"own/{k}/{i}", (2,))
            store.names("own"), store.num_bytes, list(store.items())
            if i % 2:
                store.delete(f"own/{k}/{i}")

    assert in_threads(8, work) == [None] * 8 and len(store) == 1 + 8 * 25


def test_another_thread_makes_it_where_one_fails():
    """The second waits for the first, whose initializer fails, and then makes the Parameter itself."""
    store, started, go = ps.ParamStore(), threading.Event(), threading.Event()

    def failing(shape, dtype):
        started.set()
        assert go.wait(5)
        raise OSError("no data")

    def work(k):
        if k == 0:
            return store.get_or_create("x", (2,), initializer=failing)
        assert started.wait(5) and "x" not in store
        threading.Timer(0.05, go.set).start()
        return store.get_or_create("x", (2,), initializer=5)

    first, second = in_threads(2, work)
    assert isinstance(first, OSError) and second is store["x"] and second.numpy().tolist() == [5.0, 5.0]


def test_a_long_creation_stops_nobody():
    store, started, go = ps.ParamStore(), threading.Event(), threading.Event()

    def slow(shape, dtype):
        started.set()
        assert go.wait(5)
        return np.ones(shape, dtype)

    maker = threading.Thread(target=lambda: store.create("slow", (2,), initializer=slow))
    maker.start()
    assert started.wait(5)
    assert store.create("quick", (2,)) is store["quick"] and "slow" not in store and store.names() == ["quick"]
    with pytest.raises(NameInUse):
        store.add(ps.Parameter([1.0]), "slow")
    go.set()
    maker.join()
    assert store["slow"].numpy().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("stores", [1, 2])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_initializers_that_wait_for_each_other(count, stores):
    """A ring of threads, each making a name whose initializer asks for the next one's: one is refused, the others go on."""
    held, gate = [ps.ParamStore() for _ in range(stores)], threading.Barrier(count)

    def make(k, first=True):
        def initializer(shape, dtype):
            if first:
                gate.wait(10)
            after = (k + 1) % count
            return held[after % stores].get_or_create(f"n{after}", (2,), initializer=lambda s, d: np.full(s, after, d)).numpy()

        return held[k % stores].get_or_create(f"n{k}", (2,), initializer=initializer)

    done = []
    thread = threading.Thread(target=lambda: done.extend(in_threads(count, make)), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "they wait for ever"
    assert sum(isinstance(x, NameInUse) for x in done) == 1 and all(isinstance(x, (ps.Parameter, NameInUse)) for x in done)
    with pytest.raises(NameInUse, match="is being made by"):
        raise next(x for x in done if isinstance(x, NameInUse))
