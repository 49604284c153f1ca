"""flow.yaml is read as the contract says, and every mistake is told with its place."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pyoco.engine.document import DocumentError, FlowConfig, PyocoConfig, RuntimeConfig, TaskConfig
from pyoco.engine.task import Backoff
from pyoco.engine.yaml_source import MAX_DEPTH

FULL = """\
version: 2
flow:
  graph: |
    a >> b
  defaults: {n: 3, day: 2024-01-02, flag: on}
tasks:
  a: {callable: "m.n:f", inputs: {x: $ctx.params.n}, outputs: [scratch.x]}
  b: {use: ns/name}
pipes: {p: a >> b}
runtime: {expose_env: [HOME]}
"""


def failure(text: str) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        PyocoConfig.from_text(text)
    return caught.value


def test_a_full_document_becomes_dataclasses() -> None:
    config = PyocoConfig.from_text(FULL)
    assert config.version == 2
    assert config.flow is not None
    assert config.flow.graph == "a >> b\n"
    assert config.flow.defaults["flag"] is True  # YAML 1.1
    assert config.flow.defaults["day"].year == 2024
    assert config.tasks == {
        "a": TaskConfig(callable="m.n:f", inputs={"x": "$ctx.params.n"}, outputs=["scratch.x"]),
        "b": TaskConfig(use="ns/name"),
    }
    assert config.pipes == {"p": "a >> b"}
    assert config.runtime == RuntimeConfig(expose_env=["HOME"])
    assert config.warnings == []


@pytest.mark.parametrize(
    "text", ["", "null", "# nothing", "flow:\ntasks:\npipes:\nruntime:", "runtime: {expose_env: }", "---"]
)
def test_what_is_left_empty_counts_as_not_given(text: str) -> None:
    assert PyocoConfig.from_text(text) == PyocoConfig(version=1, flow=None, tasks={})


def test_null_inside_a_task_or_flow_is_empty() -> None:
    config = PyocoConfig.from_text("flow: {graph: a, defaults: }\ntasks: {a: {callable: , inputs: , outputs: }}")
    assert config.flow == FlowConfig(graph="a", defaults={})
    assert config.tasks == {"a": TaskConfig()}


def test_a_task_may_carry_policies() -> None:
    text = "tasks: {a: {retries: 2, backoff: 0.5, timeout_sec: 3, fail_policy: isolate, trigger_policy: ANY}}"
    assert PyocoConfig.from_text(text).tasks["a"].policies == {
        "retries": 2,
        "backoff": Backoff(initial=0.5),
        "timeout_sec": 3.0,
        "fail_policy": "isolate",
        "trigger_policy": "ANY",
    }


def test_a_timeout_of_null_is_a_policy_and_not_the_same_as_none_written() -> None:
    config = PyocoConfig.from_text("tasks: {a: {timeout_sec: null}, b: {}}")
    assert config.tasks["a"].policies == {"timeout_sec": None}
    assert config.tasks["b"].policies == {}


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("flows: {}", "flows", "flow:"),
        ("discovery: {}", "discovery", "PYOCO_DISCOVERY_MODULES"),
        ("- a", "", "must be a mapping"),
        ("just text", "", "must be a mapping"),
        ("flow: a >> b", "flow", "must be a mapping"),
        ("flow: {defaults: {}}", "flow", "'graph' is missing"),
        ("flow: {graph: }", "flow", "'graph' is missing"),
        ("flow: {graph: 3}", "flow.graph", "must be text, not int"),
        ("flow: {graph: a, defaults: [1]}", "flow.defaults", "must be a mapping"),
        ("flow: {graph: a, default: {}}", "flow.default", "did you mean 'defaults'"),
        ("tasks: [a]", "tasks", "must be a mapping"),
        ("tasks: {a: m:f}", "tasks.a", "must be a mapping"),
        ("tasks: {a: }", "tasks.a", "must be a mapping"),
        ("tasks: {on: {}}", "tasks.True", "not text but bool"),
        ("tasks: {a: {callable: f}}", "tasks.a.callable", "module.path:name"),
        ("tasks: {a: {callable: 'm:f:g'}}", "tasks.a.callable", "module.path:name"),
        ("tasks: {a: {callable: '.m:f'}}", "tasks.a.callable", "module.path:name"),
        ("tasks: {a: {callable: 3}}", "tasks.a.callable", "must be text"),
        ("tasks: {a: {use: ''}}", "tasks.a.use", "names no task"),
        ("tasks: {a: {use: [x]}}", "tasks.a.use", "must be text, not a list"),
        ("tasks: {a: {callable: 'm:f', use: x}}", "tasks.a", "exclude each other"),
        ("tasks: {a: {input: {}}}", "tasks.a.input", "did you mean 'inputs'"),
        ("tasks: {a: {inputs: [1]}}", "tasks.a.inputs", "must be a mapping"),
        ("tasks: {a: {inputs: {1: x}}}", "tasks.a.inputs.1", "put it in quotes"),
        ("tasks: {a: {outputs: scratch.x}}", "tasks.a.outputs", "must be a list"),
        ("tasks: {a: {outputs: [x, 3]}}", "tasks.a.outputs", "entry 2 must be text"),
        ("tasks: {a: {retries: -1}}", "tasks.a.retries", "0 or more"),
        ("tasks: {a: {timeout_sec: soon}}", "tasks.a.timeout_sec", "must be a finite number"),
        ("tasks: {a: {backoff: {start: 1}}}", "tasks.a.backoff", "unknown backoff key"),
        ("tasks: {a: {fail_policy: ignore}}", "tasks.a.fail_policy", "stop, isolate, retry"),
        ("tasks: {a: {trigger_policy: any}}", "tasks.a.trigger_policy", "ALL, ANY"),
        ("pipes: [a]", "pipes", "must be a mapping"),
        ("pipes: {p: 1}", "pipes.p", "must be text"),
        ("pipes: {p: }", "pipes.p", "must be text"),
        ("runtime: [a]", "runtime", "must be a mapping"),
        ("runtime: {expose: [A]}", "runtime.expose", "did you mean 'expose_env'"),
        ("runtime: {expose_env: A}", "runtime.expose_env", "must be a list"),
    ],
)
def test_a_mistake_is_named_with_its_path(text: str, path: str, words: str) -> None:
    error = failure(text)
    assert error.path == path
    assert words in str(error)
    assert isinstance(error, ValueError)


def test_an_error_tells_file_line_and_column() -> None:
    error = failure("tasks:\n  load:\n    inputs: {}\n    retrys: 3\n")
    assert (error.line, error.column) == (4, 5)
    assert str(error).startswith("flow.yaml:4:5: tasks.load.retrys: unknown key 'retrys'; did you mean 'retries'?")


def test_the_place_of_a_key_that_is_not_text_is_found_too() -> None:
    error = failure("tasks:\n  fine: {}\n  no: {}\n  other: {}\n")
    assert (error.line, error.path) == (3, "tasks.False")


def test_of_two_equal_keys_the_place_of_the_one_that_counts_is_told() -> None:
    assert failure("flow: {graph: a}\nflow: 3\n").line == 2


def test_a_mistake_in_a_merged_mapping_is_found_where_it_is_written() -> None:
    error = failure("common: &c\n  retries: x\ntasks:\n  a:\n    <<: *c\n")
    assert (error.path, error.line) == ("tasks.a.retries", 2)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: [", 2, "not valid YAML"),
        ("flow:\n\tgraph: a", 2, "indent with spaces"),
        ("flow: graph: a", 1, "in quotes"),
        ("a: 1\n---\nb: 2", 2, "one document"),
        ("a: *nothing", 1, "define the anchor"),
        ("a: !!python/name:os.system x", 1, "only plain YAML values"),
        ("? [a]\n: 1", 1, "unhashable"),
        ("a: 1\nb: 2024-99-99", 2, "not a valid timestamp"),
        ("a: !!bool maybe", 1, "not a valid bool"),
        ("a: !!int ''", 1, "not a valid int"),
        ("a: " + "9" * 5000, 1, "not a valid int"),
        ('a: "\\ud83d"', 1, "not a valid str"),
        ("a: 1\nb: \x07", 2, "is not allowed in YAML"),
    ],
)
def test_broken_yaml_is_a_document_error_with_its_line(text: str, line: int, words: str) -> None:
    error = failure(text)
    assert error.line == line
    assert words in str(error)


@pytest.mark.parametrize("level", ["k{i}: &a{i} [{ten}]\n", "k{i}: &a{i} {{<<: [{ten}]}}\n"], ids=["lists", "merges"])
def test_aliases_cannot_stand_for_a_huge_value(level: str) -> None:
    levels = (level.format(i=i, ten=", ".join([f"*a{i - 1}"] * 10)) for i in range(1, 40))
    assert "aliases stand for more than" in str(failure("k0: &a0 {x: 1}\n" + "".join(levels)))


def test_ordinary_use_of_aliases_is_fine() -> None:
    entries = "".join(f"  t{i}: {{<<: *common, inputs: {{i: {i}}}}}\n" for i in range(500))
    config = PyocoConfig.from_text(f"common: &common {{callable: 'm:f', retries: 3}}\ntasks:\n{entries}")
    assert config.tasks["t499"] == TaskConfig(callable="m:f", inputs={"i": 499}, policies={"retries": 3})


def test_a_value_cannot_contain_itself() -> None:
    assert "contains itself" in str(failure("flow: {graph: a, defaults: {x: &x [*x]}}"))


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5000])
def test_deep_nesting_is_refused(depth: int) -> None:
    assert "nested" in str(failure("a: " + "[" * depth + "]" * depth))


def test_deep_nesting_through_aliases_is_refused() -> None:
    chain = "".join(f"k{i + 1}: &a{i + 1} [*a{i}]\n" for i in range(3000))
    assert "nested" in str(failure("k0: &a0 [1]\n" + chain))


def test_a_large_document_without_aliases_is_accepted() -> None:
    config = PyocoConfig.from_text(f"flow: {{graph: a, defaults: {{x: [{'1,' * 5000}]}}}}")
    assert config.flow is not None
    assert len(config.flow.defaults["x"]) == 5000


def test_unknown_top_level_keys_are_ignored_with_a_warning() -> None:
    config = PyocoConfig.from_text("version: 1\ntask: {}\nx-owner: me\n")
    assert config.tasks == {}
    assert config.warnings == [
        "line 2: task: unknown top-level key is ignored; did you mean 'tasks'?",
        "line 3: x-owner: unknown top-level key is ignored",
    ]


def test_of_two_equal_keys_the_last_counts_with_a_warning() -> None:
    config = PyocoConfig.from_text("flow:\n  graph: a\n  graph: b\ntasks: {x: {}, x: {}}\n")
    assert config.flow == FlowConfig(graph="b")
    assert len(config.warnings) == 2
    assert config.warnings[0].startswith("line 3: 'graph' is already given in line 2")


def test_a_file_is_read_as_utf8_whatever_the_locale(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_bytes("flow: {graph: größe, defaults: {s: 🐇}}".encode())
    assert PyocoConfig.from_yaml(path).flow == FlowConfig(graph="größe", defaults={"s": "🐇"})


def test_a_byte_order_mark_does_not_hurt(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_bytes(b"\xef\xbb\xbfflow: {graph: a}")
    assert PyocoConfig.from_yaml(str(path)).flow == FlowConfig(graph="a")


def test_a_file_that_is_not_utf8_is_a_document_error(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_bytes("a: 1\nflow: {graph: größe}".encode("latin-1"))
    with pytest.raises(DocumentError, match="UTF-8") as caught:
        PyocoConfig.from_yaml(path)
    assert caught.value.line == 2
    assert str(path) in str(caught.value)


def test_a_missing_file_stays_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        PyocoConfig.from_yaml(tmp_path / "nothing.yaml")


_WORDS = "flow tasks pipes runtime version graph callable use inputs outputs retries a b 1 0x 1e9 2024-01-99 null on"
_SIGNS = ["\n", "\n  ", "\n    ", "\t", ": ", "- ", "&x ", "<<: ", "!!int ", "!!bool ", "? ", "---\n", "..."]
_PIECES = st.sampled_from([*_WORDS.split(), *_SIGNS, "*x", *":[]{},|>'\"#%~=\\"])


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join)))
def test_no_text_raises_anything_but_a_document_error(text: str) -> None:
    with contextlib.suppress(DocumentError):
        config = PyocoConfig.from_text(text)
        assert all(isinstance(task, TaskConfig) for task in config.tasks.values())


def test_a_default_whose_name_yaml_reads_as_a_value_is_kept_with_a_warning() -> None:
    config = PyocoConfig.from_text("flow: {graph: a, defaults: {on: 1}}")
    assert config.flow is not None
    assert config.flow.defaults == {True: 1}
    assert any("flow.defaults.True" in warning for warning in config.warnings)


def test_broken_yaml_can_be_caught_as_the_parsers_own_error() -> None:
    with pytest.raises(yaml.YAMLError):
        PyocoConfig.from_text("a: [1,")
