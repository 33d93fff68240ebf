"""The configuration: its sources, which of them wins, and what it says of itself."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from sidecar.adapters.convert import TurnBounds
from sidecar.config.given import ConfigError, Origin, environment_name
from sidecar.config.keys import KEYS, PATHS, Config, bounds, flag_name
from sidecar.config.load import load
from sidecar.config.report import effective, render_effective
from sidecar.core.limits import Limits
from sidecar.presets import PRESETS
from sidecar.sessions.sessions import SessionBounds
from sidecar.turn_bounds import turn_bounds

TOKEN = "a-token-of-some-length"


def write(directory: Path, text: str, name: str = "sidecar.yaml") -> str:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def origins(config: Config) -> dict[str, tuple[Origin, str]]:
    return {value.key: (value.origin, value.where) for value in config.values}


def test_without_any_source_every_value_is_its_default() -> None:
    config = load(environment={})
    assert {value.origin for value in config.values} == {Origin.DEFAULT}
    assert list(config.policies) == list(PRESETS)
    assert config.default_policy == "default"
    assert config.limits == Limits()


def test_sessions_and_turns_are_bounded_by_default_as_the_configuration_says() -> None:
    config, sessions = load(environment={}), SessionBounds()

    assert turn_bounds(config) == TurnBounds()
    for bound in fields(sessions):
        assert getattr(config, bound.name) == getattr(sessions, bound.name)


def test_the_promised_bounds_are_the_defaults() -> None:
    assert bounds(load(environment={})) == {
        "label_values_max": 10,
        "counter_series_max": 180,
        "streams_max": 1024,
        "sessions_max": 10_000,
        "client_instances_max": 10_000,
        "message_bytes_max": 4 << 20,
        "tool_calls_max": 256,
        "text_bytes_max": 64 << 10,
        "labels_max": 16,
        "loop_files_max": 1000,
        "decisions_kept_max": 256,
        "watchers_max": 64,
        "span_queue_max": 2048,
        "journal_bytes_max": 160 << 20,
        "journal_queue_max": 4096,
        "snapshot_bytes_max": 64 << 10,
        "model_output_tokens_max": 1024,
        "model_calls_max": 1000,
        "model_tokens_max": 20_000_000,
        "model_cost_usd_max": 10.0,
        "session_model_calls_max": 50,
        "session_model_tokens_max": 2_000_000,
        "session_model_cost_usd_max": 1.0,
        "model_concurrency_max": 8,
        "texts_kept_bytes_max": 0,
        "judge.cost_usd_max": 1.0,
    }


def test_a_config_can_be_built_without_loading() -> None:
    config = Config(streams_max=3)
    assert bounds(config)["streams_max"] == 3
    assert list(config.policies) == list(PRESETS)


def test_sockets_and_state_follow_the_environment() -> None:
    config = load(environment={"XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/state"})
    assert config.agent_address == "/run/user/7/sidecar/agent.sock"
    assert config.agent_http_address == "/run/user/7/sidecar/agent-http.sock"
    assert config.admin_address == "/run/user/7/sidecar/admin.sock"
    assert config.state_directory == "/state/sidecar"


def test_a_path_is_shown_and_used_as_where_it_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    token = write(tmp_path, TOKEN, "token")
    for given, state in (("~/x", tmp_path / "x"), ("y", tmp_path / "y"), ("~/../z", "")):
        keys = {"state_directory": given, "token_file": "~/token"}
        config = load(environment={}, flags=keys)
        assert config.state_directory == str(state or tmp_path / ".." / "z")
        assert config.token_file == token


@pytest.mark.parametrize("given", ["", "~no-such-user/x"])
def test_what_leads_nowhere_stays_as_it_is(given: str) -> None:
    config = load(environment={}, flags={"state_directory": given})
    assert config.state_directory == (given and str(Path(given).absolute()))


def test_a_configuration_made_by_hand_has_the_paths_of_one_that_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = {"XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/state"}
    for variable, directory in environment.items():
        monkeypatch.setenv(variable, directory)
    made, loaded = Config(), load(environment=environment)
    assert [getattr(made, key) for key in PATHS] == [getattr(loaded, key) for key in PATHS]


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "streams_max: 1\nsessions_max: 1\nwatchers_max: 1\n")
    config = load(
        path=path,
        environment={"SIDECAR_STREAMS_MAX": "2", "SIDECAR_SESSIONS_MAX": "2"},
        flags={"streams_max": "3", "labels_max": None},
    )
    assert (config.streams_max, config.sessions_max, config.watchers_max) == (3, 2, 1)
    shown = origins(config)
    assert shown["streams_max"] == (Origin.FLAG, "--streams-max")
    assert shown["sessions_max"] == (Origin.ENVIRONMENT, "SIDECAR_SESSIONS_MAX")
    assert shown["watchers_max"] == (Origin.FILE, f"{path}:3")
    assert shown["labels_max"] == (Origin.DEFAULT, "")


def test_a_flag_may_be_a_value_instead_of_a_text() -> None:
    config = load(environment={}, flags={"streams_max": 5, "label_keys": ["team"]})
    assert (config.streams_max, config.label_keys) == (5, ("team",))


def test_toml_says_the_same_as_yaml(tmp_path: Path) -> None:
    yaml = write(
        tmp_path,
        "streams_max: 9\nlabel_keys: [a, b]\nsocket_mode: 0600\nlimits: {cost_usd_max: 2}\n"
        "policies: {mine: {signals: {stall: off, spin: {warning: 3}}}}\n",
    )
    toml = write(
        tmp_path,
        'streams_max = 9\nlabel_keys = ["a", "b"]\nsocket_mode = "0600"\n'
        "[limits]\ncost_usd_max = 2\n"
        '[policies.mine.signals]\nstall = "off"\nspin = {warning = 3}\n',
        "sidecar.toml",
    )
    one, two = load(path=yaml, environment={}), load(path=toml, environment={})
    assert one.policies["mine"].revision == two.policies["mine"].revision
    assert one.limits == two.limits == Limits(cost_usd_max=2.0)
    assert [(v.key, v.value) for v in one.values] == [(v.key, v.value) for v in two.values]
    assert (one.socket_permissions, two.socket_permissions) == (0o600, 0o600)


def test_the_environment_reaches_into_policies() -> None:
    environment = {
        "SIDECAR_POLICIES__MINE__SIGNALS__SPIN__WARNING": "3",
        "SIDECAR_POLICIES__MINE__SIGNALS__STALL": "off",
        "SIDECAR_POLICIES__MINE__WAITING_TOOLS": "wait, poll",
        "SIDECAR_POLICIES__MINE__NAVIGATION_TOOLS": '["next page"]',
        "SIDECAR_POLICIES__MINE__FORCE_CONTINUE": "true",
        "SIDECAR_POLICIES__MINE__ANSWER_FORM": "42",
        "SIDECAR_LIMITS__MAX_TURNS": "off",
    }
    policy = load(environment=environment).policies["mine"]
    assert {watch.signal.name for watch in policy.watches} >= {"spin"}
    assert "stall" not in {watch.signal.name for watch in policy.watches}
    assert policy.lens.waiting_tools == {"wait", "poll"}
    assert policy.lens.navigation_tools == {"next page"}
    assert policy.force_continue
    assert policy.answer_form == "42"


@pytest.mark.parametrize(
    ("written", "variable", "given", "watches_stall"),
    [
        ("off", "SIDECAR_POLICIES__MINE__SIGNALS__STALL__WARNING", "2", True),
        ("{warning: 2}", "SIDECAR_POLICIES__MINE__SIGNALS__STALL", "off", False),
    ],
)
def test_a_later_source_replaces_a_table_by_a_word_and_the_reverse(
    tmp_path: Path, written: str, variable: str, given: str, watches_stall: bool
) -> None:
    path = write(tmp_path, f"policies: {{mine: {{signals: {{stall: {written}}}}}}}\n")
    policy = load(path=path, environment={variable: given}).policies["mine"]
    assert ("stall" in {watch.signal.name for watch in policy.watches}) is watches_stall


def test_variables_that_kubernetes_sets_for_a_service_of_that_name_are_no_keys() -> None:
    config = load(
        environment={
            "SIDECAR_SERVICE_HOST": "10.0.0.1",
            "SIDECAR_SERVICE_PORT": "4300",
            "SIDECAR_SERVICE_PORT_GRPC": "4300",
            "SIDECAR_PORT": "tcp://10.0.0.1:4300",
            "SIDECAR_PORT_4300_TCP": "tcp://10.0.0.1:4300",
            "SIDECAR_PORT_4300_TCP_ADDR": "10.0.0.1",
            "SIDECAR_AGENT_SERVICE_HOST": "10.0.0.2",
        }
    )
    assert config == load(environment={})


def test_the_variable_that_clients_read_is_no_key() -> None:
    config = load(environment={"SIDECAR_ADDRESS": "/run/sidecar/agent.sock"})
    assert config == load(environment={})


def test_the_file_is_the_flag_s_else_the_variable_s_else_the_user_s(tmp_path: Path) -> None:
    own = write(tmp_path, "streams_max: 1\n", "home/.config/sidecar/config.yaml")
    named = write(tmp_path, "streams_max: 2\n", "named.yml")
    flagged = write(tmp_path, "streams_max = 3\n", "flagged.toml")
    home = {"HOME": str(tmp_path / "home")}
    by_variable = {**home, "SIDECAR_CONFIG": named}
    assert load(environment=home).streams_max == 1
    assert load(environment=by_variable).streams_max == 2
    assert load(path=flagged, environment=by_variable).streams_max == 3
    xdg = {**home, "XDG_CONFIG_HOME": str(Path(own).parent.parent)}
    assert load(environment=xdg).streams_max == 1
    elsewhere = {**home, "XDG_CONFIG_HOME": str(tmp_path)}
    assert load(environment=elsewhere).streams_max == 1024


def test_a_home_that_cannot_be_looked_into_holds_no_file() -> None:
    config = load(environment={"XDG_CONFIG_HOME": f"/{'a' * 300}"})
    assert config.values == load(environment={}).values


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    empty = load(path=write(tmp_path, "# nothing yet\n"), environment={})
    assert empty.values == load(environment={}).values


@pytest.mark.parametrize(
    ("name", "text"), [("a.yaml", "streams_max: 7"), ("a.toml", "streams_max=7")]
)
def test_a_byte_order_mark_is_no_part_of_the_first_key(
    tmp_path: Path, name: str, text: str
) -> None:
    assert load(path=write(tmp_path, f"\ufeff{text}", name), environment={}).streams_max == 7


def test_an_alias_stands_for_what_it_names(tmp_path: Path) -> None:
    text = "policies:\n  a: {signals: &s {stall: off}}\n  b: {signals: *s}\n"
    config = load(path=write(tmp_path, text), environment={})
    assert config.policies["a"].revision == config.policies["b"].revision


def test_a_policy_under_the_name_of_a_preset_changes_that_preset(tmp_path: Path) -> None:
    path = write(tmp_path, "policies: {gaia: {limits: {max_turns: 30}}, debug: {preset: execute}}")
    config = load(path=path, environment={})
    assert config.policies["gaia"].limits == Limits(max_turns=30, input_tokens_max=120_000)
    assert config.policies["debug"].revision == config.policies["execute"].revision


def test_a_circuit_breaker_block_is_the_default_policy_unless_another_is_named(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "circuit_breaker: {on_break: stop}\n")
    assert load(path=path, environment={}).default_policy == "circuit_breaker"
    named = write(tmp_path, "policies: {circuit_breaker: {on_break: stop}}\n", "named.yaml")
    assert load(path=named, environment={}).default_policy == "default"
    other = load(path=path, environment={}, flags={"default_policy": "debug"})
    assert other.default_policy == "debug"
    assert "circuit_breaker" in other.policies


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "/run/a.sock", "unix:/run/a.sock"],
)
def test_what_stays_on_the_machine_needs_no_token(address: str) -> None:
    config = load(environment={}, flags={"agent_tcp_address": address})
    assert config.listeners["agent_tcp_address"].is_local


def test_what_leaves_the_machine_needs_a_token_where_there_is_no_tls(tmp_path: Path) -> None:
    token = write(tmp_path, TOKEN, "token")
    outside = {"agent_tcp_address": "0.0.0.0:4300", "admin_address": "[::]:4301"}
    with pytest.raises(ConfigError, match="token_file"):
        load(environment={}, flags=outside)
    load(environment={}, flags={**outside, "token_file": token})


@pytest.mark.parametrize(
    "key",
    [
        "agent_address",
        "agent_tcp_address",
        "agent_http_address",
        "agent_http_tcp_address",
        "admin_address",
    ],
)
def test_each_listener_that_leaves_the_machine_needs_one(key: str, tmp_path: Path) -> None:
    outside = {key: "192.0.2.1:4300"}
    with pytest.raises(ConfigError, match=key):
        load(environment={}, flags=outside)
    load(environment={}, flags={**outside, "token_file": write(tmp_path, TOKEN, "token")})


def test_the_control_plane_over_http_does_not_leave_the_machine_even_so(tmp_path: Path) -> None:
    flags = {"token_file": write(tmp_path, TOKEN, "token")}
    with pytest.raises(ConfigError, match="admin_http_address"):
        load(environment={}, flags={**flags, "admin_http_address": "192.0.2.1:9465"})


def test_telemetry_may_leave_the_machine_as_it_is() -> None:
    config = load(environment={}, flags={"telemetry_address": "0.0.0.0:9464"})
    assert config.listeners["telemetry_address"].target == "0.0.0.0:9464"


def test_an_empty_address_is_no_listener() -> None:
    config = load(environment={"SIDECAR_AGENT_TCP_ADDRESS": "", "SIDECAR_TELEMETRY_ADDRESS": ""})
    assert set(config.listeners) == {
        "agent_address",
        "agent_http_address",
        "agent_http_tcp_address",
        "admin_address",
        "admin_http_address",
    }


def test_two_listeners_may_both_take_any_free_port() -> None:
    free = "127.0.0.1:0"
    config = load(environment={}, flags={"telemetry_address": free, "admin_http_address": free})
    assert config.telemetry_address == config.admin_http_address == free


def test_every_key_has_a_variable_and_a_flag_of_its_own() -> None:
    for names in (map(environment_name, KEYS), map(flag_name, KEYS)):
        assert len(set(names)) == len(KEYS)
    assert environment_name("limits.max_turns") == "SIDECAR_LIMITS__MAX_TURNS"
    assert flag_name("limits.max_turns") == "--limits-max-turns"


SAMPLES: dict[str, Any] = {
    "agent_address": "/run/x.sock",
    "agent_tcp_address": "127.0.0.1:5000",
    "agent_http_address": "/run/z.sock",
    "agent_http_tcp_address": "127.0.0.1:5003",
    "admin_address": "/run/y.sock",
    "telemetry_address": "127.0.0.1:5001",
    "admin_http_address": "127.0.0.1:5002",
    "socket_mode": "0666",
    "socket_group": "0",
    "state_directory": "/var/lib/x",
    "default_policy": "gaia",
    "limits.max_turns": 7,
    "limits.input_tokens_max": 8,
    "limits.cost_usd_max": 9.5,
    "limits.duration_max_s": 10.5,
    "label_keys": ["team", "k8s.pod"],
    "session_idle_ttl_s": 11.5,
    "open_timeout_s": 3.5,
    "retention_s": 86400.5,
    "commit_interval_s": 0.25,
    "shutdown_timeout_s": 12.5,
    "flush_timeout_s": 1.5,
    "log_level": "debug",
    "log_format": "json",
    "journal_bytes_max": 2 << 20,
    "dataset_mirror": "https://mirror.test/data",
    "model": "claude-x",
    "review_model": "claude-y",
    "model_base_url": "http://127.0.0.1:9",
    "judge.model": "some-model",
    "model_window_tokens": 8_192,
    "model_output_tokens_max": 4_096,
    "model_prices": ["claude-x=1/2", "claude-y=1.5/2/0.1/3"],
}


@pytest.mark.parametrize(
    "key", [key for key in KEYS if not key.startswith(("tls_", "token_", "model_key"))]
)
def test_every_key_is_honoured_from_the_environment(key: str) -> None:
    sample = SAMPLES.get(key, 2048 if key.endswith("_bytes_max") else 33)
    text = ",".join(sample) if isinstance(sample, list) else str(sample)
    config = load(environment={environment_name(key): text})
    (value,) = (value for value in config.values if value.key == key)
    assert (value.value, value.where) == (sample, environment_name(key))


def test_no_token_is_shown(tmp_path: Path) -> None:
    config = load(environment={}, flags={"token_file": write(tmp_path, TOKEN, "token")})
    assert TOKEN not in render_effective(config) + json.dumps(effective(config)) + repr(config)
