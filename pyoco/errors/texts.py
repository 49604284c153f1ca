"""What each error of the catalogue says to people, in English and Japanese, and what they can do about it.

The Japanese texts of the ids up to 0016 are prescribed by the v0 specification, word for word.
"""

from __future__ import annotations

from typing import NamedTuple


class Text(NamedTuple):
    """`{name}` in a text is filled from the error that is told."""

    english: str
    japanese: str
    action: str


TEXTS: dict[str, Text] = {
    "GATEWAY_UNREACHABLE": Text(
        "The health check failed", "稼働確認に失敗しました", "Start the gateway, or check the address and the network."
    ),
    "INVALID_REQUEST": Text(
        "The request is not valid", "リクエストが不正です", "Correct what `errors` names and send it again."
    ),
    "WHEEL_TOO_LARGE": Text(
        "The wheel is larger than {limit} bytes",
        "wheelが{limit}バイトを超えています",
        "Make the wheel smaller, or raise `PYOCO_WHEEL_MAX_BYTES`.",
    ),
    "NATS_UNAVAILABLE": Text(
        "NATS is not available", "NATSが利用できません", "Try again once NATS is back; nothing has to be restarted."
    ),
    "AIRFLOW_DOWN": Text(
        "The execution backend does not answer",
        "実行基盤が応答しません",
        "Try again later: on `/pdca` this is what a missing NATS is called.",
    ),
    "ORPHAN_RUN": Text(
        "An orphan run may be left behind (best-effort cleanup failed)",
        "孤児runが残っている可能性があります（best-effort cleanup失敗）",
        "Look at the run; cancel or delete it if nobody wants it.",
    ),
    "RUN_NOT_FOUND": Text("The run was not found", "runが見つかりません", "Check the run id."),
    "FLOW_NOT_RESOLVED": Text(
        "The flow was not found",
        "flowが見つかりません",
        "Check the flow name, and that a worker with this tag has the flow.",
    ),
    "EXECUTION_FAILED": Text(
        "The execution failed", "実行に失敗しました", "Check input, code and dependencies, then submit again."
    ),
    "TERMINAL_NOT_STORED": Text(
        "The final state could not be recorded",
        "terminal状態の記録に失敗しました",
        "Nothing: the run is delivered again once NATS is back.",
    ),
    "PROGRESS_ACK_FAILED": Text(
        "The in_progress ACK could not be sent",
        "in_progress ACK の送信に失敗しました",
        "Check the connection to NATS; the run may be delivered again.",
    ),
    "SNAPSHOT_TOO_LARGE": Text(
        "The snapshot is too large",
        "スナップショットが大きすぎます",
        "Raise `PYOCO_MAX_RUN_SNAPSHOT_BYTES`, or pass less through params.",
    ),
    "DLQ_PUBLISH_FAILED": Text(
        "Publishing to the DLQ failed (best-effort)",
        "DLQへのpublishに失敗しました（best-effort）",
        "Look for the cause in the snapshot of the run.",
    ),
    "INVALID_JOB": Text(
        "An invalid job was received", "不正なジョブを受信しました", "Check who publishes to this subject, and what."
    ),
    "LOGGING_FAILED": Text(
        "Writing the log failed (best-effort)",
        "ログ出力に失敗しました（best-effort）",
        "Check the log settings and where standard output goes.",
    ),
    "API_KEY_REQUIRED": Text(
        "An API key is required", "API key が必要です", "Send the key in the header `PYOCO_HTTP_API_KEY_HEADER`."
    ),
    "API_KEY_INVALID": Text(
        "The API key is not valid", "API key が無効です", "Check the key, or have a new one issued."
    ),
    "WORKFLOW_TOO_LARGE": Text(
        "The workflow file is too large",
        "ワークフローファイルが大きすぎます",
        "Shorten the file, or raise `PYOCO_WORKFLOW_YAML_MAX_BYTES`.",
    ),
    "INVALID_LIST_QUERY": Text(
        "The list query is not valid", "一覧の検索条件が不正です", "Correct the query; start again without `cursor`."
    ),
    "INVALID_ARGUMENTS": Text(
        "The command line is not valid", "コマンドライン引数が不正です", "Follow the hint, or see `--help`."
    ),
    "INVALID_WORKERS_REQUEST": Text(
        "The workers request is not valid", "worker操作のリクエストが不正です", "Correct what `errors` names."
    ),
    "WORKER_NOT_FOUND": Text("The worker was not found", "workerが見つかりません", "Check the worker id."),
    "CANCEL_TIMEOUT": Text(
        "The run did not stop within the grace period",
        "猶予時間内に取消が完了しませんでした",
        "Look at what the task is doing; see `PYOCO_CANCEL_GRACE_PERIOD_SEC`.",
    ),
    "WHEEL_VERSION_CONFLICT": Text(
        "The registry already has this version of the package or a newer one",
        "同じバージョンまたはより新しいバージョンのwheelが登録済みです",
        "Raise the version of the package.",
    ),
    "WHEEL_NOT_FOUND": Text("The wheel was not found", "wheelが見つかりません", "Check the file name of the wheel."),
    "WHEEL_SYNC_FAILED": Text(
        "Wheels could not be synchronised",
        "wheelの同期に失敗しました",
        "Check dependencies, permissions and network; the next synchronisation tries again.",
    ),
    "BAD_REQUEST": Text(
        "The request cannot be read",
        "リクエストを読み取れません",
        "Correct the form of the request: JSON, headers, encoding.",
    ),
    "TOKEN_INVALID": Text(
        "A valid credential is required",
        "有効な認証情報が必要です",
        "Send a token that is signed, current and meant for us.",
    ),
    "SCOPE_TOO_SMALL": Text(
        "The credential does not allow this",
        "この操作は許可されていません",
        "Ask for a credential with the needed scope.",
    ),
    "CROSS_SITE": Text(
        "A request from another site was refused",
        "別サイトからのリクエストは拒否されました",
        "Use the dashboard of this server, or a client that is not a foreign web page.",
    ),
    "ROUTE_NOT_FOUND": Text("There is nothing at this address", "指定されたURLは存在しません", "See `/openapi.json`."),
    "FLOW_NOT_FOUND": Text(
        "The flow {flow} is not registered", "flow {flow} は登録されていません", "See `GET /flows` for what is there."
    ),
    "STRATEGY_NOT_FOUND": Text(
        "The strategy {strategy} was not found",
        "strategy {strategy} が見つかりません",
        "See `GET /gui/strategies`; nothing was submitted.",
    ),
    "RECHECK_NOT_FOUND": Text(
        "The recheck request was not found", "再チェック要求が見つかりません", "Check the request id."
    ),
    "METHOD_NOT_ALLOWED": Text(
        "This address does not take {method}",
        "このURLは{method}を受け付けません",
        "The header `Allow` names the methods.",
    ),
    "COMMAND_REJECTED": Text(
        "{command} rejected because {reason}",
        "{command} は受け付けられませんでした（{reason}）",
        "Read the current state; the command does not fit it.",
    ),
    "IDEMPOTENCY_CONFLICT": Text(
        "The idempotency key was used with another request",
        "同じIdempotency-Keyが別の内容で使用済みです",
        "Use a new key for a new request.",
    ),
    "IDEMPOTENCY_IN_PROGRESS": Text(
        "The first request with this idempotency key is still under way",
        "同じIdempotency-Keyのリクエストを処理中です",
        "Send the same request again after `Retry-After`.",
    ),
    "BODY_TOO_LARGE": Text(
        "The request is larger than {limit} bytes",
        "リクエストが{limit}バイトを超えています",
        "Send less; `PYOCO_MAX_BODY_BYTES` is the limit for JSON.",
    ),
    "UNSUPPORTED_MEDIA_TYPE": Text(
        "This content type is not accepted",
        "このContent-Typeは受け付けません",
        "Send JSON, or what the route documents.",
    ),
    "RANGE_NOT_SATISFIABLE": Text(
        "The range is outside of what is there",
        "指定された範囲は存在しません",
        "Ask for the size first, then for a part.",
    ),
    "FOREIGN_HOST": Text(
        "This server does not answer for the host {host}",
        "ホスト {host} へのリクエストは受け付けません",
        "Use the address it is bound to, or add the name to `PYOCO_ALLOWED_HOSTS`.",
    ),
    "RATE_LIMITED": Text("Too many requests", "リクエストが多すぎます", "Wait for the seconds of `Retry-After`."),
    "INTERNAL_ERROR": Text(
        "Something unexpected went wrong",
        "予期しないエラーが発生しました",
        "Look in the server's log for the request id.",
    ),
    "INVALID_SETTINGS": Text(
        "The settings are not valid", "設定が不正です", "Correct the settings it names; see docs/settings.md."
    ),
}
