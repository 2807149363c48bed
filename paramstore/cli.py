"""The command ``paramstore``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a subcommand; answers the exit status."""
    from .bench import command as bench

    parser = argparse.ArgumentParser(prog="paramstore", description="Named, mutable arrays and in-place updates by index.")
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("kernels", help="list the registered kernels")
    listing.add_argument("--op", help="only this op or operator (add, scatter_add, gather, ...)")
    listing.add_argument("--dtype", help="only this dtype")
    listing.add_argument("--backend", help="only this backend (cpu, reference, ...)")
    bench.add_options(commands.add_parser("bench", help="time the operators beside those of other libraries"))
    options = parser.parse_args(argv)

    if options.command == "bench":
        return bench.run(options)

    import paramstore

    try:
        print(paramstore.kernels(op=options.op, dtype=options.dtype, backend=options.backend))
    except paramstore.errors.ParamstoreError as error:
        parser.error(str(error))
    return 0
