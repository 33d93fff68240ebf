"""A configuration that cannot be used: one line with the place, the key, the value, the remedy."""

import re
from pathlib import Path
from typing import Any

import pytest

from sidecar.config.file import FILE_BYTES_MAX, WORDS_MAX
from sidecar.config.given import ConfigError
from sidecar.config.load import load

TABLE = Path(__file__).parent.parent / "data" / "config_errors.txt"

ROW = re.compile(
    r"^# (?P<why>.+)\n(?P<text>(?:.*\n)+?)=> (?P<line>\d+): (?P<expected>.+)$", re.MULTILINE
)


def test_every_row_of_the_table_is_read() -> None:
    text = TABLE.read_text("utf-8")
    assert len(ROW.findall(text)) == text.count("\n# ") == text.count("\n=> ") > 0


def error_of(**sources: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load(**{"environment": {}, **sources})
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row["why"]) for row in ROW.finditer(TABLE.read_text("utf-8"))]
)
def test_a_wrong_file_is_told_in_one_line(tmp_path: Path, row: re.Match[str]) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text(row["text"], encoding="utf-8")
    where = f"{path}:{row['line']}" if row["line"] != "0" else str(path)
    assert error_of(path=str(path)).startswith(f"{where}: {row['expected']}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: " + "[" * 3000, "is nested too deeply"),
        ("#" * (FILE_BYTES_MAX + 1), f"is larger than {FILE_BYTES_MAX} bytes"),
    ],
    ids=["endless nesting", "too much of anything"],
)
def test_a_file_beyond_measure_is_told_in_one_line(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text(text, encoding="utf-8")
    assert error_of(path=str(path)) == f"{path}: {expected}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'log_format: "\\ud800"',
            'log_format = "\ud800" is not right: it must be one of json, text',
        ),
        (
            'streams_max: "\\ud800"',
            'streams_max = "\ud800" is not right: it must be a whole number',
        ),
        ('label_keys: ["\\ud800"]', 'label_keys = ["\ud800"] is not right: it must be a list of'),
        (
            'policies: {own: {signals: {stall: {warning: "\\ud800"}}}}',
            'policies.own.signals.stall.warning = "\ud800" is not right: it must be a whole number',
        ),
        (
            'circuit_breaker: {output_decline: {warning_pct: "\\ud800"}}',
            'circuit_breaker.output_decline.warning_pct = "\ud800" is not right: it must be',
        ),
    ],
)
def test_half_of_a_surrogate_pair_is_told_as_any_wrong_value(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text(text, encoding="utf-8")
    assert error_of(path=str(path)).startswith(f"{path}:1: {expected}")


def test_a_list_of_too_many_words_is_told_by_its_key_without_them(tmp_path: Path) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text(f"token: [{'hunter2, ' * (WORDS_MAX + 1)}]", encoding="utf-8")
    assert error_of(path=str(path)) == (
        f"{path}:1: token is a list of {WORDS_MAX + 1}: a list holds words, {WORDS_MAX} at most"
    )


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("streams_max = \n", ":1", "is not valid TOML: Invalid value"),
        ("streams_max = 1\nx = [1\n", "", "is not valid TOML: Unclosed array"),
        ("a = 1\na = 2\n", ":2", "is not valid TOML: Cannot overwrite a value"),
        ("streams_max = 1979-05-27\n", "", 'streams_max = "1979-05-27" is not right'),
        ("streams_max = 0x\n", ":1", "is not valid TOML"),
        ("flush_timeout_s = nan\n", "", "flush_timeout_s = NaN is not right"),
    ],
)
def test_a_wrong_toml_file_is_told_in_one_line(
    tmp_path: Path, text: str, line: str, expected: str
) -> None:
    path = tmp_path / "sidecar.toml"
    path.write_text(text, encoding="utf-8")
    assert error_of(path=str(path)).startswith(f"{path}{line}: {expected}")


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        (
            "SIDECAR_STREAMS_MAX",
            "many",
            'streams_max = "many" is not right: it must be a whole number from 1 to 65536',
        ),
        (
            "SIDECAR_STREAMS_MAX",
            "",
            'streams_max = "" is not right: it must be a whole number from 1 to 65536',
        ),
        (
            "SIDECAR_STREAM_MAX",
            "5",
            "stream_max is not a known key; did you mean SIDECAR_STREAMS_MAX?",
        ),
        (
            "SIDECAR_LIMITS_MAX_TURNS",
            "7",
            (
                "limits_max_turns is not a known key; did you mean SIDECAR_LIMITS__MAX_TURNS? "
                '(its value is "7")'
            ),
        ),
        (
            "SIDECAR_POLICIES__MINE__SIGNALS__STALL__WARN",
            "3",
            (
                "policies.mine.signals.stall.warn is not a known threshold of stall; did you mean "
                "SIDECAR_POLICIES__MINE__SIGNALS__STALL__WARNING?"
            ),
        ),
        (
            "SIDECAR_LABEL_KEYS",
            "[1]",
            (
                'label_keys = "[1]" is not right: it must be a list of names of letters, digits, '
                "'_', '.' and '-'"
            ),
        ),
        (
            "SIDECAR_POLICIES__MINE__FORCE_CONTINUE",
            "yes",
            'policies.mine.force_continue = "yes" is not right: it must be true or false',
        ),
        (
            "SIDECAR_POLICIES__MINE",
            "",
            'policies.mine = "" is not right: it must be a table of preset',
        ),
    ],
)
def test_a_wrong_variable_is_told_in_one_line(variable: str, text: str, expected: str) -> None:
    assert error_of(environment={variable: text}).startswith(f"{variable}: {expected}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stream_max: 2", "did you mean streams_max? (its value is 2)"),
        ("quux: true", "docs/configuration.md lists all (its value is true)"),
        ("stream_max: {a: 1}", "did you mean streams_max?"),
        (
            f"tokn_file: {'s' * 16}",
            "did you mean token_file? (its value may be a secret and is not shown)",
        ),
        ("policies: {mine: {onbreak: stop}}", 'did you mean on_break? (its value is "stop")'),
        ("judge: {modle: small}", 'did you mean model? (its value is "small")'),
    ],
)
def test_the_value_of_an_unknown_key_is_named_where_it_is_too_short_for_a_secret(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text(text)
    assert error_of(path=str(path)).endswith(f"; {expected}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("8", 'is "8"'), ("true", 'is "true"'), ("hunter2", "may be a secret and is not shown")],
)
def test_of_an_unknown_variable_only_what_no_secret_looks_like_is_shown(
    text: str, shown: str
) -> None:
    assert error_of(environment={"SIDECAR_QUUX": text}).endswith(f"(its value {shown})")


@pytest.mark.parametrize("name", ["stall", "NO_FILE_CHANGES"])
def test_a_signal_beside_the_table_of_signals_is_told_where_it_belongs(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text(f"policies: {{p: {{{name}: {{warning: 3}}}}}}")
    assert error_of(path=str(path)) == (
        f"{path}:1: policies.p.{name} is a signal: it belongs under signals, as "
        f"policies.p.signals.{name}"
    )


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        ("max_turns.turns_max", "a whole number from 1 to 1000000000 or off"),
        ("max_turns.duration_max_s", "a number above 0, at most 1000000000000 or off"),
        ("token_overflow.input_tokens_max", "a whole number from 1 to 1000000000 or off"),
        ("token_overflow.cost_usd_max", "a number above 0, at most 1000000000000 or off"),
    ],
)
def test_a_budget_of_nothing_is_refused_in_a_signal_as_in_the_limits(
    tmp_path: Path, threshold: str, expected: str
) -> None:
    signal, name = threshold.split(".")
    path = tmp_path / "sidecar.yaml"
    path.write_text(f"policies: {{p: {{signals: {{{signal}: {{{name}: 0}}}}}}}}")
    assert error_of(path=str(path)) == (
        f"{path}:1: policies.p.signals.{threshold} = 0 is not right: it must be {expected}"
    )


def test_a_key_file_of_two_lines_is_told_without_its_content(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sk-a\nsk-b\n")
    assert error_of(flags={"model_key_file": str(file)}) == (
        f"--model-key-file: model_key_file = {file} is not right: it must hold a key of printable "
        "ASCII characters without blanks"
    )


def test_a_wrong_flag_is_told_in_one_line() -> None:
    assert error_of(flags={"log_level": "loud"}) == (
        '--log-level: log_level = "loud" is not right: it must be one of debug, error, info, '
        "warning"
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("missing.yaml", "cannot be read: No such file or directory"),
        ("folder.yaml", "cannot be read: Is a directory"),
        ("sidecar.json", "a configuration file ends in .yaml, .yml, .toml"),
        ("latin.yaml", "is not UTF-8 text: byte 3"),
        ("binary.yaml", "is not valid YAML: unacceptable character"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_one_line(
    tmp_path: Path, name: str, expected: str
) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9\n")
    (tmp_path / "binary.yaml").write_bytes(b"a: \x00\n")
    path = str(tmp_path / name)
    assert error_of(path=path).startswith(f"{path}: {expected}")
    assert error_of(environment={"SIDECAR_CONFIG": path}).startswith(f"{path}: {expected}")


def test_two_files_of_one_user_are_one_too_many(tmp_path: Path) -> None:
    directory = tmp_path / "sidecar"
    directory.mkdir()
    names = [directory / "config.yaml", directory / "config.toml"]
    for name in names:
        name.write_text("")
    assert error_of(environment={"XDG_CONFIG_HOME": str(tmp_path)}) == (
        f"there is {names[0]} and {names[1]}: keep one, or name one with --config"
    )


@pytest.mark.parametrize(
    "token", ["hunter2\n", "hunter2 hunter2 hunter2", "hünter2hünter2hünter2", "h" * 4097]
)
def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused(tmp_path: Path, token: str) -> None:
    path = tmp_path / "token"
    path.write_text(token, encoding="utf-8")
    assert error_of(flags={"token_file": str(path)}) == (
        f"--token-file: token_file = {path} is not right: it must hold a token of 16 to 4096 "
        "ASCII characters without blanks"
    )


def test_a_file_that_is_there_is_named_also_where_its_path_is_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tok").touch()
    assert error_of(flags={"token_file": "tok"}) == (
        "--token-file: token_file = tok is not right: the file is empty"
    )


@pytest.mark.parametrize(
    "key",
    [
        *("state_directory", "agent_address", "telemetry_address", "socket_group"),
        *("tls_certificate_file", "tls_server_ca_file", "tls_client_certificate_file"),
        *("token_file", "model_key_file"),
    ],
)
def test_a_text_with_nul_in_it_is_told_in_one_line(tmp_path: Path, key: str) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text(f'{key}: "/a\\0b"\n')
    assert error_of(path=str(path)) == (
        f'{path}:1: {key} = "/a\\u0000b" is not right: it must be a text without NUL'
    )


@pytest.mark.parametrize("key", ["token", "token_file"])
def test_a_secret_in_the_wrong_place_is_not_shown(tmp_path: Path, key: str) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text(f"{key}: hunter2hunter2hunter2\n")
    assert "hunter2" not in error_of(path=str(path))
