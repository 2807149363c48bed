"""NVIDIA's compilers, if they are here: machine code for GPUs that are not. nvcc from the path, or NVRTC from the package nvidia-cuda-nvrtc."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
from pathlib import Path
from typing import Any

from paramstore.backends.cuda import cells, modules

VIRTUAL = {"75": "75", "80": "75", "90": "90", "100": "90"}  # the generation whose code the kernels choose for each target


def everything() -> str:
    """The text of one module with the kernels of all."""
    families = list(cells.families())
    heads = [line for line in modules.source(families[0]).splitlines() if line.startswith("#include")]
    return "\n".join([*heads, *(line for family in families for line in cells.families()[family]), ""])


class Nvcc:
    """The toolkit's programs; code for people comes first, and is assembled then."""

    def __init__(self, nvcc: str, work: Path) -> None:
        self.nvcc, self.work = nvcc, work
        (work / "all.cu").write_text(everything())

    def __str__(self) -> str:
        return self.nvcc

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.work)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"

    def takes(self, arch: str) -> bool:
        shown = subprocess.run([self.nvcc, "--list-gpu-arch"], capture_output=True, text=True)
        return f"compute_{arch}" in shown.stdout.split()

    def ptx(self, arch: str) -> str:
        out = self.work / f"{arch}.ptx"
        if not out.exists():
            self._run(self.nvcc, *modules.OPTIONS, "-w", f"-I{modules.folder()}", "-ptx", f"-arch=compute_{arch}", "all.cu", "-o", str(out))
        return out.read_text()

    def cubin(self, arch: str) -> bytes:
        self.ptx(VIRTUAL[arch])
        out = self.work / f"{arch}.cubin"
        # Unoptimized: what is asked is whether the target has the instructions, in a tenth of a minute less.
        ptxas = Path(self.nvcc).resolve().with_name("ptxas")
        program = str(ptxas) if ptxas.exists() else "ptxas"
        self._run(program, "-O0", f"-arch=sm_{arch}", str(self.work / f"{VIRTUAL[arch]}.ptx"), "-o", str(out))
        return out.read_bytes()


class Nvrtc:
    """The run-time compiler as CuPy calls it, without CuPy."""

    def __init__(self, library: Path) -> None:
        self.library, self._rtc = library, ctypes.CDLL(str(library))

    def __str__(self) -> str:
        return str(self.library)

    def takes(self, arch: str) -> bool:
        count = ctypes.c_int()
        self._rtc.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        found = (ctypes.c_int * count.value)()
        self._rtc.nvrtcGetSupportedArchs(found)
        return int(arch) in list(found)

    def _compiled(self, option: str, kind: str) -> bytes:
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        options = [o.encode() for o in (*modules.OPTIONS, f"-I{modules.folder()}", "-w", f"--gpu-architecture={option}")]
        self._rtc.nvrtcCreateProgram(ctypes.byref(program), everything().encode(), b"all.cu", 0, None, None)
        code = self._rtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        self._rtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self._rtc.nvrtcGetProgramLog(program, log)
        assert code == 0, log.value.decode()
        getattr(self._rtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
        image = ctypes.create_string_buffer(size.value)
        getattr(self._rtc, f"nvrtcGet{kind}")(program, image)
        self._rtc.nvrtcDestroyProgram(ctypes.byref(program))
        return image.raw

    def ptx(self, arch: str) -> str:
        return self._compiled(f"compute_{arch}", "PTX").rstrip(b"\0").decode()

    def cubin(self, arch: str) -> bytes:
        return self._compiled(f"sm_{arch}", "CUBIN")


def find(work: Path) -> Any:
    """A compiler, or the reason why there is none."""
    nvcc = shutil.which("nvcc")
    if nvcc is not None:
        return Nvcc(nvcc, work)
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for library in sorted(Path(place).glob("*/lib/libnvrtc.so.*")):
            return Nvrtc(library)
    return "no nvcc on the path, and no package nvidia-cuda-nvrtc"
