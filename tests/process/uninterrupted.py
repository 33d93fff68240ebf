"""A run that visits every state, and what is decided on it when nothing comes in between."""

import random
from collections.abc import Iterable

from sidecar.adapters.run_file import Line
from sidecar.policies import Policies
from sidecar.presets import PRESETS, preset
from sidecar.replaying.recorded import Replay
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

POLICIES = Policies(by_name={name: preset(name) for name in PRESETS})


def turns(count: int, seed: int) -> list[run_pb2.Turn]:
    """A run that works, loops, fails and recovers, so that every state is visited."""
    draw = random.Random(seed)
    made = []
    mood = 0
    for sequence in range(1, count + 1):
        if sequence % 12 == 0:
            mood = draw.randrange(4)
        number = sequence if mood == 0 else mood
        call = run_pb2.ToolCall(
            name=("edit", "grep", "pytest", "read")[mood],
            arguments_json=f'{{"n": {number}}}',
            result_text=f"result {number} of {mood}",
            outcome=run_pb2.OUTCOME_ERROR if mood == 2 else run_pb2.OUTCOME_OK,
        )
        turn = run_pb2.Turn(sequence=sequence, tool_calls=[call], output_lines=draw.randrange(40))
        turn.progress.files_changed = 1 if mood == 0 else 0
        turn.user_input = draw.random() < 0.01
        made.append(turn)
    return made


def uninterrupted(
    session_id: str, run: Iterable[run_pb2.Turn], commands: Iterable[run_pb2.Command] = ()
) -> list[run_pb2.Decision]:
    """The decisions of the fold alone; each command is obeyed after the turn that it names."""
    lines = [pb.RunFileLine(open=run_pb2.Open(session_id=session_id))]
    waiting = [pb.RunFileLine(command=command) for command in commands]
    for turn in run:
        while waiting and waiting[0].command.after_sequence < turn.sequence:
            lines.append(waiting.pop(0))
        lines.append(pb.RunFileLine(turn=turn))
    found = []
    for answer in Replay("run", POLICIES).run(
        Line(number=number, message=line) for number, line in enumerate([*lines, *waiting], 1)
    ):
        assert isinstance(answer, pb.ObserveResponse), answer
        if answer.HasField("decision"):
            found.append(answer.decision)
    return found
