"""The size cap of the run document: what is cut, in which order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from .records import OPEN_STATES, NodeState
from .values import Document, encode

# What of a record decides how a run goes on: whether its node starts, with what outcome or which answer.
_TO_GO_ON = (
    *("state", "attempt", "path", "output", "output_ref", "replay", "retrying", "skipped", "error"),
    *("wait_key", "prompt", "external", "resumed"),
)


class Cut(IntEnum):
    """How far a document had to be cut.

    RECORDS: of a record only that stays which keeps its node from running again. OUTCOMES: finished nodes may run
    again. ABOVE: even what must be written is larger than the cap.
    """

    NOTHING = 0
    INPUTS = 1
    TRACEBACKS = 2
    RECORDS = 3
    OUTCOMES = 4
    ABOVE = 5


@dataclass(frozen=True, slots=True)
class Fitted:
    document: Document
    payload: bytes
    cut: Cut


def fit(document: Document, limit: int, encoder: Callable[[object], bytes] = encode) -> Fitted:
    """The document in at most `limit` bytes, as far as required fields allow: inputs, tracebacks, then records go.

    The journal of loops, work, events and context stay: a run must be able to go on after any write.
    """
    payload = encoder(document)
    if len(payload) <= limit:
        return Fitted(document, payload, Cut.NOTHING)
    for cut, smaller in (
        (Cut.INPUTS, _without_inputs),
        (Cut.TRACEBACKS, _without_tracebacks),
        (Cut.RECORDS, _without_records),
        (Cut.OUTCOMES, _without_outcomes),
    ):
        document = {**document, **smaller(document), "task_records_truncated": True}
        payload = encoder(document)
        if len(payload) <= limit:
            return Fitted(document, payload, cut)
    return Fitted(document, payload, Cut.ABOVE)


def _without_inputs(document: Document) -> Document:
    return _each_record(document, lambda record: {**record, "inputs": {}})


def _without_tracebacks(document: Document) -> Document:
    return _each_record(document, lambda record: {**record, "traceback": None})


def _without_records(document: Document) -> Document:
    kept = {
        name: {key: record[key] for key in _TO_GO_ON if key in record and record[key] is not None}
        for name, record in document["task_records"].items()
        if record["state"] != NodeState.PENDING
    }
    return {"task_records": {}, "journal": {**document["journal"], "kept": kept}}


def _without_outcomes(document: Document) -> Document:
    journal = document["journal"]
    still_open = {
        name: record
        for name, record in journal["kept"].items()
        if record["state"] in OPEN_STATES or "retrying" in record
    }
    return {"journal": {**journal, "kept": still_open}}


def _each_record(document: Document, smaller: Callable[[dict[str, Any]], dict[str, Any]]) -> Document:
    changed: Document = {"task_records": {name: smaller(record) for name, record in document["task_records"].items()}}
    journal = document.get("journal", {})
    if journal.get("nodes"):
        entries = {
            path: {key: value for key, value in smaller(entry).items() if key in entry}
            for path, entry in journal["nodes"].items()
        }
        changed["journal"] = {**journal, "nodes": entries}
    return changed
