"""Flow files as cases: `yaml/*.yaml` in the 0.8 dialect, `yaml06/*.yaml` in the 0.6.1 dialect.

A file is an ordinary flow.yaml. Leading comments say how to run it:

    # params: {"k": "x"}            run parameters (JSON), on top of flow.defaults
    # show: status, results         facts to observe (default: status, results, states)
    # fixed: Q12                    the quirk that `expect` corrects
    # expect: {"outcome": …}        the corrected observation (JSON)
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from observe import HERE, Case, Lab, Observation, Recorder, catchable, pick

from pyoco.core.engine import Engine
from pyoco.core.models import Flow, RunContext
from pyoco.discovery.loader import TaskLoader
from pyoco.schemas.config import PyocoConfig

DEFAULT_SHOW = ("status", "results", "states")


def header(path: Path) -> dict[str, str]:
    """The `# key: value` lines before the first line of YAML."""
    found: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        key, colon, value = line[1:].partition(":")
        if colon:
            found[key.strip()] = value.strip()
    return found


@functools.cache
def flow_cases(folder: str) -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for path in sorted((HERE / folder).glob("*.yaml")):
        facts = header(path)
        expect = json.loads(facts["expect"]) if "expect" in facts else None
        case_id = f"{folder}/{path.stem}"
        cases[case_id] = Case(case_id, functools.partial(_observe_file, path, facts), facts.get("fixed"), expect)
    return cases


def _observe_file(path: Path, facts: dict[str, str], lab: Lab) -> Observation:
    params = json.loads(facts.get("params", "{}"))
    show = [key.strip() for key in facts["show"].split(",")] if "show" in facts else list(DEFAULT_SHOW)
    return run_file(path, params, show)


def run_file(path: Path, params: dict[str, Any], show: list[str]) -> Observation:
    """Load, build and run a flow file; an error says in which of the three steps it happened."""
    run, trace = RunContext(), Recorder()
    step, context, facts = "load", None, {}
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # the loader prints its warnings
            config = PyocoConfig.from_yaml(str(path))
            loader = TaskLoader(config)
            loader.load()
            step = "build"
            flow = build(path, config, loader)
        step = "run"
        context = Engine(trace_backend=trace).run(flow, {**config.flow.defaults, **params}, run)  # type: ignore[arg-type,union-attr]
        facts["outcome"] = "returned"
    except Exception as error:
        facts |= {"outcome": f"{step} raised", "raises": catchable(error)}
        if step != "run":
            return facts
    return facts | pick(show, run, context, trace)


def build(path: Path, config: PyocoConfig, loader: TaskLoader) -> Flow:
    try:
        graph = importlib.import_module("pyoco.dsl.graph")
    except ModuleNotFoundError:
        return _build_by_command_line(path)
    assert config.flow is not None
    flow: Flow = graph.build_flow_from_graph(
        graph=config.flow.graph, tasks=loader.tasks, pipes=getattr(config, "pipes", None)
    )
    return flow


def _build_by_command_line(path: Path) -> Flow:
    """0.6.1 builds a flow only inside its `run` command: let it, and take the flow from the engine's hands."""
    command_line = importlib.import_module("pyoco.cli.main")
    built: list[Flow] = []

    class Catcher(Engine):
        def run(self, flow: Flow, params: Any = None, run_context: Any = None) -> Any:
            built.append(flow)

    errors: list[BaseException] = []

    def remember(*_: object, **__: object) -> None:
        error = sys.exc_info()[1]
        if error is not None:
            errors.append(error)

    arguments = mock.patch.object(sys, "argv", ["pyoco", "run", "--config", str(path)])
    engine = mock.patch.object(command_line, "Engine", Catcher)
    traceback = mock.patch("traceback.print_exc", remember)
    with arguments, engine, traceback, contextlib.suppress(SystemExit):
        command_line.main()
    if errors:
        raise errors[0]
    return built[0]
