"""load_flow: from a file to a flow, with errors that say whose fault it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyoco.engine.document import PyocoConfig
from pyoco.engine.loading import FlowError, TaskCodeError, complete, load_flow, make_importable, user_frames
from pyoco.engine.yaml_source import DocumentError


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("loading_test_"):
            del sys.modules[name]


def flow_file(root: Path, text: str, code: str = "") -> Path:
    (root / "loading_test_tasks.py").write_text(code)
    path = root / "flow.yaml"
    path.write_text(text)
    return path


def test_a_flow_comes_with_its_document_and_its_tasks(root: Path) -> None:
    text = "tasks:\n  a: {callable: 'loading_test_tasks:f'}\nflow:\n  graph: a\n  defaults: {x: 1}\n"
    loaded = load_flow(flow_file(root, text, "def f(): return 1\n"))
    assert loaded.config.flow is not None
    assert loaded.config.flow.defaults == {"x": 1}
    assert list(loaded.loader.tasks) == ["a"]
    assert [task.name for task in loaded.flow.ordered_tasks()] == ["a"]


def test_the_directory_of_the_file_comes_first_then_the_working_directory(root: Path) -> None:
    make_importable(root / "sub")
    make_importable(root / "sub")
    assert sys.path[:2] == [str(root / "sub"), str(root)]
    assert sys.path.count(str(root)) == 1


def test_an_error_of_the_graph_points_at_the_line_of_the_file(root: Path) -> None:
    with pytest.raises(FlowError, match="no task is called 'b'") as caught:
        load_flow(flow_file(root, "tasks: {}\nflow:\n  graph: b\n"))
    assert (caught.value.line, caught.value.path) == (3, "flow.graph")


def test_a_declared_task_that_is_missing_says_why_instead_of_guessing(root: Path) -> None:
    text = "tasks:\n  a: {callable: 'loading_test_nowhere:f'}\npipes: {p: a}\nflow:\n  graph: pipe(p)\n"
    heard: list[str] = []
    with pytest.raises(FlowError) as caught:
        load_flow(flow_file(root, text), heard.append)
    assert "hint: tasks.a is declared, but not available: cannot import module" in str(caught.value)
    assert "known are" not in str(caught.value)
    assert len(heard) == 1


def test_an_undeclared_name_keeps_its_hint_although_another_task_is_missing(root: Path) -> None:
    text = (
        "tasks:\n  bc: {callable: 'loading_test_tasks:f'}\n  a: {callable: 'loading_test_nowhere:f'}\n"
        "flow:\n  graph: bcd\n"
    )
    with pytest.raises(FlowError, match="did you mean 'bc'"):
        load_flow(flow_file(root, text, "def f(): return 1\n"))


def test_a_file_without_a_flow_is_the_files_fault(root: Path) -> None:
    with pytest.raises(DocumentError, match="there is no flow") as caught:
        load_flow(flow_file(root, "tasks: {}\n"))
    assert not isinstance(caught.value, FlowError)


def test_whatever_a_module_raises_is_the_codes_fault(root: Path) -> None:
    text = "tasks:\n  a: {callable: 'loading_test_tasks:f'}\nflow: {graph: a}\n"
    for code in ("raise ValueError('mine')", "raise SystemExit(2)", "def f(:"):
        with pytest.raises(TaskCodeError, match=r"loading_test_tasks\.py, line 1") as caught:
            load_flow(flow_file(root, text, code))
        assert caught.value.__cause__ is not None


def test_a_document_from_memory_names_its_source_and_reads_no_file(root: Path) -> None:
    flow_file(root, "flow:\n\n\n  graph: unrelated\n")
    with pytest.raises(FlowError) as caught:
        complete(PyocoConfig.from_text("flow: {graph: b}"), "flow.yaml")
    assert caught.value.source == "flow.yaml"
    assert caught.value.line is None


def test_user_frames_leave_out_the_engine(root: Path) -> None:
    with pytest.raises(FlowError) as caught:
        complete(PyocoConfig.from_text("flow: {graph: b}"), "flow.yaml")
    assert [frame.name for frame in user_frames(caught.value)] == ["test_user_frames_leave_out_the_engine"]


def test_a_directory_whose_name_only_begins_like_ours_is_the_users(root: Path) -> None:
    import pyoco

    ours = Path(pyoco.__file__).parent
    code = compile("1 / 0", f"{ours}-flows/tasks.py", "exec")
    with pytest.raises(ZeroDivisionError) as caught:
        exec(code)
    assert user_frames(caught.value)[-1].filename == f"{ours}-flows/tasks.py"
