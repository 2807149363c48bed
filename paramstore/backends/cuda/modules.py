"""The kernels' sources, one module for each family, compiled for the GPU at hand when one of its kernels is first asked for.

They are compiled with NVRTC directly and not by ``cupy.RawModule``: CuPy appends ``-ftz=true`` to the options of all that it compiles,
and a kernel that flushes subnormals keeps neither the arithmetic nor the bits of the CPU.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import tempfile
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...errors import DeviceError
from . import cells

__all__ = ["OPTIONS", "folder", "source", "function"]

# The arithmetic of C4: every operation stands alone, subnormals are kept, division and square root are IEEE's.
OPTIONS = ("--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true")
_HEADERS = ("atomic.cuh", "fold.cuh", "gather.cuh", "ids.cuh", "step.cuh")


def _places() -> list[Path]:
    """Where the sources may be: beside the extension where the package is installed, at the root of a checkout."""
    spec = importlib.util.find_spec("paramstore._cpu")
    beside = [Path(spec.origin).parent / "kernels"] if spec and spec.origin else []
    return [*beside, Path(__file__).resolve().parents[3] / "kernels"]


@lru_cache(maxsize=None)
def folder() -> Path:
    """The folder of the sources.

    Raises:
        DeviceError: there is none; a build without the extension leaves it out.
    """
    places = _places()
    for place in places:
        if (place / "cuda" / "common.cuh").exists():
            return place
    looked = ", ".join(map(str, places))
    raise DeviceError(f"the sources of the CUDA kernels are not there (looked in {looked}); install paramstore with its extension")


def source(family: str) -> str:
    """The text of a module: the headers, and a line for each of its kernels."""
    includes = [f'#include "cuda/{name}"' for name in _HEADERS]
    return "\n".join([*includes, *cells.families()[family], ""])


def _included() -> list[Path]:
    """All that the modules include, and perhaps more."""
    return sorted([*folder().glob("*.h"), *folder().glob("*.def"), *(folder() / "cuda").glob("*.cuh")])


@lru_cache(maxsize=None)
def _digest() -> str:
    digest = hashlib.sha256()
    for path in _included():
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _cache() -> Path:
    """CuPy's folder for compiled kernels."""
    return Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")


def _read(path: Path) -> bytes | None:
    """What `_write` has left there, if it is whole."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    return stored[32:] if stored[:32] == hashlib.sha256(stored[32:]).digest() else None


def _write(path: Path, image: bytes) -> None:
    """Keeps the image for other processes; one that cannot be kept is compiled again there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(image).digest() + image)
        os.replace(name, path)
    except OSError:
        pass


def compiled(nvrtc: Any, family: str, arch: str) -> bytes:
    """The machine code of a module for a compute capability ("90"), by NVRTC as CuPy binds it."""
    program = nvrtc.createProgram(source(family), f"paramstore_{family}.cu", (), ())
    try:
        nvrtc.compileProgram(program, (*OPTIONS, f"--gpu-architecture=sm_{arch}", f"-I{folder()}"))
        return bytes(nvrtc.getCUBIN(program))
    except nvrtc.NVRTCError as error:
        raise DeviceError(f"the CUDA module {family} does not compile for sm_{arch}: {error}\n{nvrtc.getProgramLog(program)}") from error
    finally:
        nvrtc.destroyProgram(program)


_lock = threading.Lock()
_modules: dict[tuple[int, str], Any] = {}
_functions: dict[tuple[int, str, str], Any] = {}


def _image(cupy: Any, family: str, arch: str) -> bytes:
    nvrtc = cupy.cuda.nvrtc
    key = "\0".join((_digest(), source(family), *OPTIONS, arch, repr(nvrtc.getVersion())))
    path = _cache() / f"paramstore-{hashlib.sha256(key.encode()).hexdigest()}.cubin"
    image = _read(path)
    if image is None:
        image = compiled(nvrtc, family, arch)
        _write(path, image)
    return image


def function(cupy: Any, ordinal: int, family: str, entry: str) -> Any:
    """The kernel, loaded on that GPU, which must be the current one: called with (grid, block, args)."""
    found = _functions.get((ordinal, family, entry))
    if found is None:
        with _lock:
            module = _modules.get((ordinal, family))
            if module is None:
                module = cupy.cuda.Module()
                module.load(_image(cupy, family, str(cupy.cuda.Device(ordinal).compute_capability)))
                _modules[ordinal, family] = module
            found = _functions[ordinal, family, entry] = module.get_function(entry)
    return found
