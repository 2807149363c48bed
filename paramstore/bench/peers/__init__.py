"""The peers, each imported only when it is asked for.

A peer's file has a function ``load(threads)`` that imports the library, sets it to that many threads and returns a `Peer`.
"""

from __future__ import annotations

import importlib

from .base import Contender, Missing, Peer

__all__ = ["PEERS", "YARDSTICKS", "Contender", "Missing", "Peer", "load"]

# Name -> module here. TensorFlow is imported before MindSpore, which changes less for others.
PEERS = {
    "numpy": "numpy_", "torch": "torch_", "jax": "jax_", "tensorflow": "tensorflow_", "mindspore": "mindspore_",
    "onnxruntime": "onnxruntime_", "scipy": "scipy_", "numba": "numba_", "fbgemm": "fbgemm_", "native": "native", "core": "core",
}  # fmt: skip
YARDSTICKS = ("numba", "native", "core")


def load(name: str, threads: int) -> Peer:
    """The peer of that name.

    Raises:
        Missing: it cannot be imported, or its tools are not there.
    """
    try:
        peer: Peer = importlib.import_module(f"{__name__}.{PEERS[name]}").load(threads)
    except ImportError as error:
        raise Missing(f"not installed ({error})") from error
    return peer
