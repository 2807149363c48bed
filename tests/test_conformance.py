"""The frontends against what the originals answered when they were recorded; live comparison is ``python -m tests.conformance``."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from conformance import HERE, ORIGINALS, cases, codec, differences
from conformance.outcomes import Case, Outcome, agree
from conformance.run import Original, ours, recorded


HAS_BFLOAT16 = importlib.util.find_spec("ml_dtypes") is not None


def page_of(name):
    """The recorded page; without ml_dtypes, less the cases that hold a bfloat16."""
    page = json.loads((HERE / "recorded" / f"{name}.json").read_text(encoding="utf-8"))
    if not HAS_BFLOAT16:
        page["cases"] = [entry for entry in page["cases"] if "bfloat16" not in json.dumps(entry)]
    return page


@pytest.mark.parametrize("name", ORIGINALS)
def test_what_the_original_answered(name):
    """Every recorded case agrees, or the difference is listed."""
    page = page_of(name)
    assert len(page["cases"]) >= 100 and page["versions"]
    unlisted = []
    for entry in page["cases"]:
        case, theirs = recorded(entry, name)
        own = ours(case)
        if not agree(theirs, own) and differences.row_for(case, theirs, own) is None:
            unlisted.append(f"{case}\n    theirs: {theirs}\n    ours:   {own}")
    assert not unlisted, "\n".join([f"{len(unlisted)} unlisted differences", *unlisted[:10]])


@pytest.mark.skipif(not HAS_BFLOAT16, reason="some rows are met by bfloat16 alone, which needs ml_dtypes")
@pytest.mark.parametrize("name", ORIGINALS)
def test_every_row_of_the_table_is_met(name):
    """A row that no recorded case needs is a difference nobody has seen."""
    page = page_of(name)
    met = set()
    for entry in page["cases"]:
        case, theirs = recorded(entry, name)
        own = ours(case)
        if not agree(theirs, own):
            met.add(differences.row_for(case, theirs, own))
    assert [row.condition for row in differences.rows(name) if row not in met] == []


def test_cases_come_from_their_number():
    for name in ORIGINALS:
        assert cases.case(name, 3, 17).as_json() == cases.case(name, 3, 17).as_json()


def test_live_comparison_with_numpy():
    """The whole way through the child process, with the one original that is always here."""
    original = Original("numpy", sys.executable)
    try:
        for number in range(60):
            case = cases.case("numpy", 7, number)
            answer = original.answer(case)
            theirs, own = recorded({**case.as_json(), "theirs": answer}, "numpy")[1], ours(case)
            assert agree(theirs, own) or differences.row_for(case, theirs, own), f"{case}: {theirs}, {own}"
    finally:
        original.close()


@pytest.mark.parametrize(
    "value",
    [np.array([1.5, np.nan], np.float16), np.zeros((0, 3), np.int8), np.array(["a", "bc"]), np.float32(-0.0), (1, slice(None, 2), ...),
     None, [True, 2**70], b"\xff", 1 - 2j, np.array([b"a", None, "c"], object)],
    ids=repr,
)  # fmt: skip
def test_codec_keeps_every_bit(value):
    back = codec.decode(json.loads(json.dumps(codec.encode(value))))
    assert type(back) is type(value)
    if isinstance(value, (np.ndarray, np.generic)):
        assert back.dtype == value.dtype and codec.flat(back) == codec.flat(value)
    else:
        assert back == value


def test_what_agrees():
    def values(*arrays):
        return [Outcome("value", np.asarray(a)) for a in arrays]

    def error(*classes):
        return Outcome("error", None, (*classes, "Exception", "BaseException"))

    assert agree(*values(np.float32([np.nan]), -np.float32([np.nan])))
    assert not agree(*values([0.0], [-0.0])) and not agree(*values(np.int32([1]), np.int64([1]))) and not agree(*values([1], [[1]]))
    assert agree(error("ValueError"), error("ShapeError", "ValueError", "RuntimeError"))
    assert not agree(error("RuntimeError"), error("TypeError")) and not agree(
        error("KeyError", "LookupError"), error("IndexError", "LookupError")
    )
    assert agree(error("InvalidArgumentError"), error("InvalidArgumentError", "ValueError"))
    assert not agree(Outcome("died", text="signal 8"), error("ValueError"))


@pytest.mark.parametrize("page", ["differences.md", "operators.md"])
def test_generated_pages_are_current(page):
    """``python docs/generate.py`` writes them."""
    root = Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(root / "docs"))
    try:
        import generate
    finally:
        sys.path.remove(str(root / "docs"))
    assert (root / "docs" / page).read_text(encoding="utf-8") == generate.PAGES[page](), (
        f"docs/{page} is stale: run python docs/generate.py"
    )


def test_cases_can_be_shown():
    assert str(Case("numpy", "add", {"a": np.arange(2)})) == "numpy add(a=int64[2][0,1])"
