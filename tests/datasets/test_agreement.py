"""Conversions of the pinned sources against the recorded runs that others made of them, and what
people noted of such runs.

SIDECAR_SOURCES names a folder with a clone of each source's repository, as OWNER+NAME, and
SIDECAR_RUNS the recorded runs.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format

from sidecar.datasets.bringing import bring
from sidecar.datasets.catalogue import SOURCES
from sidecar.datasets.converting import FORMATS, convert_file
from sidecar.datasets.writing import LABELS_FILE, RunWriter
from sidecar.evaluation.detecting import PolicyDetector
from sidecar.evaluation.labels import Label, read_labels
from sidecar.evaluation.runs import read_run
from sidecar.presets import DEFAULT
from sidecar.v1 import run_pb2

RUNS = os.environ.get("SIDECAR_RUNS")
CLONES = os.environ.get("SIDECAR_SOURCES")

pytestmark = pytest.mark.skipif(not CLONES, reason="SIDECAR_SOURCES names no clones")

NOT_THERE = ("failures", "start_time", "end_time", "usage", "output_lines")
"""What the recorded runs leave out, read off the text or counted after the cut."""


def _plain(turn: run_pb2.Turn) -> dict[str, Any]:
    plain: dict[str, Any] = json_format.MessageToDict(turn, preserving_proto_field_name=True)
    for name in NOT_THERE:
        plain.pop(name, None)
    for call in plain.get("tool_calls", ()):
        call.pop("id", None)
        # Read off the text in both, by rules that differ.
        call.pop("outcome", None)
        call["arguments_json"] = json.loads(call.get("arguments_json", "{}"))
    return plain


def _converted(name: str, folder: Path) -> Path:
    source = SOURCES[name]
    clone = Path(CLONES or "") / source.repository.replace("/", "+")
    clone = clone / "repo" if (clone / "repo").is_dir() else clone
    form, writer = FORMATS[source.format], RunWriter(folder / "runs")
    for path in bring(source, folder / "cache", clone=clone):
        if any(path.match(pattern) for pattern in form.files):
            assert not convert_file(form, path, writer, source=name).broken
    writer.finish()
    return folder / "runs"


@pytest.mark.skipif(not RUNS, reason="SIDECAR_RUNS names no recorded runs")
@pytest.mark.parametrize(
    ("name", "recorded", "differing", "why"),
    [
        ("tau-bench", "taubench_gpt4o_airline", 0, ""),
        ("tau2-bench", "tau2_whissle_airline", 0, ""),
        ("llm-agents-study-openhands", "sola_openhands", 0, ""),
        ("llm-agents-study-repairagent", "sola_repairagent", 0, ""),
        ("who-and-when-captain", "whowhen_captain", 20, "a cut program names the digest of all"),
        (
            "who-and-when-magentic",
            "whowhen_magentic",
            2,
            "results that are one line are kept whole",
        ),
    ],
)
def test_conversions_agree_turn_by_turn(
    tmp_path: Path, name: str, recorded: str, differing: int, why: str
) -> None:
    folder = _converted(name, tmp_path)
    labels, known = read_labels(folder / LABELS_FILE), _known()
    turns: Counter[bool] = Counter()
    for path in sorted((Path(RUNS or "") / recorded).glob("*.jsonl")):
        theirs, ours = read_run(path), read_run(folder / path.name)
        assert ours.session_id == theirs.session_id
        assert labels[ours.session_id].solved == known[ours.session_id].solved
        pairs = zip(ours.turns, theirs.turns, strict=True)
        turns.update(_plain(our) == _plain(their) for our, their in pairs)
    assert turns[True] > 0
    assert turns[False] == differing, why


def test_directives_beside_what_people_annotated(tmp_path: Path) -> None:
    folder = _converted("mast-annotated", tmp_path)
    told: Counter[tuple[str, str, bool]] = Counter()
    restarted: Counter[str] = Counter()
    for line in (folder / LABELS_FILE).read_text("utf-8").splitlines():
        label = json.loads(line)
        annotated = label.get("mast", {})
        run = read_run(folder / f"{label['session_id']}.jsonl")
        is_told = bool(PolicyDetector(policy=DEFAULT).marks(run))
        _, system, *_ = label["session_id"].split("-")
        repeated = annotated.get("Step repetition", "")
        told[system, repeated, is_told] += 1
        if is_told and repeated == "no":
            restarted[annotated["Trajectory restart"]] += 1
    assert told == {
        ("HyperAgent", "yes", True): 6,
        ("HyperAgent", "yes", False): 1,
        ("HyperAgent", "no", True): 3,
        ("HyperAgent", "no", False): 20,
        ("AG2", "no", False): 31,
        ("MetaGPT", "", True): 7,
        ("MetaGPT", "", False): 24,
    }
    assert restarted == {"yes": 3}


def _known() -> dict[str, Label]:
    return read_labels(Path(RUNS or "") / LABELS_FILE)
