"""What a rerun takes over from the run it repeats."""

from __future__ import annotations

from .records import Journal, NodeRecord, NodeState, journal_to_json, record_to_json
from .run import Run
from .values import Json


def inherited_from(run: Run) -> dict[str, Json]:
    """For CreateExecution: everything that succeeded and can be replayed, so that only the rest runs again."""
    nodes = {name: record_to_json(record) for name, record in run.nodes.items() if _stands(record)}
    places = {path: record for path, record in run.journal.nodes.items() if _stands(record)}
    answers = {place: run.journal.answers[place] for place in run.journal.answers if place in nodes or place in places}
    journal = Journal(places, run.journal.decisions, answers)
    return {"task_records": nodes, "journal": journal_to_json(journal), "context": run.context}


def _stands(record: NodeRecord) -> bool:
    return record.state is NodeState.SUCCEEDED and record.replay
