"""The client's edges: it can be made of anything, and imported for nothing."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sidecar import paths
from sidecar.client import AsyncClient, Client, Directive, Kind, Reason
from sidecar.client.assembly import FAULTS_TOLD_MAX, Assembly
from sidecar.client.channel import check_socket, credentials_of, metadata_of
from sidecar.client.give_ups import GiveUps
from sidecar.client.intake import Intake
from sidecar.client.line import Outage
from sidecar.client.settings import AddressError, Settings, settings_of, target_of
from sidecar.v1 import run_pb2 as pb

NOBODY = "unix:/nonexistent/agent.sock"


class Unprintable:
    """Raises wherever it can."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


def both(address: Any, **options: Any) -> tuple[list[Directive], list[dict[str, int]]]:
    """Two turns of a client, and two of an asynchronous one: directives and give-ups."""
    directives = []
    with Client(address, **options) as run:
        directives += [run.turn(text="a"), run.turn(text="b")]
    counts = [run.give_ups]

    async def watched() -> None:
        async with AsyncClient(address, **options) as run:
            directives.append(await run.turn(text="a"))
            directives.append(await run.turn(text="b"))
        counts.append(run.give_ups)

    asyncio.run(watched())
    return directives, counts


@pytest.fixture
def without_grpc(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith("sidecar.client.") or name.endswith("_pb2_grpc"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "grpc", None)


def test_the_import_is_light() -> None:
    code = "import sys, sidecar.client; print(' '.join(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    loaded = set(printed.stdout.decode().split())

    heavy = {"grpc", "google.protobuf", "asyncio", "opentelemetry", "prometheus_client"}
    assert heavy.isdisjoint(loaded)
    assert {name for name in loaded if name.startswith("sidecar")} <= {
        "sidecar",
        "sidecar.client",
        "sidecar.client.asynchronous",
        "sidecar.client.directive",
        "sidecar.client.give_ups",
        "sidecar.client.interruption",
        "sidecar.client.report",
        "sidecar.client.saying",
        "sidecar.client.synchronous",
        "sidecar.client.unnoticed",
    }


@pytest.mark.parametrize(
    "address",
    ["", "unix:", "unix:" + "x" * 108, "not an address", "host:0", "host:70000", "a:b:1", 7, b"x"],
)
def test_an_address_that_nobody_can_listen_on_fails_open_for_good(
    address: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SIDECAR_ADDRESS", "still no address")
    directives, counts = both(address)

    assert {one.kind for one in directives} == {Kind.PROCEED}
    assert {one.fail_open_reason for one in directives} == {Reason.CONNECT}
    assert [one["connect"] for one in counts] == [2, 2]
    assert caplog.text.count("for good") == 2
    assert " at  " not in caplog.text and "no sidecar (" in caplog.text
    assert not [thread for thread in threading.enumerate() if thread.name == "sidecar-client"]


@pytest.mark.usefixtures("without_grpc")
def test_without_grpc_every_turn_proceeds(caplog: pytest.LogCaptureFixture) -> None:
    directives, counts = both(NOBODY)

    assert {one.fail_open_reason for one in directives} == {Reason.INTERNAL}
    assert [one["internal"] for one in counts] == [2, 2]
    assert caplog.text.count("cannot watch this run") == 2


@pytest.mark.usefixtures("without_grpc")
def test_without_grpc_nothing_else_raises_either() -> None:
    run = Client(NOBODY)

    assert run.wait_for_operator() == Directive()
    assert run.wait_until_settled(1.0) is False
    assert run.close(outcome="failed") is False
    assert run.session_id == ""
    assert "Client" in repr(run)


@pytest.mark.usefixtures("without_grpc")
async def test_without_grpc_no_coroutine_raises_either() -> None:
    async with AsyncClient(NOBODY) as run:
        assert await run.wait_for_operator() == Directive()
        assert await run.wait_until_settled(1.0) is False
        assert await run.close(outcome="failed") is False
    assert run.session_id == ""
    assert "AsyncClient" in repr(run)


def test_a_thread_that_cannot_be_started_fails_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)

    assert Client(NOBODY).turn().fail_open_reason is Reason.INTERNAL


@pytest.mark.parametrize(
    "options",
    [
        {"root_certificates": "/nonexistent/ca.pem"},
        {"root_certificates": Path("/nonexistent/ca.pem"), "certificate": "/nonexistent/c.pem"},
        {"certificate": "/nonexistent/c.pem"},
        {"root_certificates": __file__},
        {"token": "new\nline"},
        {"token": 7},
        {"timeout_s": float("nan")},
        {"timeout_s": -1},
        {"timeout_s": "soon"},
        {"labels": 5, "mode": "loud", "max_turns": -1, "colour": "red"},
        {"agent_name": Unprintable(), "session_id": "\ud800" * 200},
        {"root_certificates": Unprintable()},
    ],
)
def test_options_that_are_nonsense_fail_open(options: dict[str, Any]) -> None:
    directives, counts = both("localhost:1", **options)

    assert {one.kind for one in directives} == {Kind.PROCEED}
    assert None not in {one.fail_open_reason for one in directives}
    assert all(sum(one.values()) >= 2 for one in counts)


@pytest.mark.parametrize("value", [None, 1, "text", Unprintable(), {}, [Unprintable()]])
def test_a_turn_never_raises(value: Any) -> None:
    names = ["tool_calls", "failures", "text", "input_tokens", "user_input", "no_such_field"]
    with Client(NOBODY) as run:
        for name in names:
            assert run.turn(**{name: value}).kind is Kind.PROCEED
        assert run.close(outcome=value, final_answer=value) is False


def test_a_token_is_never_sent_in_the_clear_because_a_path_is_wrong() -> None:
    for options in ({"certificate": "/nonexistent/c.pem"}, {"root_certificates": Unprintable()}):
        settings = settings_of("host:1", options, Intake())
        with pytest.raises((OSError, ValueError)):
            credentials_of(settings)


def test_a_token_goes_into_the_metadata() -> None:
    assert metadata_of(Settings(target="h:1")) == ()
    assert metadata_of(Settings(target="h:1", token="t")) == (("authorization", "Bearer t"),)


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("unix:/run/a.sock", "unix:/run/a.sock"),
        ("unix:///run/a.sock", "unix:/run/a.sock"),
        ("/run/a.sock", "unix:/run/a.sock"),
        ("localhost:4300", "localhost:4300"),
        ("[::1]:4300", "[::1]:4300"),
    ],
)
def test_an_address_is_a_socket_or_a_host_and_port(address: str, target: str) -> None:
    assert target_of(address) == target


@pytest.mark.parametrize(
    "address", ["", "unix:", "/" + "x" * 107, "unix:/a\0b", "host", ":1", "::1:5"]
)
def test_anything_else_is_no_address(address: str) -> None:
    with pytest.raises(AddressError):
        target_of(address)


def test_the_address_is_given_or_in_the_environment_or_that_of_the_same_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    monkeypatch.delenv("SIDECAR_ADDRESS", raising=False)
    assert settings_of(None, {}, Intake()).target == "unix:/run/user/7/sidecar/agent.sock"
    monkeypatch.setenv("SIDECAR_ADDRESS", "localhost:4300")
    assert settings_of(None, {}, Intake()).target == "localhost:4300"
    assert settings_of("localhost:9", {}, Intake()).target == "localhost:9"


def test_a_socket_in_a_directory_that_others_can_write_to_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(paths, "FALLBACK_PARENT", tmp_path)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("SIDECAR_ADDRESS", raising=False)
    settings = settings_of(None, {}, Intake())
    with pytest.raises(FileNotFoundError):
        check_socket(settings)

    directory = tmp_path / f"sidecar-{os.getuid()}"
    directory.mkdir(mode=0o700)
    (directory / "agent.sock").touch()
    check_socket(settings)
    directory.chmod(0o777)
    with pytest.raises(PermissionError):
        check_socket(settings)


def test_an_outage_of_which_no_more_is_known_is_logged_by_its_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assembly = Assembly(NOBODY, {}, GiveUps())
    assembly.exchange.line.outage = Outage(reason=Reason.DRAINING)
    assembly.note_outage()
    assembly.say()

    assert "no sidecar at unix:/nonexistent/agent.sock (draining): the agent goes on" in caplog.text


def test_within_an_outage_a_refusal_is_logged_once_and_so_is_an_end_for_good(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assembly = Assembly(NOBODY, {}, GiveUps())
    outages = [
        Outage(reason=Reason.CONNECT),
        Outage(reason=Reason.CONNECT, description="still"),
        Outage(reason=Reason.REJECTED, description="no token"),
        Outage(reason=Reason.REJECTED, description="again no token"),
        Outage(reason=Reason.REJECTED, description="no such policy", final=True),
    ]
    for outage in outages:
        assembly.exchange.line.outage = outage
        assembly.note_outage()
        assembly.note_outage()
        assembly.say()

    said = [record.getMessage() for record in caplog.records]
    assert [line.partition("(")[2].partition(")")[0] for line in said] == [
        "connect",
        "rejected: no token",
        "rejected: no such policy",
    ]


def test_an_outage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sidecar.client")
    with Client(NOBODY) as run:
        for _ in range(50):
            run.turn()

    assert len(caplog.records) == 1
    assert "no sidecar at unix:/nonexistent/agent.sock (connect: FileNotFoundError" in caplog.text


def test_what_cannot_be_sent_is_logged_by_name_once(caplog: pytest.LogCaptureFixture) -> None:
    with Client("no address") as run:
        for _ in range(5):
            run.turn(input_tokens=-1, text="secret", colour="red")  # type: ignore[call-arg]

    assert caplog.text.count("cannot be sent as given: colour, input_tokens") == 1
    assert "secret" not in caplog.text
    assert run.give_ups["internal"] == 5


def test_of_what_cannot_be_sent_a_hundred_names_are_logged_at_most(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Client("no address") as run:
        for turn in range(3):
            run.turn(**{f"unknown-{turn}-{number}": 1 for number in range(70)})  # type: ignore[arg-type]

    assert caplog.text.count("unknown-") == FAULTS_TOLD_MAX == 100
    assert run.give_ups["internal"] == 3


async def test_an_argument_named_self_is_unknown_like_another() -> None:
    own: Any = {"self": 1}
    run, other = Client("no address", **own), AsyncClient("no address", **own)

    assert run.turn(**own).kind is Kind.PROCEED
    assert (await other.turn(**own)).kind is Kind.PROCEED
    assert (run.give_ups["internal"], other.give_ups["internal"]) == (2, 2)
    run.close()


def test_a_directive_can_be_hashed_whatever_message_it_came_in() -> None:
    assert hash(Directive(decision=pb.Decision(sequence=1))) == hash(Directive())
