"""``tf.config``, as far as it is about the order of updates."""

from __future__ import annotations

from ... import determinism

__all__ = ["experimental"]


class experimental:
    """``tf.config.experimental``."""

    @staticmethod
    def enable_op_determinism() -> None:
        """Asks for ordered kernels everywhere in the process, as `paramstore.set_deterministic` does.

        Source: tf.config.experimental.enable_op_determinism.
        """
        determinism.set_deterministic(True)
