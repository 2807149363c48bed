"""Builds the kernels' modules with g++ over ``cuda_host.h`` and runs them: the launch half of `HostDevice`.

A module is built when it is first needed, into a folder that is named after everything it is made of; ``PARAMSTORE_CUDA_HOST_CXXFLAGS`` adds
options (tests/sanitize.sh), ``PARAMSTORE_CUDA_HOST_ARCH`` is the generation whose code paths are taken (900).
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import os
import shlex
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from paramstore.backends.cuda import cells, modules
from paramstore.errors import DeviceError

HERE = Path(__file__).resolve().parent
CXX = os.environ.get("CXX") or shutil.which("g++")
ARCH = int(os.environ.get("PARAMSTORE_CUDA_HOST_ARCH", "900"))
# The rules of C4, as for the extension. Words of memory are read as several types, as CUDA allows.
FLAGS = (
    "-std=c++17", "-O1", "-fPIC", "-shared", "-pthread", "-ffp-contract=off", "-fno-strict-aliasing", "-fvisibility=hidden", "-fno-gnu-unique",
    "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
)  # fmt: skip
MORE_FLAGS = tuple(shlex.split(os.environ.get("PARAMSTORE_CUDA_HOST_CXXFLAGS", "")))
THREADS = 4  # of the host, for a launch of more than one thread
_seeds = itertools.count(1)


def missing() -> str:
    """Why modules cannot be built here, or nothing. A package without its extension has no sources either."""
    try:
        modules.folder()
    except DeviceError as error:
        return str(error)
    return "" if CXX else "no g++ to build the CUDA kernels for the host"


def available() -> bool:
    return not missing()


@functools.lru_cache(maxsize=None)
def _digest() -> str:
    kernels = modules.folder()
    paths = [*kernels.glob("*.h"), *kernels.glob("*.def"), *(kernels / "cuda").glob("*.cuh"), *HERE.glob("*.h")]
    digest = hashlib.sha256(repr((CXX, FLAGS, MORE_FLAGS)).encode())
    for path in sorted(paths):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def built(family: str, arch: int = ARCH) -> Path:
    """The shared library of a module."""
    assert CXX is not None
    text = modules.source(family)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"paramstore-cuda-host-{os.getuid()}-{_digest()}"
    library = folder / f"{family}-{name}-{arch}.so"
    if not library.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            unit, out = Path(work) / f"{family}.cpp", Path(work) / "out.so"
            unit.write_text(text)
            ours = [f"-DPS_ARCH={arch}", f"-I{modules.folder()}", f"-I{HERE}", "-include", "cuda_host.h"]
            command = [CXX, *FLAGS, *MORE_FLAGS, *ours, str(unit), "-o", str(out)]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, f"{shlex.join(command)}\n{done.stderr}"
            os.replace(out, library)
    return library


def build_all() -> None:
    """Builds every module, two at a time, for those who need them all."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(built, cells.families()))


@functools.lru_cache(maxsize=None)
def library(family: str, arch: int = ARCH) -> Any:
    found = ctypes.CDLL(str(built(family, arch)))
    found.cuda_host_entries.restype = ctypes.c_char_p
    return found


def listed(family: str, arch: int = ARCH) -> list[str]:
    """The names of the module's kernels, as the compiled code has them."""
    return str(library(family, arch).cuda_host_entries().decode()).split()


def launch(family: str, entry: str, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...], arch: int = ARCH) -> None:
    """Runs a kernel; arrays pass their address, NumPy scalars their bytes."""
    assert family in cells.families(), family
    values = [np.array(a.data.ptr, np.uint64) if not isinstance(a, np.generic) else np.array(a) for a in args]
    addresses = (ctypes.c_void_p * len(values))(*(v.ctypes.data for v in values))
    sizes = (ctypes.c_int * len(values))(*(v.itemsize for v in values))
    shape = [(ctypes.c_uint * 3)(*(*s, 1, 1)[:3]) for s in (grid, block)]
    assert int(np.prod(block)) <= 256 and all(s <= most for s, most in zip((*grid, 1, 1), (2**31 - 1, 65535, 65535)))
    total = int(np.prod([*grid, *block], dtype=object))
    threads = min(THREADS, total)
    seed = ctypes.c_uint64(next(_seeds) * 0x9E3779B97F4A7C15 >> 7 & 2**62 - 1)
    code = library(family, arch).cuda_host_launch(entry.encode(), *shape, addresses, sizes, len(values), threads, seed)
    assert code == 0, f"{entry}: " + {-1: "no such kernel", -2: "another number of arguments"}.get(code, f"argument {-3 - code} has another size")
