"""Everything that anybody can ask of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .values import Json


@dataclass(frozen=True, slots=True)
class Holder:
    """Under which claim a worker speaks. Its commands count only while exactly this claim stands."""

    instance_id: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`at` is unix time, `by` who asked, `cmd` the digest of idempotency scope and key, `holder` a worker's claim."""

    at: float
    by: str | None = None
    cmd: str | None = None
    holder: Holder | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateExecution(Command):
    """Makes the run; Queue in the same batch makes it a submit."""

    run_id: str
    flow_name: str
    tag: str = "default"
    tags: tuple[str, ...] = ()
    params: Mapping[str, Json] = field(default_factory=dict)
    tenant_id: str | None = None
    api_key_id: str | None = None
    workflow_yaml_sha256: str | None = None
    workflow_yaml_bytes: int | None = None
    flow_sha256: str | None = None
    correlation_id: str | None = None
    batch_id: str | None = None
    parent_run_id: str | None = None
    open: bool = False
    declared: tuple[str, ...] | None = None
    inherited: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartExecution(Command):
    """Queues a created flow run, opens an open execution; asked again it does nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue(Command):
    """`dead_instance`: the holder that is known to be gone; `lost_gen`: the gen whose message was found lost."""

    reason: str = "start"
    dead_instance: str | None = None
    lost_gen: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Command):
    """`gen` is that of the work message, None for a v0 gateway's; `dead_instance` a holder known to be gone."""

    instance_id: str
    worker_id: str
    gen: int | None = None
    dead_instance: str | None = None
    note: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Park(Command):
    pass


class ReleaseReason(StrEnum):
    STOP = "stop"
    WORKER_LOST = "worker_lost"
    RELOAD = "reload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Command):
    instance_id: str
    reason: ReleaseReason


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelExecution(Command):
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmCancelled(Command):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteExecution(Command):
    """From the holder with the flow's output; from outside only for open executions, whose nodes say the output."""

    output: Json = None
    output_ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailExecution(Command):
    """`queued_gen`: only if the run is still queued with this gen (its message was delivered too often)."""

    error: str
    queued_gen: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveExecution(Command):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTag(Command):
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTag(Command):
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareNodes(Command):
    """The names of the flow's nodes, so that those not yet started are seen as PENDING."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteJournal(Command):
    """What loops and switches decided since the last write, and the context as of now (None: unchanged)."""

    decisions: Mapping[str, Json] = field(default_factory=dict)
    context: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCommand(Command):
    """`path` is the place of a node inside a loop."""

    node: str
    path: str | None = None

    @property
    def place(self) -> str:
        return self.node if self.path is None else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class StartNode(NodeCommand):
    attempt: int = 1
    worker_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportNodeProgress(NodeCommand):
    progress: float
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutNodeWaiting(NodeCommand):
    wait_key: str
    prompt: Json = None
    external: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeNode(NodeCommand):
    resume_key: str
    payload: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SucceedNode(NodeCommand):
    """`replay` is false when the output could not be recorded; `output_ref` names where a large one was put."""

    output: Json = None
    output_ref: str | None = None
    inputs: Mapping[str, Json] = field(default_factory=dict)
    replay: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FailNode(NodeCommand):
    """`retrying`: another attempt follows. `skipped`: it never ran, because something it depends on failed."""

    error: str
    code: str | None = None
    traceback: str | None = None
    inputs: Mapping[str, Json] = field(default_factory=dict)
    retrying: bool = False
    skipped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipNode(NodeCommand):
    """The flow does not take this way."""

    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelNode(NodeCommand):
    """The flow stopped the node, for instance because another one failed."""
