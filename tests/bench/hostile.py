"""What reading a turn costs whose text was written to be slow."""

import json
import time
from collections.abc import Iterator

from sidecar.adapters.convert import TurnReader
from sidecar.core.digests.subjects import Subjects
from sidecar.core.policy import Lens
from sidecar.v1 import run_pb2 as pb

LENGTH = 65_536
ROUNDS = 3
PIECES = (
    *("1", "1 ", "1:", ":1:2", "1.", "1,000 ", "1.2.3.4:80 ", "9" * 20 + " ", "0x1 ", "1e5 "),
    *("1s ", "1s:", "=1s", "in 5 ms ", "0.1s ", "00:00 ", "12:34:56 5 ms /tmp/a "),
    *("2024-01-01T00:00:00Z ", "mon ", "deadbeef ", "1/2 ", "3 MB ", "#1 ", "[1] ", "pid 1 "),
    *('""', "''", "`a` ", '"a" ', "'a' ", '{"a":1}', '{"a":', "[[", "|\n", "\t", "\n", "_", "-"),
    *("/", "/T/a ", "/tmp/a", "/tmp/x ", "~/a ", "C:/", "C:\\a\\b ", "a", "A", "a ", "a1"),
    *("at a (b.js:1:2)\n", 'File "a.py", line 1\n', "line 1\n", "error\n", "not defined\n"),
    *("no ", "ok\n", "é", "\u0130", "e\u0301", "\U0001f600"),
)
"""Each is repeated until the text is full: all that some pattern begins with, and ends."""


def turns(text: str) -> Iterator[pb.Turn]:
    """The text in every place of a turn."""
    said, failed = pb.Turn(text=text), pb.Turn()
    failed.failures.add(message=text)
    yield from (said, failed)
    command = json.dumps({"command": text})
    for arguments, result, outcome in (
        ("{}", text, pb.OUTCOME_OK),
        ("{}", text, pb.OUTCOME_ERROR),
        (command, "", pb.OUTCOME_OK),
        (text, "", pb.OUTCOME_OK),
        (command, text, pb.OUTCOME_OK),
    ):
        turn = pb.Turn()
        turn.tool_calls.add(
            name="bash", arguments_json=arguments, result_text=result, outcome=outcome
        )
        yield turn


def hostile_turn_cost() -> float:
    """Milliseconds of CPU to read the worst of these turns, each the best of some rounds."""
    reader = TurnReader(key=b"k" * 16, lens=Lens(subjects=Subjects.KEPT))
    texts = [(piece * LENGTH)[:LENGTH] for piece in PIECES]
    return max(_cost(reader, turn) for text in texts for turn in turns(text))


def _cost(reader: TurnReader, turn: pb.Turn) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        reader.read(turn)
        best = min(best, time.process_time() - began)
    return 1e3 * best
