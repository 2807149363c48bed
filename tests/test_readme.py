"""README.md: its example, its commands, and the two programs in examples/."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WORD2VEC = str(ROOT / "examples" / "word2vec.py")
SMALL = ("--max-words", "6000", "--epochs", "2", "--min-count", "3", "--dim", "16", "--batch", "64", "--plot", "")


def run(tmp_path: Path, *arguments: str, fails: bool = False) -> str:
    """What a program prints. It starts in an empty directory: from the root Python would import the unbuilt tree."""
    done = subprocess.run([sys.executable, *arguments], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def results(output: str) -> dict[str, str]:
    """The lines "name: value" at the end of what word2vec prints."""
    return dict(re.findall(r"^([a-z0-9-][a-z0-9 -]*): (.*)$", output, re.MULTILINE))


def test_the_example_is_the_quickstart(tmp_path: Path) -> None:
    program = (ROOT / "examples" / "quickstart.py").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert blocks[0] == program
    assert len(program.splitlines()) <= 25
    printed = run(tmp_path, str(ROOT / "examples" / "quickstart.py"))
    assert "Parameter('user/emb', shape=(1000, 64), dtype=float32, device='cpu', version=1)" in printed
    assert "scatter_add: indices[1] = 1000 is not in [0, 1000)" in printed
    assert "[ 0 23  0 10  9  0  0  0]" in printed


def test_the_speed_example_runs(tmp_path: Path) -> None:
    """With a table a thousandth of the size: what it prints is no measurement."""
    blocks = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert "1_000_000" in blocks[1] and "200_000" in blocks[1]
    (tmp_path / "speed.py").write_text(blocks[1].replace("1_000_000", "1000").replace("200_000", "200"), encoding="utf-8")
    assert re.fullmatch(r"\d+\.\d times as fast as np.add.at\n", run(tmp_path, "speed.py"))


def test_the_commands_are_those_of_ci() -> None:
    assert "pip install . && python examples/word2vec.py" in README
    assert 'pip install ".[test]" && pytest' in README
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in ('pip install --quiet ".[test]"', "pytest", "python examples/word2vec.py", "PARAMSTORE_NO_EXTENSION=1"):
        assert command in script
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r"^test = \[.*pytest.*hypothesis.*\]$", project, re.MULTILINE)
    assert re.search(r'^requires-python = ">=3.10"$', project, re.MULTILINE)
    assert re.search(r'^dependencies = \["numpy>=2.0"\]$', project, re.MULTILINE)


@pytest.mark.parametrize("mode", ["sequencer", "accumulator"])
def test_word2vec_gives_the_same_tables_at_any_thread_count(mode: str, tmp_path: Path) -> None:
    found = [results(run(tmp_path, WORD2VEC, *SMALL, "--mode", mode, "--threads", str(n))) for n in (1, 2, 3, 4)]
    assert len({f["sha256"] for f in found}) == 1
    assert len(found[0]["sha256"]) == 64
    assert found[0]["ordered"].startswith("yes")
    before, after = map(float, re.findall(r"\d+\.\d+", found[0]["held-out loss"])[:2])
    assert after < before - 0.3


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adagrad", "rmsprop", "adam"])
@pytest.mark.parametrize("mode", ["hogwild", "sequencer"])
def test_word2vec_learns_with_any_optimizer_and_mode(mode: str, optimizer: str, tmp_path: Path) -> None:
    mode = "locked" if optimizer == "momentum" and mode == "hogwild" else mode
    found = results(run(tmp_path, WORD2VEC, *SMALL, "--epochs", "4", "--mode", mode, "--optimizer", optimizer))
    before, after = map(float, re.findall(r"\d+\.\d+", found["held-out loss"])[:2])
    assert after < before - 0.05
    assert found["ordered"] == f"{'yes' if mode == 'sequencer' else 'no'} (mode {mode}, optimizer {optimizer})"


def test_word2vec_seed_changes_the_tables(tmp_path: Path) -> None:
    one, two = (results(run(tmp_path, WORD2VEC, *SMALL, "--seed", seed))["sha256"] for seed in ("1", "2"))
    assert one != two


def test_word2vec_takes_a_file(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the quick brown fox jumps over the lazy dog near a river bank and then sleeps while "
                                       "seven other animals watch from behind old trees\n\n" * 100)  # fmt: skip
    printed = run(tmp_path, WORD2VEC, "--text", "text.txt", "--epochs", "1")
    assert printed.startswith("text.txt: ") and "sha256: " in printed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the text 'text.txt': No such file or directory"),
        (b"", "the text 'text.txt' has 0 words; at least 1000 are needed"),
        (b"too short", "the text 'text.txt' has 2 words; at least 1000 are needed"),
        (b"\x00\xff\xfe\x01" * 4000, "the text 'text.txt' has"),
        (b"same " * 2000, "only 1 words occur at least 5 times (--min-count); at least 20 are needed"),
    ],
    ids=["missing", "empty", "short", "binary", "one word"],
)
def test_word2vec_refuses_a_text(content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "text.txt").write_bytes(content)
    error = run(tmp_path, WORD2VEC, "--text", "text.txt", fails=True)
    assert f"word2vec: {message}" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("option", [("--threads", "0"), ("--threads", "x"), ("--epochs", "0"), ("--lr", "nan"), ("--max-words", "-1")])
def test_word2vec_refuses_an_option(option: tuple[str, str], tmp_path: Path) -> None:
    assert f"argument {option[0]}" in run(tmp_path, WORD2VEC, *option, fails=True)


def test_the_documentation_of_python_is_long_enough() -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'examples')!r}); import documentation as d; print(sum(len(t.split()) for t in d.texts()))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 300_000
