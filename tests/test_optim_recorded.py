"""The optimizers against what PyTorch's and TensorFlow's did, recorded by ``conformance/optimizers.py``."""

import json
from pathlib import Path

import numpy as np
import pytest

import paramstore as ps

RECORDED = Path(__file__).parent / "conformance" / "recorded"
CASES = [
    pytest.param(case, id=f"{name}-{number}-{case['optimizer']}")
    for name in ("torch", "tensorflow")
    for number, case in enumerate(json.loads((RECORDED / f"optimizers_{name}.json").read_text())["cases"])
]


@pytest.mark.parametrize("case", CASES)
def test_the_same_weights(case):
    p = ps.Parameter(np.array(case["start"], np.float32))
    start, optimizer = p.numpy(), getattr(ps.optim, case["optimizer"])(**case["options"])
    for ids, rows in case["steps"]:
        optimizer.apply(p, ps.IndexedSlices(ids, np.array(rows, np.float32), p.shape))
    optimizer.flush(p)
    np.testing.assert_allclose(p.numpy(), np.array(case["after"], np.float32), rtol=2e-5, atol=2e-6)
    assert np.abs(p.numpy() - start).max() > 0.05
