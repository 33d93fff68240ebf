"""SessionService: what an operator sees and does."""

from dataclasses import replace
from typing import Any, cast

import grpc
import pytest
from google.protobuf import descriptor_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from sidecar.v1 import run_pb2
from sidecar.v1 import session_service_pb2 as pb
from tests.wire.served import Agent, Served, World, looping, opening, reason_of, served, turning


async def test_a_session_is_shown_with_its_turns_and_without_content(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening(agent_name="tester", labels={"team": "a"}))
    for sequence in range(1, 4):
        await agent.ask(looping(sequence))
    found = await server.control.GetSession(pb.GetSessionRequest(session_id="s", turns_max=2))

    assert found.session.agent_name == "tester"
    assert found.session.labels == {"team": "a"}
    assert found.session.connected
    assert found.session.state == run_pb2.STATE_WARNING
    assert found.session.last_directive.HasField("rotate")
    assert [turn.sequence for turn in found.turns] == [2, 3]
    assert list(found.turns[1].tools) == ["Grep"]
    assert found.turns[1].decision.readings[0].signal == "loop"
    assert "a.py" not in str(found)


async def test_the_latest_turns_are_shown_however_much_was_done_to_the_session_since(
    server: Served,
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    for sequence in (1, 2, 3):
        await agent.ask(turning(sequence))
    for number in range(120):
        request = pb.ContinueSessionRequest(session_id="s", reason=f"again {number}")
        await server.control.ContinueSession(request)
        await agent.hear()
    found = await server.control.GetSession(pb.GetSessionRequest(session_id="s", turns_max=2))
    every = await server.control.GetSession(pb.GetSessionRequest(session_id="s", turns_max=1000))

    assert [turn.sequence for turn in found.turns] == [2, 3]
    assert [turn.sequence for turn in every.turns] == [1, 2, 3]
    assert len(found.commands) == len(every.commands) == 120


async def test_what_was_done_to_a_session_is_shown_with_the_turn_that_it_followed(
    server: Served,
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    for sequence in (1, 2, 3):
        await agent.ask(turning(sequence))
        reset = pb.ResetSessionRequest(session_id="s", reason=f"after {sequence}")
        await server.control.ResetSession(reset)
        await agent.hear()
    all_of_it = await server.control.GetSession(pb.GetSessionRequest(session_id="s", turns_max=3))
    latest = await server.control.GetSession(pb.GetSessionRequest(session_id="s", turns_max=2))
    none = await server.control.GetSession(pb.GetSessionRequest(session_id="s"))

    def told(found: pb.GetSessionResponse) -> list[tuple[int, str]]:
        commands = [record.command for record in found.commands]
        return [(command.after_sequence, command.reset.reason) for command in commands]

    assert told(all_of_it) == [(1, "after 1"), (2, "after 2"), (3, "after 3")]
    assert told(latest) == [(2, "after 2"), (3, "after 3")]
    assert told(none) == []
    first = all_of_it.commands[0]
    assert first.state_before == run_pb2.STATE_HEALTHY
    assert first.decision.state == run_pb2.STATE_RECOVERY
    assert first.decision.cause == run_pb2.CAUSE_OPERATOR
    assert first.time.ToSeconds() == int(server.world.clock.now_s())


async def test_a_closed_session_says_why_it_was_closed(server: Served) -> None:
    await Agent(server).ask(opening())
    closed = await server.control.CloseSession(
        pb.CloseSessionRequest(session_id="s", reason="enough")
    )

    assert closed.session.close_reason == "enough"


async def test_sessions_are_listed_a_page_at_a_time_the_latest_first(server: Served) -> None:
    for number in range(5):
        await Agent(server).ask(opening(f"s{number}"))
    first = await server.control.ListSessions(pb.ListSessionsRequest(page_size=3))
    second = await server.control.ListSessions(
        pb.ListSessionsRequest(page_size=3, page_token=first.next_page_token)
    )

    assert [session.session_id for session in first.sessions] == ["s4", "s3", "s2"]
    assert [session.session_id for session in second.sessions] == ["s1", "s0"]
    assert second.next_page_token == ""


async def test_sessions_are_listed_by_state(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening("loops"))
    for sequence in range(1, 4):
        await agent.ask(looping(sequence))
    await Agent(server).ask(opening("fine"))
    found = await server.control.ListSessions(
        pb.ListSessionsRequest(states=[run_pb2.STATE_WARNING])
    )

    assert [session.session_id for session in found.sessions] == ["loops"]


async def test_a_watcher_sees_each_change_until_the_session_closes(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    watch = server.control.WatchSession(pb.WatchSessionRequest(session_id="s"))
    first = await watch.read()
    await agent.ask(turning(1))
    second = await watch.read()
    await server.control.CloseSession(pb.CloseSessionRequest(session_id="s", reason="done"))
    last = await watch.read()

    assert first.session.last_sequence == 0
    assert second.session.last_sequence == 1
    assert last.session.closed
    assert await watch.read() is grpc.aio.EOF


async def test_a_slow_watcher_is_told_how_much_it_missed(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    changes = []
    unwatch = server.sessions.watch(lambda session: changes.append(session.last_sequence))
    for sequence in range(1, 4):
        await agent.ask(turning(sequence))
    unwatch()
    await agent.ask(turning(4))

    assert changes == [1, 2, 3]


async def test_the_watcher_after_the_last_allowed_one_is_refused(world: World) -> None:
    world.watchers_max = 1
    async with served(world) as server:
        await Agent(server).ask(opening())
        first = server.control.WatchSessions(pb.WatchSessionsRequest())
        await first.read()
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await server.control.WatchSessions(pb.WatchSessionsRequest()).read()

        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert reason_of(refused.value).reason == "WATCHERS_MAX"


async def test_a_repeated_continue_does_nothing_more(server: Served) -> None:
    limits = run_pb2.Limits(max_turns=10)
    await Agent(server).ask(opening(limits=limits))
    request = pb.ContinueSessionRequest(
        session_id="s", reason="go on", extra_turns=5, request_id="r1"
    )
    first = await server.control.ContinueSession(request)
    again = await server.control.ContinueSession(request)

    assert first.session.limits.max_turns == 15
    assert again.session.limits.max_turns == 15


async def test_continue_gives_a_tripped_run_another_chance(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    for sequence in range(1, 6):
        await agent.ask(looping(sequence))
    answer = await server.control.ContinueSession(
        pb.ContinueSessionRequest(session_id="s", reason="I looked")
    )
    told = (await agent.hear()).decision

    assert answer.session.state == run_pb2.STATE_RECOVERY
    assert told.cause == run_pb2.CAUSE_OPERATOR
    assert (await agent.ask(turning(6))).decision.state == run_pb2.STATE_RECOVERY
    assert (await agent.ask(turning(7))).decision.state == run_pb2.STATE_HEALTHY


async def test_reset_starts_a_run_s_signals_afresh(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    for sequence in range(1, 6):
        await agent.ask(looping(sequence))
    await server.control.ResetSession(pb.ResetSessionRequest(session_id="s", reason="fresh"))
    await agent.hear()

    assert (await agent.ask(looping(6))).decision.state == run_pb2.STATE_RECOVERY


async def test_closing_a_session_ends_its_stream(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    await server.control.CloseSession(pb.CloseSessionRequest(session_id="s", reason="enough"))
    code, info = await agent.refused()
    again = await server.control.CloseSession(
        pb.CloseSessionRequest(session_id="s", reason="enough")
    )

    assert (code, info.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_CLOSED")
    assert again.session.closed


async def test_commands_need_a_reason(server: Served) -> None:
    await Agent(server).ask(opening())
    for call, request in (
        (server.control.ContinueSession, pb.ContinueSessionRequest(session_id="s")),
        (server.control.ResetSession, pb.ResetSessionRequest(session_id="s", reason=" ")),
        (server.control.CloseSession, pb.CloseSessionRequest(session_id="s")),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call(request)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert reason_of(refused.value).reason == "REASON_REQUIRED"


async def test_a_session_that_is_not_held_is_not_found(server: Served) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await server.control.GetSession(pb.GetSessionRequest(session_id="nobody"))

    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    assert reason_of(refused.value).reason == "SESSION_NOT_FOUND"


async def test_an_extension_below_zero_is_refused(server: Served) -> None:
    await Agent(server).ask(opening())
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await server.control.ContinueSession(
            pb.ContinueSessionRequest(session_id="s", reason="less", extra_turns=-1)
        )

    assert reason_of(refused.value).reason == "REQUEST_INVALID"


async def test_the_agents_listener_does_not_serve_the_control_plane(server: Served) -> None:
    from sidecar.v1 import session_service_pb2_grpc

    stub = session_service_pb2_grpc.SessionServiceStub(server.agent)  # type: ignore[no-untyped-call, unused-ignore]
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub.ListSessions(pb.ListSessionsRequest())

    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def reflected(server: Served, **request: Any) -> reflection_pb2.ServerReflectionResponse:
    """What reflection answers on the admin listener."""
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(cast("Any", server.admin))
    call = stub.ServerReflectionInfo()
    await call.write(reflection_pb2.ServerReflectionRequest(**request))
    answer: reflection_pb2.ServerReflectionResponse = await call.read()
    await call.done_writing()
    return answer


async def test_reflection_on_the_admin_listener_names_the_service(server: Served) -> None:
    answer = await reflected(server, list_services="")
    names = {service.name for service in answer.list_services_response.service}

    assert "sidecar.v1.SessionService" in names


@pytest.mark.parametrize(
    "symbol",
    [
        "sidecar.v1.SessionService",
        "sidecar.v1.SessionService.ContinueSession",
        "sidecar.v1.ContinueSessionRequest",
        "sidecar.v1.ContinueSessionRequest.reason",
    ],
)
async def test_reflection_finds_services_methods_messages_and_fields(
    server: Served, symbol: str
) -> None:
    answer = await reflected(server, file_containing_symbol=symbol)
    found = answer.file_descriptor_response.file_descriptor_proto
    files = {descriptor_pb2.FileDescriptorProto.FromString(one).name for one in found}

    assert "sidecar/v1/session_service.proto" in files
    assert "sidecar/v1/run.proto" in files


@pytest.mark.parametrize(
    "asked",
    [
        {"file_containing_symbol": "sidecar.v1.SessionService.Nothing"},
        {"file_containing_symbol": "nothing"},
        {"file_by_filename": "nothing.proto"},
        {"all_extension_numbers_of_type": "sidecar.v1.Nothing"},
        {
            "file_containing_extension": {
                "containing_type": "sidecar.v1.Turn",
                "extension_number": 1,
            }
        },
    ],
)
async def test_reflection_says_what_it_does_not_find(server: Served, asked: dict[str, Any]) -> None:
    answer = await reflected(server, **asked)

    assert answer.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


async def test_with_a_token_a_caller_over_the_unix_socket_needs_none(world: World) -> None:
    world.token = "secret"
    async with served(replace(world, token="secret")) as server:
        assert (await Agent(server).ask(opening())).opened.session_id == "s"
