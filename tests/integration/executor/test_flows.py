"""Which flow an order means, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

from pyoco.executor.messages import RunEnded, StartRun
from tests.integration.executor.conversation import Conversation, executor, flow

FLOWS = """
from pyoco import Flow, task

@task
def say(ctx):
    return "from Python"

daily = Flow("daily-report") >> say
unnamed = Flow() >> say
"""


async def named(talk: Conversation, name: str) -> RunEnded:
    talk.said.clear()
    return await talk.run(StartRun(run_id="r", flow_name=name))


async def test_flows_of_the_code_directory_are_known_by_name(code: Path) -> None:
    text = flow("hello", hello="mytasks:hello")
    (code / "flows.py").write_text(FLOWS)
    (code / "greet.yaml").write_text(text)
    (code / "compose.yaml").write_text("services: {}\n")
    (code / "report").mkdir()
    (code / "report" / "flow.yaml").write_text(flow("make", make="report.tasks:make"))
    (code / "report" / "tasks.py").write_text("def make(): return 'a report'\n")
    (code / "flow.yaml").write_text(text)
    async with executor(code) as talk:
        assert talk.handle.ready is not None
        assert talk.handle.ready.flows == ["code", "daily-report", "echo", "greet", "report", "unnamed"]
        assert (await named(talk, "daily-report")).output == "from Python"
        assert (await named(talk, "unnamed")).output == "from Python"
        assert (await named(talk, "greet")).output == {"greeting": "hello world"}
        assert (await named(talk, "code")).output == {"greeting": "hello world"}
        assert (await named(talk, "report")).output == "a report"


async def test_the_built_in_flow_logs_and_returns_its_parameters() -> None:
    async with executor() as talk:
        ended = await talk.run(StartRun(run_id="r", flow_name="echo", params={"a": 1, "b": [True]}))
    assert ended.output == {"a": 1, "b": [True]}
    assert [line.text for line in talk.lines()] == ["a = 1", "b = [True]"]


async def test_the_resolver_comes_first_and_a_key_error_passes_on(code: Path) -> None:
    source = "def find(name):\n    import flows\n    return {'echo': flows.daily}[name]\n"
    (code / "flows.py").write_text(FLOWS)
    (code / "finder.py").write_text(source)
    async with executor(code, flow_resolver="finder:find") as talk:
        assert (await named(talk, "echo")).output == "from Python"
        assert (await named(talk, "daily-report")).output == "from Python"
        assert (await named(talk, "nothing")).status == "FAILED"


async def test_a_name_that_nobody_knows_is_flow_not_found(code: Path) -> None:
    async with executor(code) as talk:
        ended = await named(talk, "no-such-flow")
    assert ended.error is not None
    assert ended.error.kind == "flow_not_found"
    assert "no-such-flow" in ended.error.message
    assert "echo" in ended.error.message


async def test_modules_of_the_environment_are_searched_and_a_broken_one_is_named(code: Path) -> None:
    (code / "company.py").write_text(FLOWS)
    (code / "broken.py").write_text("1 / 0\n")
    async with executor(code, env={"PYOCO_DISCOVERY_MODULES": "company, broken"}) as talk:
        assert talk.handle.ready is not None
        assert "daily-report" in talk.handle.ready.flows
        (problem,) = talk.handle.ready.problems
        assert "broken" in problem
        assert "ZeroDivisionError" in problem


async def test_a_document_that_cannot_be_loaded_is_a_load_error_that_says_where(code: Path) -> None:
    (code / "crashing.py").write_text("raise RuntimeError('no database')\n")
    cases = {
        "nonsense: [": "flow.yaml",
        flow("a >> b", a="mytasks:hello"): "'b'",
        flow("a", a="mytasks:no_such_task"): "no_such_task",
        flow("a", a="no_such_module:task"): "no_such_module",
        flow("a", a="crashing:task"): "no database",
        "tasks: {}": "no flow",
    }
    async with executor(code) as talk:
        for number, (text, expected) in enumerate(cases.items()):
            ended = await talk.run_yaml(text, run_id=str(number))
            assert ended.status == "FAILED"
            assert ended.error is not None
            assert ended.error.kind == "load_error"
            assert expected in ended.error.message
        assert any("no_such_task" in line.text and line.level == "ERROR" for line in talk.lines("2"))
        # What was missing may be there next time.
        (code / "no_such_module.py").write_text("def task(): return 'now'\n")
        assert (await talk.run_yaml(flow("a", a="no_such_module:task"), run_id="again")).output == "now"


async def test_submitted_documents_may_only_name_allowed_callables(code: Path) -> None:
    async with executor(code, allowed_callables=("mytasks",)) as talk:
        assert (await talk.run_yaml(flow("a", a="mytasks:number"), run_id="good")).output == 1
        for number, path in enumerate(("os:getpid", "mytasks:os.getpid", "mytasks:subprocess.Popen")):
            ended = await talk.run_yaml(flow("a", a=path), run_id=str(number))
            assert ended.error is not None
            assert "allowed callables" in ended.error.message


async def test_warnings_of_a_document_are_in_the_log_of_each_of_its_runs(code: Path) -> None:
    text = "surprise: 1\n" + flow("a", a="mytasks:number")
    async with executor(code) as talk:
        for run_id in ("one", "two"):
            await talk.run_yaml(text, run_id=run_id)
            assert ["surprise" in line.text for line in talk.lines(run_id)] == [True]


async def test_modules_in_the_working_directory_do_not_replace_those_of_the_executor(code: Path) -> None:
    (code / "socket.py").write_text("raise RuntimeError('not the module that was meant')\n")
    async with executor(code, env={"PYTHONPATH": ""}) as talk:
        assert (await talk.run_yaml(flow("a", a="mytasks:number"))).output == 1
