"""Which room may import which: the architecture, enforced."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "pyoco"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Room → the rooms it may import. Top-level modules such as `errors` are rooms of one file.
ALLOWED: dict[str, set[str]] = {
    "__init__": {"engine", "support"},
    "__main__": {"cli", "installation"},
    "version": set(),
    "installation": {"version"},
    "engine": set(),
    "cli": {"engine", "version", "config", "errors", "supervisor", "log"},
    "errors": set(),
    "config": {"errors"},
    "log": {"config", "errors"},
    "lifeline": set(),
    "domain": set(),
    "store": {"domain"},
    "executor": {"engine"},
    "supervisor": {"config", "errors", "lifeline", "log", "version"},
    # Doors for user code written for pyoco 0.8: re-exports of the engine, nothing else.
    **{door: {"engine"} for door in ("core", "dsl", "schemas", "discovery", "trace", "support")},
}
# Third-party packages the engine may use: it must run a flow without a server.
ENGINE_PACKAGES = {"yaml"}
DOORS = ("core", "dsl", "schemas", "discovery", "trace", "support")


def room_of(module: Path) -> str:
    parts = module.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imports_of(module: Path) -> set[str]:
    """Absolute names of everything a module imports, at any depth."""
    package = ["pyoco", *module.relative_to(PACKAGE).parent.parts]
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            found.update(f"{source}.{alias.name}" for alias in node.names)
    return found


def rooms_imported(module: Path) -> set[str]:
    inside = {name.split(".")[1] for name in imports_of(module) if name.startswith("pyoco.")}
    return inside - {room_of(module)}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_a_room_imports_only_the_rooms_below_it(module: Path) -> None:
    room = room_of(module)
    assert room in ALLOWED, f"a new room {room!r}: say in this test what it may import"
    assert rooms_imported(module) <= ALLOWED[room]


@pytest.mark.parametrize("module", [module for module in MODULES if room_of(module) == "engine"], ids=lambda m: m.name)
def test_the_engine_needs_nothing_but_the_standard_library_and_yaml(module: Path) -> None:
    import sys

    outside = {name.split(".")[0] for name in imports_of(module)} - {"pyoco"}
    assert outside <= set(sys.stdlib_module_names) | ENGINE_PACKAGES


@pytest.mark.parametrize("module", [module for module in MODULES if room_of(module) in DOORS], ids=str)
def test_the_doors_for_old_code_hold_nothing_but_re_exports(module: Path) -> None:
    for statement in ast.parse(module.read_text("utf-8")).body:
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_all = isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"
        assert is_docstring or is_all or isinstance(statement, (ast.Import, ast.ImportFrom)), ast.unparse(statement)


@pytest.mark.parametrize(
    "module", [PACKAGE / "engine" / name for name in ("planner.py", "plan.py", "nodes.py")], ids=str
)
def test_the_pure_core_has_no_clock_no_threads_and_no_event_loop(module: Path) -> None:
    forbidden = {"time", "threading", "asyncio", "os", "subprocess", "socket"}
    assert not {name.split(".")[0] for name in imports_of(module)} & forbidden


def test_text_from_files_is_never_executed() -> None:
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec", "compile"}, f"{module}:{node.lineno}"
