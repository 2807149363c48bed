"""The documentation that ships with the running Python, as English text: more than 300,000 words."""

from __future__ import annotations

import ast
import contextlib
import importlib
import sys
import sysconfig
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def module_docstrings(tree: ast.Module) -> Iterator[str]:
    """The docstrings of a module and of everything that is defined in it."""
    todo: list[Any] = [tree]
    while todo:
        node = todo.pop()
        first = node.body[0] if node.body else None
        documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and isinstance(first, ast.Expr)
        if documented and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            yield first.value.value
        for part in ("body", "orelse", "handlers", "finalbody"):
            todo.extend(inner for inner in getattr(node, part, ()) if hasattr(inner, "body"))


def builtin_docstrings() -> Iterator[str]:
    """The docstrings of the modules that are compiled into this Python."""
    found: dict[str, None] = {}
    for name in sorted(sys.builtin_module_names):
        try:
            named = sorted(vars(importlib.import_module(name)).items())
        except ImportError:
            continue
        for _, thing in named:
            if isinstance(thing, (type, types.BuiltinFunctionType)):
                members = sorted(vars(thing).items()) if isinstance(thing, type) else []
                found.update((doc, None) for x in (thing, *(m for _, m in members)) if isinstance(doc := getattr(x, "__doc__", None), str))
    yield from found


def texts() -> Iterator[str]:
    """The language reference in pydoc_data, and the docstrings of the standard library: parsed, not imported."""
    with contextlib.suppress(ImportError):  # some distributions leave it out
        topics = importlib.import_module("pydoc_data.topics").topics
        yield from [topics[key] for key in sorted(topics)]
    yield from builtin_docstrings()
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if not {"site-packages", "dist-packages", "test", "tests", "idle_test"} & set(path.relative_to(root).parts):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # about escape sequences in old modules
                    tree = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError, OSError):
                continue
            yield from module_docstrings(tree)
