"""The one catalogue of errors: stable code, HTTP status, documented number and the `detail` of v0 clients.

Ids up to 0024 are those of the v0 documents and keep their meaning; ours begin at 0025. A number, once given, is never
used for anything else. Two entries share a number where the documents give one id to two situations.
"""

from __future__ import annotations

from dataclasses import dataclass

from .texts import TEXTS, Text


@dataclass(frozen=True, eq=False, slots=True)
class Kind:
    """One entry. `status` is None for what never becomes an HTTP answer; `detail` is what v0 clients read."""

    name: str
    code: str
    status: int | None
    number: int
    detail: str

    @property
    def err_id(self) -> str:
        return f"ERR-PYOCO-{self.number:04d}"

    @property
    def msg_id(self) -> str:
        return f"MSG-PYOCO-{self.number:04d}"

    @property
    def text(self) -> Text:
        return TEXTS[self.name]


# --- ids of the documents --------------------------------------------------------------------------------------------
GATEWAY_UNREACHABLE = Kind("GATEWAY_UNREACHABLE", "GATEWAY_UNREACHABLE", None, 1, "gateway unreachable")
INVALID_REQUEST = Kind("INVALID_REQUEST", "INVALID", 422, 2, "invalid request")
WHEEL_TOO_LARGE = Kind("WHEEL_TOO_LARGE", "TOO_LARGE", 413, 2, "wheel too large")
NATS_UNAVAILABLE = Kind("NATS_UNAVAILABLE", "NATS_UNAVAILABLE", 503, 3, "nats unavailable")
AIRFLOW_DOWN = Kind("AIRFLOW_DOWN", "AIRFLOW_DOWN", 502, 3, "execution backend unavailable")
ORPHAN_RUN = Kind("ORPHAN_RUN", "ORPHAN_RUN", None, 4, "orphan run possible")
RUN_NOT_FOUND = Kind("RUN_NOT_FOUND", "NOT_FOUND", 404, 5, "run not found")
FLOW_NOT_RESOLVED = Kind("FLOW_NOT_RESOLVED", "FLOW_NOT_RESOLVED", None, 6, "flow not found")
EXECUTION_FAILED = Kind("EXECUTION_FAILED", "EXECUTION_FAILED", None, 7, "execution failed")
TERMINAL_NOT_STORED = Kind("TERMINAL_NOT_STORED", "TERMINAL_NOT_STORED", None, 8, "terminal state not stored")
PROGRESS_ACK_FAILED = Kind("PROGRESS_ACK_FAILED", "PROGRESS_ACK_FAILED", None, 9, "in_progress ack failed")
SNAPSHOT_TOO_LARGE = Kind("SNAPSHOT_TOO_LARGE", "SNAPSHOT_TOO_LARGE", None, 10, "snapshot too large")
DLQ_PUBLISH_FAILED = Kind("DLQ_PUBLISH_FAILED", "DLQ_PUBLISH_FAILED", None, 11, "dlq publish failed")
INVALID_JOB = Kind("INVALID_JOB", "INVALID_JOB", None, 12, "invalid job")
LOGGING_FAILED = Kind("LOGGING_FAILED", "LOGGING_FAILED", None, 13, "logging failed")
API_KEY_REQUIRED = Kind("API_KEY_REQUIRED", "UNAUTHORIZED", 401, 14, "api key required")
API_KEY_INVALID = Kind("API_KEY_INVALID", "FORBIDDEN", 403, 15, "invalid api key")
WORKFLOW_TOO_LARGE = Kind("WORKFLOW_TOO_LARGE", "TOO_LARGE", 413, 16, "workflow too large")
INVALID_LIST_QUERY = Kind("INVALID_LIST_QUERY", "INVALID", 422, 17, "invalid list query")
INVALID_ARGUMENTS = Kind("INVALID_ARGUMENTS", "INVALID_ARGUMENTS", None, 18, "invalid arguments")
INVALID_WORKERS_REQUEST = Kind("INVALID_WORKERS_REQUEST", "INVALID", 422, 19, "invalid workers request")
WORKER_NOT_FOUND = Kind("WORKER_NOT_FOUND", "NOT_FOUND", 404, 20, "worker not found")
CANCEL_TIMEOUT = Kind("CANCEL_TIMEOUT", "CANCEL_TIMEOUT", None, 21, "cancel timed out")
WHEEL_VERSION_CONFLICT = Kind("WHEEL_VERSION_CONFLICT", "VERSION_CONFLICT", 409, 22, "same/older version is rejected")
WHEEL_NOT_FOUND = Kind("WHEEL_NOT_FOUND", "NOT_FOUND", 404, 23, "wheel not found")
WHEEL_SYNC_FAILED = Kind("WHEEL_SYNC_FAILED", "WHEEL_SYNC_FAILED", None, 24, "wheel sync failed")

# --- ours ------------------------------------------------------------------------------------------------------------
BAD_REQUEST = Kind("BAD_REQUEST", "BAD_REQUEST", 400, 25, "bad request")
TOKEN_INVALID = Kind("TOKEN_INVALID", "UNAUTHORIZED", 401, 26, "valid credential required")
SCOPE_TOO_SMALL = Kind("SCOPE_TOO_SMALL", "FORBIDDEN", 403, 27, "not allowed")
CROSS_SITE = Kind("CROSS_SITE", "CROSS_SITE", 403, 28, "cross-site request refused")
ROUTE_NOT_FOUND = Kind("ROUTE_NOT_FOUND", "NOT_FOUND", 404, 29, "not found")
FLOW_NOT_FOUND = Kind("FLOW_NOT_FOUND", "NOT_FOUND", 404, 30, "flow not found")
STRATEGY_NOT_FOUND = Kind("STRATEGY_NOT_FOUND", "NOT_FOUND", 404, 31, "strategy not found")
RECHECK_NOT_FOUND = Kind("RECHECK_NOT_FOUND", "NOT_FOUND", 404, 32, "recheck request not found")
METHOD_NOT_ALLOWED = Kind("METHOD_NOT_ALLOWED", "METHOD_NOT_ALLOWED", 405, 33, "method not allowed")
COMMAND_REJECTED = Kind("COMMAND_REJECTED", "COMMAND_REJECTED", 409, 34, "command rejected")
IDEMPOTENCY_CONFLICT = Kind("IDEMPOTENCY_CONFLICT", "IDEMPOTENCY_CONFLICT", 409, 35, "idempotency key reused")
IDEMPOTENCY_IN_PROGRESS = Kind("IDEMPOTENCY_IN_PROGRESS", "IDEMPOTENCY_IN_PROGRESS", 409, 36, "request in progress")
BODY_TOO_LARGE = Kind("BODY_TOO_LARGE", "TOO_LARGE", 413, 37, "request too large")
UNSUPPORTED_MEDIA_TYPE = Kind("UNSUPPORTED_MEDIA_TYPE", "UNSUPPORTED_MEDIA_TYPE", 415, 38, "unsupported media type")
RANGE_NOT_SATISFIABLE = Kind("RANGE_NOT_SATISFIABLE", "RANGE_NOT_SATISFIABLE", 416, 39, "range not satisfiable")
FOREIGN_HOST = Kind("FOREIGN_HOST", "MISDIRECTED_REQUEST", 421, 40, "unknown host")
RATE_LIMITED = Kind("RATE_LIMITED", "RATE_LIMITED", 429, 41, "rate limited")
INTERNAL_ERROR = Kind("INTERNAL_ERROR", "INTERNAL_ERROR", 500, 42, "internal error")
INVALID_SETTINGS = Kind("INVALID_SETTINGS", "INVALID_SETTINGS", None, 43, "invalid settings")

CATALOGUE: dict[str, Kind] = {kind.name: kind for kind in globals().copy().values() if isinstance(kind, Kind)}
