"""The examples do what their READMEs say, from any directory."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.e2e.cli_runner import EXAMPLES, REPOSITORY, pyoco

README_COMMANDS = [
    (readme.parent.name, line)
    for readme in sorted(EXAMPLES.glob("*/README.md"))
    for line in re.findall(r"^pyoco .*$", readme.read_text("utf-8"), re.MULTILINE)
]
# What the README says will not end well without a person, or on purpose.
EXIT_CODES = {
    "pyoco run examples/review/flow.yaml": 1,
    "pyoco run examples/review/flow.yaml --reject sign_off=boring": 1,
}


@pytest.mark.parametrize(("example", "line"), README_COMMANDS)
def test_the_commands_of_the_readme_work(tmp_path: Path, example: str, line: str) -> None:
    words = [word.replace("examples/", f"{EXAMPLES}/") for word in shlex.split(line)[1:]]
    done = pyoco(*words, cwd=tmp_path)
    assert done.returncode == EXIT_CODES.get(line, 0), done.stderr
    assert "Traceback" not in done.stderr


def test_there_are_three_examples_with_commands() -> None:
    assert {example for example, _ in README_COMMANDS} == {"hello", "data", "review"}


@pytest.mark.parametrize("example", ["hello", "data", "review"])
def test_check_has_nothing_to_say_about_an_example(example: str) -> None:
    done = pyoco("check", EXAMPLES / example / "flow.yaml", "--dry-run", "--json", cwd=REPOSITORY)
    assert json.loads(done.stdout) == {"status": "ok", "warnings": [], "errors": []}


def test_the_data_example_measures_every_shop_and_writes_the_report(tmp_path: Path) -> None:
    done = pyoco("run", EXAMPLES / "data" / "flow.yaml", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    report = Path(document["artifacts"]["report.csv"])
    assert report == tmp_path / "artifacts" / "report.csv"
    rows = report.read_text().splitlines()
    assert rows[0] == "shop,EUR"
    assert [row.split(",")[0] for row in rows[1:]] == [f"shop-{number}" for number in range(12)]
    assert document["output"]["report"]["sum"] == sum(float(row.split(",")[1]) for row in rows[1:])


def test_the_review_example_loops_and_takes_the_other_branch(tmp_path: Path) -> None:
    done = pyoco("run", EXAMPLES / "review" / "flow.yaml", "--param", "target=drawer", cwd=tmp_path)
    assert "version 3" in done.stdout
    assert "version 4" not in done.stdout
    assert "Output: kept for later" in done.stdout
