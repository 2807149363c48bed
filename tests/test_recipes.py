"""The code in docs/: the recipes of architecture.md and the examples of contracts.md, run as they stand.

Recipes change the tables of ops and kernels, so each runs in a process of its own. It starts in an empty directory: from the root of the
checkout Python would import the unbuilt tree.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sections(page: str) -> dict[str, str]:
    """Heading -> the code blocks below it, for each heading of the second level that has code."""
    parts = re.split(r"^## (.+)$", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {title: "\n".join(BLOCK.findall(body)) for title, body in zip(parts[1::2], parts[2::2])}
    return {title: code for title, code in found.items() if code}


def run(tmp_path: Path, *arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


RECIPES = sections("architecture.md")


def test_the_recipes_are_there() -> None:
    assert [title for title in RECIPES if title.startswith("Add ")] == ["Add an op", "Add a dtype", "Add a backend", "Add a device"]


@pytest.mark.parametrize("title", RECIPES)
def test_recipe(title: str, tmp_path: Path) -> None:
    (tmp_path / "recipe.py").write_text(RECIPES[title], encoding="utf-8")
    run(tmp_path, "recipe.py")


def test_contracts(tmp_path: Path) -> None:
    page = (DOCS / "contracts.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (C\d+)\.", page, re.MULTILINE) == [f"C{k}" for k in range(1, 11)]
    (tmp_path / "contracts.txt").write_text("\n\n".join(BLOCK.findall(page)), encoding="utf-8")
    run(tmp_path, "-m", "doctest", "contracts.txt")


def test_optimizers(tmp_path: Path) -> None:
    page = (DOCS / "optimizers.md").read_text(encoding="utf-8")
    (tmp_path / "optimizers.txt").write_text("\n\n".join(BLOCK.findall(page)), encoding="utf-8")
    run(tmp_path, "-m", "doctest", "optimizers.txt")


def test_threads(tmp_path: Path) -> None:
    (tmp_path / "threads.py").write_text("\n\n".join(BLOCK.findall((DOCS / "threads.md").read_text(encoding="utf-8"))), encoding="utf-8")
    run(tmp_path, "threads.py")


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md", "docs/contracts.md", "docs/threads.md", "docs/optimizers.md"])
def test_links(page: str) -> None:
    """Every relative link leads to a file."""
    path = DOCS.parent / page
    for target in re.findall(r"\]\(([^)#:]+)[^):]*\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_the_layout_names_files_that_exist() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8").split("## The layout of the code")[1]
    folder, named = DOCS.parent, 0
    for indent, name in re.findall(r"^( {4}| {6})(\S+)", text.split("**")[0], re.MULTILINE):
        if len(indent) == 4:
            folder = DOCS.parent / name
        assert (folder if len(indent) == 4 else folder / name).exists(), name
        named += 1
    assert named > 20


def test_the_table_of_errors_is_complete() -> None:
    from paramstore import errors

    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", (DOCS / "contracts.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(rows) == {*errors.__all__} - {"ParamstoreError"}
    for name, builtins in rows.items():
        for builtin in re.findall(r"`(\w+)`", builtins):
            assert issubclass(getattr(errors, name), __builtins__[builtin]), (name, builtin)  # type: ignore[index]
