"""Sequencer, Accumulator, run_threads: the same bits however threads are scheduled, the order of the blocks, and the ends that are not happy."""

from __future__ import annotations

import _thread
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paramstore as ps

ROWS, WIDTH, BATCH, STEPS = 40, 3, 8, 200
SOON = 1.0  # seconds within which everybody must have ended
START = np.random.default_rng(0).standard_normal((ROWS, WIDTH)).astype(np.float32)


def ids_of(step):
    """Of one step, all workers together: many repeat."""
    return np.random.default_rng([5, step]).integers(0, ROWS, BATCH) ** 2 // ROWS


def gradient(rows):
    """Something whose float32 sums depend on their order."""
    return rows * np.float32(0.1) + np.float32(1e-3)


def one_thread(apply_once):
    table = START.copy()
    for step in range(STEPS):
        ids = ids_of(step)
        rows = gradient(table[ids])
        if apply_once:  # the rows of a step are summed first
            total = np.zeros_like(table)
            np.add.at(total, ids, rows)
            hit = np.unique(ids)
            table[hit] = table[hit] - total[hit]
        else:
            for k, row in zip(ids, rows):
                table[k] = table[k] - row
    return table.tobytes()


EXPECTED = {mode: one_thread(mode == "accumulator") for mode in ("sequencer", "accumulator")}


def naps(seed, worker):
    """Mostly none, so that 200 steps stay short; sometimes a little."""
    rng = np.random.default_rng([seed, worker])
    times = np.where(rng.random(STEPS * 2) < 0.02, rng.random(STEPS * 2) * 1e-3, 0.0).tolist()
    for nap in times:
        if nap:
            time.sleep(nap)
        yield


def in_threads(workers, body):
    with ThreadPoolExecutor(workers) as pool:
        for future in [pool.submit(body, worker) for worker in range(workers)]:
            future.result()


def with_sequencer(workers, seed, at_once=None):
    p, seq = ps.Parameter(START), ps.Sequencer(workers, at_once=at_once, timeout=60)

    def worker_loop(worker):
        nap = naps(seed, worker)
        with seq.guard():
            for step in range(STEPS):
                ids = np.array_split(ids_of(step), workers)[worker]
                with seq.read(step, worker):
                    rows = p.gather(ids)
                next(nap)
                update = gradient(rows)
                next(nap)
                with seq.turn(step, worker):
                    p.scatter_sub(ids, update)

    in_threads(workers, worker_loop)
    assert seq.step >= STEPS - 1 and seq.error is None
    return p.numpy().tobytes()


def with_accumulator(workers, seed):
    p, acc = ps.Parameter(START), ps.Accumulator(workers, timeout=60)

    def apply(slices):
        one = slices.coalesce()
        p.scatter_sub(one.indices, one.values)

    def worker_loop(worker):
        nap = naps(seed, worker)
        with acc.guard():
            for step in range(STEPS):
                ids = np.array_split(ids_of(step), workers)[worker]
                update = gradient(p.gather(ids))
                next(nap)
                assert acc.push(worker, ps.IndexedSlices(ids, update, p.shape), step)
                if worker == 0:
                    acc.take(workers, apply)
                acc.wait(step + 1)

    in_threads(workers, worker_loop)
    assert acc.step == STEPS
    return p.numpy().tobytes()


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
@pytest.mark.parametrize("mode", ["sequencer", "accumulator"])
def test_the_bits_of_one_thread(mode, workers):
    """200 steps, with naps at random; 20 runs in all for each mode."""
    run = with_sequencer if mode == "sequencer" else with_accumulator
    for seed in range(5):
        assert run(workers, seed) == EXPECTED[mode], (workers, seed)


@pytest.mark.parametrize("at_once", [1, 3])
def test_fewer_busy_workers_give_the_same_bits(at_once):
    assert with_sequencer(8, 1, at_once) == EXPECTED["sequencer"]


# -- the order ------------------------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_blocks_open_in_the_stated_order(data):
    """Every schedule of some workers that skip, read without a turn, take a turn without reading, or leave early."""
    workers, steps = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    at_once = data.draw(st.sampled_from([None, 1, 2]))
    kinds = ["both", "both", "turn", "skip", "read, skip", "ahead"]
    plan = [[data.draw(st.sampled_from(kinds)) for _ in range(data.draw(st.integers(0, steps)))] for _ in range(workers)]
    nap = [[data.draw(st.sampled_from([0, 0, 1e-4])) for _ in range(3)] for _ in range(workers)]
    seq, log, lock, busy = ps.Sequencer(workers, at_once=at_once, timeout=20), [], threading.Lock(), [0, 0]

    def note(*event):
        with lock:
            log.append(event)
            busy[0] += {"begin": 1, "turn": 1, "end": -1, "over": -1}[event[0]]
            busy[1] = max(busy)

    def worker_loop(worker):
        with seq.guard():
            for step, kind in enumerate(plan[worker]):
                if kind == "ahead":
                    seq.skip(step, worker)
                    continue
                if "read" in kind or kind == "both":
                    with seq.read(step, worker):
                        note("begin", step, worker)
                        time.sleep(nap[worker][0])
                        note("end", step, worker)
                time.sleep(nap[worker][1])
                if "skip" in kind:
                    seq.skip(step, worker)
                else:
                    with seq.turn(step, worker):
                        note("turn", step, worker)
                        time.sleep(nap[worker][2])
                        note("over", step, worker)
            seq.leave(worker)

    in_threads(workers, worker_loop)
    place = {event: k for k, event in enumerate(log)}
    turns = [e[1:] for e in log if e[0] == "turn"]
    assert turns == sorted(turns)  # step by step, and in a step by worker
    for kind, step, worker in log:
        if kind == "end":
            assert all(place["end", step, worker] < place["turn", s, w] for s, w in turns if s == step)
        if kind == "begin":
            assert all(place["over", s, w] < place["begin", step, worker] for s, w in turns if s < step)
    assert at_once is None or busy[1] <= at_once


def test_reads_of_a_step_run_at_the_same_time():
    seq, both = ps.Sequencer(2, timeout=5), threading.Barrier(2)

    def loop(worker):
        with seq.read(0, worker):
            both.wait(5)
        both.wait(5)  # computing, too
        with seq.turn(0, worker):
            pass

    in_threads(2, loop)


# -- ends ---------------------------------------------------------------------------------------------------------------------------


def failing(task):
    with task.read():
        pass
    if task.step == 3 and task.worker == 2:
        raise ValueError("no such batch")
    with task.turn():
        pass


@pytest.mark.parametrize("ordered", [True, False])
def test_a_worker_that_raises_ends_all_with_its_own_traceback(ordered):
    start = time.monotonic()
    with pytest.raises(ValueError, match="no such batch") as caught:
        ps.run_threads(failing, iter(int, 1), workers=8, ordered=ordered)
    assert time.monotonic() - start < SOON
    assert "failing" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


@pytest.mark.parametrize("where", ["read", "turn", "between"])
def test_others_get_the_error_as_cause(where):
    seq = ps.Sequencer(4)

    def loop(worker):
        with seq.guard():
            for step in range(100):
                with seq.read(step, worker):
                    if worker == 1 and step == 7 and where == "read":
                        raise KeyError("row")
                if worker == 1 and step == 7 and where == "between":
                    raise KeyError("row")
                with seq.turn(step, worker):
                    if worker == 1 and step == 7 and where == "turn":
                        raise KeyError("row")

    start = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        errors = [f.exception() for f in [pool.submit(loop, w) for w in range(4)]]
    assert time.monotonic() - start < SOON
    assert isinstance(errors[1], KeyError) and seq.error is errors[1]
    for error in (errors[0], errors[2], errors[3]):
        assert isinstance(error, ps.errors.Poisoned) and error.__cause__ is errors[1]
        assert "KeyError: 'row'" in str(error)
        assert where == "between" or "(worker 1 in step 7)" in str(error)
    with pytest.raises(RuntimeError, match="another worker failed"), seq.read(7, 0):
        pass


def test_ctrl_c_ends_all():
    begun = threading.Event()

    def work(task):
        with task.read():
            begun.set()
            time.sleep(0.001)

    def interrupt():
        begun.wait(5)
        _thread.interrupt_main()

    threading.Thread(target=interrupt).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ps.run_threads(work, iter(int, 1), workers=3)
        while True:  # where the signal comes a little later
            time.sleep(0.001)
    while [t for t in threading.enumerate() if t.name.startswith("paramstore")]:  # one that was just being started is not waited for
        assert time.monotonic() - start < 5 * SOON
        time.sleep(0.001)


def test_timeouts_name_who_is_missing():
    seq = ps.Sequencer(3, timeout=0.01)
    with seq.read(0, 0):
        pass
    with pytest.raises(TimeoutError, match=r"turn: waited 0.01 s for the turn of worker 0 in step 0: in step 0 not all have read, missing: 1, 2"):
        with seq.turn(0, 0):
            pass
    for worker in (1, 2):
        seq.skip(0, worker)
    with seq.turn(0, 0, timeout=5):  # it may be tried again
        pass
    with seq.read(1, 1), pytest.raises(ps.errors.TimedOut, match="read: waited 0 s for step 2"):
        seq.skip(1, 0)
        with seq.read(2, 0, timeout=0):
            pass
    acc = ps.Accumulator(2, timeout=0.01)
    assert acc.push(0, ps.IndexedSlices([0], [1.0]))
    with pytest.raises(TimeoutError, match="take: waited 0.01 s for 2 gradients; there are 1"):
        acc.take()
    with pytest.raises(TimeoutError, match="push: waited 0.01 s for a take of what worker 0 pushed before"):
        acc.push(0, ps.IndexedSlices([0], [1.0]))
    with pytest.raises(TimeoutError, match="wait: waited 0.01 s for step 1; 0 are done"):
        acc.wait(1)


def test_misuse_is_an_error_and_no_hang():
    seq = ps.Sequencer(2)
    with pytest.raises(ValueError, match=r"worker 0 asks for step 2 but has not been through step 0; skip\(0, 0\)"), seq.read(2, 0):
        pass
    with seq.read(0, 0):
        with pytest.raises(ValueError, match="still inside a block"), seq.turn(0, 0):
            pass
        with pytest.raises(ValueError, match="still inside a block"):
            seq.skip(0, 0)
    with pytest.raises(ValueError, match="has already read"), seq.read(0, 0):
        pass
    seq.skip(0, 0)
    with pytest.raises(ValueError, match="already been through step 0"), seq.turn(0, 0):
        pass
    seq.leave(0)
    with pytest.raises(ValueError, match="already been through step 5"), seq.read(5, 0):
        pass
    for bad in (-1, 2):
        with pytest.raises(ValueError, match=rf"worker = {bad} is not in \[0, 2\)"):
            seq.skip(0, bad)
    for arguments, error in (((0,), ValueError), ((True,), TypeError), ((1.5,), TypeError)):
        with pytest.raises(error):
            ps.Sequencer(*arguments)
    with pytest.raises(ValueError, match="timeout"):
        ps.Sequencer(1, timeout=-1)
    with pytest.raises(TypeError, match="slices must be IndexedSlices, not ndarray"):
        ps.Accumulator(1).push(0, np.zeros(3))
    with pytest.raises(ValueError, match=r"n = 3 is not in \[1, 3\)"):
        ps.Accumulator(2).take(3)


# -- the accumulator -----------------------------------------------------------------------------------------------------------------


def test_accumulator_merges_by_worker_and_drops_what_is_stale():
    acc, applied = ps.Accumulator(3), []
    for worker in (2, 0, 1):
        assert acc.push(worker, ps.IndexedSlices([worker, 7], np.full((2, 1), float(worker)), (8, 1)), step=0)
    merged = acc.take(3, applied.append)
    assert merged.indices.tolist() == [0, 7, 1, 7, 2, 7] and applied == [merged]
    assert not acc.push(1, ps.IndexedSlices([0], [[1.0]], (8, 1)), step=0)  # read before the take
    assert acc.push(1, ps.IndexedSlices([0], [[1.0]], (8, 1)), step=1)
    assert acc.push(2, ps.IndexedSlices([0], [[2.0]], (8, 1)))
    assert acc.take(2, mean=True).to_dense()[0, 0] == 1.5
    assert acc.step == 2


def test_accumulator_is_poisoned_by_what_cannot_be_merged():
    acc = ps.Accumulator(2)
    acc.push(0, ps.IndexedSlices([0], [[1.0]]))
    acc.push(1, ps.IndexedSlices([0], [[1.0, 2.0]]))
    with pytest.raises(ValueError, match="rows of shape"):
        acc.take()
    with pytest.raises(ps.errors.Poisoned):
        acc.wait(1)


# -- run_threads ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 3, 5, 9])
def test_run_threads_gives_the_same_bits_on_any_number(threads, several):
    p, seen = ps.Parameter(START), []

    def in_phases(task):
        ids = task.rng.integers(0, ROWS, 5)
        with task.read():
            rows = p.gather(ids)
        yield
        update = gradient(rows) * np.float32(task.batch)
        yield
        with task.turn():
            p.scatter_sub(ids, update)
        return task.worker

    def at_once(task):
        return [*in_phases(task), task.worker][-1]

    work = in_phases if several else at_once

    batches = (k / 7 for k in range(103))  # the last step has 3 of 5
    assert ps.run_threads(work, batches, workers=5, threads=threads, seed=9, done=lambda t, r: seen.append((t.step, t.worker, r))) == 103
    expected = START.copy()
    for k in range(0, 103, 5):
        old = expected.copy()
        for j in range(k, min(k + 5, 103)):
            for row in np.random.default_rng([9, *divmod(j, 5)]).integers(0, ROWS, 5):
                expected[row] = expected[row] - gradient(old[row]) * np.float32(j / 7)
    assert p.numpy().tobytes() == expected.tobytes()
    assert sorted(seen) == [(*divmod(k, 5), k % 5) for k in range(103)]


def test_run_threads_without_order_does_every_batch_once():
    lock, seen = threading.Lock(), []

    def work(task):
        with task.read(), task.turn(), lock:
            seen.append((task.batch, task.step * 4 + task.worker, float(task.rng.random())))

    assert ps.run_threads(work, range(50), workers=4, threads=3, ordered=False) == 50
    assert sorted(s[:2] for s in seen) == [(k, k) for k in range(50)]
    assert len({s[2] for s in seen}) == 50
    assert ps.run_threads(work, [], workers=3) == 0


def test_generators_work_without_order_and_may_raise():
    seen = []

    def work(task):
        with task.read():
            yield
        seen.append(task.batch)
        yield
        if task.batch == 77:
            raise LookupError("77")

    assert ps.run_threads(work, range(20), workers=3, threads=2, ordered=False) == 20 and sorted(seen) == list(range(20))
    for ordered in (False, True):
        with pytest.raises(LookupError, match="77"):
            ps.run_threads(work, iter(range(70, 10**9)), workers=6, threads=3, ordered=ordered)


def test_run_threads_keeps_the_callers_context():
    found = []
    with ps.deterministic():
        ps.run_threads(lambda task: found.append(ps.is_deterministic()), range(4), workers=2)
    assert found == [True] * 4


def test_batches_and_done_that_raise():
    def bad_batches():
        yield 1
        raise OSError("no more text")

    for ordered in (True, False):
        with pytest.raises(OSError, match="no more text"):
            ps.run_threads(lambda task: None, bad_batches(), workers=3, ordered=ordered)
        with pytest.raises(ZeroDivisionError):
            ps.run_threads(lambda task: None, range(9), workers=3, ordered=ordered, done=lambda task, result: 1 / 0)
    with pytest.raises(ValueError, match="work = 3 must be callable"):
        ps.run_threads(3, [], workers=1)
