"""examples/matrix_factorization.py and examples/hogwild.py, small; the word vectors are in test_readme.py."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SMALL = ("--users", "200", "--items", "100", "--ratings", "20000", "--epochs", "12", "--batch", "250", "--plot", "")


def run(tmp_path: Path, name: str, *arguments: str, fails: bool = False) -> str:
    done = subprocess.run([sys.executable, str(EXAMPLES / name), *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def rmse(output: str) -> list[float]:
    return [float(v) for v in re.findall(r"\d\.\d+", next(line for line in output.splitlines() if line.startswith("held-out RMSE")))]


@pytest.mark.parametrize("optimizer", ["adagrad", "adam", "sgd"])
def test_matrix_factorization_comes_near_the_best_possible_error(optimizer, tmp_path):
    before, after, best = rmse(run(tmp_path, "matrix_factorization.py", *SMALL, "--optimizer", optimizer))
    assert 0.45 < best < 0.55 and best - 0.02 < after < best * 1.15 < before


def test_matrix_factorization_has_the_same_bits_on_any_number_of_threads(tmp_path):
    found = {re.search("sha256: (.*)", run(tmp_path, "matrix_factorization.py", *SMALL, "--threads", n)).group(1) for n in "124"}
    assert len(found) == 1


@pytest.mark.parametrize("mode", ["locked", "hogwild"])
def test_matrix_factorization_learns_without_order(mode, tmp_path):
    before, after, _ = rmse(run(tmp_path, "matrix_factorization.py", *SMALL, "--mode", mode))
    assert after < before / 1.5


@pytest.mark.parametrize(("separator", "head"), [("::", ""), ("\t", ""), (",", "userId,movieId,rating,timestamp\n")])
def test_matrix_factorization_reads_ratings(separator, head, tmp_path):
    rng = np.random.default_rng(0)
    lines = [separator.join((f"u{u}", str(i), str((u + i) % 5 + 0.5), "978300760")) for u, i in rng.integers(0, 30, (2000, 2)).tolist()]
    (tmp_path / "ratings").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    before, after = rmse(run(tmp_path, "matrix_factorization.py", "--file", "ratings", "--epochs", "3", "--plot", ""))
    assert after < before


def test_matrix_factorization_refuses_a_file(tmp_path):
    (tmp_path / "bad").write_text("1,2,3\n1,2\n", encoding="utf-8")
    (tmp_path / "short").write_text("1,2,3\n", encoding="utf-8")
    for name, message in (("none", "cannot read 'none'"), ("bad", "line 2 is no rating: '1,2'"), ("short", "has 1 ratings")):
        assert message in run(tmp_path, "matrix_factorization.py", "--file", name, fails=True)


def test_hogwild_shows_what_each_mode_keeps(tmp_path):
    output = run(tmp_path, "hogwild.py", "--threads", "2", "--tasks", "40", "--batch", "512", "--dim", "16", "--rows", "50", "--runs", "2", "--plot", "")
    found = {m[0]: (float(m[1]), m[2]) for m in re.findall(r"^(\w+) +[\d,]+ +([\d.]+)%  (.*)$", output, re.MULTILINE)}
    assert set(found) == {"sequencer", "accumulator", "locked", "hogwild"}
    assert all(found[mode][0] == 0 for mode in ("sequencer", "accumulator", "locked"))
    assert found["sequencer"][1].startswith("the same") and found["accumulator"][1].startswith("the same")


@pytest.mark.parametrize("name", ["hogwild.py", "matrix_factorization.py", "word2vec.py", "compare_word2vec.py"])
def test_help_and_plots(name, tmp_path):
    assert "--threads" in run(tmp_path, name, "--help")
    if name in ("hogwild.py", "matrix_factorization.py"):
        pytest.importorskip("matplotlib")
        small = ("--tasks", "4", "--runs", "1") if name == "hogwild.py" else ("--ratings", "500", "--epochs", "2")
        for suffix, magic in (("png", b"\x89PNG"), ("svg", b"<?xml")):
            run(tmp_path, name, *small, "--plot", f"out.{suffix}")
            assert (tmp_path / f"out.{suffix}").read_bytes().startswith(magic)
