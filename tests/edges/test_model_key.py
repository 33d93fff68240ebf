"""The key that a command asks a model with: what is no key is refused before anything is asked."""

from pathlib import Path

import pytest

from sidecar.cli.model_key import model_key
from sidecar.config.keys import Config
from sidecar.models.access import BASE_URL_VARIABLE, KEY_VARIABLE, KEY_VARIABLES


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*KEY_VARIABLES, BASE_URL_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


def keyed(tmp_path: Path, content: bytes) -> Config:
    file = tmp_path / "key"
    file.write_bytes(content)
    return Config(model_key_file=str(file))


def test_a_key_is_read_without_the_white_space_around_it(tmp_path: Path) -> None:
    assert model_key(keyed(tmp_path, b" sk-x\n")) == "sk-x"


def test_a_key_in_a_file_stands_before_a_variable_that_holds_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk-a sk-b")
    assert model_key(keyed(tmp_path, b"sk-x")) == "sk-x"


@pytest.mark.parametrize("variable", ["", "sk-good", "sk-a sk-b"])
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b"sk-a\nsk-b", "it must hold a key of printable ASCII characters without blanks"),
        (b"sk-\xff", "it must hold a key of printable ASCII characters without blanks"),
    ],
)
def test_a_file_without_a_key_is_refused_whatever_the_variable_holds(
    content: bytes,
    why: str,
    variable: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, variable)
    with pytest.raises(SystemExit, match="2"):
        model_key(keyed(tmp_path, content))
    said = capsys.readouterr().err
    assert said == f"sidecar: model_key_file = {tmp_path}/key is not right: {why}\n"


def test_a_file_that_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        model_key(Config(model_key_file=str(tmp_path / "none")))
    assert "it must be a readable file (No such file or directory)" in capsys.readouterr().err


def test_a_variable_that_no_header_can_carry_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk-a sk-b")
    with pytest.raises(SystemExit, match="2"):
        model_key(Config())
    assert f"{KEY_VARIABLE} is not right" in capsys.readouterr().err
