"""``paramstore bench``: its table is well-formed, a tiny run goes through, a peer that dies is left out, and the product knows nothing of it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import paramstore as ps
from paramstore.bench import child, goals, parent, report
from paramstore.bench.arguments import build, distributed
from paramstore.bench.measure import Limits, Timed, bandwidth, take_turns
from paramstore.bench.ours import ours
from paramstore.bench.peers import PEERS, load
from paramstore.bench.peers.base import Contender, Missing
from paramstore.bench.records import Row, Run, Time
from paramstore.bench.workloads import DISTRIBUTIONS, FORMS, GROUPS, TABLE, Workload, scaled, select
from paramstore.cli import main

TINY = Limits(rounds=1, seconds=0.001, calls=1)


def tiny(w: Workload) -> Workload:
    return scaled(w, 1.0, most=8 if w.form == "elements" else 50)


# -- the table ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("w", TABLE, ids=lambda w: w.name)
def test_row_is_well_formed(w):
    assert w.form in FORMS and w.ids in DISTRIBUTIONS and w.group in GROUPS
    assert set(w.peers) <= set(PEERS)
    assert w.op in ps.ops.OPS or w.form in ("gather", "frontend", "optim", "bags")
    small = tiny(w)
    a = build(small)
    assert a.table.shape == small.table and a.table.dtype == w.dtype
    assert a.ids.shape == small.index_shape and a.ids.dtype == w.index
    assert a.ids.min() >= 0 and 1 <= a.unique <= small.calls
    if w.form not in ("gather", "bags"):
        assert a.updates.size == small.calls * small.width
        assert np.isfinite(a.updates.astype(np.float64)).all()
        assert w.op not in ("mul", "div") or set(np.unique(a.updates)) == {-1, 1}
    assert small.floor(small, a.unique) > 0


def test_floor_is_that_of_the_issue():
    w = TABLE[0]
    assert w.floor(w, 150_000) == 200_000 * (8 + 4 * 64) + 8 * 64 * 150_000


def test_every_distribution_stays_inside():
    for name in DISTRIBUTIONS:
        ids = distributed(name, np.random.default_rng(1), 5000, 40)
        assert ids.shape == (5000,) and ids.min() >= 0 and ids.max() < 40
    zipf = np.bincount(distributed("zipf", np.random.default_rng(1), 20_000, 1000))
    assert zipf.max() > 20 * np.median(zipf[zipf > 0])


def test_select():
    assert select(["zipf"], ["issue"]) == [w for w in TABLE if w.group == "issue" and w.ids == "zipf"]
    assert select(["no such row"]) == []


def test_the_smallest_scale_keeps_a_row():
    for w in TABLE:
        small = scaled(w, 1e-9)
        assert small.calls == (w.index_shape[1] if w.form == "bags" else 1) and small.width == w.width


# -- ours and NumPy -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("w", [w for w in TABLE if "numpy" in w.peers and w.group != "growth"], ids=lambda w: w.name)
def test_numpy_gives_our_result(w):
    a = build(tiny(w), seed=2)
    expected = child._result(ours(tiny(w), a.fresh()))
    labels = [c.label for c in load("numpy", 1).contenders(tiny(w), a.fresh())]
    assert labels
    for label in labels:
        assert child._difference(tiny(w), load("numpy", 1), label) == ""
    assert expected.dtype == w.dtype


def test_another_result_is_noticed():
    class Wrong:
        name, version, yardstick, copies = "numpy", "", False, 0

        def contenders(self, w, a):
            yield Contender("wrong", lambda: None, lambda _: a.table)

    assert "other result in" in child._difference(tiny(TABLE[0]), Wrong(), "wrong")


def test_frontends_that_are_missing_say_so():
    with pytest.raises(Missing, match="has no nosuch.thing"):
        ours(replace(TABLE[0], form="frontend", op="nosuch.thing"), build(tiny(TABLE[0])))


def test_yardstick_loops():
    try:
        native = load("native", 2)
    except Missing as error:
        pytest.skip(str(error))
    for w in select([], ["issue", "dtype", "ids"]):
        for contender in native.contenders(tiny(w), build(tiny(w))):
            assert child._difference(tiny(w), native, contender.label) == ""
    # The racing loop is there only with many rows; on one row each thread's sum would be lost, so only its target is looked at.
    w = replace(scaled(TABLE[0], 0.02), name="many")
    labels = [c.label for c in native.contenders(w, build(w))]
    assert labels == ["C++ loop", "racing"]


# -- clocks ---------------------------------------------------------------------------------------------------------------------


def test_turns():
    calls = {"a": 0, "b": 0}

    def count(name):
        calls[name] += 1

    def fail():
        raise ValueError("no")

    timed = [Timed(n, Contender(n, lambda n=n: count(n), lambda _: _)) for n in "ab"] + [Timed("c", Contender("c", fail, lambda _: _))]
    take_turns(timed, Limits(rounds=3, seconds=10.0, calls=2))
    assert [len(t.samples) for t in timed] == [6, 6, 0]
    assert timed[2].error == "ValueError: no" and timed[2].seconds is None
    assert calls["a"] > 100  # short calls are timed many in a row


def test_bandwidth():
    assert all(v > 0 for v in bandwidth(2, megabytes=1, seconds=0.01).values())


# -- goals and reports ----------------------------------------------------------------------------------------------------------


def a_row(w: Workload = TABLE[0], ours: float | None = 1e-3, *times: Time, floor: float = 1e-3) -> Row:
    return Row(w.name, w.group, w.form, w.op, list(w.table), list(w.index_shape), w.dtype, w.index, w.ids, w.width, 1, 1, floor, ours, [], list(times))


def test_what_counts_as_the_fastest_peer():
    row = a_row(
        TABLE[0], 1e-3, Time("numpy", "at", 5e-3), Time("torch", "x", 1e-3, note="other result"), Time("native", "C++ loop", 5e-4, True)
    )
    assert row.fastest.peer == "numpy" and row.ratio == pytest.approx(5) and row.over_floor == pytest.approx(1)
    assert Row.from_json(json.loads(json.dumps(row.to_json()))) == row


def test_goals_judge_both_ways():
    good = Run(1, rows=[a_row(TABLE[0], 1e-3, Time("numpy", "at", 5e-3), floor=1e-3)])
    bad = Run(2, rows=[a_row(TABLE[0], 4e-3, Time("numpy", "at", 5e-3), floor=1e-3)])
    checks = goals.check([good, bad])
    by_threads = {t: [c.met for c in checks if c.threads == t] for t in (1, 2)}
    assert all(by_threads[1]) and not any(by_threads[2]) and len(by_threads[2]) == 3  # twice the peer, the floor, more threads
    assert any("MISS" in line for line in goals.summary(checks))


def test_growth_is_judged_on_doublings():
    rows = [w for w in TABLE if w.name.startswith("call of")]
    run = Run(1, rows=[a_row(w, 1e-8 * w.calls * (2 if w.calls > 10**6 else 1)) for w in rows])
    growth = [c for c in goals.check([run]) if c.goal.startswith("twice the work")]
    assert len(growth) == 10 and [c.value for c in growth if not c.met] == [pytest.approx(2)]


def test_durations():
    assert [report.duration(s) for s in (1.2345, 0.1234, 2.6e-6, 9.9e-5, None)] == ["1234", "123", "2.60µ", "99.0µ", "-"]


# -- end to end -----------------------------------------------------------------------------------------------------------------

_RUN = ["bench", "--scale", "0.001", "--rounds", "1", "--threads", "1", "2", "--peers", "numpy"]


def test_a_tiny_run(tmp_path, capsys):
    out, table = tmp_path / "bench.json", tmp_path / "bench.md"
    assert main([*_RUN, "--only", "use_locking, 2", "1-D, 1000", "--json", str(out), "--markdown", str(table)]) == 0
    printed = capsys.readouterr().out
    data = json.loads(out.read_text())
    assert set(data) == {"schema", "machine", "runs", "goals"}
    assert [run["threads"] for run in data["runs"]] == [1, 2]
    for run in data["runs"]:
        assert set(run["peers"]) == {"numpy"} and not run["missing"]
        assert set(run["bandwidth"]) == {"read", "copy", "add", "used"}
        assert [row["name"] for row in run["rows"]] == [w.name for w in select(["use_locking, 2", "1-D, 1000"])]
        for row in run["rows"]:
            assert row["ours"] > 0 and row["ratio"] > 0 and row["floor"] > 0 and row["samples"] and not row["note"]
            assert row["fastest"]["peer"] == "numpy" and all(not t["note"] for t in row["times"])
        assert report.as_json([Run.from_json(run)])["runs"] == [run]
    for name in ("1-D, 1000 cells", "fastest/ours", "memory bandwidth"):
        assert name in printed and name.lower() in table.read_text().lower()


def test_list_and_nothing_selected(capsys):
    assert main(["bench", "--list", "--group", "issue"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7
    assert main(["bench", "--only", "no such row"]) == 2


def test_too_little_memory_is_reported(capsys):
    assert main([*_RUN[:-1], "numpy", "--threads", "1", "--only", "W = 64", "--max-bytes", "1000"]) == 0
    assert "more memory than --max-bytes allows [W = 64]" in capsys.readouterr().out


def test_a_peer_that_kills_the_process_is_left_out(monkeypatch):
    """A stand-in for the measuring process dies in torch, once, and then in ours."""
    script = """
import json, os, sys
asked = json.loads(sys.argv[1])
def tell(event, **more): print(json.dumps({"event": event, **more}), flush=True)
for peer in asked["peers"]: tell("peer", peer=peer, version="1")
row = json.loads(%r)
for name in asked["workloads"]:
    row["name"] = name
    tell("turn", peer="ours", workload=name)
    if name == "W = 4": print("it went wrong here", file=sys.stderr, flush=True); os._exit(3)
    for peer in asked["peers"]:
        tell("turn", peer=peer, workload=name)
        if peer == "torch" and name != "W = 1": os.abort()
    tell("row", row=row)
""" % json.dumps(a_row().to_json())
    monkeypatch.setattr(parent, "_START", script)
    workloads = select(["W = 1", "W = 4", "W = 8"], ["width"])
    workloads = [w for w in workloads if w.name in ("W = 1", "W = 8", "W = 4")]
    seen = []
    run = parent.measure(parent.Plan(workloads, ("numpy", "torch")), 1, lambda run, row: seen.append(row and row.name))
    assert [row.name for row in run.rows] == ["W = 1", "W = 4", "W = 8"]
    assert "it went wrong here" in run.rows[1].note and run.rows[1].ours is None
    assert run.missing["torch"].startswith("left out from 'W = 8' on: signal 6")
    assert run.rows[2].best("torch").note == run.missing["torch"] and run.rows[0].best("torch") is None
    assert seen == [None, "W = 1", "W = 4", "W = 8"]
    assert any("torch" in line for line in report.notes(run))


def test_a_peer_that_is_not_installed_is_reported(monkeypatch):
    told = []
    monkeypatch.setitem(PEERS, "ghost", "no_such_module")
    assert child._loaded(["ghost", "numpy"], 1, lambda event, **more: told.append((event, more["peer"])))[0].name == "numpy"
    assert told == [("loading", "ghost"), ("missing", "ghost"), ("loading", "numpy"), ("peer", "numpy")]


def test_chart(tmp_path):
    pytest.importorskip("matplotlib")
    from paramstore.bench.plot import bars

    runs = [Run(t, rows=[a_row(TABLE[0], 1e-3, Time("numpy", "at", 5e-3)), a_row(TABLE[1], None)]) for t in (1, 2)]
    bars(runs, str(tmp_path / "chart.png"))
    assert (tmp_path / "chart.png").stat().st_size > 1000
    with pytest.raises(ValueError, match="no row"):
        bars([Run(1)], str(tmp_path / "empty.png"))


# -- the product does not know the bench ----------------------------------------------------------------------------------------


def test_the_product_imports_nothing_of_the_bench():
    code = (
        "import sys, json; sys.path[:] = json.loads(sys.argv[1]); import paramstore, paramstore.frontends.onnx; "
        "print(sorted(m for m in sys.modules if 'bench' in m or 'loops' in m))"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, json.dumps(sys.path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert not any("rac" in k.backend or k.backend == "native" for k in ps.kernels())
    native = sys.modules.get("paramstore._cpu")
    assert not any("racing" in name for name in dir(native))
