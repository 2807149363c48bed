"""Every CUDA kernel compiles for real GPUs, and the code of the ordered ones keeps the arithmetic. Nothing is run: that takes a GPU."""

from __future__ import annotations

import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from cuda_host import executor, toolkit

from paramstore.backends.cuda import cells, modules

pytestmark = pytest.mark.skipif("sources" in executor.missing(), reason=executor.missing())
TARGETS = tuple(toolkit.VIRTUAL)


class Jobs:
    """The compilations, two at a time."""

    def __init__(self, compiler: Any) -> None:
        self.compiler, pool = compiler, ThreadPoolExecutor(2)
        self.targets = [t for t in TARGETS if compiler.takes(t)]
        self.ptx: dict[str, Future[str]] = {v: pool.submit(compiler.ptx, v) for v in sorted({toolkit.VIRTUAL[t] for t in self.targets})}
        self.cubin: dict[str, Future[bytes]] = {t: pool.submit(compiler.cubin, t) for t in self.targets}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    compiler = toolkit.find(tmp_path_factory.mktemp("cuda"))
    if isinstance(compiler, str):
        pytest.skip(f"CUDA kernels are not compiled here: {compiler}")
    return Jobs(compiler)


def names() -> set[str]:
    """Of all kernels: those of the registry, and those that check, gather and sort for them."""
    made: set[str] = set()
    for line in (line for lines in cells.families().values() for line in lines):
        macro, *arguments = re.findall(r"\w+", line)
        text = "".join(p.read_text() for p in (modules.folder() / "cuda").glob("*.cuh"))
        body = re.search(rf"#define {macro}\b(?:\(([^)]*)\))?((?:.*\\\n)*.*\n)", text)
        assert body is not None, macro
        replaced = dict(zip(re.findall(r"\w+", body[1] or ""), arguments))
        for name in re.findall(r"PS_ENTRY\(([\w#]+)\)", body[2]):
            made.add("".join(replaced.get(part, part) for part in name.split("##")))
    return made


def bodies(ptx: str) -> dict[str, str]:
    return {found[1]: found[2] for found in re.finditer(r"\.entry (\w+)\((.*?)\n}", ptx, re.DOTALL)}


def test_names() -> None:
    assert set(cells.entries()) < names() and {"check_ids", "gather_rows_16"} < names()


@pytest.mark.parametrize("target", TARGETS)
def test_every_kernel_compiles(target: str, jobs: Jobs) -> None:
    if target not in jobs.targets:
        pytest.skip(f"{jobs.compiler} does not know sm_{target}")
    start = time.monotonic()
    image = jobs.cubin[target].result()
    missing = {name for name in names() if b".text." + name.encode() + b"\0" not in image}
    assert not missing
    print(f"sm_{target}: {len(names())} kernels, {len(image)} bytes, by {jobs.compiler}, waited {time.monotonic() - start:.0f} s")


# PTX: what only a float may do in an atomic, and arithmetic that the assembler may still fuse, because no rounding is named.
FLOAT_ATOMIC = re.compile(r"\b(?:atom|red)\.[\w.:]*\.b?f(?:16|32|64)")
FUSIBLE = re.compile(r"\b(?:add|sub|mul)(?!\.rn)(?:\.\w+)*\.f(?:16|32|64)\b")


@pytest.mark.parametrize("virtual", sorted(set(toolkit.VIRTUAL.values())))
def test_arithmetic_in_the_code(virtual: str, jobs: Jobs) -> None:
    if virtual not in jobs.ptx:
        pytest.skip(f"{jobs.compiler} does not know compute_{virtual}")
    code = bodies(jobs.ptx[virtual].result())
    assert set(code) == names()
    for name, body in code.items():
        lines = [line for line in body.splitlines() if not FLOAT_ATOMIC.search(line)]
        for forbidden in (re.compile(r"\bfma\."), re.compile(r"\.ftz\b"), re.compile(r"\.approx\b|\.full\b"), FUSIBLE):
            assert not [line for line in lines if forbidden.search(line)], (name, forbidden.pattern)
    for name in (*cells.entries("ordered"), *(n for n in code if n.startswith("step_"))):
        assert not FLOAT_ATOMIC.search(code[name]), name
    # These patterns do find what they are for.
    assert FLOAT_ATOMIC.search(code["atomic_rows_add_float32"]) and FLOAT_ATOMIC.search(code["atomic_rows_sub_float16"])
    assert re.search(r"\badd\.rn\.f32\b", code["fold_rows_add_float32"]) and re.search(r"\bdiv\.rn\.f64\b", code["fold_rows_div_float64"])
