"""Errors: the catalogue keeps what the documents promise, and nothing secret is told."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyoco.errors import FieldError, Kind, PyocoError, catalogue, describe, is_secret_name, preferred_language, redact
from pyoco.errors.catalogue import CATALOGUE
from pyoco.errors.document import page
from pyoco.errors.texts import TEXTS

ROOT = Path(__file__).parents[2]

# Prescribed word for word by the v0 specification.
PRESCRIBED = {
    "GATEWAY_UNREACHABLE": (1, "稼働確認に失敗しました"),
    "INVALID_REQUEST": (2, "リクエストが不正です"),
    "NATS_UNAVAILABLE": (3, "NATSが利用できません"),
    "ORPHAN_RUN": (4, "孤児runが残っている可能性があります（best-effort cleanup失敗）"),
    "RUN_NOT_FOUND": (5, "runが見つかりません"),
    "FLOW_NOT_RESOLVED": (6, "flowが見つかりません"),
    "EXECUTION_FAILED": (7, "実行に失敗しました"),
    "TERMINAL_NOT_STORED": (8, "terminal状態の記録に失敗しました"),
    "PROGRESS_ACK_FAILED": (9, "in_progress ACK の送信に失敗しました"),
    "SNAPSHOT_TOO_LARGE": (10, "スナップショットが大きすぎます"),
    "DLQ_PUBLISH_FAILED": (11, "DLQへのpublishに失敗しました（best-effort）"),
    "INVALID_JOB": (12, "不正なジョブを受信しました"),
    "LOGGING_FAILED": (13, "ログ出力に失敗しました（best-effort）"),
    "API_KEY_REQUIRED": (14, "API key が必要です"),
    "API_KEY_INVALID": (15, "API key が無効です"),
    "WORKFLOW_TOO_LARGE": (16, "ワークフローファイルが大きすぎます"),
}
NUMBERS = {
    "INVALID_LIST_QUERY": 17,
    "INVALID_ARGUMENTS": 18,
    "INVALID_WORKERS_REQUEST": 19,
    "WORKER_NOT_FOUND": 20,
    "CANCEL_TIMEOUT": 21,
    "WHEEL_VERSION_CONFLICT": 22,
    "WHEEL_NOT_FOUND": 23,
    "WHEEL_SYNC_FAILED": 24,
}
DETAILS = {
    "run not found": (404, "ERR-PYOCO-0005"),
    "nats unavailable": (503, "ERR-PYOCO-0003"),
    "invalid list query": (422, "ERR-PYOCO-0017"),
    "invalid workers request": (422, "ERR-PYOCO-0019"),
    "worker not found": (404, "ERR-PYOCO-0020"),
    "wheel not found": (404, "ERR-PYOCO-0023"),
}
CODES = {
    "BAD_REQUEST": {400},
    "UNAUTHORIZED": {401},
    "FORBIDDEN": {403},
    "CROSS_SITE": {403},
    "NOT_FOUND": {404},
    "METHOD_NOT_ALLOWED": {405},
    "COMMAND_REJECTED": {409},
    "IDEMPOTENCY_CONFLICT": {409},
    "IDEMPOTENCY_IN_PROGRESS": {409},
    "VERSION_CONFLICT": {409},
    "TOO_LARGE": {413},
    "UNSUPPORTED_MEDIA_TYPE": {415},
    "RANGE_NOT_SATISFIABLE": {416},
    "MISDIRECTED_REQUEST": {421},
    "INVALID": {422},
    "RATE_LIMITED": {429},
    "INTERNAL_ERROR": {500},
    "AIRFLOW_DOWN": {502},
    "NATS_UNAVAILABLE": {503},
}


@pytest.mark.parametrize(("name", "promised"), PRESCRIBED.items())
def test_ids_and_japanese_texts_are_those_of_the_specification(name: str, promised: tuple[int, str]) -> None:
    kind = CATALOGUE[name]
    assert (kind.number, kind.text.japanese) == promised
    assert (kind.err_id, kind.msg_id) == (f"ERR-PYOCO-{promised[0]:04d}", f"MSG-PYOCO-{promised[0]:04d}")


@pytest.mark.parametrize(("name", "number"), NUMBERS.items())
def test_the_later_ids_of_v0_mean_what_they_meant(name: str, number: int) -> None:
    assert CATALOGUE[name].number == number


@pytest.mark.parametrize(("detail", "promised"), DETAILS.items())
def test_the_details_that_old_clients_read_are_there(detail: str, promised: tuple[int, str]) -> None:
    (kind,) = [kind for kind in CATALOGUE.values() if kind.detail == detail]
    assert (kind.status, kind.err_id) == promised


def test_every_code_of_the_contract_has_its_status_and_there_are_no_others() -> None:
    codes: dict[str, set[int]] = {}
    for kind in CATALOGUE.values():
        if kind.status is not None:
            codes.setdefault(kind.code, set()).add(kind.status)
    assert codes == CODES


def test_the_name_of_an_entry_is_the_name_of_its_constant() -> None:
    constants = {name: value for name, value in vars(catalogue).items() if isinstance(value, Kind)}
    assert constants == CATALOGUE


def test_our_ids_begin_at_25_without_gaps_and_name_one_thing_each() -> None:
    ours = [kind.number for kind in CATALOGUE.values() if kind.number >= 25]
    assert ours == list(range(25, 25 + len(ours)))


def test_every_entry_has_texts_and_every_text_an_entry() -> None:
    assert TEXTS.keys() == CATALOGUE.keys()


@pytest.mark.parametrize("name", TEXTS)
def test_both_languages_say_the_same_values(name: str) -> None:
    def placeholders(text: str) -> set[str]:
        return {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}

    text = TEXTS[name]
    assert placeholders(text.english) == placeholders(text.japanese)
    assert text.english.isascii()
    assert not text.japanese.isascii()
    assert text.action.endswith(".")


def test_an_error_is_told_in_the_language_that_was_asked_for() -> None:
    error = PyocoError(catalogue.RUN_NOT_FOUND)
    english, japanese = describe(error, "en"), describe(error, "ja")
    assert (english.message, japanese.message) == ("The run was not found", "runが見つかりません")
    assert (english.detail, english.code, english.status) == ("run not found", "NOT_FOUND", 404)
    assert (japanese.err_id, japanese.msg_id) == ("ERR-PYOCO-0005", "MSG-PYOCO-0005")
    assert str(error) == english.message


def test_a_rejected_command_says_why_in_the_words_of_the_contract() -> None:
    error = PyocoError(catalogue.COMMAND_REJECTED, "execution is cancel-requested", command="ResumeNode")
    assert describe(error).message == "ResumeNode rejected because execution is cancel-requested"
    assert "ResumeNode" in describe(error, "ja").message


def test_a_reason_follows_the_text() -> None:
    error = PyocoError(catalogue.BAD_REQUEST, "window is invalid")
    assert describe(error).message == "The request cannot be read: window is invalid"
    assert describe(error, "ja").message == "リクエストを読み取れません: window is invalid"


def test_values_fill_the_text_and_are_not_read_as_a_pattern() -> None:
    error = PyocoError(catalogue.FOREIGN_HOST, host="{0.__class__}")
    assert describe(error).message == "This server does not answer for the host {0.__class__}"


def test_a_value_nobody_gave_does_not_break_the_error() -> None:
    assert describe(PyocoError(catalogue.BODY_TOO_LARGE)).message == "The request is larger than ? bytes"


def test_structured_details_and_the_waiting_time_are_carried() -> None:
    wrong: FieldError = {"loc": ["body", "tags", 0], "msg": "must be a string", "type": "string_type"}
    error = PyocoError(catalogue.INVALID_REQUEST, errors=[wrong, wrong], details={"node": "a"}, retry_after=1.5)
    told = describe(error)
    assert (told.errors, told.details, told.retry_after) == ((wrong, wrong), {"node": "a"}, 1.5)
    assert told.message == "The request is not valid: body.tags.0: must be a string (and 1 more)"


def test_one_wrong_thing_without_a_place_is_told_alone() -> None:
    wrong: FieldError = {"loc": [], "msg": "must be an object", "type": "dict_type"}
    assert describe(PyocoError(catalogue.INVALID_REQUEST, errors=[wrong])).message.endswith(": must be an object")


def test_an_error_nobody_foresaw_tells_nothing_of_itself() -> None:
    told = describe(RuntimeError("password is hunter2"))
    assert (told.code, told.status, told.err_id) == ("INTERNAL_ERROR", 500, "ERR-PYOCO-0042")
    assert "hunter2" not in repr(told)


def test_an_error_that_was_never_meant_for_http_is_answered_as_500() -> None:
    assert describe(PyocoError(catalogue.EXECUTION_FAILED)).status == 500


def test_a_message_holds_no_password() -> None:
    error = PyocoError(catalogue.NATS_UNAVAILABLE, "cannot connect to nats://u:hunter2@h:4222")
    assert describe(error).message == "NATS is not available: cannot connect to nats://u:***@h:4222"
    assert "hunter2" not in str(error)


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (None, "en"),
        ("", "en"),
        ("ja", "ja"),
        ("JA-jp", "ja"),
        ("ja,en-US;q=0.9,en;q=0.8", "ja"),
        ("en,ja;q=0.9", "en"),
        ("en;q=0.5, ja;q=0.9", "ja"),
        ("ja,en", "en"),
        ("ja;q=0", "en"),
        ("ja;q=0.001", "ja"),
        ("*", "en"),
        ("*;q=0.5, ja", "ja"),
        ("ja;q=0.4, *;q=0.5", "en"),
        ("en;q=0, *", "ja"),
        ("fr, de", "en"),
        ("ja;q=high", "en"),
        ("ja;q=2", "en"),
        ("ja;q=nan", "en"),
        ("ja; q=0.8 , en ; q=0.7", "ja"),
        ("java", "en"),
        (";;;,,,", "en"),
    ],
)
def test_japanese_wins_only_if_it_is_preferred(header: str | None, language: str) -> None:
    assert preferred_language(header) == language


@given(st.text(alphabet=st.sampled_from("jaen*;q=01.,- ") | st.characters(), max_size=60))
def test_any_header_gives_a_language(header: str) -> None:
    assert preferred_language(header) in {"en", "ja"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nats://u:p@h:4222", "nats://u:***@h:4222"),
        ("nats://token@h", "nats://***@h"),
        ("nats://u:p@ss@h", "nats://u:***@h"),
        ("nats://u:p@a,nats://v:q@b/x", "nats://u:***@a,nats://v:***@b/x"),
        ("http://h:80/path?mail=a@b", "http://h:80/path?mail=a@b"),
        ("no address, mail a@b", "no address, mail a@b"),
        ("Authorization: Bearer abc.def-1", "Authorization: Bearer ***"),
        (f"key pyoco_{'0a' * 12}.{'S' * 43} was used", f"key pyoco_{'0a' * 12}.*** was used"),
        (
            "bucket pyoco_runs.0b5a6e1e-0000-4000-8000-000000000000",
            "bucket pyoco_runs.0b5a6e1e-0000-4000-8000-000000000000",
        ),
    ],
)
def test_secrets_are_taken_out_of_text(text: str, shown: str) -> None:
    assert redact(text) == shown


@given(
    st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1),
    st.text(st.characters(exclude_characters="/?#", exclude_categories=["Z", "C"]), min_size=1),
)
def test_no_password_of_an_address_survives(user: str, password: str) -> None:
    assert redact(f"see nats://{user}:{password}@host now") == f"see nats://{user}:***@host now"


@pytest.mark.parametrize(
    "noise", ["a" * 400_000, "://" * 130_000, "pyoco_" * 70_000, "Bearer " * 60_000, "@" * 400_000]
)
def test_long_noise_is_no_trouble(noise: str) -> None:
    """In quadratic time this would take minutes and meet the time limit of every test."""
    assert redact(noise)[0] == noise[0]


def test_secret_fields_are_known_by_name() -> None:
    assert all(is_secret_name(name) for name in ("password", "API_KEY", "X-API-Key", "Authorization", "token"))
    assert not any(is_secret_name(name) for name in ("api_key_id", "nextToken", "run_id", "sinceToken"))


def test_the_page_about_errors_is_up_to_date() -> None:
    written = (ROOT / "docs/errors.md").read_text("utf-8")
    assert written == page(), "run: python -m pyoco.errors.document > docs/errors.md"


@pytest.mark.parametrize("kind", CATALOGUE.values(), ids=lambda kind: kind.name)
def test_every_error_is_documented(kind: Kind) -> None:
    row = f"| {kind.err_id} | {kind.status or '–'} | {kind.code} | {kind.detail} |"
    assert row in page()
