"""Settings: which source wins, what is refused and how that is said, and the page that documents them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pyoco.config import Settings, SettingsError, dotenv, load_settings
from pyoco.config.document import page
from pyoco.config.specs import BY_VARIABLE, SPECS
from pyoco.errors import describe

ROOT = Path(__file__).parents[2]

# The defaults that the documents prescribe, variable by variable.
DOCUMENTED = {
    "PYOCO_NATS_URL": "nats://127.0.0.1:4222",
    "PYOCO_WORK_SUBJECT_PREFIX": "pyoco.work",
    "PYOCO_DEFAULT_TAG": "default",
    "PYOCO_RUNS_KV_BUCKET": "pyoco_runs",
    "PYOCO_WORKERS_KV_BUCKET": "pyoco_workers",
    "PYOCO_WORKERS_KV_TTL_SEC": 15.0,
    "PYOCO_WORKER_DISCONNECT_TIMEOUT_SEC": 20.0,
    "PYOCO_RUN_HEARTBEAT_INTERVAL_SEC": 1.0,
    "PYOCO_WORKER_HEARTBEAT_INTERVAL_SEC": 5.0,
    "PYOCO_CANCEL_GRACE_PERIOD_SEC": 30.0,
    "PYOCO_CONSUMER_ACK_WAIT_SEC": 30.0,
    "PYOCO_CONSUMER_MAX_DELIVER": 20,
    "PYOCO_CONSUMER_MAX_ACK_PENDING": 200,
    "PYOCO_ACK_PROGRESS_INTERVAL_SEC": 10.0,
    "PYOCO_DLQ_STREAM": "PYOCO_DLQ",
    "PYOCO_DLQ_SUBJECT_PREFIX": "pyoco.dlq",
    "PYOCO_DLQ_PUBLISH_EXECUTION_ERROR": True,
    "PYOCO_DLQ_MAX_AGE_SEC": 604800.0,
    "PYOCO_DLQ_MAX_MSGS": 100000,
    "PYOCO_DLQ_MAX_BYTES": 536870912,
    "PYOCO_MAX_RUN_SNAPSHOT_BYTES": 262144,
    "PYOCO_WHEEL_OBJECT_STORE_BUCKET": "pyoco_wheels",
    "PYOCO_WHEEL_MAX_BYTES": 536870912,
    "PYOCO_WHEEL_SYNC_ENABLED": False,
    "PYOCO_WHEEL_SYNC_DIR": Path(".pyoco/wheels"),
    "PYOCO_WHEEL_SYNC_INTERVAL_SEC": 10.0,
    "PYOCO_WHEEL_INSTALL_TIMEOUT_SEC": 180.0,
    "PYOCO_WHEEL_HISTORY_KV_BUCKET": "pyoco_wheel_history",
    "PYOCO_WHEEL_HISTORY_TTL_SEC": 7776000.0,
    "PYOCO_WORKFLOW_YAML_MAX_BYTES": 262144,
    "PYOCO_DASHBOARD_LANG": "auto",
    "PYOCO_LOAD_DOTENV": True,
    "PYOCO_ENV_FILE": Path(".env"),
    "PYOCO_LOG_LEVEL": "INFO",
    "PYOCO_LOG_FORMAT": "json",
    "PYOCO_LOG_UTC": True,
    "PYOCO_LOG_INCLUDE_TRACEBACK": True,
    "PYOCO_HTTP_AUTH_MODE": frozenset(),
    "PYOCO_HTTP_API_KEY_HEADER": "X-API-Key",
    "PYOCO_AUTH_KV_BUCKET": "pyoco_auth",
    "PYOCO_AUTH_PEPPER": None,
    "PYOCO_MAX_BODY_BYTES": 1048576,
    "PYOCO_ALLOWED_HOSTS": (),
    "PYOCO_TRUSTED_PROXIES": (),
    "PYOCO_IDEMPOTENCY_TTL_SEC": 86400.0,
    "PYOCO_JWT_PUBLIC_KEY_FILE": None,
    "PYOCO_JWT_JWKS_FILE": None,
    "PYOCO_JWT_ISSUER": "noctria.auth",
    "PYOCO_RATE_LIMIT_READ": 0,
    "PYOCO_RATE_LIMIT_WRITE": 0,
    "PYOCO_RATE_LIMIT_PDCA_READ": 600,
    "PYOCO_RATE_LIMIT_PDCA_RECHECK": 120,
    "PYOCO_RATE_LIMIT_PDCA_RECHECK_ALL": 10,
    "PYOCO_JOB_FLOW": "echo",
    "PYOCO_LOG_MAX_LINE_BYTES": 16384,
    "PYOCO_LOG_MAX_RUN_BYTES": 16777216,
    "PYOCO_RUNS_RETENTION_SEC": 0.0,
    "PYOCO_MAX_CRASHES": 3,
    "PYOCO_DATA_DIR": Path(".pyoco"),
    "PYOCO_CODE_DIR": Path(),
    "PYOCO_ALLOWED_CALLABLES": ("*",),
    "PYOCO_SERVER": "http://127.0.0.1:8000",
    "PYOCO_API_KEY": None,
}


def problem(cwd: Path, flags: dict[str, object] | None = None, **env: str) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.load(flags or {}, env, cwd)
    return str(caught.value)


@pytest.mark.parametrize(("variable", "default"), DOCUMENTED.items())
def test_every_documented_variable_is_there_with_its_default(variable: str, default: object) -> None:
    assert getattr(Settings(), BY_VARIABLE[variable].name) == default


@pytest.mark.parametrize("name", SPECS)
def test_every_default_is_itself_allowed(name: str) -> None:
    default = SPECS[name].default
    assert getattr(Settings.model_validate({name: default}), name) == default


def test_a_flag_beats_the_environment_which_beats_dotenv_which_beats_yaml(tmp_path: Path) -> None:
    (tmp_path / "pyoco.yaml").write_text("slots: 1\ngateways: 1\ndefault_tag: yaml\nhttp_port: 1\n")
    (tmp_path / ".env").write_text("PYOCO_SLOTS=2\nPYOCO_GATEWAYS=2\nPYOCO_DEFAULT_TAG=dotenv\n")
    env = {"PYOCO_SLOTS": "3", "PYOCO_GATEWAYS": "3"}
    settings = Settings.load({"slots": 4, "http_port": None}, env, tmp_path)
    assert (settings.slots, settings.gateways, settings.default_tag, settings.http_port) == (4, 3, "dotenv", 1)


def test_a_blank_value_counts_as_not_given(tmp_path: Path) -> None:
    (tmp_path / "pyoco.yaml").write_text("slots: 7\nworker_id: null\nauth_pepper: ~\n")
    settings = Settings.load({}, {"PYOCO_SLOTS": " ", "PYOCO_NATS_URL": ""}, tmp_path)
    assert (settings.slots, settings.joins_nats) == (7, False)
    assert (settings.worker_id, settings.auth_pepper) == (None, None)


def test_a_quoted_null_in_yaml_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "pyoco.yaml").write_text('worker_id: "null"\n')
    assert Settings.load({}, {}, tmp_path).worker_id == "null"


def test_loading_looks_only_at_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYOCO_SLOTS", "9")
    assert Settings.load({}, {}, tmp_path).slots == 4


def test_load_settings_reads_the_real_environment_and_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyoco.yaml").write_text("slots: 8\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYOCO_GATEWAYS", "2")
    settings = load_settings({"http_port": 1234})
    assert (settings.slots, settings.gateways, settings.http_port) == (8, 2, 1234)


@pytest.mark.parametrize("text", ["1", "true", "TRUE", "yes", "On"])
def test_switches_can_be_on_in_many_words(text: str, tmp_path: Path) -> None:
    assert Settings.load({}, {"PYOCO_WHEEL_SYNC_ENABLED": text}, tmp_path).wheel_sync_enabled is True


@pytest.mark.parametrize("text", ["0", "false", "No", "OFF"])
def test_switches_can_be_off_in_many_words(text: str, tmp_path: Path) -> None:
    assert Settings.load({}, {"PYOCO_LOG_UTC": text}, tmp_path).log_utc is False


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PYOCO_SLOTS", "many"),
        ("PYOCO_SLOTS", "0"),
        ("PYOCO_SLOTS", "true"),
        ("PYOCO_HTTP_PORT", "65536"),
        ("PYOCO_RUN_HEARTBEAT_INTERVAL_SEC", "0"),
        ("PYOCO_RUN_HEARTBEAT_INTERVAL_SEC", "nan"),
        ("PYOCO_CANCEL_GRACE_PERIOD_SEC", "inf"),
        ("PYOCO_CANCEL_GRACE_PERIOD_SEC", "-1"),
        ("PYOCO_LOG_UTC", "maybe"),
        ("PYOCO_LOG_LEVEL", "LOUD"),
        ("PYOCO_LOG_FORMAT", "xml"),
        ("PYOCO_DASHBOARD_LANG", "fr"),
        ("PYOCO_DEFAULT_TAG", "a.b"),
        ("PYOCO_TAGS", "good,b d"),
        ("PYOCO_WORKER_ID", "x" * 65),
        ("PYOCO_WORK_SUBJECT_PREFIX", "pyoco..work"),
        ("PYOCO_RUNS_KV_BUCKET", "a/b"),
        ("PYOCO_NATS_URL", "http://127.0.0.1"),
        ("PYOCO_NATS_URL", "nats://host:notaport"),
        ("PYOCO_NATS_URL", "nats://a:1,ws://b:2"),
        ("PYOCO_SERVER", "127.0.0.1:8000"),
        ("PYOCO_HTTP_AUTH_MODE", "api_key,basic"),
        ("PYOCO_HTTP_AUTH_MODE", "none,jwt"),
        ("PYOCO_HTTP_API_KEY_HEADER", "X Key"),
        ("PYOCO_TRUSTED_PROXIES", "10.0.0.0/99"),
        ("PYOCO_FLOW_RESOLVER", "no_colon"),
        ("PYOCO_WORKFLOW_YAML_MAX_BYTES", "0"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_by_name_place_and_value(
    variable: str, value: str, tmp_path: Path
) -> None:
    said = problem(tmp_path, None, **{variable: value})
    assert f"{variable} = {value!r}, from the environment: must be {BY_VARIABLE[variable].allowed}" in said


def test_all_problems_are_told_at_once_each_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "pyoco.yaml").write_text("gateways: 2\nmax_crashes: none\n")
    (tmp_path / ".env").write_text("# comment\nPYOCO_HTTP_PORT=x\n")
    said = problem(tmp_path, {"data_dir": "a\0b"}, PYOCO_SLOTS="-1")
    assert f"PYOCO_MAX_CRASHES = 'none', from {tmp_path / 'pyoco.yaml'}, line 2: must be" in said
    assert f"PYOCO_HTTP_PORT = 'x', from {tmp_path / '.env'}, line 2: must be" in said
    assert "PYOCO_SLOTS = '-1', from the environment: must be" in said
    assert "PYOCO_DATA_DIR = 'a\\x00b', from --data-dir on the command line: must be" in said
    assert len(said.splitlines()) == 5


def test_a_settings_error_belongs_to_the_catalogue(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load({}, {"PYOCO_SLOTS": "x"}, tmp_path)
    told = describe(caught.value)
    assert (told.code, told.err_id) == ("INVALID_SETTINGS", "ERR-PYOCO-0043")
    assert "PYOCO_SLOTS" in told.message


@pytest.mark.parametrize(
    "url", ["nats://user:hunter2@host:bad", "user:hunter2@", "nats://u:hunt/er2@h", "ftp://hunter2@h"]
)
def test_a_password_in_a_wrong_address_is_not_told(url: str, tmp_path: Path) -> None:
    said = problem(tmp_path, PYOCO_NATS_URL=url)
    assert "PYOCO_NATS_URL" in said
    assert "hunt" not in said


def test_a_secret_is_not_told_when_it_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "pyoco.yaml").write_text("auth_pepper: [hunter2]\n")
    said = problem(tmp_path)
    assert "PYOCO_AUTH_PEPPER" in said
    assert "hunter2" not in said


def test_secrets_are_not_in_repr_and_str_but_can_be_had(tmp_path: Path) -> None:
    env = {
        "PYOCO_AUTH_PEPPER": " hunter2 ",
        "PYOCO_API_KEY": "hunter2",
        "PYOCO_NATS_URL": "nats://u:hunter2@h:1,nats://hunter2@i:2",
        "PYOCO_SERVER": "https://u:hunter2@h",
    }
    settings = Settings.load({}, env, tmp_path)
    assert "hunter2" not in f"{settings!r} {settings}"
    assert settings.auth_pepper is not None
    assert settings.auth_pepper.get_secret_value() == " hunter2 "
    assert settings.nats_servers == ("nats://u:hunter2@h:1", "nats://hunter2@i:2")


def test_a_constructor_error_does_not_quote_a_secret() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"auth_pepper": ["hunter2"]})
    assert "hunter2" not in str(caught.value)


def test_unknown_variables_are_a_warning_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PYOCO_SLOT=1\nOTHER_TOOL=1\n")
    env = {"PYOCO_NATS_ULR": "x", "PYOCO_CUTE": "0", "HOME": "/root"}
    first, second = sorted(Settings.load({}, env, tmp_path).warnings)
    assert first == "unknown variable PYOCO_NATS_ULR in the environment; did you mean PYOCO_NATS_URL?"
    assert second == f"unknown variable PYOCO_SLOT in {tmp_path / '.env'}, line 1; did you mean PYOCO_SLOTS?"


def test_unknown_keys_of_yaml_are_a_warning_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "pyoco.yaml").write_text("PYOCO_NATS_URL: nats://h\nzzz: 1\n")
    settings = Settings.load({}, {}, tmp_path)
    assert settings.warnings == (
        f"unknown setting 'PYOCO_NATS_URL' in {tmp_path / 'pyoco.yaml'}, line 1; did you mean nats_url?",
        f"unknown setting 'zzz' in {tmp_path / 'pyoco.yaml'}, line 2",
    )
    assert not settings.joins_nats


def test_a_flag_that_is_no_setting_is_a_mistake_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no such setting: prot"):
        Settings.load({"prot": 1}, {}, tmp_path)


def test_a_heartbeat_too_slow_for_the_timeout_is_a_warning(tmp_path: Path) -> None:
    env = {"PYOCO_WORKER_DISCONNECT_TIMEOUT_SEC": "9"}
    (warning,) = Settings.load({}, env, tmp_path).warnings
    assert "PYOCO_WORKER_HEARTBEAT_INTERVAL_SEC (5)" in warning
    assert "PYOCO_WORKER_DISCONNECT_TIMEOUT_SEC (9)" in warning


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().slots = 1


def test_dotenv_can_be_turned_off_and_moved(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PYOCO_SLOTS=2\n")
    (tmp_path / "other.env").write_text("PYOCO_SLOTS=3\n")
    assert Settings.load({}, {}, tmp_path).slots == 2
    assert Settings.load({}, {"PYOCO_LOAD_DOTENV": "0"}, tmp_path).slots == 4
    assert Settings.load({}, {"PYOCO_ENV_FILE": "other.env"}, tmp_path).slots == 3


def test_pyoco_yaml_can_name_the_dotenv_file(tmp_path: Path) -> None:
    (tmp_path / "pyoco.yaml").write_text("env_file: other.env\nslots: 1\n")
    (tmp_path / "other.env").write_text("PYOCO_SLOTS=3\nPYOCO_ENV_FILE=third.env\n")
    settings = Settings.load({}, {}, tmp_path)
    assert settings.slots == 3
    assert settings.warnings == (f"PYOCO_ENV_FILE has no effect in {tmp_path / 'other.env'}, line 2",)


def test_a_dotenv_file_that_was_named_must_exist(tmp_path: Path) -> None:
    assert "missing.env, which does not exist" in problem(tmp_path, PYOCO_ENV_FILE="missing.env")


def test_a_dotenv_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"PYOCO_SLOTS=\xff\n")
    assert "cannot be read: it is not UTF-8" in problem(tmp_path)


def test_a_broken_line_about_us_is_an_error_and_about_others_a_warning(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OTHER hunter2\n")
    assert Settings.load({}, {}, tmp_path).warnings == (
        f"{tmp_path / '.env'}, line 1 is not NAME=value and was left out",
    )
    (tmp_path / ".env").write_text('PYOCO_API_KEY="hunter2\n')
    said = problem(tmp_path)
    assert f"PYOCO_API_KEY, from {tmp_path / '.env'}, line 1" in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- a\n", "must be a mapping"),
        ("a: [\n", "is not YAML"),
        ("slots: 1\nslots: 2\n", "slots, from {place}, line 2: is there twice"),
        ("slots: {a: 1}\n", "PYOCO_SLOTS, from {place}, line 1: must be"),
        ("slots: [1, 2]\n", "PYOCO_SLOTS = "),
    ],
)
def test_a_broken_pyoco_yaml_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "pyoco.yaml").write_text(text)
    assert complaint.format(place=tmp_path / "pyoco.yaml") in problem(tmp_path)


def test_values_of_yaml_mean_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "pyoco.yaml").write_text(
        "default_tag: 007\nlog_utc: no\nallowed_hosts: [a.example, b.example]\ntags: x, y\n"
        "http_auth_mode: [api_key, jwt]\n"
    )
    settings = Settings.load({}, {}, tmp_path)
    assert (settings.default_tag, settings.log_utc) == ("007", False)
    assert (settings.allowed_hosts, settings.tags) == (("a.example", "b.example"), ("x", "y"))
    assert settings.http_auth_mode == {"api_key", "jwt"}


def test_relative_paths_start_at_the_given_directory_and_home_is_that_of_the_environment(tmp_path: Path) -> None:
    env = {"PYOCO_DATA_DIR": "~/data", "HOME": "/home/me", "PYOCO_JWT_JWKS_FILE": "/etc/jwks.json"}
    settings = Settings.load({"code_dir": "src"}, env, tmp_path)
    assert settings.data_dir == Path("/home/me/data")
    assert settings.code_dir == tmp_path / "src"
    assert settings.jwt_jwks_file == Path("/etc/jwks.json")
    assert settings.jwt_public_key_file is None


def test_wheels_follow_the_data_directory_unless_they_have_their_own(tmp_path: Path) -> None:
    assert Settings.load({}, {}, tmp_path).wheel_sync_dir == tmp_path / ".pyoco/wheels"
    assert Settings.load({}, {"PYOCO_DATA_DIR": "/srv"}, tmp_path).wheel_sync_dir == Path("/srv/wheels")
    env = {"PYOCO_DATA_DIR": "/srv", "PYOCO_WHEEL_SYNC_DIR": "w"}
    assert Settings.load({}, env, tmp_path).wheel_sync_dir == tmp_path / "w"


def test_a_nats_without_scheme_is_taken_as_nats_and_means_joining(tmp_path: Path) -> None:
    settings = Settings.load({}, {"PYOCO_NATS_URL": "10.0.0.5:4222, b:4222"}, tmp_path)
    assert settings.nats_servers == ("nats://10.0.0.5:4222", "nats://b:4222")
    assert settings.joins_nats
    assert not Settings.load({}, {}, tmp_path).joins_nats


def test_a_worker_without_tags_serves_the_default_tag() -> None:
    assert Settings(default_tag="night").worker_tags == ("night",)
    assert Settings(tags=("a", "b")).worker_tags == ("a", "b")


def test_auth_mode_none_is_no_credential(tmp_path: Path) -> None:
    assert Settings.load({}, {"PYOCO_HTTP_AUTH_MODE": "none"}, tmp_path).http_auth_mode == frozenset()
    assert Settings.load({}, {"PYOCO_HTTP_AUTH_MODE": "API_KEY, jwt"}, tmp_path).http_auth_mode == {"api_key", "jwt"}


def values_of(text: str) -> dict[str, str | None]:
    return {line.name: line.value for line in dotenv.parse(text)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A=1", "1"),
        ("  export A = 1  ", "1"),
        ("A=a b # comment", "a b"),
        ("A=a#b", "a#b"),
        ("A= # comment", ""),
        ("A=#b", "#b"),
        ("A=", ""),
        ("A='it # stays \\n' # comment", "it # stays \\n"),
        ('A="line\\nbreak \\"quoted\\" \\\\ ${B}"', 'line\nbreak "quoted" \\ ${B}'),
        ('A="two\nlines"', "two\nlines"),
        ("A=${B}", "${B}"),
        ('A="json" # json|text', "json"),
        ("A='open", None),
        ('A="a" b', None),
        ("A=1\r\n", "1"),
    ],
)
def test_a_dotenv_line_means(text: str, value: str | None) -> None:
    assert values_of(text) == {"A": value}


def test_lines_keep_their_numbers_over_values_of_several_lines() -> None:
    text = "# one\nA=1\n\nB='x\ny'\nC='open\nD=4\nnonsense here\n=5\n"
    assert [(line.name, line.value, line.number) for line in dotenv.parse(text)] == [
        ("A", "1", 2),
        ("B", "x\ny", 4),
        ("C", None, 6),
        ("D", "4", 7),
        ("nonsense", None, 8),
        ("", None, 9),
    ]


@given(st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True), st.text(), max_size=6))
def test_whatever_is_quoted_comes_back(values: dict[str, str]) -> None:
    kept = {name: value.replace("\r\n", "\n") for name, value in values.items()}
    quoted = {name: value.replace("\\", "\\\\").replace('"', '\\"') for name, value in kept.items()}
    assert values_of("\n".join(f'{name}="{value}" # note' for name, value in quoted.items())) == kept


@given(st.text(alphabet=st.sampled_from("AB=\"'\\#\n \t\r$é") | st.characters()))
def test_no_text_breaks_the_dotenv_parser_or_its_line_numbers(text: str) -> None:
    numbers = [line.number for line in dotenv.parse(text)]
    assert numbers == sorted(set(numbers))
    assert all(1 <= number <= text.count("\n") + 1 for number in numbers)


@given(st.dictionaries(st.sampled_from(sorted(BY_VARIABLE)), st.text(max_size=20), max_size=5))
def test_any_environment_gives_settings_or_a_settings_error(env: dict[str, str]) -> None:
    problems: tuple[str, ...] = ()
    try:
        Settings.load({}, {**env, "PYOCO_LOAD_DOTENV": "0"}, Path("/nonexistent"))
    except SettingsError as error:
        problems = error.problems
        assert problems, "an error must say what is wrong"
    assert all(any(variable in line for variable in env) for line in problems)


def test_the_page_about_settings_is_up_to_date() -> None:
    written = (ROOT / "docs/settings.md").read_text("utf-8")
    assert written == page(), "run: python -m pyoco.config.document > docs/settings.md"


def test_every_setting_is_documented_once_with_its_meaning() -> None:
    rows = re.findall(r"^\| `(PYOCO_[A-Z_]+)`", page(), re.MULTILINE)
    assert sorted(rows) == sorted([*BY_VARIABLE, "PYOCO_CUTE", "PYOCO_DISCOVERY_MODULES"])
    assert all(spec.about.help and spec.about.source and spec.allowed for spec in SPECS.values())


def test_help_of_the_command_does_not_load_the_settings() -> None:
    code = (
        "import sys\nfrom pyoco.cli.app import run_app\nrun_app(['--help'])\n"
        "assert not {'pydantic', 'pyoco.config', 'pyoco.log'} & set(sys.modules), 'loaded'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_settings_need_neither_the_engine_nor_the_servers_libraries() -> None:
    code = "import sys, pyoco.config, pyoco.log\nassert not {'aiohttp', 'nats', 'pyoco.engine'} & set(sys.modules)\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_variables_that_the_supervisor_gives_its_children_are_known(tmp_path: Path) -> None:
    settings = Settings.load({}, {"PYOCO_LIFELINE_FD": "5", "PYOCO_INSTANCE_ID": "a.1.2"}, tmp_path)
    assert settings.warnings == ()
