"""Writes ``recorded/NAME.json``: cases with the original's answers, so that CI can compare without the original.

    python -m tests.conformance.record --original NAME [--python PATH] [--cases N] [--keep K] [--seed S]

Of N random cases it keeps up to K: for each row of the table of differences up to three, and for each operator values and errors that
agree, in turn. An unlisted difference stops it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from typing import Any

from . import HERE, ORIGINALS, cases, differences
from .__main__ import python_of
from .outcomes import agree, as_line, outcome_of
from .run import ours, started

PER_ROW = 3
LONGEST = 2000  # characters of one entry


def answers(name: str, python: str, count: int, seed: int) -> tuple[dict[str, str], dict[tuple[str, ...], list[dict[str, Any]]]]:
    """The original's versions, and the entries: those of a row of differences, and those that agree by operator and kind of outcome."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    with started(name, python) as original:
        for number in range(count):
            case = cases.case(name, seed, number)
            answer = original.answer(case)
            theirs, own = outcome_of(answer), ours(case)
            same = agree(theirs, own)
            row = None if same else differences.row_for(case, theirs, own)
            if not same and row is None:
                raise SystemExit(f"unlisted difference: {case}\n  theirs: {theirs}\n  ours: {own}")
            if "text" in answer:
                answer["text"] = answer["text"][:80]
            entry = {**case.as_json(), "theirs": answer}
            if len(as_line(entry)) <= LONGEST:
                groups[("row", row.operators, row.condition) if row else (case.operator, theirs.kind)].append(entry)
        return dict(original.versions), groups


def chosen(groups: dict[tuple[str, ...], list[dict[str, Any]]], keep: int) -> list[dict[str, Any]]:
    """Up to ``keep`` entries: the rows first, then one of each group in turn; errors every third time."""
    taken = [entry for key, entries in groups.items() if key[0] == "row" for entry in entries[:PER_ROW]]
    rest = [(key[1], entries) for key, entries in sorted(groups.items()) if key[0] != "row"]
    for turn in range(max((len(entries) for _, entries in rest), default=0)):
        for kind, entries in rest:
            k = turn if kind == "value" else turn // 3
            if k < len(entries) and (kind == "value" or turn % 3 == 0) and len(taken) < keep:
                taken.append(entries[k])
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance.record", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--original", required=True, choices=ORIGINALS)
    parser.add_argument("--python", action="append", default=[], metavar="[NAME=]PATH")
    parser.add_argument("--cases", type=int, default=4000)
    parser.add_argument("--keep", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    versions, groups = answers(args.original, python_of(args.original, args.python), args.cases, args.seed)
    entries = chosen(groups, args.keep)
    path = HERE / "recorded" / f"{args.original}.json"
    lines = ",\n".join(as_line(e) for e in entries)
    path.write_text(f'{{"versions": {json.dumps(versions)},\n"cases": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{path.relative_to(HERE.parent.parent)}: {len(entries)} cases, {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
