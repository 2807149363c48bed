"""Records what PyTorch's embedding_bag and its gradients give, into embedding_bag.json. Run it where torch is installed."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

CASES = [
    # ids, offsets (None: a row is a bag), include_last_offset
    ([0, 2, 2, 1, 4, 3], [0, 2, 2, 5], False),
    ([0, 2, 2, 1, 4, 3], [0, 3, 3, 6], True),
    ([4, 4, 4], [0], False),
    ([], [0, 0], False),
    ([[1, 2, 3], [3, 3, 0]], None, False),
]
ROWS, WIDTH = 5, 3


def values(n: int, step: float) -> list[float]:
    """Quarters: sums of them are exact, so that the order of a sum cannot matter."""
    return [((k * 7) % 11 - 5) * step for k in range(n)]


def main() -> None:
    import torch

    table = torch.tensor(values(ROWS * WIDTH, 0.25)).reshape(ROWS, WIDTH)
    out: list[dict[str, Any]] = []
    for (ids, offsets, last), mode, padding, weighted in product(CASES, ("sum", "mean", "max"), (None, 2), (False, True)):
        if weighted and mode != "sum":
            continue
        given = torch.tensor(ids, dtype=torch.int64)
        x = table.clone().requires_grad_()
        w = torch.tensor(values(given.numel(), 0.5)).reshape(given.shape).requires_grad_() if weighted else None
        edges = None if offsets is None else torch.tensor(offsets)
        found = torch.nn.functional.embedding_bag(
            given, x, edges, mode=mode, padding_idx=padding, per_sample_weights=w, include_last_offset=last
        )
        grad = torch.tensor(values(found.numel(), 0.5)).reshape(found.shape)
        found.backward(grad)
        out.append({
            "ids": ids, "offsets": offsets, "last": last, "mode": mode, "padding": padding, "weights": None if w is None else w.tolist(),
            "out": found.tolist(), "grad": grad.tolist(), "table_grad": None if x.grad is None else x.grad.tolist(),
            "weights_grad": None if w is None else w.grad.tolist(),
        })  # fmt: skip
    record = {"torch": torch.__version__.split("+")[0], "table": table.tolist(), "cases": out}
    Path(__file__).with_suffix(".json").write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
