"""How runs and executors end: cancel, park, resume, stop, death."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from pyoco.engine.journal import Journal
from pyoco.executor.handle import ExecutorFailedToStart, ExecutorHandle, ExecutorOptions
from pyoco.executor.messages import AnswerWait, CancelRun, RunEnded, StartRun, Stop, Wait
from pyoco.executor.output import ProcessOutput
from tests.integration.executor.conversation import executor, flow
from tests.support.wait import wait_until


def order(text: str, run_id: str = "r", **fields: object) -> StartRun:
    return StartRun(run_id=run_id, flow_name="main", workflow_yaml=text, **fields)  # type: ignore[arg-type]


# Cancel


async def test_a_polite_cancel_lets_the_running_task_end(code: Path) -> None:
    async with executor(code) as talk:
        text = flow("wait >> hello", wait="mytasks:until_cancelled", hello="mytasks:hello")
        talk.handle.send(order(text))
        await talk.until_line("begun")
        talk.handle.send(CancelRun(run_id="r"))
        assert (await talk.until_ended()).status == "CANCELLED"
    assert ("NodeSucceeded", "wait") in talk.events()
    assert ("NodeCancelled", "hello") in talk.events()
    assert talk.stuck() == []


async def test_a_task_that_does_not_end_is_given_up_after_the_grace_and_reported(code: Path) -> None:
    async with executor(code) as talk:
        talk.handle.send(order(flow("hang", hang="mytasks:hang")))
        await talk.until_event("NodeStarted", "hang")
        talk.handle.send(CancelRun(run_id="r", grace=0.1))
        assert (await talk.until_ended()).status == "CANCELLED"
        (stuck,) = talk.stuck()
        assert (stuck.run_id, stuck.path, stuck.node) == ("r", "hang", "hang")
        assert talk.said.index(stuck) < len(talk.said) - 1
        # The process itself is still of use, until its worker replaces it.
        assert (await talk.run_yaml(flow("number", number="mytasks:number"), run_id="next")).status == "COMPLETED"


async def test_a_coroutine_is_really_cancelled(code: Path) -> None:
    async with executor(code) as talk:
        talk.handle.send(order(flow("nap", nap="mytasks:nap")))
        await talk.until_event("NodeStarted", "nap")
        talk.handle.send(CancelRun(run_id="r", grace=0))
        assert (await talk.until_ended()).status == "CANCELLED"
    assert talk.stuck() == []


async def test_a_run_that_hangs_while_its_code_is_imported_can_be_cancelled(code: Path) -> None:
    (code / "slow_import.py").write_text("import time\nprint('importing')\ntime.sleep(3600)\ndef task(): pass\n")
    async with executor(code) as talk:
        talk.handle.send(order(flow("task", task="slow_import:task")))
        line = await talk.until_line("importing")
        assert (line.node, line.stream) == ("", "stdout")
        talk.handle.send(CancelRun(run_id="r", grace=0.05))
        assert (await talk.until_ended()).status == "CANCELLED"
        assert "imported" in talk.stuck()[0].reason


async def test_a_cancel_of_an_unknown_run_is_ignored(code: Path) -> None:
    async with executor(code) as talk:
        talk.handle.send(CancelRun(run_id="nobody", grace=0))
        assert (await talk.run_yaml(flow("number", number="mytasks:number"))).status == "COMPLETED"


# Waiting, and going on elsewhere


async def test_a_run_whose_nodes_all_wait_parks_and_goes_on_elsewhere_from_its_journal(code: Path) -> None:
    text = flow("remember >> ask >> recall", remember="mytasks:remember", ask="mytasks:ask", recall="mytasks:recall")
    async with executor(code) as talk:
        ended = await talk.run_yaml(text)
        assert ended.status == "PARKED"
        assert ended.waits == [Wait(path="ask", key="colour", prompt="Which colour?")]
        journal = Journal.from_json(talk.journal())
    journal.answer("ask", "colour", "green")
    async with executor(code) as talk:
        ended = await talk.run_yaml(text, journal=journal.to_json())
        assert (ended.status, ended.output) == ("COMPLETED", {"$tuple": ["a", 1]})
    assert [path for event, path in talk.events() if event == "NodeStarted"] == ["ask", "recall"]
    assert talk.transitions()[1].output == "green"


async def test_an_answer_reaches_a_run_that_still_moves(code: Path) -> None:
    text = flow("(ask & wait)", ask="mytasks:ask", wait="mytasks:until_cancelled")
    async with executor(code) as talk:
        talk.handle.send(order(text))
        await talk.until_event("NodeWaiting", "ask")
        talk.handle.send(AnswerWait(run_id="r", path="ask", key="colour", payload={"$tuple": "plain JSON"}))
        success = await talk.until_event("NodeSucceeded", "ask")
    # A key that looks like one of our tags is the answerer's own, and is recorded so that it stays that.
    assert success.output == {"$dict": [["$tuple", "plain JSON"]]}


async def test_a_refused_wait_fails_the_node(code: Path) -> None:
    text = flow("(ask & slowly)", ask="mytasks:ask", slowly="mytasks:slowly")
    async with executor(code) as talk:
        talk.handle.send(order(text))
        await talk.until_event("NodeWaiting", "ask")
        talk.handle.send(AnswerWait(run_id="r", path="ask", key="colour", error="not today"))
        ended = await talk.until_ended()
    assert ended.error is not None
    assert "not today" in ended.error.message


async def test_a_run_may_be_started_again_the_moment_it_has_parked(code: Path) -> None:
    text = flow("ask", ask="mytasks:ask")
    answered = Journal()
    answered.answer("ask", "colour", "red")
    async with executor(code) as talk:
        for _ in range(20):
            talk.said.clear()
            assert (await talk.run_yaml(text)).status == "PARKED"
            talk.said.clear()
            assert (await talk.run_yaml(text, journal=answered.to_json())).output == "red"


async def test_a_node_that_left_something_unrecordable_runs_again_elsewhere(code: Path) -> None:
    text = flow("remember >> ask", remember="mytasks:remember_opaque", ask="mytasks:ask")
    async with executor(code) as talk:
        assert (await talk.run_yaml(text)).status == "PARKED"
        journal = talk.journal()
        talk.said.clear()
        assert (await talk.run_yaml(text, journal=journal)).status == "PARKED"
    assert [path for event, path in talk.events() if event == "NodeStarted"] == ["remember"]


async def test_after_a_crash_only_the_unrecorded_nodes_run_again(code: Path, tmp_path: Path) -> None:
    text = flow("touch >> crash", touch="mytasks:touch", crash="mytasks:silent_exit")
    params = {"file": str(tmp_path / "touched")}
    async with executor(code) as talk:
        talk.handle.send(order(text, params=params))
        await talk.until_dead()
        journal = talk.journal()
    async with executor(code) as talk:
        talk.handle.send(order(text, params=params, journal=journal))
        await talk.until_dead()
    assert (tmp_path / "touched").read_text() == "x\n"


# Stop


async def test_a_stop_ends_runs_between_two_nodes_and_the_process_with_zero(code: Path) -> None:
    text = flow("slowly >> hello", slowly="mytasks:slowly", hello="mytasks:hello")
    async with executor(code) as talk:
        talk.handle.send(order(text))
        await talk.until_line("begun")
        talk.handle.send(Stop(grace=20))
        talk.handle.send(order(text, run_id="late"))
        await talk.until_dead()
    assert (await talk.until_ended()).status == "STOPPED"
    assert (await talk.until_ended("late")).status == "STOPPED"
    assert talk.events() == [("NodeStarted", "slowly"), ("NodeSucceeded", "slowly")]
    assert talk.handle.exit_code == 0


async def test_a_stop_does_not_wait_longer_than_its_grace(code: Path) -> None:
    async with executor(code) as talk:
        talk.handle.send(order(flow("hang", hang="mytasks:hang")))
        await talk.until_event("NodeStarted", "hang")
        talk.handle.send(Stop(grace=0.1))
        await talk.until_dead()
    assert (await talk.until_ended()).status == "STOPPED"
    assert talk.handle.exit_description == "ended by itself (status 0)"


# Death


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("silent_exit", "exited with status 3"),
        ("segfault", "crashed with a segmentation fault (signal 11, SIGSEGV)"),
        ("shoot_myself", "killed, perhaps by the system because memory ran out (signal 9, SIGKILL)"),
    ],
)
async def test_the_death_of_the_process_is_noticed_at_once_and_named(code: Path, name: str, words: str) -> None:
    async with executor(code) as talk:
        talk.handle.send(order(flow("end", end=f"mytasks:{name}")))
        await talk.until_event("NodeStarted", "end")
        await talk.until_dead()
        assert not talk.handle.alive
        assert talk.handle.exit_description == words
        talk.handle.send(order(flow("end", end="mytasks:number"), run_id="too late"))
    assert not [each for each in talk.said if isinstance(each, RunEnded)]


async def test_a_crash_leaves_the_python_stack_in_the_log(code: Path) -> None:
    async with executor(code) as talk:
        talk.handle.send(order(flow("end", end="mytasks:segfault")))
        await talk.until_dead()
    assert any("mytasks.py" in line.text for line in talk.lines())
    assert {line.node for line in talk.lines()} == {"end"}


FORKING = """
import os, time

def end(ctx):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        time.sleep(30)
        os._exit(0)
    with open(ctx.params["file"], "w") as file:
        file.write(str(pid))
    os._exit(5)
"""


async def test_death_is_noticed_although_a_fork_holds_every_pipe_open(code: Path, tmp_path: Path) -> None:
    (code / "forking.py").write_text(FORKING)
    async with executor(code) as talk:
        talk.handle.send(order(flow("end", end="forking:end"), params={"file": str(tmp_path / "pid")}))
        await talk.until_dead()
        assert talk.handle.exit_description == "exited with status 5"
    fork = int((tmp_path / "pid").read_text())
    assert not _is_gone(fork)
    os.kill(fork, signal.SIGKILL)


async def test_programs_of_tasks_do_not_outlive_a_killed_executor(code: Path) -> None:
    async with executor(code) as talk:
        talk.handle.send(order(flow("leave", leave="mytasks:leave_a_program")))
        pid = int((await talk.until_line("left")).text.split()[1])
        assert psutil.pid_exists(pid)
        await talk.handle.close()
        assert talk.handle.exit_description == "killed by its worker"
    wait_until(lambda: _is_gone(pid), "the program to be gone")


async def test_the_process_ends_with_its_worker(code: Path) -> None:
    script = textwrap.dedent(
        """
        import asyncio, os, sys
        from pathlib import Path
        from pyoco.executor.handle import ExecutorHandle, ExecutorOptions
        from pyoco.executor.messages import Lines, StartRun

        async def main():
            handle = await ExecutorHandle.start(ExecutorOptions(code_dir=Path(sys.argv[1])))
            handle.send(StartRun(run_id="r", flow_name="main", workflow_yaml=sys.argv[2]))
            async for message in handle:
                if isinstance(message, Lines):
                    print(handle.pid, message.lines[0].text.split()[1], flush=True)
                    await asyncio.sleep(3600)

        asyncio.run(main())
        """
    )
    text = flow("leave", leave="mytasks:leave_a_program")
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(code), text, stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    executor_pid, program_pid = map(int, (await worker.stdout.readline()).split())
    worker.kill()
    await worker.communicate()
    wait_until(lambda: _is_gone(executor_pid), "the executor to end")
    wait_until(lambda: _is_gone(program_pid), "the program of its task to end")


def _is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


# Starting, and what is left behind


async def test_an_executor_that_cannot_start_says_why(code: Path) -> None:
    with pytest.raises(ExecutorFailedToStart, match=r"(?s)exited with status 70.*no_such_module"):
        await ExecutorHandle.start(ExecutorOptions(code_dir=code, flow_resolver="no_such_module:find"))


async def test_an_executor_that_is_not_ready_in_time_is_killed(code: Path) -> None:
    (code / "flows.py").write_text("import time\ntime.sleep(3600)\n")
    with pytest.raises(ExecutorFailedToStart, match=r"not ready after 0\.3s"):
        await ExecutorHandle.start(ExecutorOptions(code_dir=code, start_timeout=0.3))


async def test_many_executors_leave_no_descriptor_behind(code: Path) -> None:
    async def one() -> None:
        async with executor(code) as talk:
            await talk.run_yaml(flow("number", number="mytasks:number"))

    await one()
    gc.collect()
    before = psutil.Process().num_fds()
    for _ in range(3):
        await one()
    gc.collect()
    assert psutil.Process().num_fds() == before


async def test_changed_code_is_noticed(code: Path) -> None:
    async with executor(code) as talk:
        await talk.run_yaml(flow("number", number="mytasks:number"))
        assert not talk.handle.code_changed()
        (code / "mytasks.py").write_text("def number(): return 2\n")
        wait_until(talk.handle.code_changed, "the change to be seen")
    async with executor(code) as talk:
        assert (await talk.run_yaml(flow("number", number="mytasks:number"))).output == 2


async def test_lines_of_several_runs_at_once_are_not_given_to_the_wrong_one(code: Path) -> None:
    async with executor(code) as talk:
        talk.handle.send(order(flow("wait", wait="mytasks:until_cancelled"), run_id="other"))
        await talk.until_event("NodeStarted", "wait", "other")
        await talk.run_yaml(flow("program", program="mytasks:program"))
    assert talk.lines("r") == []
    assert "from a program" not in [line.text for line in talk.lines("other")]
    unplaced = [each for each in talk.said if isinstance(each, ProcessOutput)]
    assert "from a program" in [line.text for each in unplaced for line in each.lines]
    assert all(set(each.run_ids) == {"r", "other"} for each in unplaced)
