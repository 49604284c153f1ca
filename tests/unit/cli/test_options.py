"""Values of options: what they become, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyoco.cli import options
from pyoco.cli.failure import Problem


def test_a_parameter_is_split_at_its_first_equals_sign_and_stays_text() -> None:
    assert options.parse_params(["a=1", "b=x=y", "c=", "a=2"]) == {"a": "2", "b": "x=y", "c": ""}


@pytest.mark.parametrize("entry", ["a", "", "=1"])
def test_a_parameter_without_key_or_equals_sign_is_passed_over(entry: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert options.parse_params([entry, "b=2"]) == {"b": "2"}
    assert f"--param {entry!r} is ignored" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: [x]\n", {"a": 1, "b": ["x"]}),
        ('{"a": 1}', {"a": 1}),
        ('{\n\t"a": "tabs"\n}', {"a": "tabs"}),
        ("{a: flow style}", {"a": "flow style"}),
        ("", {}),
        ("\ufeffa: mark\n", {"a": "mark"}),
    ],
)
def test_a_params_file_may_be_yaml_or_json(tmp_path: Path, text: str, expected: dict[str, object]) -> None:
    path = tmp_path / "params"
    path.write_text(text, encoding="utf-8")
    assert options.read_params_file(str(path)) == expected


@pytest.mark.parametrize("content", [b"[1]", b"text", b"1: a", b"a: [", b"a: \xff"])
def test_a_params_file_that_is_no_mapping_of_names_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.yaml"
    path.write_bytes(content)
    with pytest.raises(Problem, match=r"odd\.yaml"):
        options.read_params_file(str(path))


def test_an_answer_is_json_and_null_by_default() -> None:
    assert options.parse_answers(["a", "b=", 'c={"x": "="}']) == [("a", None), ("b", None), ("c", {"x": "="})]
    with pytest.raises(Problem, match='a="yes"'):
        options.parse_answers(["a=yes"])


def test_a_rejection_has_a_reason_in_any_case() -> None:
    assert options.parse_rejections(["a", "b=too late"]) == [("a", "rejected"), ("b", "too late")]


@pytest.mark.parametrize(("text", "expected"), [("", 5.0), ("0", 0.0), (" 2.5 ", 2.5)])
def test_the_grace_period_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: float
) -> None:
    monkeypatch.setenv(options.GRACE_VARIABLE, text)
    assert options.grace_period() == expected


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_a_grace_period_that_is_no_length_of_time_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(options.GRACE_VARIABLE, text)
    with pytest.raises(Problem, match=options.GRACE_VARIABLE):
        options.grace_period()


def test_one_flow_file_is_enough_but_two_are_too_many() -> None:
    assert options.flow_path("a", None) == options.flow_path(None, "a") == options.flow_path("a", "a") == "a"
    for given in [(None, None), ("", None), ("a", "b")]:
        with pytest.raises(Problem):
            options.flow_path(*given)
