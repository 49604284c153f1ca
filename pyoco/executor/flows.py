"""How an executor finds the flow of a run: submitted text, or a name.

A name is looked up in this order:

1. the flow resolver, a function that takes the name and gives a Flow or a PyocoConfig; KeyError means it has none,
2. module-level Flow objects of the modules in PYOCO_DISCOVERY_MODULES, then of the module `flows` in the code
   directory: by the name of the flow, or by the name of the variable if the flow was given none,
3. files of the code directory: `<name>.yaml` or `<name>/flow.yaml`; a `flow.yaml` in the code directory itself is known
   by the name of that directory,
4. the built-in flow `echo`.

Only the code directory is on the module path: the tasks of `report/flow.yaml` are written as `report.tasks:name`.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pyoco.engine.document import PyocoConfig
from pyoco.engine.flow import Flow
from pyoco.engine.loader import DISCOVERY_VARIABLE
from pyoco.engine.resolve import load_task

from .echo import ECHO, echo_flow
from .loading import Loaded, Say, load_config, load_object

_FLOW_KEY = re.compile(r"^flow\s*:", re.MULTILINE)
_NAME_OF_UNNAMED = Flow().name
_CODE_MODULE = "flows"
_MAX_SUBMITTED = 64

Resolver = Callable[[str], Any]


class FlowNotFound(LookupError):
    """Nobody here knows a flow of that name."""


class Flows:
    """The flows of one executor. What was loaded stays loaded: changed code is the matter of the next executor."""

    def __init__(self, code_dir: Path | None, resolver: str | None, allowed_callables: Sequence[str]) -> None:
        self._code_dir = code_dir
        self._resolver = _load_resolver(resolver) if resolver else None
        self._allowed = allowed_callables
        self._submitted: dict[str, Loaded] = {}
        self._from_files: dict[str, Loaded] = {}
        self.problems: list[str] = []
        self._objects = self._discover()

    def names(self) -> list[str]:
        """The names that are known beforehand; a resolver may know more."""
        return sorted({ECHO, *self._objects, *(name for name, _ in self._files())})

    def submitted(self, text: str, say: Say) -> Loaded:
        """The flow of a submitted document. DocumentError, TaskCodeError or NotAllowed if it cannot be had."""
        loaded = self._submitted.get(text)
        if loaded is None:
            loaded = load_config(PyocoConfig.from_text(text), "flow.yaml", say, self._allowed)
            while len(self._submitted) >= _MAX_SUBMITTED:
                self._submitted.pop(next(iter(self._submitted)), None)
            self._submitted[text] = loaded
        else:
            loaded.repeat_messages(say)
        return loaded

    def named(self, name: str, say: Say) -> Loaded:
        """The flow of that name; FlowNotFound if there is none, whatever its code raises if it cannot be had."""
        found = self._resolve(name)
        if found is not None:
            return load_object(found, f"flow {name!r}", say)
        if name in self._objects:
            return load_object(self._objects[name], name, say)
        if (loaded := self._from_file(name, say)) is not None:
            return loaded
        if name == ECHO:
            return load_object(echo_flow(), name, say)
        raise FlowNotFound(f"no flow is called {name!r}; known are {', '.join(self.names())}")

    def _resolve(self, name: str) -> Any:
        if self._resolver is None:
            return None
        try:
            return self._resolver(name)
        except KeyError:
            return None

    def _from_file(self, name: str, say: Say) -> Loaded | None:
        loaded = self._from_files.get(name)
        if loaded is not None:
            loaded.repeat_messages(say)
            return loaded
        path = dict(self._files()).get(name)
        if path is not None:
            loaded = self._from_files[name] = load_config(PyocoConfig.from_yaml(path), str(path), say)
        return loaded

    def _files(self) -> Iterator[tuple[str, Path]]:
        """Flow files and their names. A code directory may hold any YAML; only a document with a `flow:` counts."""
        if self._code_dir is None or not self._code_dir.is_dir():
            return
        for path in sorted(self._code_dir.iterdir()):
            if path.name == "flow.yaml":
                name = self._code_dir.resolve().name
            elif path.suffix == ".yaml":
                name = path.stem
            else:
                name, path = path.name, path / "flow.yaml"
            if _is_flow(path):
                yield name, path

    def _discover(self) -> dict[str, Flow]:
        modules = os.environ.get(DISCOVERY_VARIABLE, "").replace(",", " ").split()
        if self._code_dir is not None and _has_module(self._code_dir, _CODE_MODULE):
            modules.append(_CODE_MODULE)
        found: dict[str, Flow] = {}
        for module_name in modules:
            for name, flow in self._flows_of(module_name):
                if found.setdefault(name, flow) is not flow:
                    self.problems.append(f"a second flow called {name!r} in module {module_name!r} is left out")
        return found

    def _flows_of(self, module_name: str) -> Iterator[tuple[str, Flow]]:
        try:
            module = importlib.import_module(module_name)
        except (Exception, SystemExit) as exc:  # noqa: BLE001 - user code; the other modules are still of use
            self.problems.append(f"cannot import module {module_name!r}: {type(exc).__name__}: {exc}")
            return
        for variable, value in list(vars(module).items()):
            if isinstance(value, Flow):
                yield (variable if value.name == _NAME_OF_UNNAMED else value.name), value


def put_on_path(directories: Sequence[str]) -> None:
    """Makes the directories the first places to import from, in this order."""
    for directory in reversed(directories):
        if directory in sys.path:
            sys.path.remove(directory)
        sys.path.insert(0, directory)


def _load_resolver(path: str) -> Resolver:
    return load_task(path, "flow-resolver").func


def _has_module(directory: Path, name: str) -> bool:
    return (directory / f"{name}.py").is_file() or (directory / name / "__init__.py").is_file()


def _is_flow(path: Path) -> bool:
    try:
        return _FLOW_KEY.search(path.read_text("utf-8-sig")) is not None
    except (OSError, UnicodeDecodeError):
        return False
