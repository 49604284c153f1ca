"""Runs in a real executor process: what the worker hears of them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from pyoco.executor.messages import Line, Lines, RenewLeases, RunEnded, StartRun, Transitioned
from tests.integration.executor.conversation import executor, flow
from tests.support.wait import wait_until


async def test_a_submitted_flow_runs_and_every_step_is_told_in_order(code: Path) -> None:
    text = flow("hello >> shout", hello="mytasks:hello", shout="mytasks:shout")
    async with executor(code) as talk:
        ended = await talk.run_yaml(text, params={"name": "Ada"})
    assert (ended.status, ended.output) == ("COMPLETED", {"$tuple": ["a tuple", 1]})
    assert talk.nodes() == ["hello", "shout"]
    assert talk.events() == [
        ("NodeStarted", "hello"),
        ("NodeSucceeded", "hello"),
        ("NodeStarted", "shout"),
        ("NodeSucceeded", "shout"),
    ]
    success = talk.transitions()[1]
    assert (success.inputs, success.output, success.attempt) == ({"name": "Ada"}, {"greeting": "hello Ada"}, 1)
    assert success.started_at is not None
    assert success.started_at <= success.at


async def test_output_comes_with_its_node_before_the_node_ends(code: Path) -> None:
    text = flow("hello >> shout", hello="mytasks:hello", shout="mytasks:shout")
    async with executor(code) as talk:
        await talk.run_yaml(text)
    assert [(line.node, line.stream, line.text, line.level) for line in talk.lines()] == [
        ("hello", "stdout", "hello world", None),
        ("shout", "stdout", "HELLO WORLD", None),
        ("shout", "stderr", "to stderr", None),
        ("shout", "log", "logged", "WARNING"),
    ]
    kinds = [type(each).__name__ if not isinstance(each, Transitioned) else each.event for each in talk.said]
    assert kinds.index("Lines") < kinds.index("NodeSucceeded")


async def test_a_flood_of_lines_comes_in_few_bundles_and_complete(code: Path) -> None:
    async with executor(code) as talk:
        await talk.run_yaml(flow("many", many="mytasks:many_lines"))
    assert [line.text for line in talk.lines()] == [f"line {number}" for number in range(2000)]
    assert sum(isinstance(each, Lines) for each in talk.said) < 200


async def test_a_worker_that_does_not_fetch_holds_up_a_flood_and_loses_nothing(code: Path) -> None:
    async with executor(code) as talk:
        talk.handle.send(StartRun(run_id="r", flow_name="main", workflow_yaml=flow("flood", flood="mytasks:flood")))
        await asyncio.to_thread(wait_until, lambda: talk.handle.paused, "the handle to have read enough", seconds=60)
        assert talk.handle.alive
        await talk.until_ended()
    assert len(talk.lines()) == 1000


async def test_what_programs_of_a_node_print_is_its_output(code: Path) -> None:
    async with executor(code) as talk:
        ended = await talk.run_yaml(flow("program", program="mytasks:program"))
    assert ended.status == "COMPLETED"
    assert sorted((line.node, line.stream, line.text) for line in talk.lines()) == [
        ("program", "stderr", "its complaint"),
        ("program", "stdout", "from a program"),
        ("program", "stdout", "unfinished"),
    ]


async def test_forks_of_a_task_print_can_be_stopped_and_do_not_disturb_the_executor(code: Path) -> None:
    text = flow("fork >> stop_fork >> stop_program", fork="mytasks:fork_and_print", stop_fork="mytasks:stop_a_fork",
                stop_program="mytasks:stop_a_program")  # fmt: skip
    async with executor(code) as talk:
        ended = await talk.run_yaml(text)
        assert (ended.status, ended.output) == ("COMPLETED", -15)
        assert [each.output for each in talk.transitions() if each.event == "NodeSucceeded"] == [0, -15, -15]
        assert [(line.node, line.text) for line in talk.lines()] == [("fork", "from a fork")]
        assert (await talk.run_yaml(flow("number", number="mytasks:number"), run_id="next")).output == 1


async def test_an_output_that_cannot_be_recorded_is_shown_and_marked(code: Path) -> None:
    async with executor(code) as talk:
        ended = await talk.run_yaml(flow("opaque", opaque="mytasks:opaque"))
    assert (ended.status, ended.output, ended.recorded) == ("COMPLETED", "<an opaque thing>", False)
    success = talk.transitions()[-1]
    assert (success.output, success.replay) == ("<an opaque thing>", False)


async def test_a_failing_task_fails_the_run_with_its_traceback(code: Path) -> None:
    async with executor(code) as talk:
        ended = await talk.run_yaml(flow("fail >> hello", fail="mytasks:fail", hello="mytasks:hello"))
    assert ended.status == "FAILED"
    assert ended.error is not None
    assert (ended.error.kind, ended.error.message) == ("execution_error", "it went wrong")
    assert "mytasks.py" in (ended.error.traceback or "")
    assert talk.transitions()[-1].error == "it went wrong"


@pytest.mark.parametrize(("name", "text"), [("polite_exit", "SystemExit(4)"), ("no_memory", "no memory left")])
async def test_what_python_can_catch_only_fails_the_run(code: Path, name: str, text: str) -> None:
    async with executor(code) as talk:
        ended = await talk.run_yaml(flow("end", end=f"mytasks:{name}"))
        assert ended.error is not None
        assert text in ended.error.message
        assert (await talk.run_yaml(flow("number", number="mytasks:number"), run_id="next")).status == "COMPLETED"


async def test_several_runs_go_on_at_the_same_time(code: Path) -> None:
    wait, number = flow("wait", wait="mytasks:until_cancelled"), flow("number", number="mytasks:number")
    async with executor(code) as talk:
        for run_id in ("one", "two", "three"):
            talk.handle.send(StartRun(run_id=run_id, flow_name="main", workflow_yaml=wait))
        ended = await talk.run_yaml(number, run_id="quick")
        assert ended.status == "COMPLETED"
        assert not [each for each in talk.said if isinstance(each, RunEnded) and each.run_id != "quick"]


async def test_a_task_that_holds_the_interpreter_delays_its_neighbours_only_while_it_does(code: Path) -> None:
    async with executor(code) as talk:
        greedy = flow("hold", hold="mytasks:hold_the_lock")
        talk.handle.send(StartRun(run_id="greedy", flow_name="main", workflow_yaml=greedy))
        await talk.until_event("NodeStarted", "hold", "greedy")
        assert (await talk.run_yaml(flow("number", number="mytasks:number"))).status == "COMPLETED"
        assert (await talk.until_ended("greedy")).status == "COMPLETED"


async def test_a_thousand_nodes_run_and_are_all_told(code: Path) -> None:
    names = [f"n{number}" for number in range(1000)]
    text = flow(" >> ".join(names), **dict.fromkeys(names, "mytasks:number"))
    async with executor(code) as talk:
        ended = await talk.run_yaml(text)
    assert ended.status == "COMPLETED"
    assert [path for event, path in talk.events() if event == "NodeSucceeded"] == names


async def test_a_large_output_arrives_whole(code: Path) -> None:
    async with executor(code) as talk:
        ended = await talk.run_yaml(flow("big", big="mytasks:big"))
    assert ended.output == "x" * 5_000_000


async def test_artifacts_go_where_the_order_says(code: Path, tmp_path: Path) -> None:
    async with executor(code) as talk:
        ended = await talk.run_yaml(flow("artifact", artifact="mytasks:artifact"), artifact_dir=str(tmp_path / "kept"))
    note = tmp_path / "kept" / "note.txt"
    assert note.read_text() == "hello"
    assert ended.output == str(note)


async def test_only_exposed_environment_variables_can_be_referred_to(code: Path) -> None:
    text = flow("hello", hello="mytasks:hello").replace("}\n", ", inputs: {name: $env.SECRET_WORD}}\n")
    async with executor(code, env={"SECRET_WORD": "abracadabra", "OTHER": "x"}) as talk:
        free = await talk.run_yaml(text, run_id="free")
        listed = await talk.run_yaml(text + "runtime: {expose_env: [SECRET_WORD]}\n", run_id="listed")
        hidden = await talk.run_yaml(text + "runtime: {expose_env: [OTHER]}\n", run_id="hidden")
    assert free.output == listed.output == {"greeting": "hello abracadabra"}
    assert hidden.error is not None
    assert "not exposed" in hidden.error.message


async def test_no_node_starts_without_a_lease(code: Path, tmp_path: Path) -> None:
    file = tmp_path / "touched"
    async with executor(code) as talk:
        order = StartRun(run_id="r", flow_name="main", workflow_yaml=flow("touch", touch="mytasks:touch"),
                         params={"file": str(file)}, lease=time.monotonic() - 1)  # fmt: skip
        talk.handle.send(order)
        # Another run that comes later and ends shows that this one had its chance.
        await talk.run_yaml(flow("slowly", slowly="mytasks:slowly"), run_id="other")
        assert not file.exists()
        talk.handle.send(RenewLeases(leases={"r": time.monotonic() + 60, "unknown": 0}))
        assert (await talk.until_ended()).status == "COMPLETED"
    assert file.read_text() == "x\n"


async def test_signals_meant_for_the_worker_do_not_end_its_runs(code: Path) -> None:
    async with executor(code) as talk:
        assert (await talk.run_yaml(flow("signals", signals="mytasks:signals"))).output == "still here"


async def test_the_first_line_is_there_while_its_task_still_runs(code: Path) -> None:
    async with executor(code) as talk:
        text = flow("wait", wait="mytasks:until_cancelled")
        talk.handle.send(StartRun(run_id="r", flow_name="main", workflow_yaml=text))
        line = await talk.until_line("begun")
        assert (line.node, line.stream) == ("wait", "stdout")
        assert isinstance(line, Line)
