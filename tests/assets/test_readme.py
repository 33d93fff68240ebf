"""What README.md shows can be done as it is shown."""

import re
from pathlib import Path

from click.testing import CliRunner

from sidecar.cli import main

TEXT = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def test_the_run_file_is_replayed_and_explained(tmp_path: Path) -> None:
    (lines,) = re.findall(r"```json\n(.+?)```", TEXT, re.DOTALL)
    path = tmp_path / "run.jsonl"
    path.write_text(lines)
    replayed = CliRunner().invoke(main, ["replay", str(path)])
    explained = CliRunner().invoke(main, ["explain", str(path)])

    assert replayed.exit_code == explained.exit_code == 0
    assert "turn    3  warning   rotate" in replayed.stdout
    assert "WARNING (repeated 3x)" in explained.stdout


def test_the_commands_and_their_options_exist() -> None:
    blocks = "".join(re.findall(r"```sh\n(.+?)```", TEXT, re.DOTALL))
    commands = set(re.findall(r"^sidecar ([a-z-]+(?: continue)?)", blocks, re.MULTILINE))
    helps = {name: CliRunner().invoke(main, [*name.split(), "--help"]) for name in sorted(commands)}

    assert {
        "serve",
        "sessions",
        "sessions continue",
        "explain",
        "replay",
        "check-config",
    } <= commands
    assert all(shown.exit_code == 0 for shown in helps.values())
    asking = helps["explain"].output
    assert {"--admin", "--tls-server-ca-file", "--token-file"} <= set(asking.split())
