"""Large results, whose memory is kept for the next: what an earlier array held must never show, and the arrays behave as any other."""

import pickle

import numpy as np
import pytest
from concurrency import needs_fork, script, together

import paramstore as ps
from paramstore.backends import cpu

pytestmark = pytest.mark.skipif(cpu.extension is None, reason="the extension keeps it")

ROWS, WIDTH = 40_000, 64  # 10 MB
ONES = np.ones((3, WIDTH), np.float32)


def made():
    return ps.scatter_nd(np.array([[1], [5], [1]]), ONES, (ROWS, WIDTH))


def assert_right(out):
    assert out[1].tolist() == [2.0] * WIDTH and out[5].tolist() == [1.0] * WIDTH
    assert np.count_nonzero(out) == 2 * WIDTH


def test_zeros_are_zeros_again():
    for _ in range(4):
        out = made()
        assert_right(out)
        out[...] = 7
        del out


def test_dropped_rows_are_zeros_again():
    table = np.full((8, WIDTH), 3.0, np.float32)
    ids = np.arange(ROWS) % 8
    ids[::3] = 8
    for _ in range(3):
        out = ps.gather(table, ids, bounds="drop")
        assert not out[::3].any() and (out[1::3] == 3.0).all()
        out[...] = 7
        del out


def test_a_result_owns_its_memory():
    out = made()
    assert out.flags.owndata and out.flags.writeable and out.ctypes.data % 64 == 0
    row = out[5]
    del out
    made()[...] = 7
    assert row.tolist() == [1.0] * WIDTH  # a view keeps it
    grown = made()
    grown.resize((2 * ROWS, WIDTH), refcheck=False)
    assert_right(grown)
    grown.resize((2, WIDTH), refcheck=False)
    assert grown.sum() == 2 * WIDTH
    assert_right(pickle.loads(pickle.dumps(made())))


def test_from_several_threads():
    def work():
        for _ in range(20):
            assert_right(made())

    together(*[work] * 4)


CHECK = """
def right():
    out = ps.scatter_nd(np.array([[1], [1]]), np.ones((2, 64), np.float32), (40_000, 64))
    good = out.sum() == 128 and out[1, 0] == 2
    out[...] = 7
    return good
"""


@needs_fork
def test_in_the_child_of_a_fork(tmp_path):
    code = "assert right()\nkept = ps.scatter_nd(np.array([[1]]), np.ones((1, 64), np.float32), (40_000, 64))\n"
    script(tmp_path, CHECK + code + "pid = os.fork()\nok = right() and right() and kept.sum() == 64\nif not pid:\n    os._exit(0 if ok else 1)\n"
           "assert ok and os.waitpid(pid, 0)[1] == 0")  # fmt: skip


@pytest.mark.parametrize("asked", ["0", "1", "64", "", "-3", "many", "99999999999999999999"])
def test_how_much_is_kept(tmp_path, monkeypatch, asked):
    monkeypatch.setenv("PARAMSTORE_KEEP_MB", asked)
    script(tmp_path, CHECK + "assert all(right() for _ in range(3))")
