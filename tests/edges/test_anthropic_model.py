"""What the real model sends, how often, and when it gives up."""

import asyncio
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sidecar.adapters.anthropic_message import COUNT_MAX
from sidecar.adapters.anthropic_model import RETRIES_MAX, AnthropicModel, AnthropicSettings
from sidecar.models.access import KEY_VARIABLES
from sidecar.models.metered import MeteredModel
from sidecar.models.prices import DEFAULT_MODEL
from sidecar.models.purse import Purse, PurseBounds
from sidecar.ports import FailureKind, ModelCall, ModelFailure, Purpose
from sidecar.testing import Fail, FakeAnthropicServer, FakeClock, MemoryRecorder, Raw, Say
from sidecar.testing.model_script import Step
from tests.edges.models import PATIENT_S, VERDICT, asked, real_model

AT_ONCE = 0.001
"""Seconds that a client is asked to wait before it tries again."""


async def test_a_call_that_fails_for_a_moment_is_tried_again() -> None:
    fault = Fail(status=529, retry_after_s=AT_ONCE)
    async with real_model([fault, fault, Say(text="Paris")]) as (model, server):
        assert (await model.ask(asked())).text == "Paris"
        assert len(server.requests) == 1 + RETRIES_MAX


async def test_a_call_is_tried_again_twice_at_most() -> None:
    faults = [Fail(status=529, retry_after_s=AT_ONCE)] * 5
    async with real_model(faults) as (model, server):
        with pytest.raises(ModelFailure) as caught:
            await model.ask(asked())
        assert caught.value.kind is FailureKind.OVERLOADED
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "kind"), [(429, FailureKind.RATE_LIMITED), (529, FailureKind.OVERLOADED)]
)
async def test_what_failed_before_the_time_was_over_is_what_is_said(
    status: int, kind: FailureKind
) -> None:
    async with real_model([Fail(status=status, retry_after_s=60)]) as (model, server):
        with pytest.raises(ModelFailure) as caught:
            await model.ask(asked(timeout_s=2))
        assert caught.value.kind is kind
        assert caught.value.latency_s >= 1
        assert len(server.requests) == 1


async def test_a_retry_under_way_when_the_time_is_over_is_a_timeout() -> None:
    steps: list[Step] = [
        Fail(status=529, retry_after_s=AT_ONCE),
        Say(text="late", delay_s=60),
    ]
    async with real_model(steps) as (model, server):
        with pytest.raises(ModelFailure) as caught:
            await model.ask(asked(timeout_s=2))
        assert caught.value.kind is FailureKind.TIMEOUT
        assert len(server.requests) == 2


async def test_a_host_that_is_not_there_is_a_connection_failure() -> None:
    with FakeAnthropicServer([]) as server:
        base_url = server.base_url
    model = AnthropicModel(AnthropicSettings(base_url=base_url, api_key="any"))
    with pytest.raises(ModelFailure) as caught:
        await model.ask(asked())
    assert caught.value.kind is FailureKind.CONNECTION
    await model.close()


async def test_a_wrong_key_is_said_so_and_not_repeated() -> None:
    async with real_model([Say()], api_key="sk-wrong") as (model, server):
        with pytest.raises(ModelFailure) as caught:
            await model.ask(asked())
        assert caught.value.kind is FailureKind.UNAUTHENTICATED
        assert "sk-wrong" not in str(caught.value)
        assert len(server.requests) == 1


async def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in KEY_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", "/nonexistent")
    async with real_model([Say()], api_key="") as (model, server):
        with pytest.raises(ModelFailure) as caught:
            await model.ask(asked())
        assert caught.value.kind is FailureKind.UNAUTHENTICATED
        assert server.requests == []


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
@pytest.mark.parametrize("around", ["", " ", "\n"])
async def test_key_and_address_come_from_the_standard_variables_without_what_is_around_them(
    variable: str, around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", around)
    with FakeAnthropicServer([Say(text="Paris")]) as server:
        monkeypatch.setenv(variable, f"{server.key}{around}")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{server.base_url}{around}")
        model = AnthropicModel(AnthropicSettings())
        assert (await model.ask(asked())).text == "Paris"
        await model.close()


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_a_server_on_this_machine_is_asked_without_a_proxy(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    async with real_model([Say(text="Paris")]) as (model, _):
        assert (await model.ask(asked())).text == "Paris"


async def test_a_call_without_a_tool_sends_no_tools() -> None:
    async with real_model([Say(text="Paris")]) as (model, server):
        await model.ask(asked(system="Be brief."))
    assert server.requests == [
        {
            "model": DEFAULT_MODEL,
            "messages": [{"role": "user", "content": "What is the capital of France?"}],
            "max_tokens": 100,
            "system": "Be brief.",
        }
    ]


async def test_a_search_is_offered_so_often_as_it_may_be_made() -> None:
    async with real_model([Say(text="Paris")]) as (model, server):
        await model.ask(asked(searches_max=2))
    tool = {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}
    assert server.requests[0]["tools"] == [tool]
    assert "tool_choice" not in server.requests[0]


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "web_search_tool_result", "tool_use_id": "x"}],
        [{"type": "web_search_tool_result", "tool_use_id": "x", "content": None}],
        [{"type": "web_search_tool_result", "tool_use_id": "x", "content": [7, {"url": 7}]}],
        [{"type": "web_search_tool_result", "tool_use_id": "x", "content": {"type": "odd"}}],
        [{"type": "text", "text": "x", "citations": [None, {"url": 7, "cited_text": 7}]}],
    ],
)
async def test_results_of_a_search_that_are_none_are_no_harm(content: list[Any]) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1, "server_tool_use": {"web_search_requests": "?"}}
    body = {"id": "m", "type": "message", "model": "m", "content": content, "usage": usage}
    async with real_model([Raw(body=json.dumps(body).encode())]) as (model, _):
        reply = await model.ask(asked(searches_max=1))
    assert reply.found == ()
    assert reply.spent.searches == 0


@pytest.mark.parametrize(
    "body",
    [
        b"\x00<html>\xff",
        b"[" * 200_000,
        b'{"content": ' * 200_000,
        b'{"id": "m", "content": [{"type": []}], "usage": {"input_tokens": 1, "output_tokens": 1}}',
        b'{"content": [{"type": [[]]}], "usage": {"input_tokens": 1, "output_tokens": 1}}',
        b'{"id": "m", "usage": {"input_tokens": 1, "output_tokens": 1}}',
    ],
    ids=lambda body: body[:80].decode("ascii", "replace"),
)
async def test_what_is_no_message_is_unreadable(body: bytes) -> None:
    async with real_model([Raw(body=body)]) as (model, _):
        with pytest.raises(ModelFailure) as raised:
            await model.ask(asked())
    assert raised.value.kind is FailureKind.UNREADABLE


@pytest.mark.parametrize("count", ["x", [None], 1e300, -7, {}])
async def test_counts_of_a_cache_that_are_none_count_nothing(count: object) -> None:
    fields = ("cache_read_input_tokens", "cache_creation_input_tokens")
    usage = {"input_tokens": 3, "output_tokens": 1, **dict.fromkeys(fields, count)}
    content = [{"type": "text", "text": "x", "citations": 7}]
    body = {"id": "m", "type": "message", "model": "m", "content": content, "usage": usage}
    async with real_model([Raw(body=json.dumps(body).encode())]) as (model, _):
        reply = await model.ask(asked(searches_max=1))
    assert (reply.spent.input_tokens, reply.spent.cache_read_tokens) == (3, 0)
    assert reply.spent.cache_write_tokens == 0


@pytest.mark.parametrize(
    "usage",
    [
        *("null", "{}", "7", '{"input_tokens": 1}'),
        *(
            f'{{"input_tokens": {count}, "output_tokens": 1}}'
            for count in ("null", "-1", "true", "1.5", '"1"', str(COUNT_MAX + 1), "1" + "0" * 400)
        ),
    ],
    ids=lambda usage: usage[:40],
)
async def test_a_reply_without_counts_that_can_be_is_kept_and_its_cost_is_not_known(
    usage: str,
) -> None:
    said = '"id": "m", "type": "message", "content": [{"type": "text", "text": "Paris"}]'
    async with real_model([Raw(body=f'{{{said}, "usage": {usage}}}'.encode())]) as (model, _):
        reply = await model.ask(asked())
    assert reply.text == "Paris"
    assert (reply.spent.input_tokens, reply.spent.output_tokens) == (0, 0)
    assert reply.spent.cost_usd is None


async def test_a_call_goes_nowhere_else_whatever_the_api_says() -> None:
    elsewhere: list[bytes] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            elsewhere.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_error(500)

        def log_message(self, *_: Any) -> None:
            pass

    class Redirecting(Elsewhere):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(307)
            self.send_header("location", other)
            self.send_header("content-length", "0")
            self.end_headers()

    with serving(Elsewhere) as other, serving(Redirecting) as api:
        model = AnthropicModel(AnthropicSettings(base_url=api, api_key="any"))
        with pytest.raises(ModelFailure) as raised:
            await model.ask(asked())
        await model.close()
    assert elsewhere == []
    assert (raised.value.kind, raised.value.message) == (FailureKind.INVALID_REQUEST, "HTTP 307")


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of such a server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


async def test_a_reply_says_why_the_model_stopped_in_the_apis_own_word() -> None:
    async with real_model([Say(text="x"), Say(stop_reason="pause_turn")]) as (model, _):
        reasons = [(await model.ask(asked())).stop_reason for _ in range(2)]
    assert reasons == ["end_turn", "pause_turn"]


async def test_the_record_of_a_call_says_where_and_why_the_model_stopped() -> None:
    recorder, clock = MemoryRecorder(), FakeClock()
    async with real_model([Say(text="x")]) as (model, server):
        metered = MeteredModel(
            model,
            purse=Purse(PurseBounds(), clock=clock),
            recorder=recorder,
            clock=clock,
            server=model.server,
        )
        await metered.ask(asked())
    (call,) = recorder.of(ModelCall)
    assert call.server is not None
    assert f"http://{call.server.host}:{call.server.port}" == server.base_url
    assert (call.stop_reason, call.outcome) == ("end_turn", "end")


@pytest.mark.parametrize(
    ("base_url", "server"),
    [
        ("https://models.example/v1", ("models.example", 443)),
        ("http://[::1]:8080", ("::1", 8080)),
        ("", ("api.anthropic.com", 443)),
    ],
)
def test_a_model_knows_where_it_is_asked(
    base_url: str, server: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", " ")
    assert AnthropicModel(AnthropicSettings(base_url=base_url, api_key="k")).server == server


async def test_a_tool_is_forced() -> None:
    async with real_model([Say()]) as (model, server):
        await model.ask(asked(tool=VERDICT))
    (body,) = server.requests
    assert [tool["name"] for tool in body["tools"]] == ["verdict"]
    assert body["tools"][0]["input_schema"] == VERDICT.schema
    choice = {"type": "tool", "name": "verdict", "disable_parallel_tool_use": True}
    assert body["tool_choice"] == choice


@pytest.mark.parametrize("name", ["claude-sonnet-5-5", "claude-opus-5-5", "claude-fable-5-2"])
async def test_a_model_that_takes_no_forced_tool_is_held_to_the_schema(name: str) -> None:
    said = Say(text='{"verdict": "FAIL"}')
    async with real_model([said], model=name) as (model, server):
        reply = await model.ask(asked(tool=VERDICT))
    (body,) = server.requests
    assert "tools" not in body
    assert "tool_choice" not in body
    assert body["output_config"]["format"]["schema"] == VERDICT.schema
    assert reply.tool_input == {"verdict": "FAIL"}


@pytest.mark.parametrize(
    ("purpose", "cached"),
    [(Purpose.AGENT, True), (Purpose.COMMIT, False), (Purpose.REVIEW, False)],
)
async def test_only_what_is_asked_again_is_cached(purpose: Purpose, cached: bool) -> None:
    async with real_model([Say()]) as (model, server):
        await model.ask(asked(purpose=purpose))
    assert ("cache_control" in server.requests[0]) is cached


async def test_text_blocks_that_follow_one_another_are_one_text() -> None:
    body = (
        b'{"id": "m", "type": "message", "role": "assistant", "model": "m", "content": ['
        b'{"type": "text", "text": "Par"}, {"type": "text", "text": "is"}, '
        b'{"type": "thinking", "thinking": "hm", "signature": "s"}, '
        b'{"type": "text", "text": "Lyon"}], '
        b'"stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}'
    )
    async with real_model([Raw(body=body)]) as (model, _):
        assert (await model.ask(asked())).text == "Paris\nLyon"


async def test_many_are_asked_at_a_time() -> None:
    async with real_model([Say(text=str(number), delay_s=0.2) for number in range(8)]) as (
        model,
        _,
    ):
        replies = await asyncio.gather(*(model.ask(asked()) for _ in range(8)))
    assert sorted(reply.text for reply in replies) == list("01234567")


async def test_a_caller_that_gives_up_ends_the_call() -> None:
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()

    def steps() -> Iterator[Step]:
        loop.call_soon_threadsafe(arrived.set)
        yield Say(delay_s=60)
        yield Say(text="Paris")

    async with real_model(steps()) as (model, _):
        task = asyncio.create_task(model.ask(asked()))
        async with asyncio.timeout(PATIENT_S):
            await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await model.ask(asked())).text == "Paris"


async def test_nothing_that_is_asked_or_replied_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    canary = "c4n4ry"
    steps: list[Step] = [
        Fail(status=500, message=canary, retry_after_s=AT_ONCE),
        Say(text=canary),
    ]
    async with real_model(steps) as (model, server):
        reply = await model.ask(asked(canary, system=canary))
        assert reply.text == canary
        for said in (canary, server.key):
            assert said not in caplog.text


def test_settings_do_not_show_the_key() -> None:
    assert "sk-secret" not in repr(AnthropicSettings(api_key="sk-secret"))


def test_the_sdk_is_not_imported_before_a_model_is_asked() -> None:
    program = (
        "import sys; from sidecar.adapters.anthropic_model import *; "
        "AnthropicModel(AnthropicSettings()); print('anthropic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"
