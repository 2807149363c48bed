"""The tests for a GPU work: here, at small sizes, on the stand-in. Whether a GPU passes them only a GPU can say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cuda_host import executor

HERE = Path(__file__).resolve().parent


@pytest.mark.skipif(not executor.available(), reason="no g++ to build the kernels with")
def test_the_tests_for_a_gpu() -> None:
    env = {**os.environ, "PARAMSTORE_GPU_TESTS": "stand-in", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "gpu")], capture_output=True, text=True, env=env, cwd=HERE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) > 200


def test_the_page_about_gpus(gpu: Any) -> None:
    """Its example runs as it stands."""
    text = (HERE.parent / "docs" / "gpu.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    exec(compile(code, "gpu.md", "exec"), {})
    assert sum(d.seen("launch") != [] for d in gpu.devices) == 1


def test_the_script_ends_in_time() -> None:
    """All limits together are at most 8 minutes."""
    text = (HERE / "gpu" / "run.sh").read_text()
    limits = [int(n) for n in re.findall(r'^\s*(?:if )?stage "[^"]+" (\d+) ', text, re.M)]
    assert len(limits) == 6 and sum(limits) <= 480
    assert subprocess.run(["bash", "-n", str(HERE / "gpu" / "run.sh")]).returncode == 0
