"""Subagents in one run: each has detectors of its own, and learns what the others did."""

from dataclasses import replace

from sidecar.core.detectors import ACTORS_MAX
from sidecar.core.directive import Proceed, Rotate
from sidecar.core.run import Run
from sidecar.core.turn import CallKind, Outcome, Progress, ToolCall, Turn
from sidecar.presets import DEFAULT
from tests.core.scripted import STAGED, fold


def test_actors_have_detectors_of_their_own() -> None:
    run, decisions = fold(STAGED, "aw@x aw@y aw@x aw@y")

    told = [type(decision.directive) for decision in decisions]
    counted = {track.actor: track.states[0].turns for track in run.detectors.tracks}

    assert told == [Rotate, Rotate, Proceed, Proceed]
    assert counted == {"x": 2, "y": 2}


def test_an_actor_learns_that_others_progressed_since_its_turn() -> None:
    progress = Progress(files_changed=1)
    turns = [
        Turn(sequence=1, actor="lead"),
        Turn(sequence=2, actor="a"),
        Turn(sequence=3, actor="lead"),
        Turn(sequence=4, actor="a", progress=progress),
        Turn(sequence=5, actor="lead"),
        Turn(sequence=6, actor="lead"),
    ]
    run, told = Run.start("s", DEFAULT), []
    for turn in turns:
        run = Run.decode("s", DEFAULT, run.encode(), observed=False)
        _, seen, _, _ = run.detectors.read(turn, run.plan)
        told.append(seen.others_progressed)
        run, _ = run.advance(turn)

    assert told == [False, False, False, False, True, False]


def test_an_actor_learns_that_others_changed_something_since_its_turn() -> None:
    write = ToolCall(name="write_file", call=b"w" * 8, tool=b"w" * 8, kind=CallKind.WRITE)
    read = replace(write, name="read_file", call=b"r" * 8, tool=b"r" * 8, kind=CallKind.PLAIN)
    others = [(), (read,), (write,), (write,), (replace(write, outcome=Outcome.ERROR),)]
    run, told = Run.start("s", DEFAULT), []
    for number, calls in enumerate(others):
        run, _ = run.advance(Turn(sequence=2 * number + 1, actor="a", tool_calls=calls))
        run = Run.decode("s", DEFAULT, run.encode(), observed=False)
        lead = Turn(sequence=2 * number + 2, actor="lead")
        _, seen, _, _ = run.detectors.read(lead, run.plan)
        told.append(seen.others_changed)
        run, _ = run.advance(lead)

    # The same write again is no change, nor is a failed one.
    assert told == [False, False, True, False, False]


def test_an_actor_learns_that_another_said_something_new_since_its_turn() -> None:
    said = [b"one", b"one", None, b"two", b"one"]
    run, told = Run.start("s", DEFAULT), []
    for number, text in enumerate(said):
        text = text and text.ljust(8)
        run, _ = run.advance(Turn(sequence=2 * number + 1, actor="a", text=text))
        run = Run.decode("s", DEFAULT, run.encode(), observed=False)
        lead = Turn(sequence=2 * number + 2, actor="lead")
        _, seen, _, _ = run.detectors.read(lead, run.plan)
        told.append(seen.others_said)
        run, _ = run.advance(lead)

    # What it says again is nothing new. On lead's first turn nobody else has a track yet.
    assert told == [False, False, False, True, True]


def test_the_actor_silent_for_longest_is_forgotten() -> None:
    script = " ".join(f".@{number}" for number in range(ACTORS_MAX + 1))
    run, _ = fold(STAGED, script)

    assert [track.actor for track in run.detectors.tracks] == [
        str(number) for number in range(1, ACTORS_MAX + 1)
    ]
