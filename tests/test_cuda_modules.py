"""The modules of CUDA kernels: compiled once for a GPU, with options that keep the arithmetic, and kept for other processes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cuda_host import executor

import paramstore as ps
from paramstore.backends.cuda import cells, modules

pytestmark = pytest.mark.skipif("sources" in executor.missing(), reason=executor.missing())


class Nvrtc:
    """CuPy's binding of NVRTC, without a compiler."""

    class NVRTCError(RuntimeError):
        pass

    def __init__(self) -> None:
        self.programs: dict[int, dict[str, Any]] = {}
        self.compiled: list[dict[str, Any]] = []
        self.version = (13, 0)

    def getVersion(self) -> tuple[int, int]:
        return self.version

    def createProgram(self, source: str, name: str, headers: Any, include_names: Any) -> int:
        self.programs[len(self.programs)] = {"source": source, "name": name, "alive": True}
        return len(self.programs) - 1

    def compileProgram(self, program: int, options: tuple[str, ...]) -> None:
        found = self.programs[program]
        found["options"] = options
        self.compiled.append(found)
        if "broken" in found["source"]:
            raise self.NVRTCError("NVRTC_ERROR_COMPILATION (6)")

    def getCUBIN(self, program: int) -> bytes:
        return self.programs[program]["name"].encode() + b" image"

    def getProgramLog(self, program: int) -> str:
        return "line 1: error"

    def destroyProgram(self, program: int) -> None:
        self.programs[program]["alive"] = False


class Cupy:
    """What `modules` uses of CuPy."""

    def __init__(self, capability: str = "90") -> None:
        self.loaded: list[bytes] = []
        outer = self

        class Module:
            def load(self, image: bytes) -> None:
                outer.loaded.append(image)

            def get_function(self, name: str) -> tuple[str, int]:
                return name, len(outer.loaded)

        self.cuda = SimpleNamespace(nvrtc=Nvrtc(), Module=Module, Device=lambda ordinal: SimpleNamespace(compute_capability=capability))


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(modules, "_modules", {})
    monkeypatch.setattr(modules, "_functions", {})


def forget() -> None:
    """As in another process."""
    modules._modules.clear()
    modules._functions.clear()


def test_one_module_serves_its_kernels_and_is_kept() -> None:
    cupy = Cupy()
    name = "atomic_rows_add_float32"
    assert modules.function(cupy, 0, "atomic_float32", name) == modules.function(cupy, 0, "atomic_float32", name) == (name, 1)
    assert modules.function(cupy, 0, "atomic_float32", "atomic_rows_mul_float32") == ("atomic_rows_mul_float32", 1)
    modules.function(cupy, 1, "atomic_float32", name)
    assert len(cupy.loaded) == 2 and len(cupy.cuda.nvrtc.compiled) == 1  # another GPU loads what is kept
    forget()
    modules.function(cupy, 0, "atomic_float32", name)
    assert len(cupy.cuda.nvrtc.compiled) == 1 and len(set(cupy.loaded)) == 1
    assert not any(p["alive"] for p in cupy.cuda.nvrtc.programs.values())


def test_options() -> None:
    cupy = Cupy("100")
    modules.function(cupy, 0, "fold_float32", "fold_rows_add_float32")
    (program,) = cupy.cuda.nvrtc.compiled
    options = program["options"]
    assert {"--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--gpu-architecture=sm_100"} <= set(options)
    assert not [o for o in options if "fast" in o or o.endswith("ftz=true")]
    assert "PS_FOLD(add, float32)" in program["source"] and "PS_ATOMIC" not in program["source"]


def test_what_is_kept_is_for_one_source_compiler_and_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for change in ("nothing", "digest", "version", "options", "capability"):
        cupy = Cupy("80" if change == "capability" else "90")
        forget()
        if change == "digest":
            monkeypatch.setattr(modules, "_digest", lambda: "another")
        if change == "options":
            monkeypatch.setattr(modules, "OPTIONS", (*modules.OPTIONS, "--another"))
        cupy.cuda.nvrtc.version = (12, 9) if change == "version" else (13, 0)
        modules.function(cupy, 0, "ids", "flatten")
        assert len(cupy.cuda.nvrtc.compiled) == 1, change


def test_a_damaged_or_unwritable_cache_is_no_harm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cupy = Cupy()
    modules.function(cupy, 0, "ids", "flatten")
    (kept,) = (tmp_path / "cache").glob("*")
    kept.write_bytes(kept.read_bytes()[:-1] + b"!")
    forget()
    modules.function(cupy, 0, "ids", "flatten")
    assert len(cupy.cuda.nvrtc.compiled) == 2 and len(set(cupy.loaded)) == 1
    monkeypatch.setenv("CUPY_CACHE_DIR", str(kept))  # a file
    forget()
    modules.function(cupy, 0, "ids", "flatten")
    assert len(cupy.cuda.nvrtc.compiled) == 3


def test_what_does_not_compile_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = Cupy()
    monkeypatch.setattr(modules, "source", lambda family: "broken")
    with pytest.raises(ps.errors.DeviceError, match=r"module ids does not compile for sm_90.*\nline 1: error"):
        modules.function(cupy, 0, "ids", "flatten")
    assert not any(p["alive"] for p in cupy.cuda.nvrtc.programs.values())


def test_missing_sources_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(modules, "_places", lambda: [tmp_path])
    modules.folder.cache_clear()
    try:
        with pytest.raises(ps.errors.DeviceError, match="sources of the CUDA kernels are not there"):
            modules.folder()
    finally:
        monkeypatch.undo()
        modules.folder.cache_clear()


def test_all_that_is_included_is_in_the_digest() -> None:
    """A header that is not would change and leave old machine code in use."""
    root = modules.folder()
    todo, seen = [root / "cuda" / name for name in modules._HEADERS], set()
    while todo:
        path = todo.pop().resolve()
        if path not in seen:
            seen.add(path)
            todo += [path.parent / found for found in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)]
    assert seen <= {p.resolve() for p in modules._included()}


def test_threads_of_a_block() -> None:
    from paramstore.backends.cuda import geometry

    text = (modules.folder() / "cuda" / "common.cuh").read_text()
    assert int(re.search(r"#define PS_THREADS (\d+)", text)[1]) == geometry.THREADS  # type: ignore[index]
    for n in (1, 255, 256, 2**31, 2**45):
        for columns in (1, 2, 3, 64, 300, 10**9):
            (x, y), (across, down) = geometry.rows(n, columns)
            assert across * down <= geometry.THREADS and 1 <= x <= 2**31 - 1 and 1 <= y <= 65535
        (x, y), block = geometry.items(n)
        assert block == (geometry.THREADS, 1) and 1 <= x <= 2**31 - 1 and y == 1


def test_registering_imports_no_cupy() -> None:
    code = "import sys, paramstore; assert paramstore.kernels(device='cuda') and 'cupy' not in sys.modules"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_every_cell_has_a_kernel_of_each_mode() -> None:
    for op, row in ps.ops.OPS.items():
        for dtype, kind in ps.dtypes.KINDS.items():
            for mode in (False, True):
                with ps.deterministic(mode):
                    found = ps.explain(op, dtype=dtype, device="cuda").kernel
                assert (found is not None) == (kind in row.kinds) or op not in cells._OPS
                assert found is None or mode is False or found.mode == "ordered"
