"""Other detectors as they are published, each in the environment that its setup made."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from eval.baselines import feed
from tests.eval.test_feeding import PACKAGES, asked, looping

pytestmark = pytest.mark.process


def environment(name: str) -> Path:
    found = feed.ENVIRONMENTS / name
    if not found.exists():
        pytest.skip(f"eval/baselines/{name}/setup has not been run")
    return found


def findings(name: str, files: Sequence[Path]) -> list[dict[str, object]]:
    environment(name)
    answer = asked(name, *files)
    assert answer.returncode == 0, answer.stderr
    return [json.loads(line) for line in answer.stdout.splitlines()]


def working(path: Path) -> Path:
    turns = [
        {
            "text": f"{word} it",
            "tool_calls": [
                {
                    "name": f"tool_{word}",
                    "arguments_json": json.dumps({word: place}),
                    "result_text": f"{word * 3} {place}",
                }
            ],
        }
        for place, word in enumerate("abcdef")
    ]
    lines = [{"open": {"session_id": path.stem}}, *({"turn": turn} for turn in turns)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.mark.parametrize("name", sorted(set(PACKAGES) - {"loopbrake"}))
def test_a_package_stops_six_equal_calls_and_lets_six_others_pass(
    name: str, tmp_path: Path
) -> None:
    found = findings(name, [looping(tmp_path / "loop.jsonl"), working(tmp_path / "work.jsonl")])
    assert {one["session_id"] for one in found} == {"loop"}
    assert "break" in {one["severity"] for one in found}


EDIT_DISTANCES = """
from itertools import product
from loop_guard import similarity
theirs = similarity.normalized_edit_distance
from eval.baselines.packages.loop_guard import normalized_edit_distance as ours
texts = ["".join(letters) for length in range(5) for letters in product("ab", repeat=length)]
assert all(theirs(one, other) == ours(one, other) for one, other in product(texts, texts))
"""


def test_the_edit_distance_given_to_agent_loop_guard_is_its_own() -> None:
    python = environment("agent-loop-guard") / "bin" / "python"
    subprocess.run(
        [python, "-c", EDIT_DISTANCES], env={"PYTHONPATH": str(feed.ROOT)}, timeout=60, check=True
    )


def past_runs(folder: Path, *, good: Sequence[int]) -> list[Path]:
    """Runs of so many calls that ended well, and `long`, of 9, that did not, with their labels."""
    runs = [looping(folder / f"good-{n}.jsonl", calls=calls) for n, calls in enumerate(good)]
    runs.append(looping(folder / "long.jsonl", calls=9))
    labels = [{"session_id": run.stem, "solved": run.stem != "long"} for run in runs]
    (folder / "labels.jsonl").write_text("".join(json.dumps(one) + "\n" for one in labels), "utf-8")
    return runs


def test_loopbrake_stops_a_run_that_outgrows_the_good_ones(tmp_path: Path) -> None:
    (found,) = findings("loopbrake", past_runs(tmp_path, good=[3] * 20))
    assert (found["session_id"], found["sequence"], found["severity"]) == ("long", 4, "break")


def test_loopbrake_only_watches_until_it_has_seen_19_good_runs(tmp_path: Path) -> None:
    assert not findings("loopbrake", past_runs(tmp_path, good=[3] * 18))


def test_loopbrake_learns_nothing_about_a_run_from_that_run(tmp_path: Path) -> None:
    found = findings("loopbrake", past_runs(tmp_path, good=[6, *[3] * 19]))
    assert {one["session_id"]: one["sequence"] for one in found} == {"good-0": 4, "long": 7}
