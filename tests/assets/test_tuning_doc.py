"""What docs/tuning.md shows is what the commands do."""

import re
from pathlib import Path

from click.testing import CliRunner

from sidecar.cli import main
from sidecar.tuning.telling import COLUMNS
from tests.evaluation.recorded import looping, written

TEXT = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text("utf-8")


def test_the_example_of_what_if_is_what_is_printed(tmp_path: Path) -> None:
    (example,) = re.findall(r"```\n(run-17 .+?)```", TEXT, re.DOTALL)
    run = written(tmp_path, "run-17", looping(7))
    arguments = ["replay", str(run), "--what-if", "loop.repeat_break=6"]
    printed = CliRunner().invoke(main, arguments).stdout
    revision = re.compile(r"[0-9a-f]{12}")
    assert revision.sub("", printed) == revision.sub("", example)


def test_the_options_exist() -> None:
    known = {
        word
        for name in ("tune", "replay", "serve", "check-config")
        for word in CliRunner().invoke(main, [name, "--help"]).stdout.replace(",", " ").split()
    }
    named = set(re.findall(r"--[a-z][a-z-]+", TEXT))
    assert named
    assert named <= known


def test_every_column_is_explained() -> None:
    for column in COLUMNS:
        assert f"| {column} |" in TEXT
