"""Machines without CuPy or without a GPU: importing touches neither, and asking for one says what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import paramstore as ps

NO_GPU = """
class ndarray: ...
class cuda:
    class runtime:
        @staticmethod
        def getDeviceCount():
            {answer}
"""


def run(code: str, tmp_path: Path, cupy: str | None) -> str:
    """Runs code in a fresh process in which ``import cupy`` finds that text, or nothing."""
    (tmp_path / "cupy.py").write_text(cupy if cupy is not None else "raise ImportError('No module named cupy, says the test')")
    package = str(Path(ps.__file__).resolve().parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), package])}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_touches_no_cupy(tmp_path: Path) -> None:
    """Nor do calls on the CPU, and what lists and explains kernels."""
    code = """
        import sys
        import numpy as np, paramstore as ps
        from paramstore.frontends import mindspore, numpy_style, onnx, tensorflow, torch_style
        p = ps.Parameter(np.zeros(3, np.float32))
        p.scatter_add([0], [1.0], use_locking=True).to("cpu")
        ps.ParamStore().create("x", (2,))
        assert len(ps.kernels(device="cuda")) > 0 and ps.explain("scatter_add", device="cuda").kernel
        assert not [m for m in sys.modules if m.startswith("cupy")]
    """
    run(code, tmp_path, "raise AssertionError('cupy was imported')")


@pytest.mark.parametrize(
    ("cupy", "text"),
    [
        (None, "pip install 'paramstore[cuda12]' or 'paramstore[cuda13]'"),
        (NO_GPU.format(answer="return 0"), "CuPy finds no GPU; it needs an NVIDIA GPU and its driver"),
        (NO_GPU.format(answer="raise RuntimeError('cudaErrorInsufficientDriver')"), "CuPy finds no usable GPU (cudaErrorInsufficientDriver)"),
    ],
    ids=["no CuPy", "no GPU", "no driver"],
)
def test_what_is_missing_is_said(cupy: str | None, text: str, tmp_path: Path) -> None:
    code = """
        import numpy as np, paramstore as ps
        class Elsewhere:
            __cuda_array_interface__ = {}
        for make in (
            lambda: ps.Parameter([1.0], device="cuda"),
            lambda: ps.Parameter([1.0]).to("cuda:1"),
            lambda: ps.ParamStore().create("x", (1,), device="cuda"),
            lambda: ps.gather(Elsewhere(), [0]),
            lambda: ps.Parameter(Elsewhere()),
        ):
            try:
                make()
            except ps.errors.DeviceError as error:
                print(error)
    """
    lines = run(code, tmp_path, cupy).splitlines()
    assert len(lines) == 5 and all(text in line for line in lines), lines
    assert lines[0].startswith("Parameter: device = 'cuda': ") and lines[1].startswith("to: device = 'cuda:1': ")
    assert lines[3].startswith("gather: params is a Elsewhere on a GPU: ")
