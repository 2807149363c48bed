"""``frontends.numpy_style`` and ``frontends.torch_style`` on their own; ``test_conformance.py`` compares them with their originals."""

from __future__ import annotations

import doctest
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import paramstore as ps
from paramstore import errors, indexing, targets
from paramstore.frontends import numpy_style, torch_style

WRITING = [n for n in torch_style.__all__ if n.endswith("_")]


@pytest.mark.parametrize("module", [numpy_style, torch_style], ids=lambda m: m.__name__.rsplit(".", 1)[1])
def test_examples_in_the_docstrings(module):
    runner, finder = doctest.DocTestRunner(), doctest.DocTestFinder(recurse=False)
    for name in module.__all__:
        tests = finder.find(getattr(module, name), name, module=False, globs={n: getattr(module, n) for n in module.__all__})
        assert tests and tests[0].examples, f"{name} has no example"
        for test in tests:
            runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_importing_them_imports_no_original(tmp_path):
    code = "import sys, paramstore.frontends as f; f.torch_style, f.numpy_style; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, check=False).returncode == 0


def _calls(x):
    """One valid call of every function that writes, on a float64 target of shape (3, 2)."""
    rows, cells = np.array([2, 0]), np.array([[2, 0]])
    ones = np.ones((2, 2))
    yield from (partial(getattr(numpy_style, n), x, rows, 2.0) for n in numpy_style.__all__)
    yield from (partial(getattr(torch_style, n), x, 0, rows, ones) for n in ("index_add_", "index_copy_"))
    yield partial(torch_style.index_fill_, x, 0, rows, 1.0)
    yield partial(torch_style.index_put_, x, (rows,), 1.0)
    yield partial(torch_style.index_reduce_, x, 0, rows, ones, "mean")
    yield partial(torch_style.put_, x, rows, np.ones(2))
    yield from (partial(getattr(torch_style, n), x, 0, cells, np.ones((1, 2))) for n in ("scatter_", "scatter_add_"))
    yield partial(torch_style.scatter_reduce_, x, 0, cells, np.ones((1, 2)), "mean", include_self=False)


def test_every_writing_function_is_called():
    assert {c.func.__name__ for c in _calls(None)} == {*numpy_style.__all__, *WRITING}


@pytest.mark.parametrize("k", range(len(list(_calls(None)))))
def test_targets_of_every_kind(k):
    """The same result on a Parameter, and on arrays in any layout; what lies between the items of a view is not touched."""
    start = np.arange(6.0).reshape(3, 2) + 1
    p = ps.Parameter(start)
    list(_calls(p))[k]()
    assert p.version == 1
    wide = np.full((6, 4), -1.0)
    view = wide[::2, ::2]
    for target in (start.copy(), np.asfortranarray(start), start[::-1].copy()[::-1], start.astype(">f8"), view):
        target[...] = start
        list(_calls(target))[k]()
        assert np.array_equal(target, p.numpy())
    assert (wide[1::2] == -1).all() and (wide[:, 1::2] == -1).all()


@pytest.mark.parametrize("k", range(len(list(_calls(None)))))
def test_targets_that_must_not_be_written(k):
    frozen = np.ones((3, 2))
    frozen.flags.writeable = False
    repeated = np.lib.stride_tricks.as_strided(np.ones(2), (3, 2), (0, 8))
    for target in (frozen, repeated, np.frombuffer(bytes(48)).reshape(3, 2)):
        before = target.copy()
        with pytest.raises((errors.TargetError, RuntimeError)):
            list(_calls(target))[k]()
        assert np.array_equal(target, before)
    with pytest.raises(TypeError):
        list(_calls([[1.0, 2.0]] * 3))[k]()


def test_overlap_is_seen_exactly():
    base = np.arange(24.0)
    view = np.lib.stride_tricks.as_strided
    assert not targets.overlaps_itself(view(base, (3, 2), (24, 16)))  # steps of 24 and 16 bytes that never meet
    assert targets.overlaps_itself(view(base, (3, 3), (16, 8)))
    assert targets.overlaps_itself(view(base, (2,), (4,)))
    assert not targets.overlaps_itself(base.reshape(2, 3, 4).transpose(2, 0, 1)[::2])


def test_another_row_is_left_to_other_threads():
    """A view with steps is not copied whole and written back: only the rows named are."""
    wide = np.zeros((4, 6))
    view = wide[:, ::2]
    call = indexing.indexed("demo", "add", targets.stand_in(view), np.array([1]), 1.0)
    touched = targets.Touched(call, view)
    view[3] = 7  # another thread, during the call
    touched.rows += 1
    touched.put_back()
    assert view.tolist() == [[0] * 3, [1] * 3, [0] * 3, [7] * 3]


def test_lossy_updates_are_refused_and_lossless_ones_are_not():
    a = np.zeros(3, np.uint8)
    numpy_style.add_at(a, [0, 0], np.array([100, 100]))  # int64 that fits
    numpy_style.add_at(a, np.array([True, False, True]), True)
    assert a.tolist() == [201, 0, 1]
    for b in (np.array([300]), np.array([-1]), np.array([1.0]), 1.5, np.array([1j])):
        with pytest.raises(TypeError):
            numpy_style.add_at(a, [0], b)
    with pytest.raises(OverflowError):
        numpy_style.add_at(a, [0], -1)
    f = np.zeros(1, np.float32)
    numpy_style.add_at(f, [0], np.array([0.5]))
    with pytest.raises(TypeError):
        numpy_style.add_at(f, [0], np.array([0.1]))
    assert a.tolist() == [201, 0, 1] and f.tolist() == [0.5]


def test_a_parameter_is_changed_all_or_not_at_all():
    p = ps.Parameter(np.zeros((3, 2)))
    for call in (
        lambda: torch_style.index_add_(p, 0, np.array([0, 3]), np.ones((2, 2))),
        lambda: torch_style.scatter_reduce_(p, 0, np.array([[0, 1], [1, 3]]), np.ones((2, 2)), "sum", include_self=False),
        lambda: numpy_style.add_at(p, ([0, 1], [0, 2]), 1.0),
        lambda: numpy_style.divide_at(ps.Parameter([1]), [0], 0),
    ):
        with pytest.raises((IndexError, ZeroDivisionError)):
            call()
    assert p.version == 0 and not p.numpy().any()


@pytest.mark.parametrize("error", [RuntimeError, IndexError])
def test_what_callers_of_pytorch_catch(error):
    x = np.zeros((3, 2))
    for call in (
        lambda: torch_style.index_add_(x, 2, np.array([0]), np.ones((1, 2))),
        lambda: torch_style.index_add_(x, 0, np.array([0], np.int16), np.ones((1, 2))),
        lambda: torch_style.index_add_(x, 0, np.array([0]), np.ones((1, 2), np.float32)),
        lambda: torch_style.scatter_(x, 0, np.array([[0, -1]]), 1.0),
        lambda: torch_style.scatter_(x, 0, np.array([[0]])),
        lambda: torch_style.scatter_reduce_(x, 0, np.array([[0]]), np.ones((1, 1)), "median"),
        lambda: torch_style.index_put_(x, (np.array([0]),) * 3, 1.0),
        lambda: torch_style.gather(x, 0, np.array([0])),
        lambda: torch_style.take(x, np.array([6])),
    ):
        with pytest.raises(error):
            call()


def test_halves_round_each_step():
    x = np.array([2048.0], np.float16)
    assert torch_style.scatter_add_(x, 0, np.array([0, 0]), np.ones(2, np.float16)).tolist() == [2048.0]


@pytest.mark.parametrize("step", (1, 2, -1))
def test_strings_of_any_length(step):
    """Long and short ones, in arrays of any layout and with updates that are dropped, against lists of str."""
    text = np.dtypes.StringDType()
    rng = np.random.default_rng(step % 5)

    def strings(n):
        return ["".join(map(chr, rng.integers(97, 123, k))) for k in rng.integers(0, 80, n)]

    for _ in range(30):
        n, m = (int(k) for k in rng.integers(2, 300, 2))
        x, u, ids = np.array(strings(2 * n), text)[::step], strings(m), rng.integers(0, n, m)
        expected = x.tolist()
        numpy_style.add_at(x, ids, np.array(u, text))
        for i, s in zip(ids, u):
            expected[i] += s
        assert x.tolist() == expected
        for write in (torch_style.index_copy_, lambda x, _, i, s: torch_style.index_put_(x, (i,), s)):
            rng.shuffle(ids)
            write(x, 0, ids, np.array(u, text))
            for i, s in zip(ids, u):
                expected[i] = s
            assert x.tolist() == expected
        stray = rng.integers(-n, 3 * n, m)
        p = ps.Parameter(x).scatter_update(stray, np.array(u, text), bounds="drop")
        for i, s in zip(stray, u):
            if 0 <= i < len(expected):
                expected[i] = s
        assert p.numpy().tolist() == expected
        assert p.gather(stray, bounds="drop").tolist() == [expected[i] if 0 <= i < len(expected) else "" for i in stray]
