"""`sidecar replay` of files whose names are not UTF-8."""

import os
from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess
from tests.process.replayed import GOOD, sidecar


@pytest.mark.parametrize(
    "options", [(), ("--keep-going",), ("--what-if", "spin.break=4")], ids=" ".join
)
def test_a_file_whose_name_is_not_utf_8_is_replayed_as_the_others_are(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    nameless = GOOD.replace('"session_id": "good"', "")
    named = [tmp_path / name for name in ("a.jsonl", os.fsdecode(b"caf\xe9.jsonl"), "z.jsonl")]
    for path in named:
        path.write_text(nameless)
    run = sidecar("replay", *options, *map(str, named))

    heads = [line.split(" ")[0] for line in run.stdout.splitlines() if not line.startswith(" ")]
    assert (run.returncode, heads) == (0, ["a", "caf\\udce9", "z"])


@pytest.mark.process
def test_a_file_whose_name_is_not_utf_8_is_sent_under_the_name_that_the_fold_gives_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.jsonl")
    path.write_text(GOOD.replace('"session_id": "good"', ""))
    folded = sidecar("replay", str(path))
    with SidecarProcess(tmp_path) as live:
        sent = sidecar("replay", "--target", live.agent, str(path))
        unknown = ("--policy", os.fsdecode(b"\xe9"))
        refused = sidecar("replay", "--target", live.agent, *unknown, str(path))

    assert (sent.returncode, sent.stdout) == (0, folded.stdout)
    assert sent.stdout.startswith("caf\\udce9  ")
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
