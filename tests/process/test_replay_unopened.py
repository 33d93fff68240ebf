"""`sidecar replay` of lines that come where no run is open."""

from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess
from tests.process.replayed import sidecar


@pytest.mark.process
@pytest.mark.parametrize(
    ("lines", "numbers"),
    [
        (['{"open": {"policy": "nonesuch"}}', *['{"turn": {}}'] * 50], ["1", "2"]),
        (['{"turn": {}}', '{"close": {}}', '{"open": {}}', '{"turn": {}}'], ["1"]),
        (['{"open": {}}', '{"turn": {}}', *['{"close": {}}', '{"turn": {}}'] * 2], ["4", "6"]),
        (['{"open": {}}', *['{"turn": {}}', '{"close": {}}'] * 2], ["4"]),
        (['{"open": {}}', '{"turn": {}}', '{"close": {}}', '{"close": {}}'], []),
    ],
    ids=["open refused", "no open first", "after a close", "a second close", "two closes"],
)
def test_of_a_run_that_is_not_open_the_fold_and_a_live_sidecar_say_the_same_once(
    tmp_path: Path, lines: list[str], numbers: list[str]
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(lines) + "\n")
    folded = sidecar("replay", "--keep-going", "--format=json", str(path))
    with SidecarProcess(tmp_path) as live:
        sent = sidecar("replay", "--keep-going", "--format=json", "--target", live.agent, str(path))

    assert [line.split(":")[1] for line in folded.stderr.splitlines()[:-1]] == numbers
    assert sent.stdout == folded.stdout
    said, told = sent.stderr.splitlines(), folded.stderr.splitlines()
    assert [line.split(":")[:3] for line in said] == [line.split(":")[:3] for line in told]
