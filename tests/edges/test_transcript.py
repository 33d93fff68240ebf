"""P2: the decisions on one run, byte for byte: every directive, an operator's word, a rejected
turn, wrong numbers, a budget. Who changes what is decided or said on purpose writes them again:
`sidecar replay --format json tests/data/transcript.jsonl > tests/data/transcript.decisions.jsonl`.
"""

from pathlib import Path

from sidecar.adapters.run_file import read_lines, write_line
from sidecar.policies import Policies
from sidecar.presets import PRESETS, preset
from sidecar.replaying.recorded import Problem, Replay

DATA = Path(__file__).parents[1] / "data"


def test_a_run_is_decided_byte_for_byte_as_it_was_before() -> None:
    replay = Replay("transcript", Policies(by_name={name: preset(name) for name in PRESETS}))
    lines = [
        str(answer) if isinstance(answer, Problem) else write_line(answer)
        for answer in replay.run(read_lines(str(DATA / "transcript.jsonl")))
    ]
    assert lines == (DATA / "transcript.decisions.jsonl").read_text().splitlines()
