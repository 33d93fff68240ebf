"""No content leaves the sidecar: a canary in every field marked `debug_redact`, found by walking
the descriptors, is looked for in everything that is written, exported, logged or answered."""

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.text_format import MessageToString

from sidecar.adapters.convert import EntryBytes, TurnReader, line_out
from sidecar.adapters.loop_files import LoopFiles
from sidecar.adapters.sqlite_store import SqliteStore
from sidecar.presets import preset
from sidecar.sessions.sessions import SessionBounds
from sidecar.testing import Losses
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from sidecar.v1 import session_service_pb2 as admin_pb
from tests.wire.served import Agent, Served, World, closing, opening, served

CANARY = "canary7Quokka"
TURNS = 12
OPERATORS_ONLY = {"sidecar.v1.VerdictCommand.summary"}
"""Never accepted on the wire."""


def redacted(kind: Any) -> Iterator[FieldDescriptor]:
    """The fields marked `debug_redact` in a message and in those it is made of."""
    for field in kind.fields:
        if field.GetOptions().debug_redact:
            yield field
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            yield from redacted(field.message_type)


def fill(message: Message, text: str) -> None:
    """Put the text into every redacted field, making the messages on the way."""
    for field in message.DESCRIPTOR.fields:
        if field.GetOptions().debug_redact:
            setattr(message, field.name, text)
        elif field.message_type is not None and next(redacted(field.message_type), None):
            part = getattr(message, field.name)
            fill(part.add() if field.is_repeated else part, text)


def turn(sequence: int, text: str) -> pb.ObserveRequest:
    """A failed turn with the text wherever there is content."""
    request = pb.ObserveRequest(turn=run_pb2.Turn(sequence=sequence, output_lines=1))
    fill(request.turn, text)
    # An answer would end the run before anything is said about it.
    request.turn.final_answer = ""
    request.turn.tool_calls[0].name = "Bash"
    request.turn.tool_calls[0].outcome = run_pb2.OUTCOME_ERROR
    return request


def texts() -> dict[str, str]:
    """The canary as content comes: plain, in JSON, in a path, in an error, in quotes."""
    return {
        "plain": CANARY,
        "JSON": json.dumps({"command": f"cat {CANARY}", CANARY: [CANARY]}),
        "an error": f'Traceback\n  File "/{CANARY}/a.py", line 3\n{CANARY}Error: no {CANARY}',
        "in quotes": f"ModuleNotFoundError: No module named '{CANARY}'",
        "not JSON": f'{{"{CANARY}": ',
    }


@pytest.mark.parametrize(
    "field",
    sorted(
        {field.full_name for field in redacted(run_pb2.Turn.DESCRIPTOR)}
        | {field.full_name for field in redacted(run_pb2.Close.DESCRIPTOR)}
    ),
)
def test_the_canary_stands_in_every_field_with_content(field: str) -> None:
    filled_turn, filled_close = run_pb2.Turn(), run_pb2.Close()
    fill(filled_turn, CANARY)
    fill(filled_close, CANARY)
    owner, name = field.rsplit(".", 1)
    said = [message for message in parts(filled_turn) + parts(filled_close)
            if message.DESCRIPTOR.full_name == owner]  # fmt: skip

    assert said
    assert all(getattr(message, name) == CANARY for message in said)


def parts(message: Message) -> list[Message]:
    """The message and all messages in it."""
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if field.is_repeated else [value]:
                found += parts(part)
    return found


def test_every_redacted_field_of_the_wire_is_one_that_is_filled() -> None:
    filled = {
        field.full_name
        for kind in (run_pb2.Turn, run_pb2.Close)
        for field in redacted(kind.DESCRIPTOR)
    }
    marked = {
        field.full_name
        for file in (run_pb2.DESCRIPTOR, pb.DESCRIPTOR, admin_pb.DESCRIPTOR)
        for kind in file.message_types_by_name.values()
        for field in kind.fields
        if field.GetOptions().debug_redact
    }

    assert marked - filled == OPERATORS_ONLY


def digests(value: Any) -> set[bytes]:
    """What stands for content in a value, and in those it is made of."""
    if isinstance(value, bytes):
        return {value} - {b""}
    if is_dataclass(value):
        return digests([getattr(value, field.name) for field in fields(value)])
    if isinstance(value, list | tuple):
        return set().union(*map(digests, value))
    return set()


@pytest.mark.parametrize("text", list(texts().values()), ids=list(texts()))
def test_what_stands_for_content_is_another_under_another_key(text: str) -> None:
    wire, lens = turn(1, text).turn, preset("default").lens
    with_digests = run_pb2.Turn(text_digest="ab" * 8, failures=[{"fingerprint": "cd" * 8}])
    with_digests.tool_calls.add(name="Bash", arguments_digest="ef" * 8, result_digest="01" * 8)
    for each in (wire, with_digests):
        ours, again, theirs = (
            digests(TurnReader(key=key, lens=lens).read(each))
            for key in (b"k" * 32, b"k" * 32, b"l" * 32)
        )

        assert len(ours) >= 4  # the text and the result, which are the same, have one
        assert ours == again
        assert ours.isdisjoint(theirs)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(directory=tmp_path, bounds=SessionBounds(decisions_kept_max=256))


@pytest.mark.parametrize("text", list(texts().values()), ids=list(texts()))
async def test_content_is_in_no_answer_no_log_and_nothing_that_is_recorded(
    server: Served, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answers = await run_to_its_end(server, text)
    with_turns = admin_pb.GetSessionRequest(session_id="s", turns_max=100)
    answers.append(await server.control.GetSession(with_turns))
    store = server.world.store

    assert len(answers) == TURNS + 4
    for answer in answers:
        assert CANARY not in MessageToString(answer)
    assert CANARY not in caplog.text
    assert CANARY not in repr(server.world.recorder.records)
    assert CANARY not in repr(store.read("s"))
    assert CANARY not in repr(store.load("s"))


async def run_to_its_end(server: Served, text: str) -> list[Any]:
    """A run that loops, conflicts, is resumed and closes; all that was answered."""
    agent = Agent(server)
    answers: list[Any] = [await agent.ask(opening())]
    answers += [await agent.ask(turn(sequence, text)) for sequence in range(1, TURNS + 1)]
    await agent.say(turn(TURNS, text + "!"))
    _, why = await agent.refused()
    answers.append(why)
    assert why.reason == "SEQUENCE_CONFLICT"
    again = Agent(server)
    answers.append(await again.ask(opening()))
    await again.say(closing(final_answer=text))
    await again.half_close()
    await again.ended()
    return answers


async def test_content_is_in_no_byte_of_the_state_directory_and_in_no_run_file(
    world: World, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    store = SqliteStore(
        state / "sidecar.db", codec=EntryBytes(), clock=world.clock, lost=world.recorder.lost
    )
    files = LoopFiles(state / "runs", store, files_max=10, lost=Losses())
    lines: list[str] = []
    async with served(world) as server:
        for number, text in enumerate(texts().values()):
            agent = Agent(server)
            await agent.ask(opening(f"s{number}"))
            for sequence in range(1, TURNS + 1):
                await agent.ask(turn(sequence, text))
            await agent.say(closing(final_answer=text))
            await agent.half_close()
            await agent.ended()
            await Agent(server).ask(opening(f"after{number}", previous_session_id=f"s{number}"))
        for session in server.sessions.held():
            for entry in world.store.read(session.id):
                store.append(entry)
                lines.append(MessageToString(line_out(entry, after_sequence=0)))
            kept = world.store.load(session.id)
            assert kept is not None
            store.save(kept)
            assert files.keep(session)
    assert await asyncio.to_thread(files.close, 5.0)
    assert await asyncio.to_thread(store.close, 5.0) == 0
    written = [path for path in state.rglob("*") if path.is_file()]

    assert {path.suffix for path in written} >= {".db", ".md"}
    for path in written:
        assert CANARY.encode() not in path.read_bytes(), path
    assert lines
    assert CANARY not in "".join(lines)
