"""What a corpus case may use, and how two observations are compared.

A case is a function that drives the public API and returns JSON-able facts. The same code runs under the reference
(`record.py`) and under ours (`tests/integration/test_corpus.py`), so this module imports only what both packages have.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import importlib.util
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyoco.core.engine import Engine
from pyoco.core.models import Flow, RunContext, Task
from pyoco.dsl.syntax import TaskWrapper

HERE = Path(__file__).resolve().parent

Observation = dict[str, Any]
CaseFunction = Callable[["Lab"], Observation]


@dataclasses.dataclass(frozen=True)
class Case:
    """One behaviour. `fixed` names the quirk (or topic) whose correction `expect` states by hand."""

    id: str
    function: CaseFunction
    fixed: str | None = None
    expect: Observation | None = None
    child: bool = False  # leaves a thread behind, or changes the process: gets a process of its own


class Collector:
    """Registers the cases of the module being loaded."""

    def __init__(self) -> None:
        self.topic = ""
        self.cases: dict[str, Case] = {}

    def add(self, case: Case) -> None:
        if case.id in self.cases:
            raise ValueError(f"two corpus cases are called {case.id}")
        if (case.fixed is None) != (case.expect is None):
            raise ValueError(f"{case.id}: a fixed quirk needs its expectation, and the other way round")
        self.cases[case.id] = case


COLLECTOR = Collector()


def case(
    *, fixed: str | None = None, expect: Observation | None = None, child: bool = False
) -> Callable[[CaseFunction], CaseFunction]:
    def register(function: CaseFunction) -> CaseFunction:
        COLLECTOR.add(Case(f"{COLLECTOR.topic}/{function.__name__}", function, fixed, expect, child))
        return function

    return register


def table(
    rows: Mapping[str, Any], *, prefix: str = "", fixed: str | None = None, expect: Observation | None = None
) -> Callable[[Callable[[Lab, Any], Observation]], Callable[[Lab, Any], Observation]]:
    """One case per row: the function gets the row's value. Rows share one correction when `fixed` is given."""

    def register(function: Callable[[Lab, Any], Observation]) -> Callable[[Lab, Any], Observation]:
        for name, row in rows.items():
            label = f"{COLLECTOR.topic}/{prefix or function.__name__}[{name}]"
            COLLECTOR.add(Case(label, lambda lab, row=row: function(lab, row), fixed, expect))
        return function

    return register


def load_cases() -> dict[str, Case]:
    """Every case of `python/` and of the flow files, in a stable order."""
    if not COLLECTOR.cases:
        for path in sorted((HERE / "python").glob("*.py")):
            COLLECTOR.topic = path.stem
            spec = importlib.util.spec_from_file_location(f"corpus_{path.stem}", path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[module.__name__] = module  # dataclasses look their module up
            spec.loader.exec_module(module)
    return COLLECTOR.cases


# --- observing ---------------------------------------------------------------------------------------------------


class Recorder:
    """A trace backend by duck typing: what happened, in order."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def on_flow_start(self, flow_name: str, run_id: str | None = None) -> None:
        self.events.append(f"flow starts {flow_name}")

    def on_flow_end(self, flow_name: str) -> None:
        self.events.append(f"flow ends {flow_name}")

    def on_node_start(self, node_name: str) -> None:
        self.events.append(f"start {node_name}")

    def on_node_end(self, node_name: str, duration_ms: float) -> None:
        self.events.append(f"end {node_name}")

    def on_node_error(self, node_name: str, error: Exception) -> None:
        self.events.append(f"error {node_name} {type(error).__name__}")


def plain(value: Any) -> Any:
    """JSON without losing what matters: a tuple is no list, an object is at least its class."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [plain(item) for item in value]}
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else repr(key): plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return {"set": sorted(map(str, value))}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    return f"<{type(value).__name__}>"


def catchable(error: BaseException) -> list[str]:
    """The class names by which user code may catch this error."""
    return [cls.__name__ for cls in type(error).__mro__ if cls not in (object, BaseException)]


class Lab:
    """A case's workbench: a scratch directory and ways to run things and to see what happened."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    def task(self, name: str, func: Callable[..., Any] | None = None, **fields: Any) -> TaskWrapper:
        """A wrapper around a fresh Task; without a function it returns its own name."""
        return TaskWrapper(Task(func=func or (lambda: name), name=name, **fields))

    def tasks(self, names: str) -> list[TaskWrapper]:
        return [self.task(name) for name in names.split()]

    def one(self, func: Callable[..., Any], params: dict[str, Any] | None = None, **options: Any) -> Observation:
        """Run a flow of the single task `t`; `show`, `mention` go to `run`, the rest are Task fields."""
        run_options = {key: options.pop(key) for key in ("show", "mention") if key in options}
        return self.run(Flow() >> self.task("t", func, **options), params, **run_options)

    def run(
        self,
        flow: Flow,
        params: dict[str, Any] | None = None,
        *,
        show: Iterable[str] = ("status", "results", "states"),
        mention: Iterable[str] = (),
        run_context: RunContext | None = None,
    ) -> Observation:
        """Run with a recording trace; the outcome is always observed, `show` picks the rest."""
        run = run_context if run_context is not None else RunContext()
        trace = Recorder()
        engine = Engine(trace_backend=trace)  # type: ignore[arg-type]
        seen = self.attempt(lambda: engine.run(flow, params, run), mention=mention)
        context = seen.pop("value", None)
        return seen | pick(show, run, context, trace)

    def attempt(self, action: Callable[[], Any], *, mention: Iterable[str] = ()) -> Observation:
        """`{"outcome": "returned", "value": …}`, or how it raised and whether the message names what it should."""
        try:
            value = action()
        except Exception as error:
            seen: Observation = {"outcome": "raised", "raises": catchable(error)}
            if mention:
                seen["mentions"] = {word: word in str(error) for word in mention}
            return seen
        return {"outcome": "returned", "value": value}

    def builds(self, action: Callable[[], Any], *, mention: Iterable[str] = ()) -> Observation:
        """Like `attempt`, for cases that only ask whether something is accepted."""
        seen = self.attempt(action, mention=mention)
        seen.pop("value", None)
        return seen

    def write(self, name: str, text: str) -> Path:
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    @contextlib.contextmanager
    def stdout(self) -> Iterator[io.StringIO]:
        buffer = io.StringIO()
        with contextlib.redirect_stdout(buffer):
            yield buffer

    @contextlib.contextmanager
    def environ(self, **values: str) -> Iterator[None]:
        before = {name: os.environ.get(name) for name in values}
        os.environ.update(values)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

    @contextlib.contextmanager
    def importable(self, **sources: str) -> Iterator[None]:
        """Modules of the given names and texts, importable for a while."""
        folder = self.scratch / "modules"
        for name, text in sources.items():
            self.write(f"modules/{name}.py", text)
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.path.remove(str(folder))
            for name in sources:
                sys.modules.pop(name, None)


def pick(show: Iterable[str], run: RunContext, context: Any, trace: Recorder) -> Observation:
    """The requested facts about a finished run."""
    records = run.task_records
    views: dict[str, Callable[[], Any]] = {
        "status": lambda: run.status.name,
        "states": lambda: {name: state.name for name, state in sorted(run.tasks.items())},
        "record_states": lambda: {name: record.state.name for name, record in sorted(records.items())},
        "errors": lambda: {name: record.error for name, record in sorted(records.items())},
        "inputs": lambda: {name: plain(record.inputs) for name, record in sorted(records.items())},
        "outputs": lambda: {name: plain(record.output) for name, record in sorted(records.items())},
        "logs": lambda: [[log["seq"], log["task"], log["stream"], log["text"]] for log in run.logs],
        "trace": lambda: trace.events,
        "nodes": lambda: [event for event in trace.events if not event.startswith("flow ")],
        "results": lambda: plain(context.results) if context is not None else None,
        "scratch": lambda: plain(context.scratch) if context is not None else None,
        "params": lambda: plain(context.params) if context is not None else None,
        "artifacts": lambda: sorted(context.artifacts) if context is not None else None,
    }
    return {key: views[key]() for key in show}


# --- comparing ---------------------------------------------------------------------------------------------------


def differences(expected: Any, actual: Any, where: str = "") -> list[str]:
    """Readable differences; `raises` must offer at least the expected classes."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        found: list[str] = []
        for key in sorted(expected.keys() | actual.keys()):
            found += _compare_key(key, expected, actual, f"{where}.{key}" if where else key)
        return found
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        return [line for index, (one, other) in pairs for line in differences(one, other, f"{where}[{index}]")]
    if type(expected) is not type(actual) or expected != actual:  # True is not 1
        return [f"{where or 'observation'}: expected {expected!r}, got {actual!r}"]
    return []


def _compare_key(key: str, expected: Observation, actual: Observation, where: str) -> list[str]:
    if key == "raises":
        missing = [name for name in expected.get(key, []) if name not in actual.get(key, [])]
        if missing or key not in expected or key not in actual:
            return [f"{where}: expected {expected.get(key)}, got {actual.get(key)}"]
        return []
    if key not in expected:
        return [f"{where}: not expected, got {actual[key]!r}"]
    if key not in actual:
        return [f"{where}: expected {expected[key]!r}, missing"]
    return differences(expected[key], actual[key], where)


def observe(one: Case, scratch: Path) -> Observation:
    """Run one case; an error that leaves it is a fact too."""
    try:
        return dict(one.function(Lab(scratch)))
    except Exception as error:
        return {"escaped": catchable(error), "text": str(error)}
