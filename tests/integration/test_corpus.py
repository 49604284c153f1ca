"""Our engine against the corpus of recorded behaviour (see tests/corpus/README.md)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).resolve().parent.parent / "corpus"
sys.path.insert(0, str(CORPUS))  # the flow files name `corpus_tasks`, the cases import `observe`

from flows import flow_cases  # noqa: E402
from observe import Case, differences, load_cases, observe  # noqa: E402
from record import observe_in_child  # noqa: E402

EXPECTED: dict[str, Any] = {}
for _name in ("expected_08.json", "expected_06.json"):
    EXPECTED |= json.loads((CORPUS / _name).read_text(encoding="utf-8"))

CASES = load_cases() | flow_cases("yaml") | flow_cases("yaml06")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_corpus(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # artifacts land in the current directory
    seen = observe_in_child(case.id, "-Werror") if case.child else observe(case, tmp_path)
    expected = case.expect if case.expect is not None else EXPECTED[case.id]
    found = differences(expected, json.loads(json.dumps(seen)))
    assert not found, "\n".join([f"{case.id} ({'fixed: ' + case.fixed if case.fixed else 'as recorded'})", *found])


def test_every_recorded_case_still_exists() -> None:
    """A renamed case would otherwise leave its old expectation behind, unread."""
    assert sorted(EXPECTED.keys() - CASES.keys()) == []


@pytest.mark.parametrize(
    ("expected", "actual", "equal"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, True),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"raises": ["ValueError"]}, {"raises": ["OurError", "ValueError", "Exception"]}, True),
        ({"raises": ["KeyError", "Exception"]}, {"raises": ["ValueError", "Exception"]}, False),
        ({"outcome": "returned"}, {"outcome": "raised", "raises": ["ValueError"]}, False),
    ],
)
def test_comparison(expected: dict[str, Any], actual: dict[str, Any], equal: bool) -> None:
    assert (not differences(expected, actual)) is equal
