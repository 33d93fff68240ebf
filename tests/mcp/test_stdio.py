"""`sidecar mcp` over standard input and output: the SDK's client, a real sidecar."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from subprocess import PIPE
from typing import Any

import grpc
import pytest
from mcp.shared.exceptions import MCPError

from sidecar.testing import FakeAnthropicServer, Say, SidecarProcess
from sidecar.v1 import run_pb2
from tests.mcp.arguments import UNFIT
from tests.mcp.hosts import (
    COMMAND,
    ENDS_WITHIN_S,
    INITIALIZE,
    INITIALIZED,
    LOOPING,
    PATIENT,
    calling,
    explanation,
    give,
    over_stdio,
    session_of,
    wait_closed,
)

pytestmark = pytest.mark.process


async def test_a_loop_is_told_as_rotate_and_then_commit(sidecar: SidecarProcess) -> None:
    async with over_stdio(sidecar.agent, "--session-id=loops", PATIENT) as host:
        told = [await give(host, "report_turn", LOOPING) for _ in range(4)]
        status = await give(host, "get_status")

    assert [each["kind"] for each in told] == ["proceed", "proceed", "rotate", "commit"]
    assert told[2]["rotate"]["instruction"] == told[2]["instruction"] != ""
    assert [each["sequence"] for each in told] == [1, 2, 3, 4]
    assert (status["state"], status["last_sequence"], status["connected"]) == ("tripped", 4, True)
    assert status["readings"] == told[3]["readings"]
    assert status["session_id"] == "loops"


async def test_it_offers_no_control_over_sessions(sidecar: SidecarProcess) -> None:
    async with over_stdio(sidecar.agent) as host:
        tools = (await host.list_tools()).tools
        resources = (await host.list_resources()).resources

    assert {tool.name for tool in tools} == {"report_turn", "get_status", "request_commit"}
    assert [resource.uri for resource in resources] == ["sidecar://run/explanation"]
    for tool in tools:
        assert "session_id" not in tool.input_schema["properties"]
        assert "user_input" not in tool.input_schema["properties"]
        assert tool.output_schema is not None


async def test_another_run_s_id_is_not_taken(sidecar: SidecarProcess) -> None:
    async with (
        over_stdio(sidecar.agent, "--session-id=theirs", PATIENT) as theirs,
        over_stdio(sidecar.agent, "--session-id=mine", PATIENT) as mine,
    ):
        await give(theirs, "report_turn")
        told = await give(mine, "report_turn", {"session_id": "theirs", "open": {"x": 1}})
        status = await give(mine, "get_status", {"session_id": "theirs"})
        await give(mine, "request_commit", {"session_id": "theirs"})
        turns = {name: session_of(sidecar, name).last_sequence for name in ("mine", "theirs")}

    assert told["ignored"] == ["open", "session_id"]
    assert (status["session_id"], status["ignored"]) == ("mine", ["session_id"])
    assert turns == {"mine": 1, "theirs": 1}


async def test_a_model_cannot_say_that_a_person_has_spoken(sidecar: SidecarProcess) -> None:
    async with over_stdio(sidecar.agent, PATIENT) as host:
        for _ in range(4):
            told = await give(host, "report_turn", {**LOOPING, "user_input": True})

    assert told["ignored"] == ["user_input"]
    assert (told["kind"], told["state"]) == ("commit", "STATE_TRIPPED")


async def test_turns_with_arguments_of_the_wrong_type_count(sidecar: SidecarProcess) -> None:
    async with over_stdio(sidecar.agent, PATIENT) as host:
        told = [await give(host, "report_turn", arguments) for arguments, _ in UNFIT]

    assert [each["ignored"] for each in told] == [ignored for _, ignored in UNFIT]
    assert [each["sequence"] for each in told] == list(range(1, len(UNFIT) + 1))


async def test_huge_arguments_are_cut_and_the_turn_is_decided_on(sidecar: SidecarProcess) -> None:
    large = "x" * 5_000_000
    calls = [{"name": "Read", "arguments": {"path": large}, "result": large}]
    calls += [{"name": "Read"}] * 300
    async with over_stdio(sidecar.agent, PATIENT) as host:
        told = await give(host, "report_turn", {"text": large, "tool_calls": calls})

    assert told["sequence"] == 1
    assert told["ignored"] == ["tool_calls"]


async def test_an_unknown_tool_or_resource_is_an_error_that_says_what_there_is(
    sidecar: SidecarProcess,
) -> None:
    async with over_stdio(sidecar.agent) as host:
        with pytest.raises(MCPError, match="there are report_turn"):
            await host.call_tool("close_session", {})
        with pytest.raises(MCPError, match="no such resource"):
            await host.read_resource("sidecar://other/explanation")


async def test_without_a_sidecar_it_proceeds_and_says_why(tmp_path: Path) -> None:
    async with over_stdio(f"unix:{tmp_path}/none.sock") as host:
        told = await give(host, "report_turn", LOOPING)
        status = await give(host, "get_status")
        answer = await give(host, "request_commit", {"question": "What?"})
        told_of = await explanation(host)

    assert told == {
        "proceed": {},
        "kind": "proceed",
        "instruction": "",
        "late": False,
        "fail_open_reason": "connect",
        "ignored": [],
    }
    assert (status["connected"], status["state"], status["last_sequence"]) == (False, "", 1)
    assert status["give_ups"]["connect"] == 1
    assert "answer" not in answer
    assert answer["refusal"].startswith("no sidecar: ")
    assert "| 1 | - | - | - | - |" in told_of


async def test_the_explanation_is_that_of_sidecar_explain_without_the_way_out(
    sidecar: SidecarProcess,
) -> None:
    options = ("--session-id=told", "--policy=gaia", PATIENT)
    failing = {"tool_calls": [{"name": "Bash", "error": "ValueError: x"}], "approach": "grep"}
    async with over_stdio(sidecar.agent, *options) as host:
        for _ in range(4):
            await give(host, "report_turn", {**failing, "files_changed": 0, "output_lines": 3})
        text = await explanation(host)

    assert text.startswith("# told: policy gaia ")
    assert "## CIRCUIT BREAKER" in text
    assert "grep (iterations 1-4)" in text
    assert "sessions continue" not in text


async def test_an_answer_comes_from_the_sidecar_s_model_within_its_bounds(tmp_path: Path) -> None:
    with FakeAnthropicServer([Say(text="FINAL_ANSWER: Paris")]) as api:
        environment = {"ANTHROPIC_API_KEY": api.key, "ANTHROPIC_BASE_URL": api.base_url}
        flags = ["--session-model-calls-max=1"]
        with SidecarProcess(tmp_path, flags=flags, environment=environment) as sidecar:
            async with over_stdio(sidecar.agent, PATIENT) as host:
                await give(host, "report_turn")
                messages = [{"role": "user", "text": "What is the capital of France?"}]
                first = await give(host, "request_commit", {"messages": messages})
                second = await give(host, "request_commit", {"messages": messages})

    assert (first["answer"], first["refusal"]) == ("Paris", "")
    assert second["refusal"].startswith("SESSION_MODEL_CALLS_MAX")
    assert second["retry_after_s"] > 0
    assert len(api.requests) == 1


async def test_the_host_s_leaving_closes_the_session(sidecar: SidecarProcess) -> None:
    async with over_stdio(sidecar.agent, "--session-id=left", PATIENT) as host:
        await give(host, "report_turn")
        assert not session_of(sidecar, "left").closed

    wait_closed(sidecar, "left")


def test_turns_that_were_read_before_the_end_of_the_input_are_reported(
    sidecar: SidecarProcess,
) -> None:
    reports = [{**calling("report_turn", {}), "id": number} for number in range(2, 7)]
    said = subprocess.run(
        [*COMMAND, f"--address={sidecar.agent}", "--session-id=piped", PATIENT],
        input="".join(json.dumps(each) + "\n" for each in (INITIALIZE, INITIALIZED, *reports)),
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
    )
    _, *told = [json.loads(line) for line in said.stdout.splitlines()]

    assert {each["id"]: each["result"]["structuredContent"]["sequence"] for each in told} == {
        each["id"]: sequence for sequence, each in enumerate(reports, 1)
    }
    assert (said.returncode, said.stderr) == (0, "")
    wait_closed(sidecar, "piped")


def test_lines_that_are_no_message_are_refused_and_blank_ones_passed_over(
    sidecar: SidecarProcess,
) -> None:
    said = subprocess.run(
        [*COMMAND, f"--address={sidecar.agent}", PATIENT],
        input="".join(
            f"{line}\n"
            for line in (
                *("nonsense", "", "[]"),
                '{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}',
                '{"jsonrpc": "2.0", "id": null, "method": "notifications/initialized"}',
                '{"jsonrpc": "2.0", "method": "notifications/x", "params": {"id": 1}}',
                json.dumps(INITIALIZE),
            )
        ),
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
    )
    *refused, initialized = [json.loads(line) for line in said.stdout.splitlines()]

    assert [(each["id"], each["error"]["code"]) for each in refused] == [
        (None, -32700),
        (None, -32600),
        (None, -32600),
        (None, -32600),
    ]
    assert initialized["id"] == INITIALIZE["id"]


def test_a_host_that_left_is_no_traceback_and_a_full_output_one_line(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    said = []
    with os.fdopen(writer, "w") as left, Path("/dev/full").open("w") as full:
        for output in (left, full):
            ended = subprocess.run(
                [*COMMAND, f"--address=unix:{tmp_path}/none", PATIENT],
                input=f"{json.dumps(INITIALIZE)}\n",
                stdout=output,
                stderr=PIPE,
                text=True,
                timeout=ENDS_WITHIN_S,
            )
            said.append((ended.returncode, ended.stderr))

    unusable = "sidecar: standard input or output cannot be used: No space left on device\n"
    assert said == [(1, ""), (1, unusable)]


def test_a_host_that_stops_reading_ends_it_though_it_could_still_write(
    sidecar: SidecarProcess,
) -> None:
    process = subprocess.Popen(
        [*COMMAND, f"--address={sidecar.agent}", "--session-id=unread", PATIENT],
        stdin=PIPE,
        stdout=PIPE,
        text=True,
    )
    host, answers = process.stdin, process.stdout
    assert host is not None and answers is not None

    def say(message: Mapping[str, Any]) -> None:
        host.write(f"{json.dumps(message)}\n")
        host.flush()

    with host:
        say(INITIALIZE)
        answers.readline()
        say(INITIALIZED)
        answers.close()
        say(calling("report_turn", {}))

        assert process.wait(ENDS_WITHIN_S) == 1
    wait_closed(sidecar, "unread")


async def test_a_session_that_was_closed_is_gone_on_from_under_another_name(
    sidecar: SidecarProcess,
) -> None:
    for _ in range(2):
        async with over_stdio(sidecar.agent, "--session-id=again", PATIENT) as host:
            await give(host, "report_turn", {"approach": "grep"})
            await give(host, "get_status")  # which waits until the sidecar has the turn
            told = await give(host, "report_turn")
            status = await give(host, "get_status")

    assert status["session_id"].startswith("again.")
    assert session_of(sidecar, status["session_id"]).previous_session_id == "again"
    assert (told["sequence"], status["last_sequence"]) == (2, 2)


def test_ended_by_a_signal_it_closes_the_session(sidecar: SidecarProcess) -> None:
    command = [*COMMAND, f"--address={sidecar.agent}", "--session-id=ended", PATIENT]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in (INITIALIZE, INITIALIZED, calling("report_turn", {})):
            process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline())["id"] for _ in range(2)]
        process.terminate()
        code = process.wait(ENDS_WITHIN_S)

    assert (answers, code) == ([1, 2], -signal.SIGTERM)
    wait_closed(sidecar, "ended")


async def test_a_text_that_was_cut_within_an_emoji_is_a_turn(sidecar: SidecarProcess) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND, f"--address={sidecar.agent}", PATIENT, stdin=PIPE, stdout=PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for message in (INITIALIZE, INITIALIZED, calling("report_turn", {"text": "cut \ud83d"})):
        process.stdin.write(json.dumps(message).encode() + b"\n")
    try:
        async with asyncio.timeout(ENDS_WITHIN_S):
            _, told = [json.loads(await process.stdout.readline()) for _ in range(2)]
    finally:
        process.terminate()
        await process.wait()

    assert told["result"]["structuredContent"]["sequence"] == 1


async def test_a_policy_that_is_not_there_means_proceed(sidecar: SidecarProcess) -> None:
    async with over_stdio(sidecar.agent, "--session-id=nobody-s", "--policy=no-such") as host:
        told = await give(host, "report_turn")

    assert (told["kind"], told["fail_open_reason"]) == ("proceed", "rejected")
    with pytest.raises(grpc.RpcError):
        session_of(sidecar, "nobody-s")


async def test_a_sidecar_that_wants_a_token_is_sent_it(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a-token-for-tests-only")
    question = {"question": "What?"}
    with SidecarProcess(tmp_path, flags=[f"--token-file={token}"]) as sidecar:
        address = sidecar.addresses["agent_tcp_address"]
        async with over_stdio(address, f"--token-file={token}", PATIENT) as host:
            told = await give(host, "report_turn")
            asked = await give(host, "request_commit", question)
        async with over_stdio(address) as host:
            untold = await give(host, "report_turn")
            unasked = await give(host, "request_commit", question)

    assert (told["sequence"], asked["refusal"].split()[0]) == (1, "MODEL_NOT_CONFIGURED")
    assert (untold["fail_open_reason"], unasked["refusal"].split()[0]) == (
        "rejected",
        "UNAUTHENTICATED",
    )


async def test_the_run_s_own_bound_is_told(sidecar: SidecarProcess) -> None:
    async with over_stdio(sidecar.agent, "--session-id=bound", "--max-turns=9", PATIENT) as host:
        await give(host, "report_turn")
        session = session_of(sidecar, "bound")

    assert session.limits.max_turns == 9
    assert session.state == run_pb2.STATE_HEALTHY
    assert session.agent_name == "mcp"
