"""A directory with user code."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

TASKS = """
    import asyncio, ctypes, multiprocessing, os, pathlib, re, signal, subprocess, sys, threading, time

    class Opaque:
        def __repr__(self):
            return "<an opaque thing>"

    def hello(name="world"):
        print("hello", name)
        return {"greeting": f"hello {name}"}

    def shout(ctx):
        print(ctx.results["hello"]["greeting"].upper())
        print("to stderr", file=sys.stderr)
        ctx.logger.warning("logged")
        return ("a tuple", 1)

    def number(): return 1
    def opaque(): return Opaque()
    def fail(): raise ValueError("it went wrong")
    def hang(): time.sleep(3600)
    def silent_exit(): os._exit(3)
    def polite_exit(): sys.exit(4)
    def segfault(): ctypes.string_at(0)
    def no_memory(): raise MemoryError("no memory left")
    def shoot_myself(): os.kill(os.getpid(), signal.SIGKILL)

    def program():
        subprocess.run(["sh", "-c", "echo from a program; echo its complaint >&2; printf unfinished"], check=True)

    def fork_and_print():
        child = multiprocessing.get_context("fork").Process(target=print, args=("from a fork",))
        child.start()
        child.join()
        return child.exitcode

    def stop_a_fork():
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(3600,))
        child.start()
        child.terminate()
        child.join(20)
        return child.exitcode

    def stop_a_program():
        child = subprocess.Popen(["sleep", "3600"])
        child.terminate()
        return child.wait(20)

    def leave_a_program():
        child = subprocess.Popen(["sleep", "3600"])
        print("left", child.pid, flush=True)
        time.sleep(3600)

    def signals():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        return "still here"

    def until_cancelled(ctx):
        print("begun")
        while not ctx.is_cancelled:
            time.sleep(0.01)

    def hold_the_lock():
        re.match(r"(a+)+$", "a" * 24 + "b")

    async def nap(): await asyncio.sleep(3600)
    def slowly(ctx): print("begun"); time.sleep(0.3); return "done"
    def ask(ctx): return ctx.wait("colour", "Which colour?")
    def remember(ctx): ctx.scratch["seen"] = ("a", 1); return "remembered"
    def recall(ctx): return ctx.scratch["seen"]
    def remember_opaque(ctx): ctx.scratch["seen"] = Opaque()
    def touch(ctx):
        path = pathlib.Path(ctx.params["file"])
        with path.open("a") as file: file.write(f"{ctx.params.get('mark', 'x')}\\n")
    def many_lines():
        for number in range(2000): print("line", number)
    def artifact(ctx): return ctx.save_artifact("note.txt", "hello")
    def big(): return "x" * 5_000_000
    def flood():
        for _ in range(1000): print("y" * 30_000)
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    directory = tmp_path / "code"
    directory.mkdir()
    (directory / "mytasks.py").write_text(textwrap.dedent(TASKS), "utf-8")
    return directory
