"""The table of statuses: complete, final where it has to be, and drawable."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pyoco.domain
from pyoco.domain.events import EVENT_TYPES, Event, NodeStarted, RunCancelled, RunCompleted
from pyoco.domain.evolve import evolve
from pyoco.domain.run import EXECUTION_STATUS, JOB_STATUS, TERMINAL, RunStatus
from pyoco.domain.transitions import NEXT, IllegalEvent, diagram

from .builders import cancelling, completed


def test_every_status_has_a_row_and_a_word_on_every_surface() -> None:
    assert set(NEXT) == set(RunStatus) == set(JOB_STATUS) == set(EXECUTION_STATUS)


def test_every_event_but_the_first_has_a_place_in_the_table() -> None:
    known = {kind.__name__ for row in NEXT.values() for kind in row}
    assert known == EVENT_TYPES.keys() - {"RunCreated"} | {"UnknownEvent"}


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_nothing_leads_out_of_a_terminal_status(status: RunStatus) -> None:
    assert set(NEXT[status].values()) == {status}


def test_a_cancel_leads_to_cancelled_and_nowhere_else() -> None:
    assert set(NEXT[RunStatus.CANCELLING].values()) == {RunStatus.CANCELLING, RunStatus.CANCELLED}


def test_the_fold_refuses_events_that_nobody_can_have_decided() -> None:
    for run, body in ((cancelling(), RunCompleted()), (completed(), RunCancelled()), (cancelling(), NodeStarted("b"))):
        with pytest.raises(IllegalEvent):
            evolve(run, Event(run.version + 1, 9.0, body))


def test_the_diagram_is_drawn_from_the_table() -> None:
    lines = diagram().splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert "    [*] --> PENDING: RunCreated" in lines
    assert "    CANCELLING --> CANCELLED: RunCancelled" in lines
    assert not any("CANCELLING --> COMPLETED" in line for line in lines)


ROOM = Path(pyoco.domain.__file__).parent


@pytest.mark.parametrize("module", sorted(ROOM.glob("*.py")), ids=lambda path: path.name)
def test_the_rules_know_no_clock_no_network_and_no_event_loop(module: Path) -> None:
    allowed = {"__future__", "collections", "dataclasses", "enum", "json", "operator", "typing"}
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        assert not isinstance(node, (ast.Await, ast.AsyncFunctionDef))
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= allowed
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            assert (node.module or "").split(".")[0] in allowed
