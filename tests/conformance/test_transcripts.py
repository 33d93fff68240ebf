"""What proto/README.md shows is what the sidecar says."""

import hashlib
import json
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidecar.conformance.agent_play import AgentPlay, Service
from sidecar.conformance.agent_steps import STEPS
from sidecar.conformance.performing import perform
from sidecar.conformance.table import Step
from sidecar.core.digests.digest import error_fingerprint, result_digest
from sidecar.core.digests.subjects import Subjects
from sidecar.testing import SidecarProcess
from sidecar.v1 import session_service_pb2, session_service_pb2_grpc

pytestmark = pytest.mark.process

TEXT = (Path(__file__).parents[2] / "proto" / "README.md").read_text("utf-8")
TRANSCRIPTS = re.findall(r"```transcript\n(.+?)```", TEXT, re.DOTALL)
VECTORS = Path(__file__).parents[2] / "proto" / "digests.jsonl"


@pytest.fixture
def sidecar() -> Iterator[SidecarProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="sc-", dir="/tmp") as directory,
        SidecarProcess(Path(directory)) as process,
    ):
        yield process


@pytest.fixture
async def play(sidecar: SidecarProcess) -> AsyncIterator[AgentPlay]:
    playing = AgentPlay(Service(target=sidecar.agent))
    yield playing
    await playing.stop()


async def continues(_: AgentPlay, sidecar: SidecarProcess, session_id: str) -> None:
    async with grpc.aio.insecure_channel(sidecar.admin) as channel:
        stub: Any = session_service_pb2_grpc.SessionServiceStub(channel)
        request = session_service_pb2.ContinueSessionRequest(session_id=session_id, reason="go on")
        await stub.ContinueSession(request)


async def takes_over(play: AgentPlay, _: SidecarProcess, session_id: str) -> None:
    await done(play, "stream", "second")
    await done(play, "say", {"open": {"session_id": session_id}})
    await done(play, "hear", {"opened": {"session_id": session_id}})
    await done(play, "stream", "main")


async def is_stopped(_: AgentPlay, sidecar: SidecarProcess, __: str) -> None:
    sidecar.process.terminate()


BESIDE: dict[str, Callable[[AgentPlay, SidecarProcess, str], Any]] = {
    r"an operator continues (\S+)": continues,
    r"a second stream opens (\S+)": takes_over,
    r"(the sidecar) is told to stop": is_stopped,
}


async def done(play: AgentPlay, word: str, argument: Any) -> None:
    await perform(Step(word=word, argument=argument), play, STEPS)


async def say(play: AgentPlay, said: str) -> None:
    match said:
        case "(breaks)":
            await done(play, "break_off", {})
        case "(half-close)":
            await done(play, "half_close", {})
        case _:
            await done(play, "say", json.loads(said))


async def hear(play: AgentPlay, said: str) -> None:
    ending = re.fullmatch(r"\(ends ([A-Z_]+)(?: ([A-Z_]+))?(?: expected=(\d+))?\)", said)
    if ending is None:
        await done(play, "hear", json.loads(said))
        return
    code, reason, expected = ending.groups()
    status = {"code": code, "reason": reason or "", "metadata": {"expected": expected}}
    if expected is None:
        del status["metadata"]
    await done(play, "ended", status)


async def happens(play: AgentPlay, sidecar: SidecarProcess, what: str) -> None:
    for pattern, act in BESIDE.items():
        if found := re.fullmatch(pattern, what):
            await act(play, sidecar, found[1])
            return
    raise AssertionError(f"what is {what!r}?")


def test_there_is_a_transcript_of_each_rule() -> None:
    rules = re.findall(r"^\*\*(\d)\. ", TEXT, re.MULTILINE)

    assert rules == list("12345678")
    assert len(TRANSCRIPTS) == len(rules)


@pytest.mark.parametrize("number", range(1, 9))
async def test_a_transcript_is_what_the_sidecar_says(
    number: int, play: AgentPlay, sidecar: SidecarProcess
) -> None:
    for line in TRANSCRIPTS[number - 1].splitlines():
        match line[0], line[2:]:
            case ">", said:
                await say(play, said)
            case "<", said:
                await hear(play, said)
            case " ", what:
                await happens(play, sidecar, what.strip("()"))
            case _:
                raise AssertionError(line)


def rows_below(header: str) -> list[tuple[str, ...]]:
    """What stands in backquotes in each row of the table with that header."""
    _, _, below = TEXT.partition(f"\n{header}\n")
    rows = below.partition("\n\n")[0].splitlines()[1:]
    return [tuple(re.findall(r"`([^`]+)`", row)) for row in rows]


def test_the_digests_of_arguments_are_those_of_the_vectors() -> None:
    vectors = [json.loads(line) for line in VECTORS.read_text("utf-8").split("\n") if line]
    known = {one["canonical"]: one["digest"] for one in vectors if "canonical" in one}
    rows = rows_below("| arguments | canonical | `arguments_digest` |")

    assert len(rows) == 4
    for *_, canonical, digest in rows:
        assert known[canonical] == digest
        assert hashlib.sha256(canonical.encode()).hexdigest()[:16] == digest


def test_the_digest_of_a_result_is_the_sidecar_s_own() -> None:
    ((result, masked, digest),) = rows_below("| result | masked | `result_digest` |")

    assert result_digest(result) == result_digest(masked) == digest
    assert hashlib.sha256(masked.encode()).hexdigest()[:16] == digest


def test_the_fingerprints_of_an_error_are_the_sidecar_s_own() -> None:
    header = "| error | masked | `fingerprint` | `fingerprint_strict` |"
    ((error, masked, fingerprint, strict),) = rows_below(header)
    found = error_fingerprint(error, subjects=Subjects.MASKED)

    assert (found.masked, found.strict) == (fingerprint, strict)
    assert hashlib.sha256(masked.encode()).hexdigest()[:16] == fingerprint
