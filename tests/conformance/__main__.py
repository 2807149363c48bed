"""Random cases side by side on paramstore and on each original that is importable.

    python -m tests.conformance [--original NAME] [--python [NAME=]PATH] [--cases N] [--seed S] [--operator PATTERN] [--show N]

An original may live in an environment of its own: ``--python torch=/some/env/bin/python``, or the variable
``CONFORMANCE_PYTHON_TORCH``. Exit status 1 if any difference is in no row of `differences`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from fnmatch import fnmatchcase

from . import ORIGINALS, cases, differences
from .outcomes import Case, Outcome, agree, outcome_of
from .run import Missing, Original, ours, started


def python_of(name: str, given: list[str]) -> str:
    """The Python that has the original: as given, from the environment, or this one."""
    for text in given:
        if text.startswith(f"{name}="):
            return text.split("=", 1)[1]
    plain = [text for text in given if "=" not in text]
    return plain[-1] if plain else os.environ.get(f"CONFORMANCE_PYTHON_{name.upper()}", sys.executable)


def compare(
    original: Original, count: int, seed: int, pattern: str
) -> tuple[Counter[str], Counter[str], list[tuple[Case, Outcome, Outcome]]]:
    """Counts, how often each listed difference was met, and the unlisted ones."""
    counts: Counter[str] = Counter()
    met: Counter[str] = Counter()
    unlisted = []
    number = 0
    while counts["cases"] < count:
        case = cases.case(original.name, seed, number)
        number += 1
        if not fnmatchcase(case.operator, pattern):
            if number > 1000 and not counts["cases"]:
                break
            continue
        counts["cases"] += 1
        theirs, own = outcome_of(original.answer(case)), ours(case)
        if agree(theirs, own):
            counts["agree"] += 1
            counts["of them errors"] += theirs.kind == "error"
            continue
        row = differences.row_for(case, theirs, own)
        if row is None:
            unlisted.append((case, theirs, own))
        else:
            counts["listed"] += 1
            met[f"{row.operators}: {row.condition}"] += 1
    return counts, met, unlisted


def report(name: str, python: str, count: int, seed: int, pattern: str, show: int) -> int:
    """Prints one original's part; answers how many differences are unlisted."""
    try:
        with started(name, python) as original:
            counts, met, unlisted = compare(original, count, seed, pattern)
            versions = ", ".join(f"{k} {v}" for k, v in original.versions.items())
    except Missing as error:
        print(f"{name}: not importable in {python} ({str(error).strip().splitlines()[-1:]}): skipped")
        return 0
    print(
        f"{name} ({versions}): {counts['cases']} cases, {counts['agree']} agree ({counts['of them errors']} of them errors), "
        f"{counts['listed']} listed differences, {len(unlisted)} unlisted"
    )
    for text, times in met.most_common():
        print(f"    {times:6d}  {text}")
    for row in differences.rows(name):
        if pattern == "*" and not met[f"{row.operators}: {row.condition}"]:
            print(f"         0  {row.operators}: {row.condition}")
    for case, theirs, own in unlisted[:show]:
        print(f"  unlisted: {case}\n    theirs: {theirs}\n    ours:   {own}")
    return len(unlisted)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--original", action="append", choices=ORIGINALS, help="by default all")
    parser.add_argument("--python", action="append", default=[], metavar="[NAME=]PATH", help="the Python that has it")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--operator", default="*", help="only operators that match")
    parser.add_argument("--show", type=int, default=10, help="how many unlisted differences are printed in full")
    args = parser.parse_args()
    names = args.original or ORIGINALS
    return 1 if sum(report(n, python_of(n, args.python), args.cases, args.seed, args.operator, args.show) for n in names) else 0


if __name__ == "__main__":
    sys.exit(main())
